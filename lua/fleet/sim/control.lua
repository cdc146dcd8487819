-- The control address: everything that no call of the service can do. One JSON object per request, any of its members:
--   {"advance": seconds}   {"fault": name, "times": n, …}   {"event": name, "vin": …, …}   {"set": {vin: {section: {…}}}}
local computers = require("fleet.sim.signed.computers")
local driving = require("fleet.sim.driving")
local energy = require("fleet.sim.energy")
local errors = require("fleet.util.errors")
local json = require("fleet.sim.json")
local physics = require("fleet.sim.physics")
local schedules = require("fleet.sim.schedules")
local telemetry = require("fleet.sim.api.telemetry")
local tables = require("fleet.util.tables")
local vehicles = require("fleet.sim.vehicle")

local M = {}

local function fail(...)
  error((...):format(select(2, ...)), 0)
end

local function names_of(service)
  local names = {}
  for i, vehicle in ipairs(service.vehicles) do names[i] = vehicle.record.display_name .. " (" .. vehicle.vin .. ")" end
  return "the simulator has " .. table.concat(names, ", ")
end

-- Finds a vehicle by its VIN, its name, or an end of the VIN that only it has; without a name, the only vehicle.
local function find_vehicle(service, name)
  local found = service.by_vin[name or ""]
  for _, vehicle in ipairs(found and {} or service.vehicles) do
    local fits = name == nil or vehicle.record.display_name == name or vehicle.vin:sub(-#name) == name and name ~= ""
    if fits and found then
      fail("%s: %s", name and "several vehicles are meant by '" .. name .. "'" or "name the vehicle after the event", names_of(service))
    end
    if fits then found = vehicle end
  end
  return found
end

local function vehicle_of(service, vin)
  local vehicle = find_vehicle(service, vin)
  if not vehicle then fail("no vehicle %s: %s", vin or "at all", names_of(service)) end
  physics.advance(vehicle, service:now())
  return vehicle
end

-- ---- events of a vehicle ----

local events = {}

local function charge(vehicle) return vehicle.sections.charge_state end

function events.plug(vehicle, options, service)
  if not vehicle:parked() then fail("a car that drives takes no cable: park first") end
  local c = charge(vehicle)
  physics.rouse(vehicle, service:now())
  c.conn_charge_cable, c.charge_port_door_open, c.charge_port_latch = options.cable or "IEC", true, "Engaged"
  c.charging_state = options.power == false and "NoPower" or "Stopped"
  local now = service:now()
  local begins = schedules.under_way(vehicle, now) or options.start ~= false and not schedules.waits(vehicle, now)
  if begins and c.charging_state == "Stopped" then physics.start_charging(vehicle) end
end

function events.unplug(vehicle, _, service)
  physics.rouse(vehicle, service:now())
  physics.stop_charging(vehicle)
  vehicle.sections.charge_state.charging_state = "Disconnected"
  vehicle.sections.charge_state.conn_charge_cable = "<invalid>"
end

function events.power_lost(vehicle)
  if vehicle:cable() then charge(vehicle).charging_state = "NoPower" end
end

function events.power_back(vehicle)
  if charge(vehicle).charging_state == "NoPower" then
    charge(vehicle).charging_state = "Stopped"
    physics.start_charging(vehicle)
  end
end

-- The car removes the guest when a key card is used to drive (doc/protocol.md#states-and-moves).
function events.key_card(vehicle, _, service)
  vehicle.guest = nil
  events.drive(vehicle, {}, service)
end

-- A new guest replaces the one before. A code works once, within ten minutes.
function events.qr_scan(vehicle, options)
  local code = vehicle.guest_code
  if not code then fail("no guest code is shown: switch guest mode on, or it has expired") end
  if options.code and options.code ~= code.code then fail("the guest code is another one") end
  vehicle.guest, vehicle.guest_code = options.guest or "guest", nil
end

function events.drive(vehicle, options, service)
  if vehicle:cable() then fail("a car with a cable does not drive: unplug first") end
  local drive, miles = vehicle.sections.drive_state, options.miles or 0
  drive.shift_state, drive.speed = "D", options.speed or 30
  if not options.miles then driving.begin(vehicle, service:now(), options.speed) end
  vehicle.sections.vehicle_state.is_user_present = true
  vehicle.sections.vehicle_state.odometer = vehicle.sections.vehicle_state.odometer + miles
  vehicle.energy_percent = math.max(0, vehicle.energy_percent - miles / physics.PACK_MILES * 100)
  vehicle.record.state = "online"
end

function events.park(vehicle, options)
  local drive = vehicle.sections.drive_state
  drive.shift_state, drive.speed = "P", json.null
  vehicle.sections.vehicle_state.is_user_present = options.user_present == true
  vehicle.sections.vehicle_state.remote_start = false
end

function events.user_present(vehicle, options)
  vehicle.sections.vehicle_state.is_user_present = options.present ~= false
end

function events.sleep(vehicle) physics.fall_asleep(vehicle) end

function events.offline(vehicle) vehicle.record.state, vehicle.wake_at = "offline", nil end

function events.online(vehicle) vehicle.record.state, vehicle.wake_at = "online", nil end

function events.pair_key(vehicle, options)
  local key = options.public_key and require("fleet.sim.keys").hex(options.public_key)
  if not key then fail("pair_key needs public_key: 130 hex digits or PEM") end
  if vehicle:has_key(key) then return end
  if #vehicle.keys >= vehicles.MOST_KEYS then fail("a vehicle has at most %d keys", vehicles.MOST_KEYS) end
  vehicle:add_key({ public_key = key, role = options.role or "OWNER" })
  computers.keys_changed(vehicle)
end

function events.remove_key(vehicle, options)
  local key = options.public_key and require("fleet.sim.keys").hex(options.public_key)
  for i = #vehicle.keys, 1, -1 do
    if not options.public_key or vehicle.keys[i].public_key == key then table.remove(vehicle.keys, i) end
  end
  computers.keys_changed(vehicle)
end

-- A restart begins a new epoch; a new computer also has another key pair.
function events.restart(vehicle) computers.restart(vehicle) end

function events.new_computer(vehicle) computers.replace(vehicle) end

function events.software_available(vehicle, options)
  local update = vehicle.sections.vehicle_state.software_update
  if update.status ~= "" and update.status ~= "available" then fail("an update is %s already", update.status) end
  update.status, update.version = "available", options.version or "2026.24.1"
end

function events.telemetry_error(vehicle, options, service)
  telemetry.report(service, vehicle, options, service:now())
end

-- ---- events of an account or a site ----

local account_events, site_events = {}, {}

function account_events.password_reset(service, account)
  account.password_reset_at = service:now()
end

function account_events.revoke(service, account, options)
  for name in pairs(service.oauth.consents) do
    local email, client_id = name:match("^(.-)\n(.*)$")
    if email == account.email and (not options.client_id or options.client_id == client_id) then
      service.oauth:set_consent(email, client_id, {})
    end
  end
end

-- The business consents again, which gives another code for one token.
function account_events.new_auth_code(_, account, options)
  if not account.business then fail("%s is no business account", account.email) end
  if type(options.auth_code) ~= "string" or options.auth_code == "" then fail("new_auth_code needs auth_code") end
  account.auth_code = options.auth_code
end

function site_events.grid_down(site, now) energy.set_grid(site, false, now) end

function site_events.grid_up(site, now) energy.set_grid(site, true, now) end

function site_events.storm(site) energy.set_storm(site, true) end

function site_events.storm_over(site) energy.set_storm(site, false) end

-- The names of all events, for help and errors.
function M.event_names()
  local list = {}
  for _, group in ipairs({ events, account_events, site_events }) do
    for name in pairs(group) do list[#list + 1] = name end
  end
  table.sort(list)
  return list
end

local function account_of(service, email)
  local account = email and service:account(email) or not email and service.garage.accounts[1]
  return account or fail("no account %s", tostring(email))
end

local function site_of(service, id)
  local site = id and service.by_site[tostring(id)] or not id and service.sites[1]
  if not site and type(id) == "number" then site = service.by_site[("%.0f"):format(id)] end
  return site or fail("no energy site %s", tostring(id))
end

-- event(service, name, vin, options). Raises a sentence when it is impossible.
function M.event(service, name, vin, options)
  options = options or {}
  if events[name] then
    local vehicle = vehicle_of(service, vin or options.vin)
    events[name](vehicle, options, service)
    physics.show(vehicle, service:now())
  elseif account_events[name] then
    account_events[name](service, account_of(service, options.account), options)
  elseif site_events[name] then
    local site = site_of(service, options.site)
    service:advance_site(site, service:now())
    site_events[name](site, service:now())
  else
    fail("%s", errors.unknown("event", tostring(name), M.event_names()))
  end
end

-- ---- set ----

local PLAIN = {
  car_wash = "boolean", mobile_enabled = "boolean", sleep_after = "number", wake_seconds = "number", protocol = "boolean",
  telemetry_configs = "number",
}

local function set_section(vehicle, name, fields, now)
  if type(fields) ~= "table" then fail("%s: an object is expected", name) end
  local had_cable = vehicle:cable()
  vehicles.overlay(vehicle.sections[name], fields)
  vehicle:changed(name, fields)
  if vehicle:cable() ~= had_cable then physics.rouse(vehicle, now) end
end

local function set_member(vehicle, name, value, now)
  if vehicle.sections[name] then return set_section(vehicle, name, value, now) end
  if PLAIN[name] then
    if type(value) ~= PLAIN[name] then fail("%s: a %s is expected", name, PLAIN[name]) end
    vehicle[name == "telemetry_configs" and "foreign_configs" or name] = value
  elseif vehicle.record[name] ~= nil then
    if name == "state" then vehicle.wake_at = nil end
    vehicle.record[name] = value
  elseif vehicle.status[name] ~= nil then
    vehicle.status[name] = value
  else
    fail("%s: a vehicle has no such member or section", tostring(name))
  end
end

-- set(service, vin, changes) changes fields of sections, of the record and of the status.
function M.set(service, vin, changes)
  local vehicle = vehicle_of(service, vin)
  for name, value in pairs(changes) do
    if name ~= "state" then set_member(vehicle, name, value, service:now()) end
  end
  if changes.state ~= nil then set_member(vehicle, "state", changes.state) end -- last: the cable may have woken it
  physics.show(vehicle, service:now())
end

-- ---- the state of everything ----

function M.state(service)
  service:catch_up()
  local out = {
    now = service:now(), vehicles = {}, energy_sites = {}, calls = service.log and service.log:newest() or json.list(),
    faults = json.list(), billing = service.billing:state(),
  }
  for _, vehicle in ipairs(service.vehicles) do
    out.vehicles[vehicle.vin] = {
      record = vehicle.record, status = vehicle.status, sections = vehicle.sections, owner = vehicle.owner or json.null,
      keys = json.list(vehicle.keys), drivers = json.list(vehicle.drivers), guest = vehicle.guest or json.null,
      guest_code = vehicle.guest_code and vehicle.guest_code.code or json.null,
    }
  end
  for _, site in ipairs(service.sites) do
    local flows = energy.present(site, 0)
    out.energy_sites[site.id] = {
      info = site.info, stored_wh = site.stored, capacity_wh = site.capacity, grid_up = site.grid_up, storm = site.storm,
      flows = flows,
    }
  end
  for _, fault in ipairs(service.faults.list) do
    table.insert(out.faults, { fault = fault.name, times = fault.left })
  end
  return out
end

-- ---- one request ----

local LONGEST = 10 * 366 * 86400 -- seconds: the simulation runs through every minute

local MEMBERS = { "advance", "fault", "event", "set", "clear" }

-- The options of a fault or an event: all members of the body that are not orders.
local function rest(body)
  local options = tables.copy(body)
  for _, name in ipairs(MEMBERS) do options[name] = nil end
  return options
end

-- fault(service, name, times, options): see faults.lua; vin may be a name or the end of a VIN. Raises a sentence.
function M.fault(service, name, times, options)
  options = tables.copy(options or {})
  if options.vin ~= nil then options.vin = vehicle_of(service, options.vin).vin end
  service.faults:add(name, times, options)
end

-- run(service, body) carries out the orders of the body; raises a sentence when one is wrong.
function M.run(service, body)
  local known = false
  for _, name in ipairs(MEMBERS) do known = known or body[name] ~= nil end
  if not known then fail("give one of %s", table.concat(MEMBERS, ", ")) end
  if body.clear then service.faults:clear() end
  for vin, changes in pairs(body.set or {}) do M.set(service, vin, changes) end
  if body.event then M.event(service, body.event, body.vin, rest(body)) end
  if body.fault then
    local options = rest(body)
    options.times = nil
    M.fault(service, body.fault, body.times, options)
  end
  if body.advance then
    local seconds = body.advance
    if type(seconds) ~= "number" or not (seconds >= 0 and seconds <= LONGEST) then
      fail("advance is seconds, 0 or more, ten years at most")
    end
    service:advance(seconds)
  end
end

return M
