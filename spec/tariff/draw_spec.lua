-- Tariffs drawn for the terminal and for pages. `make look` shows the pictures to the eye.

local tariff = require "fleet.tariff"
local samples = require "spec.support.fixtures.tariff_samples"

local valid = { "01-flat-all.json", "02-two-season-tou.json", "03-four-season-weekday-weekend.json",
  "04-solar-export-sell-tariff.json", "05-demand-charges.json", "06-as-read-back-zero-fields-omitted.json" }

local function object(name, change)
  local t = samples.read(name)
  if change then change(t) end
  return assert(tariff.new(t))
end

-- Characters of UTF-8 text.
local function length(text)
  return select(2, string.gsub(text, "[^\128-\191]", ""))
end

local function count(text, pattern)
  return select(2, string.gsub(text, pattern, ""))
end

-- Every element is closed in order; returns how many there are.
local function well_formed(text)
  local open, seen = {}, 0
  for slash, name, rest in string.gmatch(text, "<(/?)(%a+)([^<>]*)>") do
    if slash == "/" then
      assert.equal(name, table.remove(open))
    else
      seen = seen + 1
      if string.sub(rest, -1) ~= "/" then open[#open + 1] = name end
    end
  end
  assert.equal(0, #open)
  return seen
end

describe("text", function()
  it("draws the two-season plan", function()
    assert.equal([[
Two season time of use · Harbor Electric · USD per kWh

Summer, 1 Jun to 30 Sep, buying
          00    03    06    09    12    15    18    21    24
  Mon-Sun ······························▒▒██████████▒▒▒▒▒▒
  ██     0.512  ON_PEAK
  ▒▒     0.401  PARTIAL_PEAK
  ··     0.268  OFF_PEAK

Winter, 1 Oct to 31 May, buying
          00    03    06    09    12    15    18    21    24
  Mon-Sun ································██████████······
  ██     0.387  ON_PEAK
  ··     0.259  OFF_PEAK
]], object("02-two-season-tou.json"):text())
  end)

  it("draws the same in ASCII", function()
    local text = object("02-two-season-tou.json"):text { ascii = true }
    assert.is_nil(string.find(text, "[\128-\255]"))
    assert.matches("Mon-Sun ..............................++##########++++++", text, 1, true)
  end)

  it("gives every row its 48 half hours and shows demand prices", function()
    for _, name in ipairs(valid) do
      for line in string.gmatch(object(name):text(), "[^\n]+") do
        if string.find(line, "^  %a%a%a[ %-]") then assert.equal(10 + 48, length(line)) end
      end
    end
    assert.matches("demand 14.25 per kW", object("05-demand-charges.json"):text(), 1, true)
  end)

  it("has colours only when asked", function()
    assert.is_nil(string.find(object("02-two-season-tou.json"):text(), "\27", 1, true))
    local text = object("02-two-season-tou.json"):text { color = true }
    assert.equal(count(text, "\27%[38;5;%d+m"), count(text, "\27%[0m"))
  end)

  it("sums up many labels", function()
    local prices = {}
    for i = 1, 48 do prices[i] = i / 100 end
    local text = assert(tariff.from_rows { currency = "EUR", prices = prices }):text()
    assert.is_true(count(text, "\n") < 12)
    assert.matches("0.48  to 0.43, 6 labels", text, 1, true)
  end)

  it("refuses unknown options", function()
    assert.has_error(function() object("01-flat-all.json"):text { colour = true } end)
  end)
end)

describe("svg", function()
  for _, name in ipairs(valid) do
    it(name .. " is well formed, has all prices, and colours for light and dark", function()
      local t = object(name)
      local text = t:svg()
      assert.is_true(well_formed(text) > 20)
      assert.matches("prefers-color-scheme: dark", text, 1, true)
      for _, block in pairs(t.energy_charges) do
        for _, price in pairs(block.rates) do
          if price ~= 0 then assert.is_truthy(string.find(text, string.match(tostring(price), "^%d%.%d%d?"), 1, true)) end
        end
      end
    end)
  end

  it("covers every hour of every season", function()
    local _, cells = string.gsub(object("03-four-season-weekday-weekend.json"):svg(), 'class="cell ', "")
    assert.equal(4 * (4 + 2), cells)
  end)

  it("escapes what the tariff says", function()
    local text = object("02-two-season-tou.json", function(t)
      t.name = "<script>alert(1)</script> & \"so\"\1"
      t.seasons["<b>"], t.seasons.Summer = t.seasons.Summer, nil
      t.energy_charges["<b>"], t.energy_charges.Summer = t.energy_charges.Summer, nil
    end):svg()
    well_formed(text)
    assert.is_nil(string.find(text, "<script>", 1, true))
    assert.is_nil(string.find(text, "\1", 1, true))
    assert.matches("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;so&quot;", text, 1, true)
  end)

  it("takes a width and a title, and refuses others", function()
    assert.matches('width="1200"', object("01-flat-all.json"):svg { width = 1200, title = "Mine" }, 1, true)
    for _, width in ipairs { 10, "wide", 0 / 0, 1 / 0 } do
      assert.has_error(function() object("01-flat-all.json"):svg { width = width } end)
    end
  end)
end)
