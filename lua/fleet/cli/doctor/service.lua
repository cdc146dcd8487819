-- What `fleet doctor` asks the service: whether it answers, whether the clocks agree, which account is signed in, with which scopes.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local granting = require "fleet.cli.scopes"
local lines = require "fleet.cli.doctor.lines"

local M = {}

local add, failed = lines.add, lines.failed

local CLOCK_TOLERANCE = 60 -- seconds

local function clock(report, headers, before, after)
  local date = core.header(headers, "date")
  local there = date and core.http_date(date)
  if not there then return add(report, "clock", nil, "the service sent no date to compare with") end
  local off = there < before - 1 and there - before or there > after and there - after or 0
  if math.abs(off) <= CLOCK_TOLERANCE then return add(report, "clock", true, "agrees with the service's") end
  add(report, "clock", false, string.format("this machine is %.0f s %s", math.abs(off), off > 0 and "behind" or "ahead"),
    "set the clock: tokens and signed commands carry times")
end

function M.service(report, context)
  local client_context = core.context(context:client())
  if client_context.unix_path then return add(report, "service", nil, "a Unix socket is not checked") end
  local base = require("fleet.region").describe(client_context)
  local _, before = core.clock()
  local answer = require("fleet.call.send").fetch(client_context, client_context.base_url .. client_context.vendor.health_path, 15, 65536)
  local _, after = core.clock()
  if answer.failure then
    local fix = answer.failure == "tls" and "look at --ca-file, and at the clock" or "look at the network, the name server and --proxy"
    return add(report, "service", false, base .. ": " .. (answer.message or answer.failure), fix)
  end
  report.reached = true
  add(report, "service", true, base)
  clock(report, answer.headers, before, after)
end

-- ---- the account ----

function M.tokens(report, context)
  local slots, err = context:client():token_info()
  if not slots then return failed(report, "sign-in", err, "look at the store") end
  local user = slots.user
  local sign_in = report.given.client_id and "run 'fleet login'" or "run 'fleet setup'"
  if not user then return add(report, "sign-in", false, "not signed in", sign_in) end
  report.user = user
  if user.refresh_by then
    return add(report, "sign-in", true, os.date("!to be refreshed by %Y-%m-%d", math.floor(user.refresh_by)))
  end
  if report.given.token then return add(report, "sign-in", nil, "the token is given from outside") end
  add(report, "sign-in", false, "there is no refresh token: the sign-in ends with this access token",
    "add offline_access and openid to the scopes and run 'fleet login'")
end

function M.scopes(report)
  if not report.user then return end
  local granted = tables.set(report.user.scopes)
  if next(granted) == nil then return add(report, "scopes", nil, "the token does not say what was granted") end
  local missing = {}
  for _, scope in ipairs(report.given.scopes or {}) do
    if not granted[scope] then missing[#missing + 1] = scope end
  end
  if missing[1] then
    return add(report, "scopes", false, "not granted: " .. table.concat(missing, " "),
      "run '" .. granting.ask_again(report.given) .. "', or take them out of scopes")
  end
  add(report, "scopes", true, table.concat(report.user.scopes, " "))
end

function M.region(report, context)
  if not report.user or not report.reached then return end
  local client = context:client()
  local _, err, kind = client.user:region()
  if not err then return add(report, "account", true, "answers at " .. require("fleet.region").describe(core.context(client))) end
  local fixes = {
    auth = "run 'fleet login'", scope = "run '" .. granting.ask_again(report.given, err.scope) .. "'",
    unregistered = "run 'fleet setup'; 'fleet region --discover' looks in all regions",
    region = "run 'fleet region --discover'",
  }
  failed(report, "account", err, fixes[kind] or "try again later")
end

return M
