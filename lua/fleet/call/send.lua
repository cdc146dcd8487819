-- Sends requests through the core's HTTP on the loop, or through the host's. It does not interpret replies.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local failure = require "fleet.call.failure"
local on_demand = require "fleet.util.on_demand"
local tasks = require "fleet.async"

local M = {}

local host_exchange = on_demand.call("fleet.call.host_http", "exchange")
local host_raw = on_demand.call("fleet.call.host_http", "raw")
local kept = setmetatable({}, { __mode = "k" }) -- context -> connection settings of the C layer

local function new_settings(context, unix_path, most)
  local config = context.config
  return core.settings {
    connect_timeout = config.connect_timeout, max_response = most or config.max_response, ca_file = config.ca_file,
    unix_path = unix_path, proxy = config.proxy, http2 = config.http2,
    agent_line = "User-Agent: " .. (config.user_agent or context.agent),
  }
end

-- Makes the connection settings of the service or the signing proxy once.
local function settings(context, proxied)
  local found = kept[context]
  if not found then
    found = { [false] = new_settings(context, context.unix_path), [true] = new_settings(context, context.proxy_unix_path) }
    kept[context] = found
  end
  return found[proxied]
end

--- Sends { method, url, headers = { lines }, body } and returns the reply object, or nil, err, kind. With answer = false in the request,
--- the host's answer is stored there at once.
function M.raw(context, request, seconds)
  if context.closed then return errors.failure("closed", failure.closed_text) end
  if context.config.http then
    return host_raw(context, request, seconds)
  end
  return tasks.exchange("submit_raw", request, settings(context, false), seconds)
end

--- Fetches a file from another host than the service: without a token and without redirects, at most `limit` bytes. Returns { status =,
--- headers = text, body =, failure =, message = }.
function M.fetch(context, url, seconds, limit)
  local reply, err
  if context.config.http then
    reply = host_exchange(context, { method = "GET", url = url, headers = {} }, seconds)
  else
    reply, err = tasks.exchange("submit_raw", { method = "GET", url = url }, new_settings(context, nil, limit), seconds)
    if not reply then return { failure = "local", message = err.message } end
  end
  local cause, message = reply:failure()
  local answer = { status = reply:status(), headers = reply:headers(), body = reply:body(), message = message }
  answer.failure = cause ~= "ok" and cause or #answer.body > limit and "too_large" or nil
  reply:close()
  return answer
end

--- Sends a planned request to the service, or to the proxy. Returns the reply object, or nil, err, kind.
function M.request(call, base, token, seconds)
  local context = call.context
  local line = token and "Authorization: Bearer " .. token or nil
  if context.config.http then
    local before = call.outcome_unknown
    call.outcome_unknown = before or call.write -- a task cancelled while sending raises here: it is unknown whether the request left
    local request = call.request:table(base, line)
    request.headers["user-agent"] = context.config.user_agent
    local reply = host_exchange(context, request, seconds)
    call.outcome_unknown = before
    return reply
  end
  return tasks.exchange("submit", call.request, base, line, settings(context, call.proxied), seconds)
end

return M
