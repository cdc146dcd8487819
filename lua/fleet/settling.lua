-- Reading what became of a write: car:settle(err) after an unknown outcome, and the read-back of energy settings.

local core = require "fleet.core"
local run = require "fleet.run"
local settle = require "fleet.settle"
local tasks = require "fleet.tasks"

local M = {}

local function unsupported(row, text)
  local err = core.err { kind = "unsupported", message = (row and row.name .. ": " or "") .. text }
  return nil, err, "unsupported"
end

-- The data that a settle column's sections stand in: a live read of a vehicle, never waking it, or the site's settings.
local function read(handle, row, options)
  if row.handle ~= "site" then return handle:vehicle_data({ endpoints = settle.sections(row) }, options) end
  local info, err, kind = handle:site_info(options)
  if err then return nil, err, kind end
  return { site_info = info }
end

--- Whether the call that ended in err was done after all: true or false by one billed read, which never wakes. Returns
--- nil, err, "unsupported" where nothing readable tells (trunk, horn), or nil, err, kind when the read fails.
function M.settle(handle, failed, options)
  local facts = run.facts_of[failed]
  if not facts then error("settle: an err that a call of this client returned is needed", 2) end
  local row = facts.row
  local _, _, id = core.account(handle)
  if facts.id ~= id then error("settle: that err belongs to another vehicle or site", 2) end
  if not row.settle then return unsupported(row, "nothing that can be read tells whether it was done") end
  local data, err, kind = read(handle, row, options)
  if err then return nil, err, kind end
  return settle.holds(row, facts.params, data)
end

local first_pause, longest_pause = 1, 8

local function mismatch(row, id)
  local err = core.err {
    kind = "conflict", outcome = "unknown", site = id, request = row.verb .. " " .. row.path,
    message = row.name .. ": the service accepted the setting, but reading it back does not show it",
  }
  return nil, err, "conflict"
end

--- Reads a site's settings until they show what was set, within the call's time. Returns value, or nil, err, kind.
function M.read_back(row, request, handle, value, timeout)
  local _, _, id = core.account(handle)
  local deadline, pause = tasks.now() + timeout, first_pause
  while true do
    local data, err, kind = read(handle, row)
    if err then return nil, err, kind end
    if settle.holds(row, request:params(), data) then return value end
    if tasks.now() + pause > deadline then return mismatch(row, id) end
    tasks.sleep(pause)
    pause = math.min(pause * 2, longest_pause)
  end
end

--- The method of an energy setting: as its row says, and with read_back = true it returns only when the setting shows.
function M.setting_method(row)
  return function(handle, ...)
    local request = core.plan(row.pointer, handle, ...)
    local value, err, kind = run.perform(row, request, handle)
    if err or not request:flag("read_back") then return value, err, kind end
    if not row.settle then return unsupported(row, "it cannot be read back") end
    local account = core.account(handle)
    return M.read_back(row, request, handle, value, request:timeout() or account.config.timeout)
  end
end

return M
