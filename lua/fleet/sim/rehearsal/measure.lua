-- What a rehearsal notes as it goes: energy, where it came from, what it cost, and whether the car was ready.

local clock = require "fleet.sim.rehearsal.clock"

local M = {}

local function share_of_sun(world, at, watts, seconds)
  if not world.site or watts <= 0 then return 0 end
  local energy = require "fleet.sim.energy"
  local flows = energy.flows(world.site, at, watts, seconds)
  local house = energy.house(world.site, at)
  return math.max(0, math.min(watts, flows.sun_to_load - math.min(house, flows.sun_to_load))) / watts
end

-- The price of a moment: of the tariff that was given, else of the one that the site has.
local function price_at(world, at)
  local tariff = world.tariff
  if type(tariff) == "function" then tariff = tariff(at) end
  if tariff then return tariff:price(math.floor(at)).buy.price end
  local own = world.site and world.site.info.tariff_content_v2
  return own and require("fleet.sim.tariff").price(own, at + world.zone:offset(math.floor(at))) or nil
end

--- What was charged since the last look: by the sun as far as the house left some of it, the rest is bought.
function M.energy(world)
  local at = clock.now()
  world.service:catch_up()
  world.car.sections.vehicle_config.utc_offset = world.zone:offset(math.floor(at)) -- the car's clock follows the place
  local kwh = (world.car.charged_kwh or 0) - world.charged
  world.charged = world.car.charged_kwh or 0
  local seconds = at - world.measured
  if seconds > 0 then
    local sun = share_of_sun(world, world.measured, kwh * 3.6e6 / seconds, seconds)
    local price = price_at(world, world.measured)
    world.kwh, world.sun_kwh = world.kwh + kwh, world.sun_kwh + kwh * sun
    world.price = world.price + kwh * (1 - sun) * (price or 0)
    local charge = world.car.sections.charge_state
    world.samples[#world.samples + 1] = {
      at = world.measured, to = at, kwh = kwh, sun = sun, level = world.car.energy_percent, price = price,
      plugged = charge.charging_state ~= "Disconnected", limit = charge.charge_limit_soc,
    }
  end
  world.measured = at
end

--- Notes the level at the moment by which the car should be ready.
function M.ready(world)
  world.ready[#world.ready + 1] = { at = clock.now(), level = world.car.energy_percent, plugged = world.car:cable() ~= nil }
end

return M
