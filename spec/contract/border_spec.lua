-- The border between Lua and the core: src/bind/lua turns a Lua table into a tree of nodes (src/base/value.h) and back. No other
-- file that knows Lua walks a table or sorts what it found there: the core does that, and is tested without Lua.

-- Files that still do. A file that is clean leaves the list; none is added.
local unclean = {
  "src/server/reply.c",
  "src/server/request.c",
  "src/stream/push.c",
}

local read = require("spec.support.harness.files").read

local walks = { "%f[%w_]lua_next%(", "%f[%w_]lua_rawset%(", "%f[%w_]qsort%(" }

local function knows_lua(text)
  return string.find(text, "lua_State", 1, true) or string.find(text, "#include \"bind/", 1, true)
end

-- The first call that the rule forbids, or nil.
local function walk_in(text)
  for _, pattern in ipairs(walks) do
    local found = string.match(text, pattern)
    if found then return found end
  end
end

it("only src/bind/lua walks Lua tables", function()
  local allowed, found = {}, {}
  for _, path in ipairs(unclean) do allowed[path] = true end
  local pipe = assert(io.popen "find src -name '*.[ch]' -not -path 'src/bind/lua/*' -not -path '*/proto/*' | sort")
  for path in pipe:lines() do
    local text = read(path)
    local call = knows_lua(text) and walk_in(text)
    if call then
      assert.is_true(allowed[path] or false, path .. " calls " .. call .. "): take the value with value_at (bind/lua/value.h)")
      found[path] = true
    end
  end
  pipe:close()
  for _, path in ipairs(unclean) do assert.is_true(found[path] or false, path .. " is clean now: remove it from the list") end
end)

it("a walk is noticed", function()
  assert.equal("lua_next(", walk_in "while (lua_next(L, -2))")
  assert.equal("qsort(", walk_in "  qsort(list, count, size, by_name);")
  assert.is_nil(walk_in "lua_rawseti(L, -2, 1); my_lua_next(L); spans_sort(spans)")
  assert.is_truthy(knows_lua "#include \"bind/lua/bind.h\"")
end)
