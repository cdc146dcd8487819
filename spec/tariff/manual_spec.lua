-- The examples run, and the manual shows what they say.

local core = require "fleet.core"
local tariff = require "fleet.tariff"

local slurp = require("spec.support.harness.files").read

-- What an example prints, and the globals it would have set.
local function run(path)
  local out, set = {}, {}
  local world = setmetatable({ print = function(...) out[#out + 1] = table.concat({ ... }, "\t") .. "\n" end },
    { __index = _G, __newindex = function(_, name) set[#set + 1] = name end })
  assert(load(slurp(path), "@" .. path, "t", world))()
  return table.concat(out), set
end

describe("the page on tariffs", function()
  local page = slurp("doc/manual/tariffs.md")

  for _, name in ipairs { "tariff_check", "tariff_prices", "tariff_spot" } do
    it("names examples/" .. name .. ".lua, which runs and sets no globals", function()
      local out, set = run("examples/" .. name .. ".lua")
      assert.is_true(#out > 0)
      assert.same({}, set)
      assert.is_truthy(string.find(page, "examples/" .. name .. ".lua", 1, true))
    end)
  end

  it("quotes the message of the mistake as it is", function()
    local out = run("examples/tariff_check.lua")
    for line in string.gmatch(out, "[^\n]*problem: [^\n]+") do assert.is_truthy(string.find(page, line, 1, true)) end
    assert.is_truthy(string.find(out, "problem: ", 1, true))
    assert.is_truthy(string.find(page, string.match(out, "warning: [^\n]+"), 1, true))
  end)

  it("links to a page that names every kind of finding", function()
    assert.matches("](tariff-check.md)", page, 1, true)
    local findings = slurp("doc/manual/tariff-check.md")
    for _, kind in ipairs(core.tariff_kinds()) do
      assert.is_truthy(string.find(findings, "| " .. kind.name .. " |", 1, true), kind.name)
    end
  end)

  it("names every method of a tariff", function()
    local t = assert(tariff.flat { price = 1, currency = "EUR" })
    for name in pairs(getmetatable(t).__index) do assert.is_truthy(string.find(page, "t:" .. name, 1, true), name) end
  end)

  it("shows the picture of the mended plan as it is drawn today", function()
    local made
    local new = tariff.new
    tariff.new = function(...)
      made = new(...)
      return made
    end
    run("examples/tariff_check.lua")
    tariff.new = new
    assert.is_true(slurp("doc/manual/pictures/two-seasons.svg") == made:svg(), "draw doc/manual/pictures/two-seasons.svg again")
  end)
end)
