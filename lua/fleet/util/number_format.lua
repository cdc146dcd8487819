-- Numbers as text with a point, whatever locale the host has set: string.format writes its decimal sign, which may be
-- any run of bytes.

local M = {}

--- With so many decimals: fixed(0.5, 2) is "0.50".
function M.fixed(value, decimals)
  return (string.gsub(string.format("%." .. decimals .. "f", value), "[^%d%-]+", "."))
end

--- With at most so many decimals, without trailing zeros: short(0.5, 2) is "0.5", short(3, 2) is "3".
function M.short(value, decimals)
  return (string.gsub(string.gsub(M.fixed(value, decimals), "(%..-)0+$", "%1"), "%.$", ""))
end

return M
