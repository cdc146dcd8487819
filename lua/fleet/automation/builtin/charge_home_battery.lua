-- charge_home_battery: the battery of the house is filled from the grid in a window of the day, and everything is put back.
--
-- Some gateways obey the reserve only while the tariff says cheap, so the tariff goes first, then the reserve, and both are read back.
-- What stood there before is noted before anything is sent, so that it comes back also after a crash (temporary.lua).

local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local options = require "fleet.automation.options"
local tariffs = require "fleet.tariff"
local temporary = require "fleet.automation.temporary"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Fills the home battery from the grid during certain hours, then restores tariff and reserve.",
  precedence = 10,
  handles = { "site" },
  options = {
    from = { type = "string", needed = true, doc = "local time at which charging begins, such as \"01:00\"" },
    to = { type = "string", needed = true, doc = "local time at which tariff and reserve are restored" },
    level = { type = "number", min = 10, max = 100, default = 100,
      doc = "percent to reach. Some sites store 80 if more is sent; the automation then reports it" },
    cheap = {
      type = "boolean", default = true,
      doc = "send a tariff that is cheap in these hours, for gateways that charge in cheap hours only",
    },
    when = { type = "function", doc = "function(now) that returns whether to charge tonight. By default every night" },
    every = { type = "number", min = 300, max = 7200, default = 900, doc = "seconds between reads of the site in these hours" },
  },
}

local where = "fleet.automation.charge_home_battery: "

function M.prepare(config)
  config.from_minutes, config.to_minutes = local_time.minutes(config.from), local_time.minutes(config.to)
  if not config.from_minutes or not config.to_minutes or config.from_minutes == config.to_minutes then
    errors.usage(where .. "options 'from' and 'to' must be two times such as \"01:00\" and \"05:00\"")
  end
  config.level = math.floor(config.level + 0.5) -- the service takes whole numbers only
  config.local_zone, config.zone = options.zone("charge_home_battery", config)
end

function M.observe(config, now)
  if not config.when then return { wanted = true } end
  local ok, wanted = pcall(config.when, now)
  if not ok then return { wanted = false, problem = "the function 'when' failed: " .. tostring(wanted) } end
  return { wanted = wanted and true or false }
end

-- ---- before it ----

-- The text of a tariff that is cheap in the window, or nil and why there is none.
local function cheap_tariff(config, info)
  local currency = info.tariff_content_v2.currency
  local made, err = tariffs.from_rows {
    currency = type(currency) == "string" and currency or nil, any_currency = true, name = "Charging the battery", time_zone = config.zone,
    rows = { { from = config.from, to = config.to, price = 0.01 }, { from = config.to, to = config.from, price = 1 } },
  }
  return made and made:encode(), err and tostring(err)
end

-- Notes what the site holds now. Returns why it cannot be noted, or nil.
local function note(config, m, info, now)
  local percent, text = temporary.reserve.read(info), temporary.tariff.read(info)
  if not percent then return "the site does not report its backup reserve" end
  local tariff
  if config.cheap and text then
    local cheap, why = cheap_tariff(config, info)
    if not cheap then return "no cheap tariff can be made: " .. why end
    tariff = { before = text, cheap = cheap }
  end
  m.before = { reserve = { before = percent }, tariff = tariff, at = now }
end

-- ---- in the window ----

local function notices(m, state)
  local list = temporary.notices(temporary.reserve, m.before.reserve, state)
  for _, one in ipairs(m.before.tariff and temporary.notices(temporary.tariff, m.before.tariff, state) or {}) do list[#list + 1] = one end
  return list
end

local function fill(config, now, state, ends)
  local m, again = state.memory, math.min(now + config.every, ends)
  local problem = not m.before and note(config, m, state.seen.site_info, now)
  if problem then
    local why = "the home battery is not charged: " .. problem
    local key = "cannot begin " .. local_time.date(config.local_zone, ends)
    return { why = why, again_at = again, notices = { { key = key, severity = "warning", text = why } } }
  end
  local before = m.before
  local why = string.format("filling the home battery to %d %% until %s", config.level, local_time.text(config.local_zone, ends))
  local actions = before.tariff and temporary.bring(temporary.tariff, before.tariff, now, state, before.tariff.cheap, why) or {}
  if #actions == 0 then actions = temporary.bring(temporary.reserve, before.reserve, now, state, config.level, why) end
  local keeps = temporary.keeps(temporary.reserve, before.reserve)
  return { why = keeps and why .. "; " .. keeps.text or why, actions = actions, again_at = again, notices = notices(m, state) }
end

-- ---- after it ----

local function put_back(config, now, state)
  local m, before = state.memory, state.memory.before
  local what = before.tariff and "tariff and reserve go back to what they were: %s %%" or "the reserve goes back to %s %%"
  local why = string.format(what, before.reserve.before)
  m.putting_back = true
  local actions, done, became, tariff_became = {}, true, nil, nil
  if before.tariff then actions, done, tariff_became = temporary.put_back(temporary.tariff, before.tariff, now, state, why) end
  if #actions == 0 then
    local reserve_done
    actions, reserve_done, became = temporary.put_back(temporary.reserve, before.reserve, now, state, why)
    done = done and reserve_done
  end
  local noted = notices(m, state)
  if #actions > 0 then return { why = why, actions = actions, again_at = now + config.every, notices = noted } end
  if not done then return { why = why .. "; the site does not show it yet", again_at = now + config.every, notices = noted } end
  local ending = temporary.ending(temporary.reserve, before.reserve, became)
  if before.tariff then ending = ending .. "; " .. temporary.ending(temporary.tariff, before.tariff, tariff_became) end
  m.before, m.putting_back = nil, nil
  return { why = ending, again_at = local_time.next(config.local_zone, now, config.from_minutes), notices = noted }
end

-- What an earlier version kept: numbers and text in place of what temporary.lua remembers.
local function take_over(config, m)
  local before = m.before
  if not before or type(before.reserve) == "table" then return end
  before.reserve = { before = before.reserve, to = config.level }
  before.tariff = before.tariff and { before = before.tariff, to = "" } or nil
end

function M.decide(config, now, state)
  local m, inputs = state.memory, state.inputs or {}
  take_over(config, m)
  local began = local_time.last(config.local_zone, now, config.from_minutes)
  local ends = local_time.next(config.local_zone, began, config.to_minutes)
  local inside = now < ends and inputs.wanted ~= false
  if not inside and not m.before then
    local at = local_time.next(config.local_zone, now, config.from_minutes)
    local why = "the home battery is charged from " .. config.from .. " on"
    return { why = inputs.problem and inputs.problem .. "; not charging" or why, again_at = at }
  end
  local at = state.at.site_info
  if not at or now - at >= config.every * 0.9 then return { actions = { temporary.look } } end
  if inside and not m.putting_back then return fill(config, now, state, ends) end
  return put_back(config, now, state)
end

--- Energy calls are free.
function M.month()
  return {}
end

return M
