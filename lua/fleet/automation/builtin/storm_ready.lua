-- storm_ready: the reserve of the house and the limit of the car go up when a warning comes, and back afterwards.
--
-- The former settings are stored before anything is sent, so that they are restored after a crash, too. A setting that was changed
-- by hand in the meantime is left as it is.

local battery = require "fleet.automation.charging.battery"
local local_time = require "fleet.automation.local_time"
local poll_schedule = require "fleet.automation.poll_schedule"
local temporary = require "fleet.automation.temporary"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Raises the reserve of the home battery and the car's charge limit during a storm warning.",
  precedence = 40,
  handles = { "site" },
  also = { "car" },
  needs = { charge_state = { "charge_limit_soc" } },
  reads = { charge_state = { "charge_limit_soc" } },
  options = {
    warning = { type = "function", needed = true, doc = "function(now) that returns nil, or { text =, ends = UTC seconds }" },
    reserve = {
      type = "number", min = 0, max = 100, default = 100,
      doc = "percent of the home battery. Some sites store 80 if more is sent; the automation then reports it",
    },
    level = { type = "number", min = 50, max = 100, default = 100, doc = "percent, charge limit of the car" },
    every = { type = "number", min = 60, max = 7200, default = 600, doc = "seconds between calls of warning" },
    calm = {
      type = "number", min = 0, max = 86400, default = 3600,
      doc = "seconds without a warning before reserve and limit are restored",
    },
  },
}

--- The warning is a function of the user. An error that it raises is no warning, and is reported.
function M.observe(config, now)
  local ok, found = pcall(config.warning, now)
  if not ok then return { problem = tostring(found) } end
  if type(found) ~= "table" then return {} end
  if type(found.ends) == "number" and found.ends <= now then return {} end
  return { warning = { text = tostring(found.text or "a warning"), ends = found.ends } }
end

-- ---- the house ----

local fresh = 30 -- seconds: what goes back is decided by what the site shows now

local function site_look(config, now, state)
  local at, reserve = state.at.site_info, (state.memory.before or {}).reserve
  local pending = type(reserve) == "table" and temporary.is_settling(reserve, now)
  if not at or now - at >= (pending and config.every or config.every * 6) then return { temporary.look } end
  return {}
end

-- ---- the car ----

local car_sections = { "charge_state" }

local function set_limit(percent, why)
  return {
    call = "set_charge_limit", params = { percent = percent }, want = percent, why = why,
    effect = { charge_state = { charge_limit_soc = percent } },
  }
end

-- The look that a command to the car needs; true where the car cannot be reached now.
local function car_look(config, now, state, since)
  if (state.at.charge_state or -1) >= since then return poll_schedule.before_command(state, now), poll_schedule.away(state, now) end
  local info = state.seen.info -- the record of a car that sleeps costs, and is looked at by the clock
  if info and info.state ~= "online" and not config.wake and now - state.at.info < config.look_every then return nil, true end
  local looks = poll_schedule.due(config, now, state, car_sections, since)
  if #looks > 0 then return looks[1] end
  if state.seen.info.state == "asleep" and config.wake and state.memory.woken_for ~= since then
    state.memory.woken_for = since
    return poll_schedule.live(car_sections)
  end
  return nil, true
end

-- ---- a warning ----

-- Whether this setting was sent since the warning came. A later change by hand holds.
local function was_sent(state, subject)
  local did = state.did[subject]
  return did ~= nil and did.sure and did.at >= state.memory.since
end

-- Returns actions, and why the reserve is left alone.
local function prepare_house(config, now, state, why)
  local m, percent = state.memory, temporary.reserve.read(state.seen.site_info)
  m.before = m.before or {}
  if not m.before.reserve then
    if not percent then return {}, "the site does not report its backup reserve, which stays as it is" end
    m.before.reserve = { before = percent }
  end
  local reserve = m.before.reserve
  if reserve.before >= config.reserve then return {} end
  return temporary.bring(temporary.reserve, reserve, now, state, config.reserve,
    string.format("%s; the reserve goes from %s %% to %d %%", why, reserve.before, config.reserve))
end

local function prepare_car(config, state, why)
  local m, limit = state.memory, battery.limit(state.seen.charge_state)
  m.before.limit = m.before.limit or limit
  if limit < config.level and not was_sent(state, "limit") then
    return set_limit(config.level, string.format("%s; the car's charge limit goes from %g %% to %g %%", why, limit, config.level))
  end
