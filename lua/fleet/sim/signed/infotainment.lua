-- Actions of the infotainment computer that are not commands of the rows: data, ping, resetting a PIN. An action → (answer, or nil for the
-- plain OK; reason or nil).
local sites = require("fleet.sim.charging_sites")
local vehicle_data = require("fleet.sim.signed.vehicle_data")
local vehicles = require("fleet.sim.vehicle")

local M = {}

function M.getVehicleData(x, wanted)
  return vehicle_data.answer(x.service, x.vehicle, wanted, x.shows_place)
end

local function put_time(out, path, seconds)
  out[path .. ".seconds"] = math.floor(tonumber(seconds) or 0)
end

function M.ping(x, asked)
  local out = { ["ping.ping_id"] = asked.ping_id or 0 }
  put_time(out, "ping.local_timestamp", x.service:now())
  if asked.local_timestamp then put_time(out, "ping.last_remote_timestamp", asked.local_timestamp.seconds) end
  return x.service.core.encode_message("CarServer.Response", out)
end

-- Superchargers only: the message has no field for other chargers.
function M.getNearbyChargingSites(x, asked)
  local at = "getNearbyChargingSites."
  local out = { getNearbyChargingSites = {}, [at .. "congestion_sync_time_utc_secs"] = math.floor(x.service:now()) }
  put_time(out, at .. "timestamp", x.service:now())
  for i, site in ipairs(sites.near(x.vehicle, { count = asked.count, radius = asked.radius }).superchargers) do
    local place = ("%ssuperchargers[%d]."):format(at, i)
    for _, name in ipairs({ "id", "name", "distance_miles", "available_stalls", "total_stalls", "site_closed" }) do
      out[place .. name] = site[name]
    end
    out[place .. "location.latitude"], out[place .. "location.longitude"] = site.location.lat, site.location.long
    if asked.include_meta_data then out[place .. "amenities"], out[place .. "billing_info"] = site.amenities, site.billing_info end
  end
  return x.service.core.encode_message("CarServer.Response", out)
end

-- Vent, close and open are the command of the row; that command has no percentage.
function M.vehicleControlSunroofOpenCloseAction(x, asked)
  local state = x.vehicle.sections.vehicle_state
  local now = tonumber(vehicles.value(state.sun_roof_percent_open)) or 0
  local percent = asked.absolute_level or asked.delta_level and now + asked.delta_level
  if not percent then return x.pass end
  if percent < 0 or percent > 100 then return nil, "invalid_value" end
  local reason = x.obey("sun_roof_control", { state = percent == 0 and "close" or "open" })
  if reason then return nil, reason end
  state.sun_roof_percent_open = percent
end

return M
