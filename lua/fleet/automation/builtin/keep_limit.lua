-- keep_limit: the charge limit for every day comes back after a trip for which it was raised.
--
-- What the owner sets holds until the car has been driven; then the limit of every day is set again.

local poll_schedule = require "fleet.automation.poll_schedule"

local M = {
  doc = "Restores the everyday charge limit after a trip.",
  precedence = 15,
  handles = { "car" },
  needs = { charge_state = { "battery_level", "charge_limit_soc" } },
  reads = { charge_state = { "battery_level", "charge_limit_soc" } },
  options = {
    level = { type = "number", min = 50, max = 100, default = 80, doc = "percent, the everyday limit" },
    look_every = { type = "number", min = 60, max = 86400, default = 3600, doc = "seconds between reads of the car's record" },
  },
}

local sections = { "charge_state" }
local used = 3 -- percent that a drive takes at least

-- Whether the limit that the owner set still holds: until the level drops below the one at which it was set.
local function in_use(m, charge)
  local limit, level = charge.charge_limit_soc, charge.battery_level or 0
  if m.limit ~= limit then m.limit, m.top = limit, level end
  m.top = math.max(m.top, level)
  return level > m.top - used
end

local function set(config)
  local why = string.format("the trip is over: the charge limit goes back to %g %%", config.level)
  return {
    call = "set_charge_limit", params = { percent = config.level }, want = config.level, why = why,
    effect = { charge_state = { charge_limit_soc = config.level } },
  }
end

function M.decide(config, now, state)
  local looks = poll_schedule.due(config, now, state, sections)
  if #looks > 0 then return { actions = looks } end
  local charge, again = state.seen.charge_state, math.max((state.at.info or now) + config.look_every, now + 1)
  if not charge then return { why = "nothing is known of the car yet: it is " .. state.seen.info.state, again_at = again } end
  local limit = charge.charge_limit_soc
  if limit == config.level then
    state.memory.limit = nil -- the same limit, set again, is a new wish
    return { why = string.format("the charge limit is %g %%, as wanted", limit), again_at = again }
  end
  if in_use(state.memory, charge) then
    local why = string.format("the charge limit stays at %g %% until the car has been driven; then it goes back to %g %%",
      limit, config.level)
    return { why = why, again_at = again }
  end
  local action = set(config)
  local look = poll_schedule.before_command(state, now)
  if look then return { actions = { look }, again_at = again } end
  if poll_schedule.away(state, now) then return { why = action.why .. ", when the car is awake", again_at = again } end
  return { why = action.why, actions = { action }, again_at = again, claims = { limit = { ends = now + 600 } } }
end

--- Four live looks a day, a command a week; the looks by the clock are free.
function M.month()
  return { data = 120, command = 4 }
end

return M
