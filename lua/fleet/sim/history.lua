-- Histories of a site: a day in quarter hours, a month in days, a year in months. Periods begin at midnight of the zone, so days have 23,
-- 24 or 25 hours.
-- Time that the simulator has run through is summed from its quarter hours. Earlier days are modelled from the site's initial state, so
-- that every past day has values, and the same ones each time.
local calendar = require("fleet.sim.calendar")
local energy = require("fleet.sim.energy")
local json = require("fleet.sim.json")

local M = {}

-- ---- quarter hours ----

local DAY_SLOTS = calendar.DAY / energy.SLOT

-- Models a day from the site's initial state. Returns the sums of its quarter hours, and the energy in the battery at the end.
local function model_day(site, day, stored)
  local slots = {}
  local ghost = setmetatable({ stored = stored, grid_up = true, storm = false, info = site.origin }, { __index = site })
  for at = day * calendar.DAY, (day + 1) * calendar.DAY - 1, energy.STEP do
    local number = math.floor(at / energy.SLOT)
    slots[number] = energy.add(slots[number] or {}, energy.step(ghost, at, energy.STEP, 0), energy.STEP / 3600)
  end
  return slots, ghost.stored
end

-- A modelled day starts with the battery level of the day before. That day starts with a half-full battery, which no longer matters by
-- evening.
local function modelled(site, number)
  local day = math.floor(number / DAY_SLOTS)
  if site.model_day ~= day then
    local _, stored = model_day(site, day - 1, site.capacity / 2)
    site.model_day, site.model_slots = day, model_day(site, day, stored)
  end
  return site.model_slots[number]
end

-- The simulator started within a quarter hour: the part of it before the start is modelled.
local function slot(site, number)
  local lived, born = site.slots[number], site.born / energy.SLOT
  if number * energy.SLOT >= site.updated then return nil end
  if lived and number > born - 1 and number < born then
    local sum, before = energy.add({}, lived, 1), born - number
    return energy.add(sum, modelled(site, number), before)
  end
  return lived or modelled(site, number)
end

-- A quarter hour belongs to the range in which it begins, so that adjacent ranges count nothing twice.
local function sum_of(site, from, to)
  local sum = nil
  for number = math.ceil(from / energy.SLOT), math.ceil(to / energy.SLOT) - 1 do
    local one = slot(site, number)
    if one then sum = energy.add(sum or {}, one, 1) end
  end
  return sum
end

-- The documented names (doc/protocol.md#energy-history). Each flow is rounded once, to a thousandth of a Wh, and all sums are made of
-- rounded flows. So both sides of each balance and the totals are equal.
local function shown(sum, from, offset)
  local function wh(...)
    local thousandths = 0
    for _, flow in ipairs({ ... }) do thousandths = thousandths + math.floor(sum[flow] * 1000 + 0.5) end
    return thousandths / 1000
  end
  local solar, charge, home = wh("sun_to_load", "sun_to_battery", "sun_to_grid"), wh("sun_to_battery", "grid_to_battery"),
    wh("sun_to_load", "battery_to_load", "grid_to_load")
  return {
    timestamp = calendar.text(from, offset), solar_energy_exported = solar, generator_energy_exported = 0,
    grid_energy_imported = wh("grid_to_load", "grid_to_battery"),
    grid_services_energy_imported = 0, grid_services_energy_exported = 0, grid_energy_exported_from_solar = wh("sun_to_grid"),
    grid_energy_exported_from_generator = 0, grid_energy_exported_from_battery = 0,
    battery_energy_exported = wh("battery_to_load"), battery_energy_imported_from_grid = wh("grid_to_battery"),
    battery_energy_imported_from_solar = wh("sun_to_battery"), battery_energy_imported_from_generator = 0,
    consumer_energy_imported_from_grid = wh("grid_to_load"), consumer_energy_imported_from_solar = wh("sun_to_load"),
    consumer_energy_imported_from_battery = wh("battery_to_load"), consumer_energy_imported_from_generator = 0,
    total_home_usage = home, total_solar_generation = solar, total_battery_charge = charge,
    total_battery_discharge = wh("battery_to_load"), total_grid_energy_exported = wh("sun_to_grid"),
  }
end

-- ---- periods ----

local function first_of_month(zone, at, months)
  local d = calendar.date(at + zone(at))
  local month = d.year * 12 + d.month - 1 + months
  local days = calendar.days(math.floor(month / 12), month % 12 + 1, 1)
  return calendar.midnight(days * calendar.DAY + calendar.DAY / 2 - zone(at), zone)
end

-- The end of the entry that begins at a time. How finely the service divides a period is not documented (doc/protocol.md#energy-history).
local function next_slot(_, at) return (math.floor(at / energy.SLOT) + 1) * energy.SLOT end

local function next_day(zone, at) return calendar.midnight(at, zone, 1) end

local function next_month(zone, at) return first_of_month(zone, at, 1) end

local function next_year(zone, at)
  return first_of_month(zone, at, 13 - calendar.date(at + zone(at)).month)
end

M.ENTRIES = {
  day = { ends = next_slot, seconds = energy.SLOT }, week = { ends = next_day, seconds = calendar.DAY },
  month = { ends = next_day, seconds = calendar.DAY }, year = { ends = next_month, seconds = 28 * calendar.DAY },
  lifetime = { ends = next_year, seconds = 365 * calendar.DAY },
}

-- energy(site, from, to, period, zone) → list of entries, oldest first; to is excluded.
function M.energy(site, from, to, period, zone)
  local list, at = json.list(), from
  while at < to do
    local stop = math.min(M.ENTRIES[period].ends(zone, at), to)
    local sum = sum_of(site, at, stop)
    if sum then list[#list + 1] = shown(sum, at, zone(at)) end
    at = stop
  end
  return list
end

-- backup(site, from, to, zone) → list of periods without grid.
function M.backup(site, from, to, zone)
  local list = json.list()
  for _, event in ipairs(site.backup_events) do
    if event.at >= from and event.at < to then
      list[#list + 1] = { timestamp = calendar.text(event.at, zone(event.at)), duration = event.duration }
    end
  end
  return list
end

function M.charges(site, from, to)
  local list = json.list()
  for _, charge in ipairs(site.charges) do
    if charge.from >= from and charge.from < to then
      list[#list + 1] = {
        charge_start_time = { seconds = math.floor(charge.from) },
        charge_duration = { seconds = math.floor(charge.to - charge.from) },
        energy_added_wh = math.floor(charge.wh + 0.5),
      }
    end
  end
  return list
end

return M
