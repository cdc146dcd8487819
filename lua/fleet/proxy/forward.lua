-- Forwards calls: the row's request with the caller's values, query and body, and the service's own answer. Telemetry configurations are
-- signed on the way.

local core = require "fleet.core"
local replies = require "fleet.proxy.replies"
local rows = require "fleet.call.rows"
local calls = require "fleet.call"
local failure = require "fleet.call.failure"
local tokens = require "fleet.oauth.tokens"

local M = {}

local passed_headers = {
  ["content-type"] = "Content-Type", ["retry-after"] = "Retry-After", ["ratelimit-limit"] = "RateLimit-Limit",
  ["ratelimit-remaining"] = "RateLimit-Remaining", ["ratelimit-reset"] = "RateLimit-Reset", ["x-txid"] = "X-Txid",
}

-- The last answer of the service in the form that is passed on; nil when an attempt brought none.
local function taken(reply)
  local status = reply:status()
  if not status or status < 200 or status > 599 then return nil end
  local headers = {}
  for name, written in pairs(passed_headers) do
    local value = reply:header(name)
    if value and not string.find(value, "%c") then headers[written] = value end
  end
  return { status = status, headers = headers, body = reply:body() }
end

-- Whether the call failed after its last answer: the rejected token could not be refreshed, or no time was left.
local function ended_later(call, err, last)
  return err ~= nil and (call.rejected ~= nil and call.rejected == call.token or err.status ~= last.status)
end

local function holds_any(text, secrets)
  for _, secret in ipairs(secrets) do
    if secret ~= "" and string.find(text, secret, 1, true) then return true end
  end
  return false
end

--- Removes the token from a text of the service, because callers must not see the owner's token.
function M.without_token(client, token_kind, text)
  local secrets = { tokens.at_hand(core.context(client), token_kind) }
  return holds_any(text, secrets) and core.redact(text, secrets) or text
end

-- The service may repeat parts of the request, so the owner's token is removed from the answer.
local function redact(call, answer)
  local secrets = failure.secrets(call)
  for name, value in pairs(answer.headers) do answer.headers[name] = core.redact(value, secrets) end
  if answer.status >= 400 or holds_any(answer.body, secrets) then answer.body = core.redact(answer.body, secrets) end
end

--- Calls the row with the caller's values. Returns status, headers, body, and the err of a failed call.
function M.call(client, row, values, query, body, seconds)
  local planned, request = pcall(core.forward, row.pointer, values, query, body, seconds)
  if not planned then return replies.error(400, "invalid_request", request) end
  local last
  local call = calls.new(row, request, client)
  call.id = values.vin or values.energy_site_id
  call.on_reply = function(reply) last = taken(reply) end
  local _, err = calls.run(call)
  if not last or ended_later(call, err, last) then
    local status, headers, text = replies.failure(err)
    return status, headers, text, err
  end
  redact(call, last)
  if err and err.outcome then last.headers["x-fleet-outcome"] = err.outcome end
  return last.status, last.headers, last.body, err
end

local jws_row = rows.by_name.create_fleet_telemetry_config_jws

local function telemetry_problems(config, wall)
  if type(config) ~= "table" then return "'config' is missing" end
  local telemetry_check = require "fleet.resources.telemetry_check"
  return telemetry_check.sentence(telemetry_check.check(config, wall))
end

--- Signs a telemetry configuration and sends it. body: the decoded body of the plain row.
function M.telemetry(client, key, body, seconds)
  if type(body.vins) ~= "table" then return replies.error(400, "invalid_request", "'vins' is missing") end
  local _, wall = core.context(client).clock()
  local problems = telemetry_problems(body.config, wall)
  if problems then return replies.error(400, "invalid_request", problems) end
  local token, err = key:jws(body.config)
  if not token then return replies.failure(err) end
  return M.call(client, jws_row, {}, "", core.json_encode({ vins = body.vins, token = token }, "vins"), seconds)
end

return M
