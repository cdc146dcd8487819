-- Replies in the service's envelope (doc/protocol.md#envelope). reply.fail leaves a handler by raising a refusal, which the service turns
-- into the reply.
local json = require("fleet.sim.json")
local tables = require("fleet.util.tables")

local M = {}

local JSON = "application/json; charset=utf-8"

-- A refusal has its own type, so that a bug in a handler is never taken for a refusal.
local refusal = {}

function M.fail(status, message, description, messages)
  error(setmetatable({ status = status, error = message, description = description, messages = messages }, refusal), 0)
end

function M.is_refusal(value)
  return getmetatable(value) == refusal
end

function M.json(status, body, headers)
  headers = headers or {}
  headers["Content-Type"] = JSON
  return status, headers, json.encode(body)
end

function M.error(status, message, description, messages)
  return M.json(status, {
    response = json.null, error = message, error_description = description or "", messages = messages,
  })
end

-- The reply to too many calls: plain text, as the edge of the service sends it (doc/protocol.md#rate-limits).
function M.too_many(seconds, limit)
  return M.text(429, ("Retry in %d seconds"):format(seconds), {
    ["Retry-After"] = ("%d"):format(seconds), ["RateLimit-Limit"] = ("%d"):format(limit or 60),
    ["RateLimit-Remaining"] = "0", ["RateLimit-Reset"] = ("%d"):format(seconds),
  })
end

function M.limit(seconds, limit)
  error(setmetatable({ too_many = seconds, limit = limit }, refusal), 0)
end

function M.of_refusal(r)
  if r.too_many then return M.too_many(r.too_many, r.limit) end
  return M.error(r.status, r.error, r.description, r.messages)
end

function M.text(status, body, headers)
  headers = headers or {}
  headers["Content-Type"] = "text/plain; charset=utf-8"
  return status, headers, body
end

function M.html(status, body, headers)
  headers = headers or {}
  headers["Content-Type"] = "text/html; charset=utf-8"
  headers["Cache-Control"] = "no-store"
  headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; script-src 'self' 'unsafe-inline'; " ..
    "connect-src 'self'; frame-ancestors 'none'"
  return status, headers, body
end

-- Marks a result whose body is not wrapped in `response`, or is not JSON.
local raw = {}

function M.bare(body)
  return setmetatable({ body = body }, raw)
end

function M.bytes(bytes, content_type)
  return setmetatable({ bytes = bytes, content_type = content_type }, raw)
end

-- A body that is JSON already.
function M.text_of_json(text)
  return M.bytes(text, JSON)
end

-- A handler's result as a reply. A list may add members beside `response`.
function M.of(result, beside)
  if getmetatable(result) == raw then
    if result.bytes then return 200, { ["Content-Type"] = result.content_type }, result.bytes end
    return M.json(200, result.body)
  end
  return M.json(200, tables.add({ response = result }, beside))
end

return M
