-- Confirms writes by a read: car:settle(err) and site:settle(err) after an unknown outcome, and the read-back of energy settings. Both
-- compare the data that the row names.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local calls = require "fleet.call"
local expectation = require "fleet.confirm.expectation"
local failure = require "fleet.call.failure"
local tasks = require "fleet.async"

local M = {}

local function unsupported(row, text, more)
  return errors.failure("unsupported", row.name .. ": " .. text, more)
end

-- ---- one read ----

local function unread(handle, row, kind, text)
  local _, _, id = core.context(handle)
  return errors.failure(kind, row.name .. ": " .. text, { vin = row.handle == "vehicle" and id or nil })
end

-- Data of the security computer.
local security = {}

function security.body_controller(car, row, options)
  local state, err, kind = car:body_controller_state(options)
  if not state then return nil, err, kind end
  if not state.closures then return unread(car, row, "protocol", "the reply holds no closures") end
  return { body_controller = state }
end

function security.keys(car, _, options)
  local list, err, kind = car:keys(options)
  return list and { keys = { list = list } }, err, kind
end

-- A live read of a vehicle, never waking it.
local function read_vehicle(car, row, options)
  local ask = security[expectation.sections(row)[1]]
  if ask then return ask(car, row, options) end
  local data, err, kind = car:vehicle_data({ endpoints = expectation.sections(row) }, options)
  if err then return nil, err, kind end
  local inconclusive, why = expectation.inconclusive(row, data)
  if inconclusive then return unread(car, row, inconclusive, why) end
  return data
end

-- Reads the sections of a settle column: of the vehicle, or the site's settings.
local function read(handle, row, options)
  if row.handle ~= "site" then return read_vehicle(handle, row, options) end
  local info, err, kind = handle:site_info(options)
  if err then return nil, err, kind end
  return { site_info = info }
end

--- The present values of a row's parameters, by one live read, which never wakes: { name = value }, or nil, err, kind.
function M.current(handle, row, options)
  local data, err, kind = read(handle, row, options)
  if err then return nil, err, kind end
  return expectation.current(row, data)
end

-- Whether the present state is what the row with these parameters wanted: true, false, or nil, err, kind.
local function look(handle, row, params, options)
  local data, err, kind = read(handle, row, options)
  if err then return nil, err, kind end
  local shown, missing = expectation.holds(row, params, data)
  if missing then return unread(handle, row, "protocol", "the reply holds no " .. missing) end
  return shown
end

-- ---- confirming ----

--- Whether the call that ended with err was done after all: true or false, by one billed read, which never wakes. Returns nil, err,
--- "unsupported" when no data shows it (trunk, horn), or nil, err, kind when the read fails or its data is too old.
function M.settle(handle, failed, options)
  local facts = failure.facts(failed)
  if not facts then errors.usage("settle: an err that a call of this client returned is needed") end
  local _, _, id = core.context(handle)
  if facts.id ~= id then errors.usage("settle: that err belongs to another vehicle or site") end
  if not expectation.can_tell(facts.row, facts.params) then
    return unsupported(facts.row, "no readable data shows whether it was done")
  end
  return look(handle, facts.row, facts.params, options)
end

-- ---- reading back ----

local first_pause, longest_pause = 1, 8

-- The service accepted the setting, and a later failure does not undo that: the outcome is unknown, and settle may read again.
local function in_doubt(err, row, request, handle)
  local _, _, id = core.context(handle)
  err.outcome, err.site, err.request = "unknown", id, row.verb .. " " .. row.path
  failure.facts(err, { row = row, params = request:params(), id = id })
  return nil, err, err.kind
end

local mismatch = "%s: the service accepted the setting, but reading it back does not show it"

-- Reads until the setting shows, or until the deadline of the loop's clock. Returns value, or nil, err, kind.
local function read_back(row, request, handle, value, deadline)
  local pauses = tasks.pauses(deadline - tasks.now(), first_pause, longest_pause)
  while true do
    local shown, err = look(handle, row, request:params(), { timeout = math.max(pauses:left(), 1) })
    if err then return in_doubt(err, row, request, handle) end
    if shown then return value end
    if not pauses:again() then return in_doubt(errors.new("conflict", mismatch:format(row.name)), row, request, handle) end
  end
end

--- Sends a planned energy setting; with read_back = true it waits until the setting shows.
function M.set(row, request, handle)
  local back = request:flag("read_back")
  if back and not row.settle then
    return unsupported(row, "it cannot be read back: nothing was sent", { outcome = "not_sent" })
  end
  local deadline = tasks.now() + (request:settings() or core.context(handle).config.timeout)
  local value, err, kind = calls.perform(row, handle, request)
  if err or not back then return value, err, kind end
  return read_back(row, request, handle, value, deadline)
end

--- The method of an energy setting.
function M.setting_method(row)
  return function(handle, ...)
    return M.set(row, core.plan(row.pointer, handle, ...), handle)
  end
end

return M
