-- fleet doctor: checks this installation line by line, and says how to fix what fails.

local errors = require "fleet.util.errors"
local prices = require "fleet.budget.prices"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local regions = require "fleet.cli.regions"
local report_lines = require "fleet.cli.report_lines"

local takes = {
  { name = "key_url", type = "string", placeholder = "URL", doc = "where this machine reaches the hosted key, in place of its domain" },
  { name = "regions", type = "strings", placeholder = "NAMES", doc = "further regions in which the application should be registered" },
}

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  if line.pairs[1] then usage_error.raise(string.format("'doctor' takes no '%s='", line.pairs[1].name), { "doctor" }) end
  given.vehicles = line.words
  local wrong = given.regions and regions.unknown(given.regions)
  if wrong then usage_error.raise(wrong, { "doctor" }) end
  local lines = require("fleet.cli.doctor").examine(context, line.options, given)
  local count = report_lines.count(lines)
  if count == 0 then return { ok = true, checks = lines } end
  if not context.json then report_lines.print(context.out, lines, context.environment.colours()) end
  local text = string.format("doctor: %d thing%s to mend", count, count == 1 and "" or "s")
  return errors.failure("invalid", text, { ok = false, checks = lines })
end

return {
  {
    name = "doctor", explains_itself = true, usage = "doctor [VIN …]", takes = takes, run = run,
    show = function(out, value, context) report_lines.print(out, value.checks, context.environment.colours()) end,
    doc = "Checks the configuration, certificates, store, network, clock, sign-in, scopes, key, hosting, registration and pairing: "
      .. "each line is ok or says what to do. Ends with status 0 if all is well.",
    details = "With vehicles it reads fleet_status, for " .. prices.text(prices.published.data) .. ". It wakes and changes nothing.",
  },
}
