-- Reading what became of a write: car:settle(err) after an unknown outcome, and the read-back of energy settings.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local run = require "fleet.call"
local settle = require "fleet.confirm.expectation"
local tasks = require "fleet.async.task"

local M = {}

local function unsupported(row, text)
  return errors.failure("unsupported", row.name .. ": " .. text)
end

local function unread(row, id, kind, text)
  return errors.failure(kind, row.name .. ": " .. text, { vin = row.handle == "vehicle" and id or nil })
end

-- A live read of a vehicle, never waking it. A 200 may carry what was cached before the vehicle fell asleep, and a section
-- may be withheld (doc/protocol.md#vehicle-data): neither tells what became of a command.
local function read_vehicle(car, row, id, options)
  local sections = settle.sections(row)
  local data, err, kind = car:vehicle_data({ endpoints = sections }, options)
  if err then return nil, err, kind end
  if data.state == "asleep" or data.state == "offline" then
    return unread(row, id, data.state, "what can be read is old: the vehicle is " .. data.state)
  end
  for _, section in ipairs(sections) do
    if type(data[section]) ~= "table" then return unread(row, id, "protocol", "the reply holds no " .. section) end
  end
  return data
end

-- The data that a settle column's sections stand in: of the vehicle, or the site's settings.
local function read(handle, row, id, options)
  if row.handle ~= "site" then return read_vehicle(handle, row, id, options) end
  local info, err, kind = handle:site_info(options)
  if err then return nil, err, kind end
  return { site_info = info }
end

--- The parameters of a row as they hold now, by one live read, which never wakes: { name = value }, or nil, err, kind.
function M.current(handle, row, options)
  local _, _, id = core.account(handle)
  local data, err, kind = read(handle, row, id, options)
  if err then return nil, err, kind end
  return settle.current(row, data)
end

-- One look at what the row names: a function(options) -> whether it shows what the parameters wanted, or nil, err, kind.
local function row_look(handle, row, params)
  local _, _, id = core.account(handle)
  return function(options)
    local data, err, kind = read(handle, row, id, options)
    if err then return nil, err, kind end
    return settle.holds(row, params, data)
  end
end

--- Whether the call that ended in err was done after all: true or false by one billed read, which never wakes. Returns
--- nil, err, "unsupported" where nothing readable tells (trunk, horn), or nil, err, kind when the read fails or is old.
function M.settle(handle, failed, options)
  local facts = run.facts_of[failed]
  if not facts then errors.usage("settle: an err that a call of this client returned is needed") end
  local row = facts.row
  local _, _, id = core.account(handle)
  if facts.id ~= id then errors.usage("settle: that err belongs to another vehicle or site") end
  if facts.look then return facts.look(options) end
  if not settle.can_tell(row, facts.params) then
    return unsupported(row, "nothing that can be read tells whether it was done")
  end
  return row_look(handle, row, facts.params)(options)
end

local first_pause, longest_pause = 1, 8

-- The service took the setting; what follows cannot undo that, so that the outcome is open and settle may look again.
local function in_doubt(err, row, request, id, look)
  err.outcome, err.site, err.request = "unknown", id, row.verb .. " " .. row.path
  run.facts_of[err] = { row = row, params = request:params(), id = id, look = look }
  return nil, err, err.kind
end

local function mismatch(row)
  return errors.new("conflict", row.name .. ": the service accepted the setting, but reading it back does not show it")
end

--- Looks at a site's settings until they show what was set, until the deadline of the loop's clock. Returns value, or nil,
--- err, kind. own_look: a look for what the row's column cannot say, see row_look.
function M.read_back(row, request, handle, value, deadline, own_look)
  local _, _, id = core.account(handle)
  local look, pause = own_look or row_look(handle, row, request:params()), first_pause
  while true do
    local shown, err = look { timeout = math.max(deadline - tasks.now(), 1) }
    if shown then return value end
    if err then return in_doubt(err, row, request, id, own_look) end
    if tasks.now() + pause > deadline then return in_doubt(mismatch(row), row, request, id, own_look) end
    tasks.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
  end
end

local function cannot_read_back(row)
  local _, err, kind = unsupported(row, "it cannot be read back: nothing was sent")
  err.outcome = "not_sent"
  return nil, err, kind
end

--- Sends a planned setting, and with read_back = true returns only when the setting shows. own_look: see read_back; settle
--- then looks in the same way.
function M.set(row, request, handle, own_look)
  local back = request:flag("read_back")
  if back and not row.settle and not own_look then return cannot_read_back(row) end
  local deadline = tasks.now() + (request:timeout() or core.account(handle).config.timeout)
  local value, err, kind = run.perform(row, request, handle)
  if err and run.facts_of[err] then run.facts_of[err].look = own_look end
  if err or not back then return value, err, kind end
  return M.read_back(row, request, handle, value, deadline, own_look)
end

--- The method of an energy setting.
function M.setting_method(row)
  return function(handle, ...)
    return M.set(row, core.plan(row.pointer, handle, ...), handle)
  end
end

return M
