-- fleet.automation.sync_schedules(car, list): the wanted charging and preconditioning schedules of a car as data.
--
-- Sends the difference between the wanted schedules and the car's, and reads the result back. Ours are recognised by their ids. Those
-- of others, and those of charge_by, stay unless the caller wants them removed.

local check_options = require "fleet.util.check_options"
local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local schedules = require "fleet.automation.schedules"

local where = "sync_schedules: "
local first_number, most = 100, 400 -- of a kind; below stand the entries of charge_by

local kinds = {
  charge = {
    section = "charge_schedule_data", list = "charge_schedules", add = "add_charge_schedule", remove = "remove_charge_schedule",
    offset = first_number,
  },
  precondition = {
    section = "preconditioning_schedule_data", list = "precondition_schedules", add = "add_precondition_schedule",
    remove = "remove_precondition_schedule", offset = first_number + most,
  },
}
local order = { "charge", "precondition" }

-- ---- what was given ----

local entry_options = { "kind", "days", "start", "stop", "at", "one_time", "enabled", "place" }

local function minutes(i, name, text)
  local value = type(text) == "string" and local_time.minutes(text)
  if not value then errors.usage(where .. "entry " .. i .. ": '" .. name .. "' must be a time such as \"23:00\"") end
  return value
end

local function times(i, entry, params)
  if entry.kind == "precondition" then
    params.precondition_time = minutes(i, "at", entry.at)
    return params
  end
  if not entry.start and not entry.stop then errors.usage(where .. "entry " .. i .. ": 'start' or 'stop' is missing") end
  params.start_enabled, params.end_enabled = entry.start ~= nil, entry.stop ~= nil
  params.start_time = entry.start and minutes(i, "start", entry.start) or 0
  params.end_time = entry.stop and minutes(i, "stop", entry.stop) or 0
  return params
end

local function check_place(what, place)
  if type(place) ~= "table" or type(place.lat) ~= "number" or type(place.lon) ~= "number" then
    errors.usage(where .. what .. ": 'place' must be { lat =, lon = } in degrees")
  end
end

-- The parameters of the command that adds an entry; its place may follow later.
local function params_of(i, entry, count)
  if type(entry) ~= "table" then errors.usage(where .. "entry " .. i .. " must be a table") end
  check_options.names("sync_schedules", "member", entry, entry_options)
  local kind = kinds[entry.kind]
  if not kind then errors.unknown_name("sync_schedules: entry " .. i, "kind", tostring(entry.kind), kinds) end
  if entry.place then check_place("entry " .. i, entry.place) end
  count[entry.kind] = (count[entry.kind] or 0) + 1
  local place = entry.place or {}
  return times(i, entry, {
    id = schedules.id(kind.offset + count[entry.kind]), days_of_week = entry.days or "All", enabled = entry.enabled ~= false,
    one_time = entry.one_time or false, lat = place.lat, lon = place.lon,
  })
end

local function wanted_of(list)
  if type(list) ~= "table" then errors.usage(where .. "the list must be a table, got a " .. type(list)) end
  local wanted, count = { charge = {}, precondition = {} }, {}
  for i, entry in ipairs(list) do
    local params = params_of(i, entry, count)
    table.insert(wanted[entry.kind], params)
  end
  return wanted
end

-- ---- the car ----

local function needs_place(wanted)
  for _, kind in ipairs(order) do
    for _, params in ipairs(wanted[kind]) do
      if not params.lat then return true end
    end
  end
  return false
end

local function put_place(wanted, place)
  for _, kind in ipairs(order) do
    for _, params in ipairs(wanted[kind]) do
      if not params.lat then params.lat, params.lon = place.lat, place.lon end
    end
  end
end

-- A look at both sections, and at the place where one is missing. A car that sleeps is woken with leave only.
local function look(car, options, with_place)
  local record, err, kind = car:info()
  if not record then return nil, err, kind end
  if record.state ~= "online" then
    if not options.wake then
      return errors.failure(record.state == "asleep" and "asleep" or "offline",
        where .. "the car is " .. record.state .. "; wake = true lets it be woken")
    end
    local woken
    woken, err, kind = car:wake()
    if not woken then return nil, err, kind end
  end
  local endpoints = { kinds.charge.section, kinds.precondition.section }
  if with_place then endpoints[3], endpoints[4] = "location_data", "drive_state" end
  return car:vehicle_data { endpoints = endpoints }
end

local function list_in(data, kind)
  local section = data[kind.section]
  return type(section) == "table" and section[kind.list] or nil
end

local function mine(kind, options)
  return function(id)
    if options.others then return true end
    return schedules.is_ours(id) and id > schedules.id(kind.offset) and id <= schedules.id(kind.offset + most)
  end
end

local function send(car, kind, add, remove, report)
  for _, params in ipairs(add) do
    local done, err, error_kind = car[kind.add](car, params)
    if not done then return nil, err, error_kind end
    report.added[#report.added + 1] = params.id
  end
  for _, id in ipairs(remove) do
    local done, err, error_kind = car[kind.remove](car, { id = id })
    if not done then return nil, err, error_kind end
    report.removed[#report.removed + 1] = id
  end
  return true
end

-- What is still different after everything was sent.
local function still_wrong(data, wanted, options)
  local count = 0
  for _, name in ipairs(order) do
    local add, remove = schedules.difference(list_in(data, kinds[name]), wanted[name], mine(kinds[name], options))
    count = count + #add + #remove
  end
  return count
end

local function read_back(car, wanted, options, report)
  if #report.added + #report.removed == 0 then return report end
  local data, err, kind = car:vehicle_data { endpoints = { kinds.charge.section, kinds.precondition.section } }
  if not data then return nil, err, kind end
  local wrong = still_wrong(data, wanted, options)
  if wrong > 0 then
    return errors.failure("conflict", where .. "the car took the commands, and " .. wrong .. " of its schedules are not as wanted")
  end
  return report
end

local function place_of(data, options)
  if options.place then return options.place end
  local drive = type(data.drive_state) == "table" and data.drive_state or {}
  if type(drive.latitude) == "number" and type(drive.longitude) == "number" then return { lat = drive.latitude, lon = drive.longitude } end
end

--- Makes the schedules of a car as wanted. list: { kind = "charge", days =, start =, stop =, one_time =, enabled =, place = } and
--- { kind = "precondition", days =, at =, … }. options: place (else the car's position), wake, others = true removes all that is
--- not wanted. Returns { added = ids, removed = ids, kept = number }, or nil, err, kind.
return function(car, list, options)
  options = options or {}
  check_options.names("sync_schedules", "option", options, { "place", "wake", "others" })
  if options.place then check_place("the options", options.place) end
  local wanted = wanted_of(list)
  local missing = needs_place(wanted)
  local data, err, kind = look(car, options, missing and not options.place)
  if not data then return nil, err, kind end
  if missing then
    local place = place_of(data, options)
    if not place then
      return errors.failure("invalid", where .. "the position of the car is not known (scope vehicle_location): give 'place'")
    end
    put_place(wanted, place)
  end
  local report = { added = {}, removed = {}, kept = 0 }
  for _, name in ipairs(order) do
    local own = kinds[name]
    local add, remove = schedules.difference(list_in(data, own), wanted[name], mine(own, options))
    report.kept = report.kept + #wanted[name] - #add
    local done
    done, err, kind = send(car, own, add, remove, report)
    if not done then return nil, err, kind end
  end
  return read_back(car, wanted, options, report)
end
