-- Writes every picture that the module draws into a folder, for light and for dark pages: `make look`.
-- Converters know no preference, so a dark copy has the dark rules outside of their condition.

local core = require "fleet.core"
local chart = require "fleet.chart"
local tariff = require "fleet.tariff"

local folder = ...

local function write(name, text)
  local file = assert(io.open(folder .. "/" .. name, "wb"))
  file:write(text)
  file:close()
end

local function picture(name, text)
  write(name .. ".svg", text)
  write(name .. "-dark.svg", (string.gsub(string.gsub(text, "@media %(prefers%-color%-scheme: dark%) {", ""), "\n}\n", "\n")))
end

local cost = require("fleet.chart.cost").svg(require("spec.support.fixtures.cost_month")())
picture("cost", cost)
require("spec.support.harness.files").write("doc/manual/pictures/cost.svg", cost)

local evening = require("spec.support.fixtures.evening").statuses()[1]
local night = require("fleet.chart.night").svg(evening.plan, evening.zone)
picture("night", night)
require("spec.support.harness.files").write("doc/manual/pictures/night.svg", night)

local drive = assert(require("fleet.chart.drive").svg(require("spec.support.fixtures.streamed_drive")()))
picture("drive", drive)
require("spec.support.harness.files").write("doc/manual/pictures/drive.svg", drive)

for _, name in ipairs { "01-flat-all", "02-two-season-tou", "03-four-season-weekday-weekend", "04-solar-export-sell-tariff",
  "05-demand-charges", "06-as-read-back-zero-fields-omitted" } do
  local file = assert(io.open("spec/vectors/tariffs/" .. name .. ".json", "rb"))
  picture("tariff-" .. name, assert(tariff.new(assert(core.json_decode(file:read("a"))))):svg())
  file:close()
end

local prices = {}
for i = 1, 336 do
  prices[i] = math.floor((0.22 + 0.12 * math.sin((i % 48 - 22) / 48 * 4 * math.pi) + 0.04 * math.sin(i / 20)) * 1e4) / 1e4
end
picture("tariff-half-hours", assert(tariff.from_rows { currency = "GBP", name = "Half hours", prices = prices }):svg())
picture("tariff-four-labels", assert(tariff.from_rows { currency = "GBP", name = "Four labels", prices = prices, labels = 4 }):svg())

-- A summer day in quarter hours of which an hour and a half did not arrive.
local function quarter_hour(i)
  local hour = i / 4
  local sun = hour > 6 and hour < 20 and math.sin((hour - 6) / 14 * math.pi) * 350 or 0
  local home = 75 + 60 * math.sin(hour) ^ 2 + (hour > 18 and hour < 22 and 175 or 0)
  local used, stored = math.min(sun, home), math.max(0, math.min(sun - home, 200))
  local battery = hour > 19 and math.min(home - used, home * 0.7) or 0
  return {
    solar_energy_exported = sun, battery_energy_exported = battery, grid_energy_imported = home - used - battery,
    consumer_energy_imported_from_solar = used, consumer_energy_imported_from_battery = battery,
    consumer_energy_imported_from_grid = home - used - battery, battery_energy_imported_from_solar = stored,
    grid_energy_exported_from_solar = math.max(0, sun - used - stored),
  }
end

local series, midnight = {}, core.time("2026-06-20T00:00:00+02:00")
for i = 0, 95 do
  if i < 50 or i > 55 then
    local item = quarter_hour(i)
    item.timestamp = core.time_text(midnight + i * 900, 7200)
    series[#series + 1] = item
  end
end
picture("chart-day", assert(chart.svg { time_series = series }))
