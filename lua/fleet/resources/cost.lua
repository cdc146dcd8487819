-- client:cost{}: what the account has spent, as its store counted it.

local check_options = require "fleet.util.check_options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local report = require "fleet.budget.report"
local tasks = require "fleet.async"

local M = {}

local function check_month(month)
  local year, number = string.match(month, "^(%d%d%d%d)%-(%d%d)$")
  if year and tonumber(number) >= 1 and tonumber(number) <= 12 then return end
  errors.usage("cost: 'month' must be as \"2026-03\", got '%s'", month)
end

--- The spending of a month in UTC. options: month, "2026-03", by default the present one; vehicle, a VIN or a handle. Returns { month =,
--- usd =, calls = { class = n }, days = { { date =, usd =, calls = } }, vehicles = { { vin =, usd =, calls = } }, budgets = { { name =,
--- most =, spent =, left = } }, prices = { date =, source =, usd = { class = } } }, or nil, err, kind.
function M.report(client, options)
  check_options.names("cost", "option", options, { "month", "vehicle" })
  options = options or {}
  if options.month ~= nil then check_month(tostring(options.month)) end
  local context = core.context(client)
  if context.closed then return errors.failure("closed", "cost: the client was closed") end
  local vin = options.vehicle
  if vin ~= nil then vin = core.is_handle(vin) and vin.vin or core.check_id("vehicle", vin) end
  local _, wall = tasks.loop.clock()
  return report.of(context.meter, options.month, vin, wall)
end

return M
