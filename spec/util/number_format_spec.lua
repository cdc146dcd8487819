-- Numbers in pictures and sentences have a point, whatever the host's locale writes.

local core = require "fleet.core"
local tariff = require "fleet.tariff"
local samples = require "spec.support.fixtures.tariff_samples"

-- As string.format writes numbers where the decimal sign is another: a comma, or two bytes as in some locales.
-- luacheck: push ignore 122
local function in_locale(sign, call)
  local format = string.format
  string.format = function(form, ...)
    local text = format(form, ...)
    return string.find(form, "^%%%.%d+f$") and string.gsub(text, "%.", sign) or text
  end
  local ok, result = pcall(call)
  string.format = format
  return assert(ok and result, result)
end
-- luacheck: pop

describe("decimals", function()
  local cases = {
    { 0.5, 2, "0.50", "0.5" }, { 3, 2, "3.00", "3" }, { -0.031, 5, "-0.03100", "-0.031" }, { 100, 1, "100.0", "100" },
    { 0.00001, 5, "0.00001", "0.00001" }, { 0, 2, "0.00", "0" }, { 1200, 0, "1200", "1200" },
  }
  for _, case in ipairs(cases) do
    it(string.format("%s with %d of them", case[1], case[2]), function()
      assert.equal(case[3], core.fixed(case[1], case[2]))
      assert.equal(case[4], core.shortened(case[1], case[2]))
      for _, sign in ipairs { ",", "\217\171" } do
        assert.equal(case[3], in_locale(sign, function() return core.fixed(case[1], case[2]) end))
      end
    end)
  end

  it("are the even ones half-way between two texts, as C writes them, on every Lua", function()
    for text, value in pairs { ["433.62"] = 433.625, ["0.12"] = 0.125, ["0.38"] = 0.375, ["-433.62"] = -433.625, ["1.00"] = 0.9975 + 0.0025,
      ["2.67"] = 2.675, ["1.01"] = 1.005 + 1e-9, ["9007199254740991.00"] = 9007199254740991 } do
      assert.equal(text, core.fixed(value, 2))
    end
    assert.equal("2", core.fixed(2.5, 0))
    assert.equal("4", core.fixed(3.5, 0))
    assert.equal("433.62", core.shortened(433.625, 2))
  end)

  it("of what is no number are left to the writer of numbers", function()
    for _, value in ipairs { math.huge, -math.huge, 0 / 0 } do assert.is_string(core.fixed(value, 2)) end
  end)

  it("of a tariff's pictures and sentences do not change with the locale", function()
    local t = assert(tariff.new(samples.read("05-demand-charges.json")))
    for _, draw in ipairs { "text", "svg", "encode" } do
      local function call() return t[draw](t) end
      assert.equal(call(), in_locale(",", call))
    end
    local report = tariff.check(samples.read("invalid/buy-below-sell.json"))
    local function explain() return tariff.explain(report) end
    assert.equal(explain(), in_locale(",", explain))
  end)
end)
