-- client:create_fleet_telemetry_config: checked before it is sent, and signed where the client has a key.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local members = require "fleet.util.tables"
local rows = require "fleet.call.rows"
local run = require "fleet.call"
local telemetry = require "fleet.resources.telemetry_check"

local M = {}

local row = rows.by_name.create_fleet_telemetry_config

local function refusal(message, more)
  local facts = members.copy(more, { outcome = "not_sent", request = row.verb .. " " .. row.path })
  return errors.failure("invalid", row.name .. ": " .. message, facts)
end

local function problems_told(report)
  local lines = {}
  for i, problem in ipairs(report.problems) do lines[i] = problem.where .. " " .. problem.message end
  return refusal(table.concat(lines, "; ") .. " (force = true sends it all the same)",
    { problems = report.problems, warnings = report.warnings })
end

-- The audience of the token: every vehicle that trusts the key, or the one that is named.
local function vin_for(params)
  if params.audience ~= "vehicle" then return nil end
  if #params.vins ~= 1 then errors.usage(row.method .. ": audience = \"vehicle\" needs exactly one VIN") end
  return params.vins[1]
end

-- The proxy takes the plain form and signs it with its own key.
local function through_proxy(client, params, options)
  local call = run.new_call(row, core.plan(row.pointer, client, params, options), core.account(client), nil, client)
  call.proxied = true
  return run.guarded(call, run.attempts)
end

--- Creates or replaces the configuration of vehicles. plain makes the row's own request; with a key the jws row carries a
--- signed token; commands = "proxy" leaves signing to the proxy. with_skipped(send, ...) sends and reads who was skipped. A
--- configuration with problems returns nil, err, "invalid" with err.problems; the result carries the check's warnings.
--- options.force = true sends what the check refuses.
function M.create(with_skipped, plain, client, params, options, ...)
  core.plan(row.pointer, client, params, options, ...) -- the caller's mistakes raise before anything else
  local account = core.account(client)
  if params.audience and (not account.keys or account.config.commands == "proxy") then
    errors.usage(row.method .. ": audience is said in a token that is signed here, with a key and without a proxy")
  end
  local _, wall = account.clock()
  local report = telemetry.check(params.config, wall)
  if #report.problems > 0 and not (options and options.force) then return problems_told(report) end
  local value, err, kind
  if account.config.commands == "proxy" then
    value, err, kind = with_skipped(through_proxy, client, params, options)
  elseif account.keys then
    local token
    token, err, kind = telemetry.sign(account.keys[1], params.config, vin_for(params))
    if not token then return nil, err, kind end
    value, err, kind = client:create_fleet_telemetry_config_jws({ vins = params.vins, token = token }, options)
  else
    value, err, kind = with_skipped(plain, client, params, options)
  end
  if type(value) == "table" and #report.warnings > 0 then value.warnings = report.warnings end
  return value, err, kind
end

return M
