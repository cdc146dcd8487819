-- client:request: calls a path that has no row, with all features of a call: tokens and their refresh, retries, outcomes, budgets.

local calls = require "fleet.call"
local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local verbs = { "GET", "POST", "DELETE" }

-- The billing class by path: vehicle data, commands and wakes are billed (doc/protocol.md#prices).
local function billing_of(method, path)
  if string.find(path, "/wake_up", 1, true) then return "wake" end
  if not string.find(path, "^/api/1/vehicles") and not string.find(path, "^/api/1/dx/vehicles") then return "free" end
  return method == "POST" and (string.find(path, "command", 1, true) and "command" or "free") or method == "GET" and "data" or "free"
end

local function row_of(method, path)
  return {
    name = "request", handle = "client", method = "request", verb = method, path = string.match(path, "^[^?]*"),
    billing = billing_of(method, path), tokens = { "user", "business", "partner" }, flags = {}, write = method ~= "GET", paging = "no",
  }
end

local function text_of(body)
  if body == nil or type(body) == "string" then return body end
  if type(body) ~= "table" then errors.usage("request: the body must be a table or JSON text, got %s", type(body)) end
  return core.json_encode(body)
end

--- Calls a path of the service. method: "GET", "POST" or "DELETE"; path: below the base address, with its query; body: a table, JSON text,
--- or nil; options: timeout, auth, idempotent, raw. Returns the member `response`, or the whole body without it; or nil, err, kind.
function M.request(client, method, path, body, options)
  local known = false
  for _, verb in ipairs(verbs) do known = known or verb == method end
  if not known then errors.unknown_choice("request", "method", tostring(method), verbs) end
  if type(path) ~= "string" then errors.usage("request: the path must be a text, got %s", type(path)) end
  if options ~= nil and type(options) ~= "table" then errors.usage("request: the options must be a table, got %s", type(options)) end
  local request = core.any_request(method, path, text_of(body), options or {})
  return calls.perform(row_of(method, path), client, request)
end

return M
