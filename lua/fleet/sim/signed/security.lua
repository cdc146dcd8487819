-- Actions of the security computer that are not commands of the rows: single closures, its status, its keys. An action → (answer, or nil
-- for the plain OK; reason or nil).
local key_list = require("fleet.sim.signed.key_list")
local vehicles = require("fleet.sim.vehicle")

local M = {}

local value = vehicles.value

local function state(x)
  return x.vehicle.sections.vehicle_state
end

-- ---- closures ----

-- Lids that a command of the rows opens: closure → kind of move → command and its parameters.
local FRONT, REAR = { "actuate_trunk", { which_trunk = "front" } }, { "actuate_trunk", { which_trunk = "rear" } }
local OPEN_FRONT, CLOSE_FRONT = { "open_trunk", { which_trunk = "front" } }, { "close_trunk", { which_trunk = "front" } }
local OPEN_REAR, CLOSE_REAR = { "open_trunk", { which_trunk = "rear" } }, { "close_trunk", { which_trunk = "rear" } }
local TONNEAU_OPEN, TONNEAU_CLOSE = { "open_tonneau", {} }, { "close_tonneau", {} }
local BY_COMMAND = {
  frontTrunk = { MOVE = FRONT, OPEN = OPEN_FRONT, CLOSE = CLOSE_FRONT },
  rearTrunk = { MOVE = REAR, OPEN = OPEN_REAR, CLOSE = CLOSE_REAR },
  chargePort = { OPEN = { "charge_port_door_open", {} }, CLOSE = { "charge_port_door_close", {} } },
  tonneau = { OPEN = TONNEAU_OPEN, CLOSE = TONNEAU_CLOSE, STOP = { "stop_tonneau", {} } },
}

local toggled = {}

function toggled.chargePort(x)
  return x.vehicle.sections.charge_state.charge_port_door_open and BY_COMMAND.chargePort.CLOSE or BY_COMMAND.chargePort.OPEN
end

function toggled.tonneau(x)
  return state(x).tonneau_state == "open" and TONNEAU_CLOSE or TONNEAU_OPEN
end

local function move_one(x, closure, move)
  local commands = BY_COMMAND[closure]
  local command = commands and commands[move] or (move == "MOVE" and toggled[closure] and toggled[closure](x))
  if command then return x.obey(command[1], command[2]) end
  if closure == "rearTrunk" and move == "STOP" then return nil end
  return "not_supported" -- doors can only be opened by hand
end

local CLOSURES = {
  "frontDriverDoor", "frontPassengerDoor", "rearDriverDoor", "rearPassengerDoor", "rearTrunk", "frontTrunk", "chargePort", "tonneau",
}

function M.closureMoveRequest(x, asked)
  for _, closure in ipairs(CLOSURES) do
    local move = asked[closure] and tostring(asked[closure]):match("^CLOSURE_MOVE_TYPE_(%u+)$")
    if asked[closure] and not move then return nil, "invalid_value" end
    local reason = move and move ~= "NONE" and move_one(x, closure, move)
    if reason then return nil, reason end
  end
end

-- ---- keyless actions without a row ----

local keyless = {}

function keyless.RKE_ACTION_AUTO_SECURE_VEHICLE(x)
  if not x.vehicle:parked() then return "not_parked" end
  return x.obey("door_lock", {})
end

function keyless.RKE_ACTION_WAKE_VEHICLE() end -- a vehicle that receives the message is awake

function M.RKEAction(x, action)
  if not keyless[action] then return x.pass end
  return nil, keyless[action](x)
end

-- ---- status ----

local STATUS = { frontDriverDoor = "df", frontPassengerDoor = "pf", rearDriverDoor = "dr", rearPassengerDoor = "pr", rearTrunk = "rt",
  frontTrunk = "ft" }
local STATES = { closed = 0, open = 1, ajar = 2, opening = 5, closing = 6 }

local function status(x)
  local s, out = state(x), { ["vehicleStatus.closureStatuses"] = {} }
  for closure, field in pairs(STATUS) do
    out["vehicleStatus.closureStatuses." .. closure] = (value(s[field]) or 0) ~= 0 and 1 or 0
  end
  out["vehicleStatus.closureStatuses.chargePort"] = x.vehicle.sections.charge_state.charge_port_door_open and 1 or 0
  out["vehicleStatus.closureStatuses.tonneau"] = STATES[value(s.tonneau_state)] or 0
  out["vehicleStatus.vehicleLockState"] = s.locked and 1 or 0
  out["vehicleStatus.vehicleSleepStatus"] = "VEHICLE_SLEEP_STATUS_AWAKE"
  out["vehicleStatus.userPresence"] = s.is_user_present and "VEHICLE_USER_PRESENCE_PRESENT" or "VEHICLE_USER_PRESENCE_NOT_PRESENT"
  if value(s.tonneau_percent_open) then out["vehicleStatus.detailedClosureStatus.tonneauPercentOpen"] = s.tonneau_percent_open end
  return x.service.core.encode_message("VCSEC.FromVCSECMessage", out)
end

-- ---- requests without a signature ----

function M.InformationRequest(x, asked)
  local kind = asked.informationRequestType
  if kind == "INFORMATION_REQUEST_TYPE_GET_WHITELIST_INFO" then return key_list.summary(x) end
  if kind == "INFORMATION_REQUEST_TYPE_GET_WHITELIST_ENTRY_INFO" then return key_list.entry(x, asked) end
  if kind == nil or kind == "INFORMATION_REQUEST_TYPE_GET_STATUS" then return status(x) end
  return nil, "not_supported"
end

M.WhitelistOperation = key_list.change

return M
