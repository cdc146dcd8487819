-- The data of the garage page: vehicles, energy flow, today's prices and the newest calls. No tokens, keys or PINs.
local calendar = require("fleet.sim.calendar")
local energy = require("fleet.sim.energy")
local json = require("fleet.sim.json")
local physics = require("fleet.sim.physics")
local tariff = require("fleet.sim.tariff")

local M = {}

local function vehicle(v)
  local charge, climate, state = v.sections.charge_state, v.sections.climate_state, v.sections.vehicle_state
  return {
    name = v.record.display_name, vin = v.vin, state = v.record.state, waking = v.wake_at ~= nil,
    battery = charge.battery_level, limit = charge.charge_limit_soc, charging = charge.charging_state,
    kw = physics.charging_kw(v), minutes = charge.minutes_to_full_charge, cable = v:cable() ~= nil,
    climate = climate.is_climate_on, inside = climate.inside_temp, target = climate.driver_temp_setting, locked = state.locked,
    trunk = state.rt ~= 0, frunk = state.ft ~= 0, windows = state.fd_window ~= 0, sentry = state.sentry_mode,
    valet = state.valet_mode, port = charge.charge_port_door_open, driving = not v:parked(), plain = not v:requires_protocol(),
  }
end

-- One price per hour of the site's day; an hour without a price is null.
local function prices(site, now)
  local content = site.info.tariff_content_v2
  if type(content) ~= "table" or content == json.null then return nil end
  local offset = energy.offset(site, now)
  local midnight = math.floor((now + offset) / calendar.DAY) * calendar.DAY
  local list = json.list()
  for hour = 0, 23 do
    local price, _, label = tariff.price(content, midnight + hour * 3600)
    list[hour + 1] = price and { price = price, label = label ~= "" and label or "ALL" } or json.null
  end
  return list, content.currency
end

local function charging_watts(service, site)
  local watts = 0
  for _, v in ipairs(service.vehicles) do
    if v.owner == site.owner then watts = watts + physics.charging_kw(v) * 1000 end
  end
  return watts
end

local function one_site(service, site, now)
  local f = energy.present(site, charging_watts(service, site))
  local list, currency = prices(site, now)
  return {
    name = site.info.site_name, sun = f.sun, load = f.load, grid = f.grid_to_load + f.grid_to_battery - f.sun_to_grid,
    battery = f.battery_to_load - f.sun_to_battery - f.grid_to_battery, percent = site.stored / site.capacity * 100,
    has_battery = energy.has_battery(site), reserve = site.info.backup_reserve_percent, mode = site.info.default_real_mode,
    grid_up = site.grid_up, storm = site.storm, prices = list, currency = currency, hour = math.floor(energy.local_hour(site, now)),
  }
end

-- make(service) → a table for json.encode.
function M.make(service)
  service:catch_up()
  local now = service:now()
  local out = {
    now = calendar.text(now), speed = service.clock.speed, vehicles = json.list(), sites = json.list(), calls = json.list(),
    usd = service.billing:state().usd,
  }
  for _, v in ipairs(service.vehicles) do
    if #out.vehicles < 60 then out.vehicles[#out.vehicles + 1] = vehicle(v) end
  end
  for _, site in ipairs(service.sites) do out.sites[#out.sites + 1] = one_site(service, site, now) end
  local calls = service.log and service.log:newest() or {}
  for i = #calls, 1, -1 do
    local call = calls[i]
    out.calls[#out.calls + 1] = {
      time = calendar.text(call.time), method = call.method, path = call.path, status = call.status, vin = call.vin,
      billing = call.billing, signed = call.signed and call.signed.accepted,
    }
  end
  return out
end

return M
