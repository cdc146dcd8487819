-- What can be known before anything is sent: whether this client can make the call at all, and with which kind of token.

local failure = require "fleet.call.failure"
local status_cache = require "fleet.call.vehicle_status_cache"
local tokens = require "fleet.oauth.tokens"

local M = {}

--- The kind of token that the call is made with, or nil, err, kind.
function M.token_kind(call)
  local context, row = call.context, call.row
  local wanted = call.wanted_token
  if wanted then
    for _, kind in ipairs(row.tokens) do
      if kind == wanted then return kind end
    end
    return failure.new(call, "unsupported", "it cannot be made with the " .. wanted .. " token")
  end
  for _, kind in ipairs(row.tokens) do
    if tokens.holds(context, kind) then return kind end
  end
  local user_only = row.tokens[1] == "user" and not row.tokens[2]
  if user_only and tokens.holds(context, "business") then
    return failure.new(call, "unsupported", "a business token has no user and cannot make this call: a person must sign in")
  end
  return row.tokens[1]
end

local function is_open_source(context)
  return context.config.client_id and not context.config.client_secret and not context.config.token
end

--- Whether `refusal` has something to look at in calls of the row.
function M.is_questioned(row)
  return row.flags.third_party or row.flags.needs_protocol or row.flags.deprecated
end

local updated = ", as the last fleet_status says. After an update call fleet_status again; force = true sends it"

--- nil, err, kind for a call that cannot succeed: it is not sent.
function M.refusal(call)
  if call.row.flags.third_party and is_open_source(call.context) then
    return failure.new(call, "unsupported", "an open-source app has no partner token and cannot make this call")
  end
  if call.row.flags.needs_protocol and not call.signed then
    return failure.new(call, "unsupported", "this command exists only in signed form: set a key")
  end
  if call.context.serves_others or call.request:flag("force") then return end -- others have chosen
  if call.row.flags.command and call.row.since then
    local need, is_older = status_cache.firmware_need(call.context, call.row, call.id)
    if is_older then return failure.new(call, "unsupported", need .. updated) end
  end
  if call.row.flags.deprecated and call.context.config.commands ~= "proxy" then
    local objection = status_cache.objection(call.context, call.row, call.id)
    if objection then return failure.new(call, "unsupported", objection) end
  end
end

return M
