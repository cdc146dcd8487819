-- fleet cost: what a month's calls cost, by class, day and vehicle, against the budgets.

local core = require "fleet.core"
local input = require "fleet.cli.input"
local options = require "fleet.cli.options"
local prices = require "fleet.budget.prices"
local vehicles = require "fleet.cli.vehicles"

local takes = {
  { name = "month", type = "string", placeholder = "YYYY-MM", doc = "a month of UTC; by default the current one" },
  { name = "vehicle", type = "string", placeholder = "VIN", doc = "calls of this vehicle only" },
  { name = "output", type = "string", placeholder = "FILE", doc = "write an SVG picture in place of text" },
}

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  local vin = given.vehicle
  if vin then
    local err, kind
    vin, err, kind = vehicles.find(context, vin)
    if not vin then return nil, err, kind end
  end
  local client = context:client()
  local report, err, kind = context:check(client.cost, client, { month = given.month, vehicle = vin })
  if not report then return nil, err, kind end
  if not given.output then return report end
  return input.write(given.output, require("fleet.chart.cost").svg(report))
end

-- ---- for a person ----

local function write_lines(out, title, list, name)
  if #list == 0 then return end
  out:write("\n", title, "\n")
  for _, entry in ipairs(list) do
    out:write(string.format("  %-17s  %11s  %s\n", entry[name], prices.text(entry.usd), prices.calls_text(entry.calls)))
  end
end

local function limit_text(limit, value)
  if string.find(limit.name, "^usd_") then return prices.text(value) end
  return string.format("%.0f", value)
end

local function write_budgets(out, list)
  if #list == 0 then return end
  out:write("\nBudgets\n")
  for _, limit in ipairs(list) do
    out:write(string.format("  %-26s  %s of %s, %s left\n", limit.name, limit_text(limit, limit.spent), limit_text(limit, limit.most),
      limit_text(limit, limit.left)))
  end
end

local function show(out, value)
  if value.path then return out:write("written to ", value.path, "\n") end
  out:write(string.format("%s  %s: %s\n", value.month, prices.text(value.usd), prices.calls_text(value.calls)))
  write_budgets(out, value.budgets)
  write_lines(out, "Days", value.days, "date")
  write_lines(out, "Vehicles", value.vehicles or {}, "vin")
  out:write("\nPrices: ", value.prices.source, " (date ", value.prices.date, ")\n")
end

return {
  {
    name = "cost", usage = "cost [--month YYYY-MM] [--vehicle VIN]", words = {}, takes = takes, run = run, show = show,
    json = function(value) return core.json_encode(value, "days vehicles budgets") end,
    doc = "Shows what the calls of a month cost, as this store counted them: by class, day and vehicle, against the budgets.",
    details = "Days and months are in UTC. Calls of other stores and other applications are not counted.",
  },
}
