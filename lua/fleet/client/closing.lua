-- Closes clients: writes deferred records of their stores, for one client or, at the end of a program, for all.

local calls = require "fleet.async.calls"
local core = require "fleet.core"
local count = require "fleet.budget.count"
local observers = require "fleet.call.observers"
local sessions = require "fleet.signing.session_pool"

local M = {}

local open_contexts = setmetatable({}, { __mode = "k" })

--- Registers a new client.
function M.opened(context)
  open_contexts[context] = true
end

--- Releases the resources of a closed client once it has no call in flight.
function M.finish(context)
  if rawget(context, "sessions") then sessions.close(context) end
  if rawget(context, "tokens") then require("fleet.oauth.token_cache").close(context) end
  open_contexts[context] = nil
  if context.alarmed then observers.signed_in(context) end
  if rawget(context, "meter") then count.flush(context.meter) end
  if not rawget(context, "store") then return end
  if context.owns_store then context.store:close() else context.store:flush() end
end

--- Closes the client. Requests on the wire end with their true result; calls that would send another request end with an error of kind
--- `closed`. The store is closed after the last call. Idempotent.
function M.close(client)
  if not core.is_open(client) then return end
  local context = core.context(client)
  if context.receiver then context.receiver:close() end
  core.close(client)
  context.closed = true
  if context.under_way == 0 then return M.finish(context) end
  if rawget(context, "store") then context.store:flush() end
end

-- Tries both; returns the first failure, or nil.
local function save(context)
  local saved, flushed, err, why = true, true, nil, nil
  if rawget(context, "tokens") then saved, err = require("fleet.oauth.tokens").finish(context) end
  if rawget(context, "meter") then count.flush(context.meter) end
  if rawget(context, "store") then flushed, why = context.store:flush() end
  return not saved and err or not flushed and why or nil
end

function calls.save()
  local failed
  for context in pairs(open_contexts) do
    local failure = save(context)
    failed = failed or failure
  end
  if failed then return nil, failed, failed.kind end
  return true
end

return M
