-- Builds the err of a failed call. A lower layer reports what failed; the call adds its request, its vehicle and the outcome, and removes
-- secrets.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

local facts_of = setmetatable({}, { __mode = "k" }) -- err -> { row =, params =, id = }

--- Stores what confirming the outcome needs: facts = { row =, params =, id = }. With facts = nil, returns them.
function M.facts(err, facts)
  if facts then facts_of[err] = facts end
  return facts_of[err]
end

--- Returns nil, err, kind with the facts of the call.
function M.new(call, kind, message, more)
  local err = errors.new(kind, call.row.name .. ": " .. message, { outcome = call.write and "not_sent" or nil })
  return nil, M.annotate(call, tables.add(err, more)), kind
end

-- The scope that is missing: the narrower of two when either is enough.
local function scope_of(row)
  return row.flags.charging_scope and "vehicle_charging_cmds" or row.scope
end

--- The texts of a call that must not appear in an err or a log (rule R4): secret parameters, the account's secrets, tokens.
function M.secrets(call)
  local list = {}
  local function add(value)
    if type(value) == "string" then list[#list + 1] = value end
  end
  local params, config = call.request and call.request:params(), call.context.config
  if params then
    for name in pairs(call.row.secrets or {}) do add(params[name]) end
  end
  add(config.token)
  add(config.client_secret)
  add(config.store_key)
  add(call.token)
  add(call.rejected)
  return list
end

local function redact_messages(err, secrets)
  for _, texts in pairs(err.messages or {}) do
    for i, text in ipairs(texts) do texts[i] = core.redact(text, secrets) end
  end
end

--- Adds what the call knows to an err of a lower layer.
function M.annotate(call, err)
  err.request = call.row.verb .. " " .. call.row.path
  if call.row.handle == "vehicle" then err.vin = call.id end
  if call.row.handle == "site" then err.site = call.id end
  if err.kind == "scope" then err.scope = scope_of(call.row) end
  if not call.write then err.outcome = nil end
  local secrets = M.secrets(call)
  core.redact_err(err, secrets)
  redact_messages(err, secrets)
  facts_of[err] = { row = call.row, params = call.request and call.request:params(), id = call.id }
  return err
end

--- One failed token exchange may fail several waiting calls. Each gets its own copy of the err.
function M.no_token(call, err, kind)
  local own = tables.copy(err, { outcome = "not_sent" }) -- the waiting call has sent nothing
  return nil, M.annotate(call, errors.new(err.kind, err.message, own)), kind
end

--- The failure of a cancelled task: cancelling raises inside the call while it pauses between attempts.
function M.interrupted(call, raised)
  if type(raised) ~= "table" or raised.kind ~= "cancelled" then return raised end
  return M.annotate(call, errors.new("cancelled", raised.message, { outcome = call.write and "not_sent" or nil }))
end

--- After closing, a client sends nothing; requests on the wire end with their own result.
M.closed_text = "the client was closed"

return M
