-- The end of clients: what a store still holds back is written, for one client or, at the end of a program, for all.

local calls = require "fleet.async.calls"
local core = require "fleet.core"
local count = require "fleet.budget.count"
local observers = require "fleet.call.observers"
local sessions = require "fleet.signing.session_pool"

local M = {}

local open_contexts = setmetatable({}, { __mode = "k" })

--- Remembers a client that was made.
function M.opened(context)
  open_contexts[context] = true
end

--- Nothing of a closed client is under way any more: lets go of what it held.
function M.finish(context)
  if rawget(context, "sessions") then sessions.close(context) end
  if rawget(context, "tokens") then require("fleet.oauth.token_cache").close(context) end
  open_contexts[context] = nil
  if context.alarmed then observers.signed_in(context) end
  if rawget(context, "meter") then count.flush(context.meter) end
  if not rawget(context, "store") then return end
  if context.owns_store then context.store:close() else context.store:flush() end
end

--- Ends the client. Requests that are on the wire end with their true result, everything that would send another one ends
--- with an error of kind `closed`; the store is closed behind the last of them. Idempotent.
function M.close(client)
  if not core.is_open(client) then return end
  local context = core.context(client)
  if context.receiver then context.receiver:close() end
  core.close(client)
  context.closed = true
  if context.under_way == 0 then return M.finish(context) end
  if rawget(context, "store") then context.store:flush() end
end

-- Both are tried; returns the first failure, or nil.
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
