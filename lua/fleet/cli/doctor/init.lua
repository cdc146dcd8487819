-- The checks of `fleet doctor`, one function per subject. Each adds its lines to the report. None changes anything, and a failed check does
-- not stop the others.

local usage_error = require "fleet.cli.usage_error"
local machine = require "fleet.cli.doctor.machine"
local service = require "fleet.cli.doctor.service"
local keys = require "fleet.cli.doctor.keys"
local lines = require "fleet.cli.doctor.lines"
local spending = require "fleet.cli.doctor.spending"

local M = {}

-- An option with which no client can be made is a line of the report, and the last one.
local function usable_options(report, context)
  local ok, err = pcall(context.client, context, report.given)
  if ok then return true end
  if not usage_error.is(err) and type(err) ~= "table" then error(err, 0) end
  lines.failed(report, "options", err, "mend it in the configuration, the environment or on the command line")
end

--- Runs all checks. given: vehicles (list, as a person names them), key_url, regions (list of names). Returns the lines (doctor/lines.lua).
function M.examine(context, texts, given)
  local report = { lines = {} }
  machine.configuration(report, context.environment, texts)
  machine.other_options(report, context.environment, texts)
  machine.simulator(report, context.environment)
  machine.certificates(report)
  machine.key(report)
  machine.store(report)
  if not usable_options(report, context) then return report.lines end
  for _, part in ipairs {
    { "the budgets", spending.budgets },
    { "the service", service.service }, { "the sign-in", service.tokens }, { "the scopes", service.scopes },
    { "the account", service.region }, { "the key", keys.key_places, given.key_url },
    { "the regions", keys.other_regions, given.regions }, { "the vehicles", keys.vehicles, given.vehicles },
  } do
    context.progress("looking at " .. part[1])
    part[2](report, context, part[3])
  end
  context.progress()
  return report.lines
end

return M
