-- What an automation remembers between decisions, and across restarts: one JSON record in the store.
--
--   seen, at      last looks by section, and when they were made    awake_since  when the car was first seen awake again
--   did           subject -> { want =, at =, sure = } of the last command
--   pending       the command that was being sent: after a crash nobody knows whether it arrived
--   refused       call -> { reason =, ends = }: not tried again before that
--   calls, day    billed calls by class since the beginning, and { date =, commands = } of today
--   trouble       { message =, ends =, count = }: the service could not be reached
--   told          key -> when a notification with it was given
--   memory        what belongs to the automation alone

local core = require "fleet.core"
local tables = require "fleet.util.tables"

local M = {}

function M.fresh()
  return { seen = {}, at = {}, did = {}, refused = {}, calls = {}, day = { commands = 0 }, told = {}, memory = {} }
end

--- Where automations of a client remember: its store, or one of their own (`fleet run --state`).
function M.store(context)
  return context.automation_store or context.store
end

function M.key(context, id, name)
  return "automation/" .. context.config.account .. "/" .. id .. "/" .. name
end

-- A command that may have been sent is looked for before anything else is decided.
local function settle_pending(state)
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

--- The state of a key, fresh where there is none; nil, err, kind where the store cannot be read: what was being sent would be
--- forgotten.
function M.load(context, key)
  local text, err, kind = M.store(context):get(key)
  if text == nil and kind then return nil, err, kind end
  local kept = text and core.json_decode(text)
  local state = M.fresh()
  if type(kept) ~= "table" then return state end
  for name in pairs(state) do
    if type(kept[name]) == "table" then state[name] = kept[name] end
  end
  state.pending, state.trouble, state.awake_since, state.again_at = kept.pending, kept.trouble, kept.awake_since, kept.again_at
  return settle_pending(state)
end

local kept_names = {
  "seen", "at", "did", "refused", "calls", "day", "told", "memory", "pending", "trouble", "awake_since", "again_at",
}

function M.encode(state)
  local out = {}
  for _, name in ipairs(kept_names) do out[name] = state[name] end
  return core.json_encode(out)
end

--- The same state with a memory of its own, so that a decision leaves the given one as it was.
function M.with_own_memory(state)
  local out = tables.copy(state, { memory = tables.deep_copy(state.memory or {}) })
  for name, value in pairs(M.fresh()) do
    if out[name] == nil then out[name] = value end
  end
  return out
end

return M
