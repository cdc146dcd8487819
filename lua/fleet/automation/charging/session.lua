-- A stay at the plug, as an automation that charges reads it: whose wish it is that the car charges or does not.

local actions = require "fleet.automation.charging.actions"
local battery = require "fleet.automation.charging.battery"
local local_time = require "fleet.automation.local_time"
local manual_override = require "fleet.automation.manual_override"
local stays = require "fleet.automation.charging.stays"

local M = {}

local words = { start = "started", stop = "stopped" }

--- Whether another automation has the claim on charging.
function M.others_charge(config, now, state)
  local claim = (state.claims or {}).charging
  return claim ~= nil and claim.by ~= config.name and claim.ends > now
end

-- Records a stay that was just detected.
local function learn(config, state, m, before, arrival)
  if not m.plugged or m.since == before.since and before.plugged then return end
  local charge, at = state.seen.charge_state, state.at.charge_state
  stays.note(config, state.memory, charge, at, before.at, battery.rate(config, state.memory, charge, at), arrival)
end

--- Reads the last live look. expected: what the car does now is by our own doing. arrival: see stays.note.
function M.read(config, now, state, deadline, expected, arrival)
  local m = state.memory.session or {}
  state.memory.session = m
  if m.manual and m.manual.ends and now >= m.manual.ends then manual_override.forget(m) end
  local before = { plugged = m.plugged, since = m.since, at = m.at }
  manual_override.read(m, state, expected or M.others_charge(config, now, state))
  if state.seen.charge_state and state.at.charge_state then learn(config, state, m, before, arrival) end
  if m.manual and not m.manual.ends then m.manual.ends = deadline end
  return m
end

--- What a person should know of the cable.
function M.notices(config, state, m, deadline)
  if not m.plugged or state.seen.charge_state.charging_state ~= "NoPower" then return nil end
  return { {
    key = "no power " .. local_time.date(config.local_zone, deadline), severity = "warning", text = "the cable has no power",
  } }
end

--- Why nothing is planned, or nil.
function M.obstacle(config, state, m)
  local charge = state.seen.charge_state
  if not charge then
    local info = state.seen.info
    return "nothing is known of the battery yet: the car is " .. (info and info.state or "not yet seen")
  end
  if not m.plugged then return "the car is not plugged in" end
  if m.manual then
    return string.format("the owner %s charging by hand at %s; that is left alone until the car is unplugged, or until %s",
      words[m.manual.what], actions.at_text(config, m.manual.at), actions.at_text(config, m.manual.ends))
  end
  if charge.charging_state == "NoPower" then return "the cable has no power" end
end

return M
