-- One call to the token address: the form goes there, and the token of the exchange takes what comes back.

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

--- nil, err, kind, as the call that needed the token reports it.
function M.failure(kind, message, more)
  return errors.failure(kind, message, tables.copy(more, { outcome = "not_sent" }))
end

--- What is sent for a grant (doc/protocol.md#token-requests); nil, err, kind where there is nothing to exchange. The audience
--- is the service itself, also where a socket leads to it.
function M.form(context, grant, token, previous)
  return core.grant(grant.kind, tables.copy(grant, {
    client_id = context.config.client_id, client_secret = context.config.client_secret,
    audience = context.audience or context.base_url, token = token, previous = previous,
  }))
end

--- Sends exchange.form and fills exchange.token (see expect in token_cache.lua). Returns true; or nil, err, kind and what is
--- known of the code or refresh token that was sent: "refused" (it is no longer good), "unanswered" (it may have been used:
--- the same may be sent once more), "kept" (it is as good as before).
function M.send(context, exchange, seconds)
  local host = M.open_source(context) and context.auth_url or context.token_url -- the other apps have a host of their own
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
