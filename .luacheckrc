std = "lua54"
max_line_length = 140
self = false
files["spec"] = { std = "+busted" }
files["lua"] = { std = "min" } -- what Lua 5.1 to 5.5 and LuaJIT all have; lua/fleet/util/compat.lua knows the rest
files["lua/fleet/cli"] = { std = "lua54" } -- the command runs on 5.4
files["spec/support/harness/dialect.lua"] = { std = "max", ignore = { "121", "122", "142", "143" } }
exclude_files = { "build/**", "lua/fleet/types.lua" }
