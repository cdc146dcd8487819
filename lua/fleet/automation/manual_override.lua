-- The owner's hand at the cable and at the app: what the car does that no automation asked for.
--
-- A session lasts from plugging in to unplugging. Starting by itself when it is plugged in is the car's habit, not a wish;
-- a change within a session that no automation made is the owner's. It wins until the car is unplugged, or until a time that the
-- automation names.

local M = {}

local charging_words = { Charging = true, Starting = true }

function M.is_charging(charge)
  return charge ~= nil and charging_words[charge.charging_state] == true
end

function M.is_plugged(charge)
  return charge ~= nil and charge.charging_state ~= nil and charge.charging_state ~= "Disconnected"
end

local function new_session(m, charge, at)
  m.plugged, m.since, m.manual, m.was = true, at, nil, nil
  m.level, m.state = charge.battery_level, charge.charging_state
end

-- What we last did in this session, as far as it is certain.
local function asked(m, state)
  local did = state.did.charging
  if did and did.at >= m.since then return did end
end

-- A change that needs no hand: the limit was reached or moved, the power came or went.
local function natural(before, after)
  return after == "Complete" or after == "NoPower" or before == "NoPower" or before == "Complete"
end

local function read_change(m, state, charge, others)
  local did = asked(m, state)
  local newer = did and did.at >= m.at
  local expected = m.charging
  if newer then expected = did.want == "on" end
  local actual = M.is_charging(charge)
  if newer and not did.sure or others or expected == actual or natural(m.state, charge.charging_state) then return end
  m.manual = { what = actual and "start" or "stop", at = state.at.charge_state }
end

--- Reads the last live look once; others: another automation has the claim on charging. m: memory of the automation, kept
--- between steps. Afterwards m.plugged, m.manual = { what = "start"|"stop" } or nil.
function M.read(m, state, others)
  local charge, at = state.seen.charge_state, state.at.charge_state
  if not charge or not at or m.at == at then return end
  if not M.is_plugged(charge) then
    m.plugged, m.manual, m.since = false, nil, nil
  elseif not m.plugged or (charge.battery_level or 0) < (m.level or 0) - 1 then
    new_session(m, charge, at)
  else
    read_change(m, state, charge, others)
  end
  m.at, m.charging, m.level, m.state = at, M.is_charging(charge), charge.battery_level, charge.charging_state
end

--- Forgets the owner's wish: its time is over.
function M.forget(m)
  m.manual = nil
end

return M
