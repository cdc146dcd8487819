-- Handles a caller's Idempotency-Key: stores the first result for ten minutes, for all proxies on one store.
--
-- The record is a claim before anything is sent, and the result afterwards. While a proxy performs the request, it owns the lease. A claim
-- without a lease belongs to a proxy that crashed. Whether that proxy had sent the request is unknown, so the answer is "unknown" until the
-- claim expires.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local kept_for = 600 -- seconds
local beyond_call = 5 -- seconds after the call; the claim of a later owner is unknown, and not sent again
local first_pause, longest_pause = 0.02, 0.25

local function key_of(caller, key)
  return "proxy/" .. core.sha256(caller .. "\n" .. key)
end

--- Whether the text is a valid key.
function M.is_key(text)
  return #text > 0 and #text <= 255 and not string.find(text, "%c")
end

local function failure(kind, message, outcome)
  return errors.new(kind, message, { outcome = outcome })
end

local function not_sent(err)
  err.outcome = "not_sent"
  return nil, err
end

-- The store fails, so an earlier request with this key may have sent the command.
local function unsaid(err)
  err.outcome = "unknown"
  return nil, err
end

local function abandoned()
  return failure("service", "another proxy began this command and ended before it stored the result", "unknown")
end

local function read(record, digest)
  local known = core.json_decode(record)
  if type(known) ~= "table" then return nil, failure("store", "the record of this Idempotency-Key cannot be read", "unknown") end
  if known.digest ~= digest then
    return nil, failure("invalid", "this Idempotency-Key was used for another request", "not_sent")
  end
  return known
end

-- Runs while owning the lease: the stored value is that of the last owner.
local function answer_once(store, name, lease, digest, act)
  local record, generation, kind = store:get(name)
  if record == nil and kind then return unsaid(generation) end
  if record then
    local known, err = read(record, digest)
    if err then return nil, err end
    if known.answer then return known.answer end
    return nil, abandoned()
  end
  local claim = { generation = 0, ttl = kept_for, lease = lease, durable = true }
  local claimed, err = store:put(name, core.json_encode { digest = digest }, claim)
  if not claimed then return not_sent(err) end
  local answer, unsent = act()
  if unsent then
    store:delete(name, claimed)
    return answer
  end
  store:put(name, core.json_encode { digest = digest, answer = answer }, { ttl = kept_for, lease = lease })
  return answer
end

local function holding(store, name, lease, digest, act)
  local ran, answer, err = pcall(answer_once, store, name, lease, digest, act)
  lease:release()
  if not ran then error(answer, 0) end
  return answer, err
end

-- The result of another proxy that is performing the request now, or nil.
local function finished(store, name, digest)
  local record = store:get(name)
  if not record then return nil end
  local known, err = read(record, digest)
  if err then return nil, err end
  return known.answer
end

--- Returns the answer for a caller's key: that of act(), which is called at most once, or the stored one. act returns its answer and
--- whether nothing was sent: the key is then free again. digest: of the request; a key that is reused for another request is rejected.
--- seconds: how long to wait for another proxy that performs the request. Returns a table, or nil, err.
function M.perform(store, caller, key, digest, seconds, act)
  local name = key_of(caller, key)
  local pauses = tasks.pauses(seconds, first_pause, longest_pause)
  while true do
    local lease, err, kind = store:lease(name, seconds + beyond_call)
    if lease then return holding(store, name, lease, digest, act) end
    if kind ~= "busy" then return unsaid(err) end
    local answer, why = finished(store, name, digest)
    if answer or why then return answer, why end
    if not pauses:again() then
      return nil, failure("timeout", "another request with this Idempotency-Key is under way", "unknown")
    end
  end
end

return M
