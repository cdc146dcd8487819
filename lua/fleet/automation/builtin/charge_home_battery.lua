-- charge_home_battery: the battery of the house is filled from the grid in a window of the day, and everything is put back.
--
-- Some gateways obey the reserve only while the tariff says cheap, so the tariff goes first, then the reserve, and both are read back.
-- What the site had is noted as it was read before anything is sent, so that exactly that comes back, also after a crash. Where it
-- could not be put back, the automation does not begin.

local battery = require "fleet.automation.charging.battery"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local options = require "fleet.automation.options"
local tariffs = require "fleet.tariff"

local M = {
  doc = "Fills the house's battery from the grid in a window of the day, and puts everything back.",
  precedence = 10,
  handles = { "site" },
  options = {
    from = { type = "string", needed = true, doc = "local time at which it begins, such as \"01:00\"" },
    to = { type = "string", needed = true, doc = "local time at which everything is back" },
    level = { type = "number", min = 10, max = 100, default = 100, doc = "percent" },
    cheap = { type = "boolean", default = true, doc = "set a tariff that is cheap in the window, for gateways that wait for it" },
    when = { type = "function", doc = "function(now) that returns whether this night counts; without it every night" },
    every = { type = "number", min = 300, max = 7200, default = 900, doc = "seconds between looks at the site in the window" },
  },
}

local where = "fleet.automation.charge_home_battery: "
local least_gap = 900 -- seconds between two changes of the tariff

function M.prepare(config)
  config.from_minutes, config.to_minutes = local_time.minutes(config.from), local_time.minutes(config.to)
  if not config.from_minutes or not config.to_minutes or config.from_minutes == config.to_minutes then
    errors.usage(where .. "options 'from' and 'to' must be two times such as \"01:00\" and \"05:00\"")
  end
  config.local_zone, config.zone = options.zone("charge_home_battery", config)
end

function M.observe(config, now)
  if not config.when then return { wanted = true } end
  local ok, wanted = require("fleet.util.compat").pcall(config.when, now)
  return { wanted = ok and wanted and true or false }
end

-- ---- the tariff that says cheap ----

local function cheap_tariff(config, former)
  return tariffs.from_rows {
    currency = core.json_decode(former).currency or "USD", any_currency = true, name = "Charging the battery", time_zone = config.zone,
    rows = { { from = config.from, to = config.to, price = 0.01 }, { from = config.to, to = config.from, price = 1 } },
  }
end

local function encoded(tariff)
  return tariffs.is(tariff) and tariff:normalised():encode() or core.json_encode(tariff)
end

-- A tariff object, or the content that the site had, which goes as it was read.
local function send_tariff(tariff, why)
  return { call = "time_of_use_settings", params = tariff, options = { force = not tariffs.is(tariff) or nil }, subject = "tariff",
    want = core.sha256(encoded(tariff)), why = why }
end

local function send_reserve(percent, why)
  return { call = "backup", params = { backup_reserve_percent = percent }, subject = "reserve", want = percent, why = why }
end

-- ---- in the window ----

local function stored_tariff(info)
  local tariff = info.tariff_content_v2
  return type(tariff) == "table" and next(tariff) ~= nil and core.json_encode(tariff) or nil
end

-- Why it may not begin: what it would change could not be put back. Else what the site has, to be put back.
local function noted(config, info, now)
  local before = { reserve = battery.percent(info.backup_reserve_percent), tariff = stored_tariff(info), at = now }
  if not before.reserve then return nil, "the site does not say its backup reserve" end
  if config.cheap and before.tariff then
    local cheap, err = cheap_tariff(config, before.tariff)
    if not cheap then return nil, tostring(err) end
  end
  return before
end

local function holds(config, info, tariff)
  local found = info.tariff_content_v2
  if type(found) ~= "table" then return false end
  if encoded(found) == encoded(tariff) then return true end
  local made = tariffs.is(tariff) and tariff or tariffs.new(tariff, { stored = true, time_zone = config.zone })
  return made ~= nil and tariffs.stored_as(found, made)
