-- The proxy's replies in the service's form (doc/protocol.md#envelope, #proxy-replies). A client sees the same as from the service, except
-- for the results of signing.

local core = require "fleet.core"

local M = {}

local JSON = "application/json; charset=utf-8"
local json_headers = { ["Content-Type"] = JSON, ["Cache-Control"] = "no-store" }

local function headers_with(more)
  local headers = { ["Content-Type"] = JSON, ["Cache-Control"] = "no-store" }
  for name, value in pairs(more) do headers[name] = value end
  return headers
end

--- A reply: status, headers, body.
function M.text(status, text)
  return status, { ["Content-Type"] = "text/plain; charset=utf-8" }, text
end

--- A refusal of the proxy's own. more: headers.
function M.error(status, text, description, more)
  local body = core.json_encode { response = core.null, error = text, error_description = description or "" }
  return status, more and headers_with(more) or json_headers, body
end

-- ---- commands that were answered ----

local DONE = '{"response":{"result":true,"reason":""}}'
M.done = DONE
local ours = { changed = true, reason = true, via = true, authenticated = true, perhaps_changed = true }

--- The result of a command in the service's form.
function M.command(value)
  local plain = value.changed and value.reason == ""
  local response = { result = value.changed, reason = value.reason }
  for name, member in pairs(value) do
    if not ours[name] then response[name], plain = member, false end
  end
  if plain then return 200, json_headers, DONE end
  return 200, json_headers, core.json_encode { response = response }
end

-- Clients of a Bluetooth proxy expect a response inside the response.
local function nested(members)
  return 200, json_headers, core.json_encode { response = members }
end

function M.version()
  return nested { result = true, reason = "", response = { version = require("fleet")._VERSION } }
end

--- The members of the vehicle's message, by their own names.
function M.body_controller_state(vin, status)
  local members = {}
  for name, value in pairs(status) do
    if name ~= "authenticated" then members[name] = value end
  end
  return nested {
    result = true, reason = "The command was successfully processed.", vin = vin, command = "body_controller_state", response = members,
  }
end

-- ---- failures ----

local statuses = {
  network = 502, tls = 502, timeout = 504, auth = 401, forbidden = 403, scope = 403, not_found = 404, rate_limited = 429,
  asleep = 408, offline = 408, region = 421, unregistered = 412, limit_exceeded = 403, refused = 502, unsupported = 501,
  key_not_paired = 500, busy = 503, protocol = 502, service = 502, store = 503, conflict = 503, budget = 429, cancelled = 503,
  closed = 503, invalid = 400,
}

-- Texts by which other clients recognise these errors.
local texts = {
  asleep = "vehicle unavailable: vehicle is offline or asleep",
  offline = "vehicle unavailable: vehicle is offline or asleep",
  key_not_paired = "vehicle rejected request: your public key has not been paired with the vehicle",
}

local soon = { busy = 1, closed = 1, conflict = 1 } -- Retry-After in seconds for errors that pass

local function failure_headers(err)
  local more = {}
  if err.outcome then more["x-fleet-outcome"] = err.outcome end
  local wait = err.retry_after and err.retry_after > 0 and err.retry_after or soon[err.kind]
  if wait then more["Retry-After"] = string.format("%d", math.ceil(wait)) end
  return headers_with(more)
end

local function is_fault(err)
  return err.fault ~= nil and err.fault ~= 0
end

-- Whether the vehicle itself refused, with a reason.
local function is_refusal(err, command)
  if not command or is_fault(err) or err.outcome ~= "refused" or err.status ~= nil and err.status ~= 200 then return false end
  return err.kind == "refused" or err.reason ~= nil and not texts[err.kind]
end

-- The name of a protocol fault in the form of the vendor's proxy, with 500.
local function fault_name(err)
  if not err.reason then return string.format("unrecognized error code %d", err.fault) end
  return "MESSAGEFAULT_ERROR_" .. err.reason
end

-- The service's answer unchanged; an unknown outcome gets a reply of the proxy.
local function as_it_came(err)
  return err.outcome ~= "unknown" and err.status ~= nil and err.status >= 400 and type(err.raw) == "string"
end

local function status_for(err)
  if err.status and err.status >= 400 and err.status <= 599 then return err.status end
  return statuses[err.kind] or 502
end

--- The reply to a failed call. command: whether it is a vehicle command.
function M.failure(err, command)
  local headers = failure_headers(err)
  if is_refusal(err, command) then
    return 200, headers, core.json_encode { response = { result = false, reason = err.reason or err.message } }
  end
  if as_it_came(err) then
    if not string.find(err.raw, "^%s*[{%[]") then headers["Content-Type"] = "text/plain; charset=utf-8" end
    return status_for(err), headers, err.raw
  end
  local body = {
    response = core.null, error = err.outcome ~= "unknown" and texts[err.kind] or err.reason or err.kind,
    error_description = err.message, outcome = err.outcome,
  }
  if command and is_fault(err) then
    body.error = texts[err.kind] or fault_name(err)
    return 500, headers, core.json_encode(body)
  end
  return status_for(err), headers, core.json_encode(body)
end

return M
