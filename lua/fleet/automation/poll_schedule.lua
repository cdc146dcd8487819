-- When to look at a car: as seldom as the purpose allows, and never so that it stays awake.
--
-- The record of a car (info) does not wake it. A live look (vehicle_data) is made when the record says that the car has come
-- awake, when something is to be decided, or after a pause that doubles while nothing changes. Live looks are billed. An automation
-- that knows when the next look is useful writes it into its memory: record_every, live_every, no_look_before, quiet.

local M = {}

local fresh = 120 -- seconds for which a look counts as now
local longest_pause = 4 * 3600

--- Whether the last look at the record, or the last live call, says that the car is awake now.
function M.awake(state, now)
  local info = state.seen.info
  return info ~= nil and info.state == "online" and now - (state.at.info or 0) <= fresh
end

--- Whether the car was asleep or offline when last seen, a moment ago.
function M.away(state, now)
  local info = state.seen.info
  return info ~= nil and info.state ~= "online" and now - state.at.info <= fresh
end

--- Seconds between looks at the record: fewer when it is free and an automation waits for the car to come awake.
function M.record_every(config, state)
  local often = state.memory.record_every
  return often and state.seen.info and state.seen.info.free and math.min(often, config.look_every) or config.look_every
end

-- The pause between live looks at a car that is awake.
local function pause(config, state, section)
  local m = state.memory.poll or {}
  state.memory.poll = m
  if m.at ~= state.at[section] then
    local value = state.seen[section] or {}
    local sign = tostring(value.charging_state) .. tostring(value.battery_level) .. tostring(value.charge_limit_soc)
    m.pause = m.sign == sign and math.min((m.pause or config.look_every) * 2, longest_pause) or config.look_every
    m.at, m.sign = state.at[section], sign
  end
  if state.memory.quiet then return longest_pause end
  return math.min(m.pause or config.look_every, state.memory.live_every or math.huge)
end

local function live(sections)
  return { call = "vehicle_data", params = { endpoints = sections }, sections = sections }
end

--- The looks that are due, a list of actions that may be empty. wanted: a moment since which the sections must have been
--- read anew if the car is awake, or nil.
function M.due(config, now, state, sections, wanted)
  local info_at, section = state.at.info, sections[1]
  local pressing = wanted ~= nil and now >= wanted and (state.at[section] or -1) < wanted
  if not info_at or now - info_at >= M.record_every(config, state) then return { { call = "info" } } end
  local older = now - info_at > fresh or wanted and info_at < wanted and state.seen.info.free
  if pressing and older then return { { call = "info" } } end
  if not M.awake(state, now) then return {} end
  local seen_at = state.at[section]
  local rests = now < (state.memory.no_look_before or 0)
  local due = not seen_at or pressing or seen_at < (state.awake_since or 0)
    or not rests and now - seen_at >= pause(config, state, section)
  return due and { live(sections) } or {}
end

--- The look that a command needs first: nil when the car is known to be awake.
function M.before_command(state, now)
  if M.awake(state, now) or M.away(state, now) then return nil end
  return { call = "info" }
end

M.live = live

return M