end

-- Adds what the site makes of the reserve.
local function notify_reserve(m, state, decision)
  if not m.before.reserve then return end
  for _, one in ipairs(temporary.notices(temporary.reserve, m.before.reserve, state)) do
    decision.notices[#decision.notices + 1] = one
    decision.why = decision.why .. "; " .. one.text
  end
end

local function in_storm(config, now, state, warning)
  local m = state.memory
  m.since, m.seen_at = m.since or now, now
  if not (m.before and m.before.reserve) and state.at.site_info < m.since then return { actions = { temporary.look } } end
  local why = "storm warning: " .. warning.text
  local decision = { why = why, again_at = now + config.every, actions = {} }
  decision.notices = { { key = "storm " .. m.since .. " " .. warning.text, severity = "warning", text = why } }
  local actions, left_alone = prepare_house(config, now, state, why)
  if left_alone then
    decision.why = why .. "; " .. left_alone
    decision.notices[2] = { key = "reserve unknown " .. m.since, severity = "warning", text = left_alone }
  end
  notify_reserve(m, state, decision)
  if #actions > 0 then
    decision.actions = actions
    return decision
  end
  if not config.car or m.before.limit and was_sent(state, "limit") then return decision end
  local look, unreachable = car_look(config, now, state, m.since)
  if look then
    decision.actions = { look }
  elseif unreachable then
    decision.why = decision.why .. "; the car's charge limit is raised when the car is awake"
  else
    decision.actions = { prepare_car(config, state, why) }
  end
  return decision
end

-- ---- afterwards ----

local function put_back(config, now, state)
  local m, why = state.memory, "the warning is over"
  local before = m.before
  if before.reserve then
    local back = string.format("%s; the reserve goes back to %s %%", why, before.reserve.before)
    local actions, done, became = temporary.put_back(temporary.reserve, before.reserve, now, state, back)
    if not done then return actions, back end
    why = why .. "; " .. temporary.ending(temporary.reserve, before.reserve, became)
  end
  if config.car and before.limit and before.limit < config.level then
    local look, unreachable = car_look(config, now, state, m.seen_at)
    local back = string.format("%s; the car's charge limit goes back to %g %%", why, before.limit)
    if look then return { look }, back end
    if unreachable then return {}, back .. " when the car is awake" end
    local limit = battery.limit(state.seen.charge_state)
    if limit == config.level then return { set_limit(before.limit, back) }, back end
    why = why .. string.format(limit == before.limit and "; the car's charge limit is back at %g %%"
      or "; the car's charge limit was changed by hand to %g %%, and stays", limit)
  end
  m.before, m.since, m.woken_for = nil, nil, nil
  return {}, why
end

-- What an earlier version kept: a number in place of what temporary.lua remembers.
local function take_over(config, m)
  local before = m.before
  if not before or type(before.reserve) ~= "number" then return end
  before.reserve = { before = before.reserve, to = config.reserve, holds = config.reserve }
end

function M.prepare(config)
  config.reserve = math.floor(config.reserve + 0.5) -- the service takes whole numbers only
end

function M.decide(config, now, state)
  take_over(config, state.memory)
  local looks = site_look(config, now, state)
  if #looks > 0 then return { actions = looks } end
  local m, inputs = state.memory, state.inputs or {}
  if inputs.warning then return in_storm(config, now, state, inputs.warning) end
  local quiet = inputs.problem and "the warning function failed: " .. inputs.problem or "there is no warning"
  if not m.before then return { why = quiet, again_at = now + config.every } end
  if inputs.problem or now - m.seen_at < config.calm then
    local when = inputs.problem and "when it works again" or "after " .. local_time.duration(config.calm) .. " without a warning"
    return { why = quiet .. "; reserve and charge limit go back " .. when, again_at = now + config.every }
  end
  if now - state.at.site_info >= fresh then return { actions = { temporary.look } } end
  local actions, why = put_back(config, now, state)
  local decision = { why = why, actions = actions, again_at = now + config.every, notices = {} }
  if m.before then notify_reserve(m, state, decision) end
  return decision
end

--- Energy calls are free; a warning costs two looks and two commands.
function M.month(config)
  if not config.car then return {} end
  return { data = 8, command = 4, wake = config.wake and 2 or 0 }
end

return M
