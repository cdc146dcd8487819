-- The log of calls: one JSON object per line in a file, and the newest calls in memory for the garage page. It never contains a token, a
-- body or a whole VIN.
local json = require("fleet.sim.json")

local M = {}
M.__index = M

local KEPT = 100

-- open(path | nil) → log; raises when the file cannot be written.
function M.open(path)
  local file
  if path then
    local message
    file, message = io.open(path, "a")
    if not file then error("the log cannot be written: " .. message, 0) end
    file:setvbuf("line")
  end
  return setmetatable({ file = file, recent = json.list() }, M)
end

-- The log has the row's template instead of the path, which may contain a VIN.
local function event(now, request, status)
  local row, vehicle = request.row, request.vehicle
  return {
    time = now, host = request.host, method = request.method, path = row and row.path or request.path, row = row and row.name,
    status = status, vin = vehicle and vehicle.vin:sub(-4), billing = row and row.billing, signed = request.note,
  }
end

function M:add(now, request, status)
  local entry = event(now, request, status)
  local recent, count = self.recent, #self.recent + 1
  recent[count] = entry
  if count == 2 * KEPT then -- removed in bulk, so that the cost of an entry does not depend on KEPT
    for i = 1, count do recent[i] = i <= KEPT and recent[i + KEPT] or nil end
  end
  if self.file then self.file:write(json.encode(entry), "\n") end
end

-- The newest calls, in the order of time.
function M:newest()
  local list, first = json.list(), math.max(1, #self.recent - KEPT + 1)
  for i = first, #self.recent do list[#list + 1] = self.recent[i] end
  return list
end

function M:close()
  if self.file then self.file:close() end
  self.file = nil
end

return M
