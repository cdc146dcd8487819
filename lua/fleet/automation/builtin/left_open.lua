-- left_open: notifies about a parked car with an open door, window or lid, or unlocked, and closes what can be closed remotely.

local battery = require "fleet.automation.charging.battery"
local local_time = require "fleet.automation.local_time"
local poll_schedule = require "fleet.automation.poll_schedule"

local M = {
  doc = "Reports what a parked car has open, closes its windows and locks it.",
  precedence = 20,
  handles = { "car" },
  needs = { vehicle_state = { "locked", "df", "dr", "pf", "pr" } },
  reads = {
    vehicle_state = {
      "locked", "is_user_present", "df", "dr", "pf", "pr", "ft", "rt", "fd_window", "fp_window", "rd_window", "rp_window",
    },
    drive_state = { "shift_state", "latitude", "longitude" },
  },
  options = {
    minutes = { type = "number", min = 1, max = 240, default = 10, doc = "minutes that the car must be parked with something open" },
    close = { type = "boolean", default = true, doc = "close windows and lock the car; false: only report" },
    look_every = { type = "number", min = 60, max = 86400, default = 900, doc = "seconds between reads of the car's record" },
  },
}

local sections = { "vehicle_state", "drive_state" }
local with_place = { "vehicle_state", "drive_state", "location_data" } -- which closing windows needs: doc/protocol.md#command-bodies

local parts = {
  { "driver's door", "df" }, { "door behind the driver", "dr" }, { "passenger's door", "pf" }, { "door behind the passenger", "pr" },
  { "front trunk", "ft" }, { "trunk", "rt" },
  { "driver's window", "fd_window", true }, { "passenger's window", "fp_window", true },
  { "window behind the driver", "rd_window", true }, { "window behind the passenger", "rp_window", true },
}

local function is_open(value)
  return value == true or type(value) == "number" and value ~= 0
end

-- What is open, and whether a window is among it.
local function open_parts(vehicle)
  local names, windows = {}, false
  for _, part in ipairs(parts) do
    if is_open(vehicle[part[2]]) then
      names[#names + 1] = part[1]
      windows = windows or part[3] == true
    end
  end
  return names, windows
end

-- "left open: trunk; the car is unlocked"; what is open comes first.
local function open_text(beginning, names, vehicle)
  local unlocked = vehicle.locked == false
  if #names == 0 then return "the car is unlocked" end
  return beginning .. table.concat(names, ", ") .. (unlocked and "; the car is unlocked" or "")
end

local function in_use(vehicle, drive)
  local gear = drive and drive.shift_state
  return vehicle.is_user_present == true or gear == "D" or gear == "R" or gear == "N"
end

-- The plain command closes windows only with a position near the car; without one the car may refuse.
local function close_actions(vehicle, windows, drive, why)
  local list = {}
  if windows then
    local effect = { fd_window = 0, fp_window = 0, rd_window = 0, rp_window = 0 }
    local params = { command = "close", lat = battery.number(drive.latitude) or 0, lon = battery.number(drive.longitude) or 0 }
    list[1] = { call = "window_control", params = params, why = why, effect = { vehicle_state = effect } }
  end
  local door = is_open(vehicle.df) or is_open(vehicle.dr) or is_open(vehicle.pf) or is_open(vehicle.pr)
  if vehicle.locked == false and not door then
    list[#list + 1] = { call = "door_lock", why = why, effect = { vehicle_state = { locked = true } } }
  end
  return list
end

-- Acts after the car was open for long enough. An opening that was closed once and is open again is left alone: a person wants it.
local function act(config, now, state, names, windows)
  local m, vehicle = state.memory, state.seen.vehicle_state
  local why = open_text("left open: ", names, vehicle)
  local decision = { why = why, again_at = math.max(state.at.info + config.look_every, now + 1) }
  decision.notices = { { key = "open " .. m.since, severity = "warning", text = why } }
  if not config.close then return decision end
  local actions = close_actions(vehicle, windows, state.seen.drive_state or {}, why)
  if #actions == 0 then
    decision.why = why .. "; only a person can close that"
    return decision
  end
  if m.closed == m.since then
    decision.why = why .. "; it was closed once already, and is left as it is"
    return decision
  end
  local look = poll_schedule.before_command(state, now)
  local may_be_sent = not poll_schedule.away(state, now) or config.wake and state.seen.info.state == "asleep"
  if look then
    decision.actions = { look }
  elseif may_be_sent then
    m.closed, decision.actions = m.since, actions
  else
    decision.why = string.format("%s; the car is %s%s", why, state.seen.info.state, config.wake and "" or ": wake = true lets it be woken")
  end
  return decision
end

function M.decide(config, now, state)
  local m, again = state.memory, math.max((state.at.info or now) + config.look_every, now + 1)
  local wanted = m.since and m.since + config.minutes * 60
  local looks = poll_schedule.due(config, now, state, config.close and wanted and with_place or sections, wanted)
  if #looks > 0 then return { actions = looks } end
  local vehicle = state.seen.vehicle_state
  if not vehicle then return { why = "nothing is known of the car yet: it is " .. state.seen.info.state, again_at = again } end
  local names, windows = open_parts(vehicle)
  local closed = #names == 0 and vehicle.locked ~= false
  if closed or in_use(vehicle, state.seen.drive_state) then
    m.since = nil
    local quiet = vehicle.locked and "everything is closed, and the car is locked" or "everything is closed"
    return { why = closed and quiet or "a person is in the car", again_at = again }
  end
  if not m.since then m.since, wanted = state.at.vehicle_state, state.at.vehicle_state + config.minutes * 60 end
  if now < wanted then
    local why = open_text("open: ", names, vehicle) .. ", for less than " .. local_time.duration(config.minutes * 60) .. " so far"
    return { why = why, again_at = math.min(again, wanted) }
  end
  return act(config, now, state, names, windows)
end

--- Eight live looks a day, a command now and then; the looks by the clock are free.
function M.month()
  return { data = 240, command = 10 }
end

return M
