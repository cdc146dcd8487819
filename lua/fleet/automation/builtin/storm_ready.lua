-- storm_ready: the reserve of the house and the limit of the car go up when a warning comes, and back afterwards.
--
-- What stood there before is noted before anything is sent, so that it comes back also after a crash. What somebody else has changed
-- in the meantime is left as it is.

local battery = require "fleet.automation.charging.battery"
local poll_schedule = require "fleet.automation.poll_schedule"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Raises the reserve of the house and the car's limit while a warning holds.",
  precedence = 40,
  handles = { "site" },
  also = { "car" },
  needs = { charge_state = { "charge_limit_soc" } },
  options = {
    warning = { type = "function", needed = true, doc = "function(now) that returns nil, or { text =, ends = UTC seconds }" },
    reserve = { type = "number", min = 0, max = 100, default = 100, doc = "percent of the house's battery" },
    level = { type = "number", min = 50, max = 100, default = 100, doc = "percent, limit of the car" },
    every = { type = "number", min = 60, max = 7200, default = 600, doc = "seconds between asking for warnings" },
    calm = { type = "number", min = 0, max = 86400, default = 3600, doc = "seconds without a warning before everything goes back" },
  },
}

--- The warning is a function of the user; what it raises is no warning, and is said.
function M.observe(config, now)
  local ok, found = pcall(config.warning, now)
  if not ok then return { problem = tostring(found) } end
  if type(found) ~= "table" then return {} end
  if type(found.ends) == "number" and found.ends <= now then return {} end
  return { warning = { text = tostring(found.text or "a warning"), ends = found.ends } }
end

-- ---- the house ----

local function set_reserve(percent, why)
  return {
    call = "backup", params = { backup_reserve_percent = percent }, want = percent, subject = "reserve", why = why,
    effect = { site_info = { backup_reserve_percent = percent } },
  }
end

local settles = 1800 -- seconds in which the site may still change what was sent: some keep 80 % whatever is sent

local function site_look(config, now, state)
  local at, did = state.at.site_info, state.did.reserve
  local pause = did and now - did.at < settles and config.every or config.every * 6
  if not at or now - at >= pause then return { { call = "site_info" } } end
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

-- What was sent since the warning came; somebody may have changed it since, which holds.
local function was_sent(state, subject)
  local did = state.did[subject]
  return did ~= nil and did.sure and did.at >= state.memory.since
end

-- A reserve that the site does not say could not be put back, and is left alone.
local function prepare_house(config, now, state, why)
  local m, reserve = state.memory, battery.percent(state.seen.site_info.backup_reserve_percent)
  m.before = m.before or {}
  if not reserve then return nil end
  m.before.reserve = m.before.reserve or reserve
  if was_sent(state, "reserve") then
    -- What the site makes of it is ours, too.
    local sent_at = state.did.reserve.at
    if state.at.site_info >= sent_at and now - sent_at <= settles then m.held = reserve end
  elseif reserve < config.reserve then
    return set_reserve(config.reserve, why)
  end
end

local function prepare_car(config, state, why)
  local m, limit = state.memory, battery.limit(state.seen.charge_state)
  m.before.limit = m.before.limit or limit
  if limit < config.level and not was_sent(state, "limit") then return set_limit(config.level, why) end
end

local function in_storm(config, now, state, warning)
  local m = state.memory
  m.since, m.seen_at = m.since or now, now
  local why = "prepares for: " .. warning.text
  local decision = { why = why, again_at = now + config.every, actions = {} }
  decision.notices = { { key = "storm " .. m.since .. " " .. warning.text, severity = "warning", text = why } }
  local action = prepare_house(config, now, state, why)
  if action then
    decision.actions = { action, { call = "site_info" } }
    return decision
  end
  if m.held and m.held ~= config.reserve then
    decision.why = why .. string.format("; the site keeps a reserve of %d %%", m.held)
    table.insert(decision.notices, { key = "reserve " .. m.since, severity = "info", text = decision.why })
  elseif not m.before.reserve then
    decision.why = why .. "; the site does not say its backup reserve, which stays as it is"
  end
  if not config.car or m.before.limit and was_sent(state, "limit") then return decision end
  local look, unreachable = car_look(config, now, state, m.since)
  if look then
    decision.actions = { look }
  elseif not unreachable then
    decision.actions = { prepare_car(config, state, why) }
  end
  return decision
end

-- ---- afterwards ----

local function put_back(config, now, state)
  local m, why = state.memory, "the warning is over: back to what was set before"
  local before = m.before
  local reserve = battery.percent(state.seen.site_info.backup_reserve_percent)
  local is_ours = reserve ~= before.reserve and (reserve == config.reserve or reserve == m.held)
  if is_ours and before.reserve and before.reserve < config.reserve then
    return { set_reserve(before.reserve, why), { call = "site_info" } }, why
  end
  if config.car and before.limit and before.limit < config.level then
    local look, unreachable = car_look(config, now, state, m.seen_at)
    if look then return { look }, why end
    if unreachable then return {}, why .. ", when the car is awake" end
    if battery.limit(state.seen.charge_state) == config.level then return { set_limit(before.limit, why) }, why end
  end
  m.before, m.since, m.woken_for, m.held = nil, nil, nil, nil
  return {}, why
end

function M.decide(config, now, state)
  local looks = site_look(config, now, state)
  if #looks > 0 then return { actions = looks } end
  local m, inputs = state.memory, state.inputs or {}
  if inputs.warning then return in_storm(config, now, state, inputs.warning) end
  local quiet = inputs.problem and "the warning function failed: " .. inputs.problem or "there is no warning"
  if not m.before then return { why = quiet, again_at = now + config.every } end
  if inputs.problem or now - m.seen_at < config.calm then
    return { why = quiet .. "; waits before everything goes back", again_at = now + config.every }
  end
  if (state.at.site_info or 0) < m.seen_at then return { actions = { { call = "site_info" } } } end
  local actions, why = put_back(config, now, state)
  return { why = why, actions = actions, again_at = now + config.every }
end

--- Energy calls are free; a warning costs two looks and two commands.
function M.month(config)
  if not config.car then return {} end
  return { data = 8, command = 4, wake = config.wake and 2 or 0 }
end

return M
