-- What an automation remembers between decisions, and across restarts: one JSON record in the store.
--
--   seen, at      last looks by section, and when they were made    awake_since  when the car was first seen awake again
--   did           subject -> { want =, at =, sure = } of the last command
--   pending       the command that was being sent: after a crash it is unknown whether it arrived
--   refused       call -> { reason =, ends = }: not tried again before that
--   calls, day    billed calls by class since the beginning, and { date =, commands = } of today
--   trouble       { message =, kind =, ends =, count = }: the service could not be reached, a reply could not be used, a round raised
--   why, why_at   the last decision as a sentence, and when it was taken
--   unread        call -> how often in a row its reply had too little data
--   notified      key -> when a notification with it was given
--   memory        what belongs to the automation alone

local core = require "fleet.core"
local readings = require "fleet.automation.readings"
local tables = require "fleet.util.tables"

local M = {}

function M.fresh()
  return { seen = {}, at = {}, did = {}, refused = {}, calls = {}, day = { commands = 0 }, unread = {}, notified = {}, memory = {} }
end

-- What is no table of its own, or may be absent.
local single_names = { "pending", "trouble", "awake_since", "again_at", "why", "why_at" }

--- Where automations of a client remember: its store, or one of their own (`fleet run --state`).
function M.store(context)
  return context.automation_store or context.store
end

function M.key(context, id, name)
  return "automation/" .. context.config.account .. "/" .. id .. "/" .. name
end

--- A command that may have been sent is looked for before anything else is decided.
function M.settle_pending(state)
  local pending = state.pending
  if not pending then return state end
  state.pending, state.again_at = nil, nil
  state.did[pending.subject] = { want = pending.want, at = pending.at, sure = false }
  M.stale(state)
  return state
end

--- What was last seen of the car no longer counts: the next decision looks.
function M.stale(state)
  for section in pairs(state.at) do
    if section ~= "info" then state.at[section] = nil end
  end
end

-- What is no table where one is needed is as if it had not been kept.
local function sound(given, needs)
  local state = M.fresh()
  for name in pairs(state) do
    if type(given[name]) == "table" then state[name] = given[name] end
  end
  if type(given.told) == "table" and not given.notified then state.notified = given.told end -- as earlier versions kept it
  state.day = tables.copy(state.day, { commands = tonumber(state.day.commands) or 0 })
  state.seen, state.at = readings.read_all(state, needs)
  return state
end

local first_moment = 1e9 -- no other number that is remembered is so large

local function shifted(value, seconds)
  if type(value) == "number" and value >= first_moment then return value + seconds end
  if type(value) ~= "table" then return value end
  for name, part in pairs(value) do value[name] = shifted(part, seconds) end
  return value
end

--- Moves all moments: the wall clock was set, and ages are those of before.
function M.shift(state, seconds)
  for _, name in ipairs { "at", "did", "refused", "notified", "memory", "pending", "trouble", "awake_since", "again_at", "why_at" } do
    state[name] = shifted(state[name], seconds)
  end
end

local slack = 60 -- seconds by which clocks of two machines may differ

--- Moves all moments of a state that was kept by a clock that was ahead.
function M.not_ahead(state, now)
  local last = 0
  for _, at in pairs(state.at) do last = math.max(last, at) end
  if last > now + slack then M.shift(state, now - last) end
end

--- Raises a failure of the store, which ends a run: without it a command might be sent twice.
function M.raise(err)
  error({ store = err }, 0)
end

--- The state of a key, fresh where there is none; nil, err, kind where the store cannot be read: what was being sent would be
--- forgotten.
function M.load(context, key, needs)
  local text, err, kind = M.store(context):get(key)
  if text == nil and kind then return nil, err, kind end
  local kept = text and core.json_decode(text)
  if type(kept) ~= "table" then return M.fresh() end
  local state = sound(kept, needs)
  for _, name in ipairs(single_names) do state[name] = kept[name] end
  return M.settle_pending(state)
end

function M.encode(state)
  local out = {}
  for name in pairs(M.fresh()) do out[name] = state[name] end
  for _, name in ipairs(single_names) do out[name] = state[name] end
  return core.json_encode(out)
end

--- The same state with a memory of its own, so that a decision leaves the given one as it was.
function M.with_own_memory(state, needs)
  if type(state) ~= "table" then return M.fresh() end
  local out = tables.copy(state, sound(state, needs))
  out.memory = tables.deep_copy(out.memory)
  for _, name in ipairs { "inputs", "claims" } do
    if type(out[name]) ~= "table" then out[name] = nil end
  end
  return out
end

return M
