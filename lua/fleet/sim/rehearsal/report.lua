-- The result of a rehearsal: { kwh =, sun_kwh =, grid_kwh =, price =, currency =, calls =, usd =, commands =, looks =, ready =, samples =,
-- notes = }.

local calendar = require "fleet.automation.local_time"
local cost = require "fleet.automation.cost"
local core = require "fleet.core"

local M = {}
local fixed = core.fixed

M.__index, M.__name = M, "fleet.report"

--- How many of the recorded days had at least this level; and the number of recorded days.
function M:ready_days(level)
  local good = 0
  for _, day in ipairs(self.ready) do
    if day.level + 1e-6 >= level then good = good + 1 end
  end
  return good, #self.ready
end

--- How many commands of this name were sent; without a name, of all.
function M:sent(name)
  local count = 0
  for _, command in ipairs(self.commands) do
    if name == nil or command.name == name then count = count + 1 end
  end
  return count
end

--- The currency after a prefix, or "" where the tariff names none.
function M:currency_text(prefix)
  return (self.currency or "") ~= "" and prefix .. self.currency or ""
end

--- What the energy from the grid cost: "93.77 EUR", or without a currency.
function M:paid_text()
  return fixed(self.price, 2) .. self:currency_text " "
end

--- The month in a few lines.
function M:text()
  local lines = { string.format("%s to %s", calendar.date(self.zone, self.from), calendar.date(self.zone, self.to - 1)) }
  if self.kwh > 0 then
    lines[2] = string.format("charged     %s kWh, of which %s from the roof", fixed(self.kwh, 1), fixed(self.sun_kwh, 1))
    lines[3] = self.price and string.format("paid        %s for %s kWh from the grid", self:paid_text(), fixed(self.grid_kwh, 1))
  end
  lines[#lines + 1] = "calls       " .. cost.text(self.calls)
  return table.concat(lines, "\n") .. "\n"
end

--- The month as a picture: a row per day, prices and charging by the hour. Options: title, width.
function M:svg(options)
  return require("fleet.sim.rehearsal.plot").svg(self, options or {})
end

--- Writes the picture to a file.
function M:save(path, options)
  local file = assert(io.open(path, "wb"))
  file:write(self:svg(options))
  file:close()
end

return M
