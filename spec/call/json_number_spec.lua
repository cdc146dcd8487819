-- Numbers as JSON: the fewest digits that are read back as the same number.
local core = require "fleet.core"

local function shortest(value)
  for digits = 1, 17 do
    local text = string.format("%." .. digits .. "g", value)
    if tonumber(text) == value then return digits end
  end
end

local function digits_of(text)
  local plain = string.gsub(string.gsub(text, "e.*$", ""), "[^%d]", "")
  return #(string.gsub(string.gsub(plain, "^0+", ""), "0+$", ""))
end

describe("a number in JSON", function()
  it("is written as people write it", function()
    local written = {
      [0.5] = "0.5", [0.001] = "0.001", [-0.25] = "-0.25", [1795356487.123] = "1795356487.123", [12.04] = "12.04", [12.4] = "12.4",
      [-1234.056] = "-1234.056", [999999999999.999] = "999999999999.999", [0.1 + 0.2] = "0.30000000000000004", [1e-5] = "1e-05",
      [7] = "7", [1.0005] = "1.0005",
    }
    for value, text in pairs(written) do assert.equal(text, core.json_encode(value)) end
  end)

  it("is read back as it was, with no digit more than it needs", function()
    math.randomseed(7)
    for round = 1, 20000 do
      local value = math.random(-10 ^ 9, 10 ^ 9) / 10 ^ (round % 8)
      if round % 2 == 0 then value = value * math.random() end
      local text = core.json_encode(value)
      if tonumber(text) ~= value then error(string.format("%.17g became %s", value, text)) end
      if digits_of(text) > math.max(shortest(value), 1) then error(string.format("%.17g has too many digits: %s", value, text)) end
    end
  end)
end)