end

-- What the site does not hold yet: the tariff first. Each is tried again, with a pause.
local function missing(config, now, state, tariff, reserve, why)
  local m, info = state.memory, state.seen.site_info
  if tariff and not holds(config, info, tariff) and now - (m.tariff_at or 0) >= least_gap then
    m.tariff_at = now
    return { send_tariff(tariff, why), { call = "site_info" } }
  end
  if battery.percent(info.backup_reserve_percent) ~= reserve and now - (m.reserve_at or 0) >= least_gap then
    m.reserve_at = now
    return { send_reserve(reserve, why), { call = "site_info" } }
  end
  return {}
end

-- The reserve that the site holds after ours was sent, where it is neither ours nor the one before: some keep 80 % whatever is sent.
local function kept_by_site(config, state)
  local m, shown = state.memory, battery.percent(state.seen.site_info.backup_reserve_percent)
  if not shown or not m.reserve_at or state.at.site_info < m.reserve_at then return nil end
  return shown ~= config.level and shown ~= m.before.reserve and shown or nil
end

local function fill(config, now, state, ends)
  local m, info = state.memory, state.seen.site_info
  if not m.before then
    local before, reason = noted(config, info, now)
    if not before then return { why = "does not begin: " .. reason, again_at = math.min(now + config.every, ends) } end
    m.before = before
  end
  local why = string.format("fills the battery to %d %% until %s", config.level, local_time.text(config.local_zone, ends))
  local tariff = config.cheap and m.before.tariff and cheap_tariff(config, m.before.tariff) or nil
  local kept = kept_by_site(config, state)
  local actions = missing(config, now, state, tariff, kept or config.level, why)
  local decision = { actions = actions, again_at = math.min(now + config.every, ends) }
  if kept then
    why = why .. string.format("; the site keeps %d %%", kept)
    decision.notices = { { key = "reserve " .. m.before.at, severity = "info", text = why } }
  end
  decision.why = why
  return decision
end

-- ---- after it ----

local function put_back(config, now, state)
  local m, info = state.memory, state.seen.site_info
  local why = "puts back what was set before"
  if not m.putting_back then m.putting_back, m.tariff_at, m.reserve_at = true, nil, nil end
  local tariff = config.cheap and m.before.tariff and core.json_decode(m.before.tariff) or nil
  local actions = missing(config, now, state, tariff, m.before.reserve, why)
  if #actions > 0 then return { why = why, actions = actions, again_at = now + config.every } end
  if battery.percent(info.backup_reserve_percent) == m.before.reserve and (not tariff or holds(config, info, tariff)) then
    m.before, m.putting_back, m.tariff_at, m.reserve_at = nil, nil, nil, nil
    return { why = "everything is as before", again_at = local_time.next(config.local_zone, now, config.from_minutes) }
  end
  return { why = why .. "; the site does not show it yet", again_at = now + config.every }
end

local function in_window(config, now)
  local t = config.local_zone:localtime(math.floor(now))
  local minutes = t.hour * 60 + t.min
  return (minutes - config.from_minutes) % 1440 < (config.to_minutes - config.from_minutes) % 1440
end

function M.decide(config, now, state)
  local m, wanted = state.memory, (state.inputs or {}).wanted ~= false
  local inside = in_window(config, now) and wanted
  if not inside and not m.before then
    return { why = "waits until " .. config.from, again_at = local_time.next(config.local_zone, now, config.from_minutes) }
  end
  if not state.at.site_info or now - state.at.site_info >= config.every * 0.9 then return { actions = { { call = "site_info" } } } end
  if inside and not m.putting_back then return fill(config, now, state, local_time.next(config.local_zone, now, config.to_minutes)) end
  return put_back(config, now, state)
end

--- Energy calls are free.
function M.month()
  return {}
end

return M
