-- charge_home_battery: the battery of the house is filled from the grid in a window of the day, and everything is put back.
--
-- Some gateways obey the reserve only while the tariff says cheap, so the tariff goes first, then the reserve, and both are read back.
-- What stood there before is noted before anything is sent, so that it comes back also after a crash.

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
  return assert(tariffs.from_rows {
    currency = core.json_decode(former).currency or "USD", name = "Charging the battery", time_zone = config.zone,
    rows = { { from = config.from, to = config.to, price = 0.01 }, { from = config.to, to = config.from, price = 1 } },
  })
end

local function sign_of(tariff)
  return core.sha256(tariff:normalised():encode())
end

-- The tariff that the site had, from the text that was kept of it.
local function former_tariff(config, text)
  return tariffs.new(core.json_decode(text), { time_zone = config.zone })
end

local function send_tariff(tariff, why)
  return { call = "time_of_use_settings", params = tariff, subject = "tariff", want = sign_of(tariff), why = why }
end

local function send_reserve(percent, why)
  return { call = "backup", params = { backup_reserve_percent = percent }, subject = "reserve", want = percent, why = why }
end

-- ---- in the window ----

local function note(m, info, now)
  local tariff = info.tariff_content_v2
  m.before = {
    reserve = info.backup_reserve_percent or 0, tariff = type(tariff) == "table" and core.json_encode(tariff) or nil, at = now,
  }
end

local function holds(info, tariff)
  local found = info.tariff_content_v2
  return type(found) == "table" and tariffs.stored_as(found, tariff)
end

-- What the site does not hold yet: the tariff first. Each is tried again, with a pause.
local function missing(m, now, info, tariff, reserve, why)
  if tariff and not holds(info, tariff) and now - (m.tariff_at or 0) >= least_gap then
    m.tariff_at = now
    return { send_tariff(tariff, why), { call = "site_info" } }
  end
  if info.backup_reserve_percent ~= reserve and now - (m.reserve_at or 0) >= least_gap then
    m.reserve_at = now
    return { send_reserve(reserve, why), { call = "site_info" } }
  end
  return {}
end

local function fill(config, now, state, ends)
  local m, info = state.memory, state.seen.site_info
  if not m.before then note(m, info, now) end
  local why = string.format("fills the battery to %d %% until %s", config.level, local_time.text(config.local_zone, ends))
  local tariff = config.cheap and m.before.tariff and cheap_tariff(config, m.before.tariff) or nil
  local actions = missing(m, now, info, tariff, config.level, why)
  return { why = why, actions = actions, again_at = math.min(now + config.every, ends) }
end

-- ---- after it ----

local function put_back(config, now, state)
  local m, info = state.memory, state.seen.site_info
  local why = "puts back what was set before"
  if not m.putting_back then m.putting_back, m.tariff_at, m.reserve_at = true, nil, nil end
  local tariff = config.cheap and m.before.tariff and former_tariff(config, m.before.tariff) or nil
  local actions = missing(m, now, info, tariff, m.before.reserve, why)
  if #actions > 0 then return { why = why, actions = actions, again_at = now + config.every } end
  if info.backup_reserve_percent == m.before.reserve and (not tariff or holds(info, tariff)) then
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
