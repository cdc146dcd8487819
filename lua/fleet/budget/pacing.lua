-- Rate limits kept before the service says 429: a bucket for each account, vehicle and class, in the store.
--
-- The service limits calls by device and account (doc/protocol.md#rate-limits), so that vehicles do not wait for each other, nor
-- do accounts. A call whose turn comes within its time waits for it; any other ends at once and says how long.

local bucket = require "fleet.budget.bucket"
local prices = require "fleet.budget.prices"

local M = {}

local most_tries = 50
local default_rest = 300 -- seconds, after a 429 that says nothing

--- What a client paces with. pacing: the option; account: its name; store(): its store.
function M.new(pacing, account, store)
  return { pacing = pacing, account = account, store = store }
end

local function most_of(pacer, class)
  return pacer.pacing[class] or prices.per_minute[class]
end

local function key_of(pacer, class, id)
  return "pace/" .. pacer.account .. "/" .. class .. "/" .. (id or "-")
end

-- Reads, decides and writes until nobody comes in between. decide(state) -> state to be written, or nil; and its answer.
local function change(pacer, class, id, now, decide)
  local key = key_of(pacer, class, id)
  for _ = 1, most_tries do
    local text, generation, kind = pacer.store():get(key)
    if text == nil and kind then return nil, generation end
    local after, answer = decide(bucket.decode(text, most_of(pacer, class), now))
    if not after then return answer end
    local put, err, why = pacer.store():put(key, bucket.encode(after), { generation = generation, ttl = 120 + math.max(after.at - now, 0) })
    if put then return answer end
    if why ~= "conflict" then return nil, err end
  end
  return 0 -- so many at once: the service's own limit decides
end

--- Seconds until the call may go, its turn being taken; or nil and the seconds, where those are more than `left`; or nil, nil, err.
function M.turn(pacer, class, id, now, left)
  if not most_of(pacer, class) then return 0 end
  local too_long
  local wait, err = change(pacer, class, id, now, function(state)
    local after, seconds = bucket.take(state, now)
    too_long = seconds > left and seconds or nil
    if too_long then return nil, seconds end
    return after, seconds
  end)
  if not wait then return nil, nil, err end
  if too_long then return nil, too_long end
  return wait
end

--- After a 429: seconds of its Retry-After or nil, most: of its ratelimit-limit or nil.
function M.refused(pacer, class, id, now, seconds, most)
  if not most_of(pacer, class) then return end
  change(pacer, class, id, now, function(state)
    return bucket.rest(state, now, seconds or default_rest, most), true
  end)
end

return M
