-- Sends one request to the token address and puts the reply into the token of the exchange.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local reply_details = require "fleet.util.reply_details"
local tables = require "fleet.util.tables"

local M = {}

local headers = { "Content-Type: application/x-www-form-urlencoded", "Accept: application/json" }

--- Whether the application has no secret (doc/protocol.md#token-kinds).
function M.open_source(context)
  return context.config.client_secret == nil
end

--- Returns nil, err, kind, as the call that needs the token reports it.
function M.failure(kind, message, more)
  return errors.failure(kind, message, tables.copy(more, { outcome = "not_sent" }))
end

--- The form of a grant (doc/protocol.md#token-requests); nil, err, kind when there is nothing to exchange. The audience is the service
--- itself, even when requests go through a socket.
function M.form(context, grant, token, previous)
  return core.grant(grant.kind, tables.copy(grant, {
    client_id = context.config.client_id, client_secret = context.config.client_secret,
    audience = context.audience or context.base_url, token = token, previous = previous,
  }))
end

--- Sends exchange.form and fills exchange.token (see expect in token_cache.lua). Returns true; or nil, err, kind and the state of the code
--- or refresh token that was sent: "refused" (no longer valid), "unanswered" (perhaps consumed; the same request may be sent once more),
--- "kept" (still valid).
function M.send(context, exchange, seconds)
  local host = M.open_source(context) and context.auth_url or context.token_url -- other apps use a host of their own
  local request = {
    method = "POST", url = host .. context.vendor.token_path, body = exchange.form, headers = headers, answer = false, promise = false,
  }
  exchange.request, exchange.reply = request, false
  local reply, err, kind = context.send(request, seconds)
  if not reply then return nil, err, kind, "kept" end
  exchange.reply = reply
  exchange.mono, exchange.wall = context.clock()
  local known
  exchange.issued, err, kind, known = exchange.token:take(exchange)
  if err then reply_details.add(err, reply) end
  return exchange.issued, err, kind, known
end

return M
