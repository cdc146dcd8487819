-- What a call that failed says of itself. A lower layer knows what went wrong; the call adds which request it was, for which
-- vehicle, and what is known of its outcome, and takes the secrets out.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

local facts_of = setmetatable({}, { __mode = "k" }) -- err -> { row =, params =, id = }

--- What `settle` needs to look again, kept until the err is forgotten: facts = { row =, params =, id = }, or nil to read them.
function M.facts(err, facts)
  if facts then facts_of[err] = facts end
  return facts_of[err]
end

--- nil, err, kind with the facts of the call.
function M.new(call, kind, message, more)
  local err = errors.new(kind, call.row.name .. ": " .. message, { outcome = call.write and "not_sent" or nil })
  return nil, M.annotate(call, tables.add(err, more)), kind
end

-- ---- what the reply says beside its error ----

local longest_id, most_text = 100, 300

local function texts_of(messages)
  local found, names = {}, {}
  for name, said in pairs(messages) do
    if type(name) == "string" and type(said) == "string" then said = { said } end
    if type(name) == "string" and type(said) == "table" then
      local list = {}
      for _, text in ipairs(said) do list[#list + 1] = type(text) == "string" and text or nil end
      found[name], names[#names + 1] = list, name
    end
  end
  table.sort(names)
  return found, names
end

-- "percent: must be between 50 and 100"
local function sentence(found, names)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = name .. ": " .. table.concat(found[name], ", ") end
  local text = string.gsub(table.concat(parts, "; "), "%c", " ")
  return #text <= most_text and text or string.gsub(string.sub(text, 1, most_text), "[\192-\255]?[\128-\191]*$", "") .. "…"
end

local function text_in(...)
  for i = 1, select("#", ...) do
    local text = select(i, ...)
    if type(text) == "string" and #text > 0 and #text <= longest_id and not string.find(text, "[^%w%-_.:/+=]") then return text end
  end
end

--- Adds request_id, the service's own name of the exchange, and messages, what it says of single fields.
function M.details(err, reply)
  local body = err.status and core.json_decode(reply:body())
  if type(body) ~= "table" then body = {} end
  err.request_id = text_in(reply:header("x-txid"), body.txid, reply:header("x-request-id"), body.referenceID)
  if type(body.messages) ~= "table" then return end
  local found, names = texts_of(body.messages)
  if #names == 0 then return end
  err.messages = found
  err.message = err.message .. ": " .. sentence(found, names)
end

-- The token may hold the lesser of two scopes.
local function scope_of(row)
  return row.flags.charging_scope and "vehicle_charging_cmds" or row.scope
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
  local secrets = core.call_secrets(call)
  core.redact_err(err, secrets)
  redact_messages(err, secrets)
  facts_of[err] = { row = call.row, params = call.request and call.request:params(), id = call.id }
  return err
end

--- One failure may be reported to several calls that waited for the same token: each gets its own.
function M.no_token(call, err, kind)
  local own = tables.copy(err, { outcome = "not_sent" }) -- of the call, which has not begun
  return nil, M.annotate(call, errors.new(err.kind, err.message, own)), kind
end

--- A cancelled task unwinds through a call while it pauses between attempts: the failure as the task sees it.
function M.interrupted(call, raised)
  if type(raised) ~= "table" or raised.kind ~= "cancelled" then return raised end
  return M.annotate(call, errors.new("cancelled", raised.message, { outcome = call.write and "not_sent" or nil }))
end

--- A client that is closed sends nothing more; what is on the wire ends with its own result.
M.closed_text = "the client was closed"

return M
