-- A token bucket as text in the store, and the decision when the next call may start.
--
-- This file reads no clock and does not wait. A call that must wait reserves its token: the level becomes negative, and the next call waits
-- longer, so that calls of all processes start in the order of arrival. A future `at` is a pause that the service asked for, of at most
-- `rest` seconds: a longer one is from another machine's clock.

local M = {}

M.longest_rest = 86400 -- seconds

local kept_full = 60 -- seconds for which a full bucket is stored

--- The state of an unused bucket.
function M.full(most, now)
  return { level = most, at = now, most = most, rest = 0 }
end

function M.encode(state)
  return string.format("%.0f %.0f %.0f %.0f", state.level * 1000, state.at * 1000, state.most * 1000, state.rest * 1000)
end

--- The state in a text, or a full bucket.
function M.decode(text, most, now)
  local level, at, kept, rest = string.match(text or "", "^(%-?%d+) (%d+) (%d+) ?(%d*)$")
  if not level then return M.full(most, now) end
  local state = { level = level / 1000, at = at / 1000, most = math.min(kept / 1000, most) }
  state.rest = (tonumber(rest) or M.longest_rest * 1000) / 1000 -- earlier versions did not write it
  if state.at > now + M.longest_rest then return M.full(most, now) end -- another machine's clock, or damage
  state.at = math.min(state.at, now + state.rest)
  return state
end

local function filled(state, now)
  local level, at, rest = state.level, state.at, state.rest
  if now > at then level, at, rest = math.min(state.most, level + (now - at) * state.most / 60), now, 0 end
  return { level = level, at = at, most = state.most, rest = rest }
end

--- Takes one token. Returns the state after it and the seconds until the call may start.
function M.take(state, now)
  local after = filled(state, now)
  after.level = after.level - 1
  local wait = after.at - now
  if after.level < 0 then wait = wait - after.level * 60 / after.most end
  return after, wait
end

--- Seconds for which the state must be stored: afterwards it equals a full bucket.
function M.lives(state, now)
  return state.at - now + (state.most - state.level) * 60 / state.most + kept_full
end

--- After a 429: no call for so many seconds, then one at a time. most: the limit in the reply, or nil.
function M.rest(state, now, seconds, most)
  local after = filled(state, now)
  after.at = math.max(after.at, now + math.min(seconds, M.longest_rest))
  after.rest = math.max(after.rest, after.at - now)
  after.level = math.min(after.level, 1)
  if most and most >= 1 then after.most = math.min(after.most, most) end
  return after
end

-- ---- in a store ----

local most_tries = 50

-- Applies a step. Returns the new state, or nil when it is unchanged, and the answer.
local function changed(state, step)
  if step.rest then return M.rest(state, step.now, step.rest, step.named), 0 end
  local after, wait = M.take(state, step.now)
  if wait > step.within then return nil, wait end
  return after, wait
end

--- Runs a step (of store:pace) in a store with compare-and-swap only: reads, decides and writes, again after each conflict. acts: get and
--- put. Returns the seconds, or nil, err, kind.
function M.step(acts, key, step)
  for _ = 1, most_tries do
    local text, generation, kind = acts:get(key)
    if text == nil and kind then return nil, generation, kind end
    local after, answer = changed(M.decode(text, step.most, step.now), step)
    if not after then return answer end
    local put, err, why = acts:put(key, M.encode(after), { generation = generation, ttl = M.lives(after, step.now) })
    if put then return answer end
    if why ~= "conflict" then return nil, err, why end
  end
  return 0 -- too many conflicts: leave it to the service's own limit
end

return M
