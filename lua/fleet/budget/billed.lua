-- Counts billed replies. Without budgets this costs one addition in memory.

local count = require "fleet.budget.count"
local prices = require "fleet.budget.prices"

local M = {}

local function vin_of(call)
  return call.row.handle == "vehicle" and call.id or nil
end

local function is_billed_reply(row, value)
  return prices.billed(row.billing, 200, type(value) ~= "table" or next(value) ~= nil)
end

-- A request without an answer may have been billed: it stays counted if a budget must be kept.
local function is_billed(call, reply, err, value)
  if not err then return is_billed_reply(call.row, value) end
  if err.status then return prices.billed(call.row.billing, err.status, false) end
  return reply ~= nil and reply:sent() and call.row.billing ~= "specs"
end

--- Records how an attempt ended. entry: of `admit`, or nil.
function M.charge(call, entry, reply, err, value, wall)
  local meter = call.context.meter
  local billed = is_billed(call, reply, err, value)
  if entry then
    count.charge(meter, entry, billed, wall)
  elseif billed then
    count.billed(meter, call.row.billing, vin_of(call), wall)
  end
  return billed
end

return M
