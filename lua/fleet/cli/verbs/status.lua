-- fleet status: the account's cars and energy sites on one screen, or one of them.

local prices = require "fleet.budget.prices"
local show = require "fleet.cli.show"
local usage_error = require "fleet.cli.usage_error"
local vehicles = require "fleet.cli.vehicles"

local free = { type = "boolean", name = "free", doc = "read no car: show only the free list of products" }

-- A member of a reply if it has the expected type; else nil, which means unknown.
local function member(object, name, wanted)
  if type(object) ~= "table" or type(object[name]) ~= wanted then return nil end
  return object[name]
end

local sections = { "charge_state", "climate_state", "vehicle_state" }

local function car_of(context, record, looks)
  local car = { vin = record.vin, name = member(record, "display_name", "string"), state = member(record, "state", "string") }
  if car.state ~= "online" or not looks then return car end
  local data, err = context:client():vehicle(record.vin):vehicle_data { endpoints = sections }
  if err then
    car.problem = err.message
    return car
  end
  local charge, climate, vehicle = data.charge_state, data.climate_state, data.vehicle_state
  car.battery_level = member(charge, "battery_level", "number")
  car.charge_limit_soc = member(charge, "charge_limit_soc", "number")
  car.charging_state = member(charge, "charging_state", "string")
  car.minutes_to_full_charge = member(charge, "minutes_to_full_charge", "number")
  car.inside_temp = member(climate, "inside_temp", "number")
  car.locked = member(vehicle, "locked", "boolean")
  return car
end

local function site_of(context, id, record)
  local site = { energy_site_id = id, name = member(record, "site_name", "string") }
  local live, err = context:client():energy_site(id):live_status()
  if err then
    site.problem = err.message
    return site
  end
  site.percentage_charged = member(live, "percentage_charged", "number")
  for _, name in ipairs { "solar_power", "battery_power", "grid_power", "load_power" } do site[name] = member(live, name, "number") end
  site.island_status = member(live, "island_status", "string")
  return site
end

local function run(context, line)
  if line.pairs[1] then usage_error.raise(string.format("'status' takes no '%s='", line.pairs[1].name), { "status" }) end
  if line.words[2] then usage_error.raise("'status' takes one car or energy site, or none for all", { "status" }) end
  local cars, sites, kind = vehicles.cars_and_sites(context, line.words[1])
  if not cars then return nil, sites, kind end
  local looks = line.options.free == nil
  local found = { vehicles = setmetatable({}, { __jsontype = "array" }), sites = setmetatable({}, { __jsontype = "array" }) }
  for i, record in ipairs(cars) do found.vehicles[i] = context:waiting("asking the car", car_of, context, record, looks) end
  for i, site in ipairs(sites) do found.sites[i] = context:waiting("asking the energy site", site_of, context, site.id, site.record) end
  return found
end

-- ---- for a person ----

-- Joins the known parts with commas.
local function sentence(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[#parts + 1] = select(i, ...) or nil end
  return show.clean(table.concat(parts, ", "))
end

local function charging(car)
  if not car.charging_state then return false end
  if car.charging_state ~= "Charging" then return "charging: " .. string.lower(car.charging_state) end
  local left = car.minutes_to_full_charge
  return "charging" .. (car.charge_limit_soc and string.format(" to %.0f %%", car.charge_limit_soc) or "")
    .. (left and left > 0 and string.format(", %d:%02d h left", math.floor(left / 60), left % 60) or "")
end

local function of_car(car)
  if car.problem then return car.problem end
  local lock = car.locked
  return sentence(car.battery_level and string.format("%.0f %%", car.battery_level), charging(car),
    lock ~= nil and (lock and "locked" or "unlocked"), car.inside_temp and string.format("%.1f °C inside", car.inside_temp))
end

local function power(name, watts, positive, negative)
  if not watts then return false end
  local way = watts >= 50 and positive or watts <= -50 and negative or nil
  return string.format("%s %.1f kW%s", name, math.abs(watts) / 1000, way and " " .. way or "")
end

local function of_site(site)
  if site.problem then return site.problem end
  local off = site.island_status and string.find(site.island_status, "off_grid", 1, true)
  return sentence(site.percentage_charged and string.format("battery %.0f %%", site.percentage_charged), off and "off the grid",
    power("solar", site.solar_power), power("home", site.load_power), power("battery", site.battery_power, "out", "in"),
    power("grid", site.grid_power, "bought", "sold"))
end

local function write_lines(out, lines)
  local widths = { 0, 0 }
  for _, cells in ipairs(lines) do
    for i = 1, 2 do widths[i] = math.max(widths[i], show.width(cells[i])) end
  end
  for _, cells in ipairs(lines) do
    local first = {}
    for i = 1, 2 do first[i] = cells[i] .. string.rep(" ", widths[i] - show.width(cells[i])) end
    out:write((string.gsub(table.concat({ first[1], first[2], cells[3] }, "  "), " +$", "")), "\n")
  end
end

local function print_status(out, found)
  local lines = {}
  for _, car in ipairs(found.vehicles) do
    lines[#lines + 1] = { show.clean(car.name or "…" .. string.sub(car.vin, -6)), show.clean(car.state or "state unknown"), of_car(car) }
  end
  for _, site in ipairs(found.sites) do
    lines[#lines + 1] = { show.clean(site.name or site.energy_site_id), "site", of_site(site) }
  end
  if not lines[1] then return out:write("the account has no car and no energy site\n") end
  write_lines(out, lines)
end

return {
  {
    name = "status", usage = "status [CAR | SITE]", takes = { free }, run = run, show = print_status,
    doc = "Shows all cars and energy sites in one screen, or only the named one. Each car that is awake is read, for "
      .. prices.text(prices.published.data) .. "; no car is woken.",
    details = "A value that a car or site does not report is left out. With --free no car is read; sites and the list are free.",
  },
}
