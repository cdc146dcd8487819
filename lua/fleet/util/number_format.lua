-- Numbers as text with a point, whatever locale the host has set: string.format writes its decimal sign, which may be
-- any run of bytes.

local M = {}

-- Half-way between two texts C takes the even digit and LuaJIT the larger one: 0.125 is 0.12 or 0.13. The even one on every Lua.
-- Only what has so few binary digits lies half-way; of 2.675 the product with 100 alone looks as if it did.
local function settled(value, decimals)
  local scaled = value * 10 ^ decimals
  local below = math.floor(scaled)
  if scaled - below ~= 0.5 or value * 2 ^ (decimals + 1) % 1 ~= 0 then return value end
  return (below % 2 == 0 and below or below + 1) / 10 ^ decimals
end

--- With so many decimals: fixed(0.5, 2) is "0.50".
function M.fixed(value, decimals)
  return (string.gsub(string.format("%." .. decimals .. "f", settled(value, decimals)), "[^%d%-]+", "."))
end

--- With at most so many decimals, without trailing zeros: short(0.5, 2) is "0.5", short(3, 2) is "3".
function M.short(value, decimals)
  return (string.gsub(string.gsub(M.fixed(value, decimals), "(%..-)0+$", "%1"), "%.$", ""))
end

return M
