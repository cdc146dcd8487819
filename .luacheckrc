std = "lua54"
max_line_length = 140
self = false
files["spec"] = { std = "+busted" }
exclude_files = { "build/**", "lua/fleet/types.lua" }
