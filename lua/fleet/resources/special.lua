-- Methods that do more than one request, or bring replies of several published shapes into one.
--
-- A row's method is its request and reply as they are; a row named here gets the function in its place. `plain` makes the
-- row's ordinary call.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local members = require "fleet.util.tables"
local check_options = require "fleet.util.check_options"
local tasks = require "fleet.async.task"
local telemetry_config = require "fleet.resources.telemetry"
local waking = require "fleet.resources.wake"
local download = require "fleet.call.download"
local firmware = require "fleet.call.vehicle_status_cache"
local histories = require "fleet.energy.histories"
local settling = require "fleet.confirm"
local signed_data = require "fleet.signing.vehicle_data"
local all_rows = require "fleet.call.rows"

local rows = {} -- row name -> function(plain, handle, ...)
local M = { rows = rows, methods = { vehicle = {}, site = {}, partner = {} } }

local advice = {} -- why a vehicle was skipped -> what to do
for _, reason in ipairs(core.reasons()) do
  if reason.where == "telemetry" then advice[reason.text] = reason.doc end
end

--- skipped_vehicles is an object from reason to VINs, or a list of { vin, reason } (doc/protocol.md#telemetry-configuration): both become
--- a list of { vin =, reason =, advice = }.
local function skipped_list(skipped)
  local list = {}
  local function add(vin, reason)
    list[#list + 1] = { vin = vin, reason = reason, advice = advice[reason] }
  end
  for key, value in pairs(skipped) do
    if type(key) == "number" and type(value) == "table" then
      add(value.vin, value.reason)
    elseif type(value) == "table" then
      for _, vin in ipairs(value) do add(vin, key) end
    else
      add(key, value)
    end
  end
  table.sort(list, function(a, b) return tostring(a.vin) .. tostring(a.reason) < tostring(b.vin) .. tostring(b.reason) end)
  return list
end

local function with_skipped(plain, handle, ...)
  local value, err, kind = plain(handle, ...)
  if type(value) == "table" and type(value.skipped_vehicles) == "table" then
    value.skipped_vehicles = skipped_list(value.skipped_vehicles)
  end
  return value, err, kind
end
rows.create_fleet_telemetry_config_jws = with_skipped

-- Checked before it is sent, and signed where the client has a key (doc/protocol.md#telemetry-configuration).
function rows.create_fleet_telemetry_config(plain, client, ...)
  return telemetry_config.create(with_skipped, plain, client, ...)
end

--- The state that a record tells is remembered: it decides what an unclear 408 means.
local function remember_state(handle, value)
  if type(value) ~= "table" or type(value.state) ~= "string" then return end
  local account, _, id = core.account(handle)
  account.states[id] = value.state
end

local function with_state(plain, handle, ...)
  local value, err, kind = plain(handle, ...)
  remember_state(handle, value)
  return value, err, kind
end
rows.info = with_state
rows.wake_up = with_state

local function has(list, wanted)
  for _, name in ipairs(type(list) == "table" and list or {}) do
    if name == wanted then return true end
  end
  return false
end

--- location_hidden = true when location was asked for and withheld (doc/protocol.md#vehicle-data).
function rows.vehicle_data(plain, handle, params, ...)
  local value, err, kind = plain(handle, params, ...)
  remember_state(handle, value)
  local asked = type(params) == "table" and has(params.endpoints, "location_data")
  if type(value) == "table" and asked then
    local drive = value.drive_state or {}
    local place = value.location_data or drive
    if place.latitude == nil and drive.latitude == nil then value.location_hidden = true end
  end
  return value, err, kind
end

--- { result = true, reason = "" }, "true" and true are the same answer in three published shapes (doc/protocol.md#envelope).
function rows.mobile_enabled(plain, handle, options, ...)
  local value, err, kind = plain(handle, options, ...)
  local raw = type(options) == "table" and options.raw
  if type(value) == "boolean" or (type(value) == "string" and not raw) then
    value = { result = value == true or value == "true", reason = "" }
  end
  return value, err, kind
end

local function error_vins(plain, handle, ...)
  local value, err, kind = plain(handle, ...)
  if type(value) == "table" and value.fleet_telemetry_error_vins then value = value.fleet_telemetry_error_vins end
  return value, err, kind
end
rows["partner.fleet_telemetry_error_vins"] = error_vins

-- A domain that is misspelt is refused here, with what was meant: the service only says no (doc/protocol.md#registration).
rows["partner.register"] = function(plain, handle, params, ...)
  if type(params) == "table" and type(params.domain) == "string" then
    require("fleet.util.hostname").check("partner.register", params.domain)
  end
  return plain(handle, params, ...)
end

--- See lua/fleet/registration/partner.lua.
function M.methods.partner.check(partner, options)
  return require("fleet.registration.partner").check(partner, options)
end

--- A code, or the whole link that ends with it.
function rows.redeem_invitation(plain, handle, params, ...)
  if type(params) == "table" and type(params.code) == "string" then
    local address = string.match(params.code, "^https?://[^?#]*")
    params = members.copy(params, { code = address and string.match(address, "/([^/]+)/?$") })
  end
  return plain(handle, params, ...)
end

-- ---- fleet_status: a request names as many VINs as its row allows ----

local function vins_of(params)
  if type(params) ~= "table" then return nil end
  return type(params.vins) == "table" and params.vins or (params[1] ~= nil and params) or nil
end

local function largest_list(row, name)
  for _, param in ipairs(row.params) do
    if param.name == name then return param.max or math.huge end
  end
end

local function chunk_of(list, first, size)
  local chunk = {}
  for i = first, math.min(first + size - 1, #list) do chunk[#chunk + 1] = list[i] end
  return chunk
end

local function join_status(all, part)
  for name, value in pairs(part) do
    if type(value) == "table" and type(all[name]) == "table" then
      for key, item in pairs(value) do
        if type(key) == "number" then all[name][#all[name] + 1] = item else all[name][key] = item end
      end
    else
      all[name] = value
    end
  end
  return all
end

-- The same parameters with a part of the list.
local function with_vins(params, vins)
  local part = {}
  for name, value in pairs(params) do
    if type(name) ~= "number" then part[name] = value end
  end
  part.vins = vins
  return part
end

function rows.fleet_status(plain, client, params, options, ...)
  local vins, all = vins_of(params), nil
  local size = largest_list(all_rows.by_name.fleet_status, "vins")
  if not vins then return plain(client, params, options, ...) end
  if #vins > size and type(options) == "table" and options.raw then
    errors.usage("fleet_status: option 'raw' takes at most %d vehicles", size)
  end
  for first = 1, math.max(#vins, 1), size do
    local part, err, kind = plain(client, with_vins(params, chunk_of(vins, first, size)), options, ...)
    if err then return nil, err, kind end
    firmware.remember(core.account(client), part)
    all = all and join_status(all, part) or part
  end
  return all
end

-- ---- energy history by local dates ----

for _, name in ipairs { "energy_history", "backup_history", "charge_history" } do
  rows[name] = histories.method(all_rows.by_name[name])
end

-- ---- invoice: bytes, or a file ----

rows["charging.invoice"] = function(plain, handle, id, params, ...)
  if type(params) ~= "table" or params.to == nil then return plain(handle, id, params, ...) end
  local row = all_rows.by_name["charging.invoice"]
  return download.to_file(row, core.plan(row.pointer, handle, id, params, ...), handle, params.to, params.overwrite)
end

-- ---- telemetry ----

--- Waits until the vehicle has taken the configuration over (synced), looking every few seconds at first, then each
--- minute. timeout: seconds, 1800. Returns the configuration, or nil, err, "timeout".
function M.methods.vehicle.wait_telemetry_synced(car, options)
  check_options.names("wait_telemetry_synced", "option", options, { "timeout" })
  check_options.seconds("wait_telemetry_synced", "timeout", options and options.timeout)
  local timeout = options and options.timeout or 1800
  local deadline, pause = tasks.now() + timeout, 5
  while true do
    local value, err, kind = car:fleet_telemetry_config()
    if err then return nil, err, kind end
    if value.synced == true then return value end
    if tasks.now() + pause > deadline then
      return errors.failure("timeout", string.format("wait_telemetry_synced: not synced after %g s", timeout))
    end
    tasks.sleep(pause)
    pause = math.min(pause * 2, 60)
  end
end

M.methods.vehicle.wake = waking.wake
M.methods.vehicle.signed_data = signed_data.method
M.methods.vehicle.settle, M.methods.site.settle = settling.settle, settling.settle

return M
