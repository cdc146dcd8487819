-- Whether the key is on a vehicle, and what the owner must do when it is not (doc/protocol.md#pairing).

local findings = require "fleet.registration.findings"
local tables = require "fleet.util.tables"

local good, bad = findings.good, findings.bad

local M = {}

local most_keys = 20 -- per vehicle

--- The state of one vehicle in a fleet_status reply: "paired", "unpaired" or nil; and its record.
function M.paired(vin, status)
  local info = type(status.vehicle_info) == "table" and status.vehicle_info[vin]
  if type(info) ~= "table" then info = {} end
  if tables.set(status.key_paired_vins)[vin] then return "paired", info end
  if tables.set(status.unpaired_vins)[vin] then return "unpaired", info end
  return nil, info
end

local pairing_scopes = { "vehicle_device_data", "vehicle_cmds", "vehicle_location" }

-- The pairing link has no effect until one of these scopes is granted; the granted ones are not always known.
local function may_pair(granted)
  local set = tables.set(granted)
  for _, scope in ipairs(pairing_scopes) do
    if set[scope] then return true end
  end
  return next(set) == nil
end

local function unpaired_fix(info, facts)
  if not may_pair(facts.scopes) then
    return "the owner must first grant one of " .. table.concat(pairing_scopes, ", ") .. ", then open the pairing link"
  end
  if (tonumber(info.total_number_of_keys) or 0) >= most_keys then
    return string.format("remove a key in the vehicle first: it holds %d, and no more fit", most_keys)
  end
  return "the owner opens " .. (facts.link or "the pairing link") .. " on the phone with the Tesla app, beside the vehicle"
end

-- The service compares with the registered key: it calls the vehicle paired while the vehicle does not know our key.
local function wrong_key(lines)
  for _, line in ipairs(lines) do
    if line.cause == "wrong_key" or line.cause == "no_key" then return line end
  end
end

--- The line of one vehicle. status: of fleet_status; lines: the findings about the key; facts: scopes = granted (list), link = the pairing
--- address. A vehicle that accepts plain commands needs no key.
function M.line(vin, status, lines, facts)
  local name, state, info = "pairing " .. vin, M.paired(vin, status)
  if state ~= "paired" and info.vehicle_command_protocol_required == false then
    return good(name, "takes plain commands: no key needed")
  end
  if state == "unpaired" then return bad(name, "not_accepted", "the key is not on this vehicle", unpaired_fix(info, facts)) end
  if not state then return { name = name, message = "the service does not say whether the key is on this vehicle" } end
  local wrong = wrong_key(lines)
  if wrong then return bad(name, wrong.cause, "the registered key is on this vehicle, but the key here is not it", wrong.fix) end
  return good(name, "the key is on this vehicle")
end

return M
