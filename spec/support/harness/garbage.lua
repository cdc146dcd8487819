-- Collects whatever is unreachable. What LuaJIT compiled keeps alive what it was compiled with, a handler and what that has seen,
-- and is thrown away first. What a finalised object held is finalised in the collection after it, and what that held in the next.
local function collect(rounds)
  if jit then jit.flush() end -- luacheck: ignore
  for _ = 1, rounds or 4 do collectgarbage() end
end

return { collect = collect }
