-- What a rehearsal measures: energy, its source, its cost, and whether the car was ready.

local clock = require "fleet.sim.rehearsal.clock"
local physics = require "fleet.sim.physics"

local M = {}

local function share_of_sun(stage, at, watts, seconds)
  if not stage.site or watts <= 0 then return 0 end
  local energy = require "fleet.sim.energy"
  local flows = energy.flows(stage.site, at, watts, seconds)
  local house = energy.house(stage.site, at)
  return math.max(0, math.min(watts, flows.sun_to_load - math.min(house, flows.sun_to_load))) / watts
end

-- The price at a time and its currency: of the tariff that was given, else of the site's tariff.
local function price_at(stage, at)
  local tariff = stage.tariff
  if type(tariff) == "function" then tariff = tariff(at) end
  if tariff then return tariff:price(math.floor(at)).buy.price, tariff.currency end
  local own = stage.site and stage.site.info.tariff_content_v2
  if not own then return nil end
  return require("fleet.sim.tariff").price(own, at + stage.zone:offset(math.floor(at))), own.currency
end

-- The openings of the car that are open or unlocked, as one text; nil when there are none.
local openings = {
  { "window", { "fd_window", "fp_window", "rd_window", "rp_window" } }, { "door", { "df", "dr", "pf", "pr" } }, { "front trunk", { "ft" } },
  { "trunk", { "rt" } },
}

local function open_now(stage)
  local state, names = stage.car.sections.vehicle_state, {}
  for _, group in ipairs(openings) do
    local open = false
    for _, field in ipairs(group[2]) do open = open or (tonumber(state[field]) or 0) ~= 0 end
    if open then names[#names + 1] = group[1] end
  end
  return names[1] and table.concat(names, ", ") or nil
end

local function battery_level(stage)
  local site = stage.site
  return site and site.capacity and site.capacity > 0 and site.stored and site.stored / site.capacity * 100 or nil
end

-- Sets the car's offset to that of the rehearsal's zone. The car is first advanced to one second before, so that nothing starts in an hour
-- that a clock change skips.
local function set_clock(stage, at)
  local config, offset = stage.car.sections.vehicle_config, stage.zone:offset(math.floor(at))
  if config.utc_offset == offset then return end
  physics.advance(stage.car, at - 1)
  config.utc_offset = offset
end

--- What was charged since the last sample: from the sun as far as the house leaves a surplus, the rest is bought.
function M.energy(stage)
  local at = clock.now()
  set_clock(stage, at)
  stage.service:catch_up()
  local kwh = (stage.car.charged_kwh or 0) - stage.charged
  stage.charged = stage.car.charged_kwh or 0
  local seconds = at - stage.measured
  if seconds > 0 then
    local sun = share_of_sun(stage, stage.measured, kwh * 3.6e6 / seconds, seconds)
    local price, currency = price_at(stage, stage.measured)
    stage.kwh, stage.sun_kwh = stage.kwh + kwh, stage.sun_kwh + kwh * sun
    if price then stage.price, stage.currency = (stage.price or 0) + kwh * (1 - sun) * price, currency end
    local charge = stage.car.sections.charge_state
    stage.samples[#stage.samples + 1] = {
      at = stage.measured, to = at, kwh = kwh, sun = sun, level = stage.car.energy_percent, price = price,
      plugged = charge.charging_state ~= "Disconnected", limit = charge.charge_limit_soc,
      battery = battery_level(stage), open = open_now(stage),
    }
  end
  stage.measured = at
end

--- Whether the car does not charge now, and will not start by itself within so many seconds. A command that arrives in between is measured
--- before it takes effect.
function M.is_idle(stage, seconds)
  local charging = stage.car.sections.charge_state.charging_state
  if charging == "Charging" or charging == "Starting" then return false end
  return require("fleet.sim.schedules").next_at(stage.car, stage.measured) > stage.measured + seconds
end

--- Records the level at the time at which the car should be ready.
function M.ready(stage)
  stage.ready[#stage.ready + 1] = { at = clock.now(), level = stage.car.energy_percent, plugged = stage.car:cable() ~= nil }
end

return M
