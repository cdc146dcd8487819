-- Commands for media, navigation, software updates and other functions of the screen.

local M = {}

local function media(vehicle)
  return vehicle.sections.vehicle_state.media_info
end

-- ---- media ----

local function set_volume(vehicle, volume)
  local info = media(vehicle)
  info.audio_volume = math.max(0, math.min(volume, info.audio_volume_max))
end

-- Requires a user in the car and mobile access (doc/protocol.md#command-bodies); without mobile access the request fails earlier.
function M.adjust_volume(vehicle, params)
  if not vehicle.sections.vehicle_state.is_user_present then return "user_not_present" end
  if params.volume < 0 or params.volume > 11 then return "invalid_value" end
  set_volume(vehicle, params.volume)
end

function M.media_volume_up(vehicle)
  set_volume(vehicle, media(vehicle).audio_volume + media(vehicle).audio_volume_increment)
end

function M.media_volume_down(vehicle)
  set_volume(vehicle, media(vehicle).audio_volume - media(vehicle).audio_volume_increment)
end

function M.media_toggle_playback(vehicle)
  local info = media(vehicle)
  info.media_playback_status = info.media_playback_status == "Playing" and "Paused" or "Playing"
end

local function move(field, by)
  return function(vehicle)
    vehicle[field] = (vehicle[field] or 1) + by
    local name = field == "track" and "now_playing_title" or "now_playing_station"
    media(vehicle)[name] = ("%s %d"):format(field == "track" and "Track" or "Favourite", vehicle[field])
  end
end

M.media_next_track, M.media_prev_track = move("track", 1), move("track", -1)
M.media_next_fav, M.media_prev_fav = move("favourite", 1), move("favourite", -1)

-- ---- navigation ----

local function route(vehicle, name, latitude, longitude)
  local drive = vehicle.sections.drive_state
  drive.active_route_destination = name
  drive.active_route_latitude, drive.active_route_longitude = latitude, longitude
end

local function accepts(vehicle)
  if not vehicle.sections.vehicle_config.can_accept_navigation_requests then return "not_supported" end
end

function M.navigation_request(vehicle, params)
  local refused = accepts(vehicle)
  if refused then return refused end
  local address = type(params.value) == "table" and params.value["android.intent.extra.TEXT"]
  if type(address) ~= "string" then return "invalid_value" end
  route(vehicle, address)
end

function M.navigation_gps_request(vehicle, params)
  local refused = accepts(vehicle)
  if refused then return refused end
  route(vehicle, ("%.5f, %.5f"):format(params.lat, params.lon), params.lat, params.lon)
end

function M.navigation_sc_request(vehicle, params, context)
  local refused = accepts(vehicle)
  if refused then return refused end
  local site = context.charging_site(vehicle, params.id)
  if not site then return "invalid_value" end
  route(vehicle, site.name, site.location.lat, site.location.long)
end

function M.navigation_waypoints_request(vehicle, params)
  local refused = accepts(vehicle)
  if refused then return refused end
  if not params.waypoints:find("refId:", 1, true) then return "invalid_value" end
  route(vehicle, params.waypoints)
end

-- ---- software and the rest ----

function M.schedule_software_update(vehicle, params, context)
  local update = vehicle.sections.vehicle_state.software_update
  if update.status ~= "available" and update.status ~= "scheduled" then return "not_available" end
  update.status, vehicle.install_at = "scheduled", context.now + math.floor(params.offset_sec)
  update.scheduled_time_ms = math.floor(vehicle.install_at * 1000)
end

-- Has no effect once the installation has started (doc/protocol.md#states-and-moves).
function M.cancel_software_update(vehicle)
  local update = vehicle.sections.vehicle_state.software_update
  if update.status == "scheduled" then
    update.status, update.scheduled_time_ms, vehicle.install_at = "available", nil, nil
    return nil
  end
  return update.status == "installing" and "installing" or "not_scheduled"
end

function M.upcoming_calendar_entries(vehicle, params)
  vehicle.calendar = params.calendar_data
end

function M.take_drivenote(vehicle, params)
  vehicle.drivenote = params.note:sub(1, 80)
end

function M.set_low_power_mode(vehicle, params)
  vehicle.sections.vehicle_state.low_power_mode = params.enable
end

function M.keep_accessory_power_mode(vehicle, params)
  vehicle.sections.vehicle_state.keep_accessory_power_mode = params.enable
end


return M
