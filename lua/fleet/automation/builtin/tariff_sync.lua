-- tariff_sync: the prices of an energy site follow prices from elsewhere; only what differs is sent.
--
-- Energy calls are free but limited, and too frequent changes were seen to be refused
-- (doc/protocol.md#rate-limits): an unchanged tariff costs no call, a changed one waits for its turn.

local local_time = require "fleet.automation.local_time"
local tables = require "fleet.util.tables"
local tariffs = require "fleet.tariff"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {
  doc = "Keeps the tariff of an energy site equal to prices from elsewhere.",
  precedence = 10,
  handles = { "site" },
  options = {
    prices = {
      type = "table|function", needed = true,
      doc = "a tariff, the options of fleet.tariff.from_rows, or a function(now) of either",
    },
    every = { type = "number", min = 60, max = 86400, default = 3600, doc = "seconds between calls of prices" },
    min_gap = { type = "number", min = 0, max = 86400, default = 14400, doc = "seconds between two tariffs that are sent" },
    any_currency = {
      type = "boolean", default = false, doc = "send prices in a currency that Tesla's app may not show, or without a currency",
    },
    verify_every = {
      type = "number", min = 3600, max = 30 * 86400, default = 86400,
      doc = "seconds after which the automation compares the site's tariff again",
    },
  },
}

-- A tariff object from whatever the user gave, or nil and why.
local function read(given, config)
  if tariffs.is(given) then return given end
  if type(given) ~= "table" then return nil, "no prices were given" end
  local ok, made, err
  if given.seasons and not (given.rows or given.prices or given.spot) then
    ok, made, err = pcall(tariffs.new, given, { time_zone = config.zone, any_currency = config.any_currency })
  else
    ok, made, err = pcall(tariffs.from_rows, tables.copy({ any_currency = config.any_currency }, given))
  end
  if not ok then return nil, tostring(made) end
  if not made then return nil, tostring(err) end
  return made
end

local function given_prices(config, now)
  if type(config.prices) ~= "function" then return config.prices end
  local ok, found, why = pcall(config.prices, now)
  if not ok then return nil, tostring(found) end
  return found, why and tostring(why)
end

--- Prices may come from anywhere: a function of the user is asked once in `every` seconds.
function M.observe(config, now)
  if config.asked_at and now - config.asked_at < config.every and now >= config.asked_at then return config.answer end
  local found, why = given_prices(config, now)
  local tariff, problem = read(found, config)
  config.asked_at, config.answer = now, { tariff = tariff, problem = why or problem }
  if tariff then config.answer.sign = require("fleet.core").sha256(tariff:normalised():encode()) end
  return config.answer
end

local function send(inputs, why)
  return {
    call = "time_of_use_settings", params = inputs.tariff, subject = "tariff", want = inputs.sign, why = why,
  }
end

-- Since the last change was sent, and since the site was last known to hold what we want.
local function ages(state, now)
  local did = state.did.tariff
  if not did then return math.huge, math.huge end
  return now - (state.memory.sent_at or 0), now - did.at
end

local function reason(config, inputs, did)
  if not did then return "the prices are sent for the first time" end
  if did.want ~= inputs.sign then return "the prices have changed" end
  if not did.sure then return "the prices are sent again: the last time was not confirmed" end
  return "the site's tariff is compared again, which is done every " .. local_time.duration(config.verify_every)
end

function M.decide(config, now, state)
  local inputs, again = state.inputs or {}, now + config.every
  if not inputs.tariff then return { why = "no prices to send: " .. (inputs.problem or "none were given"), again_at = again } end
  local did = state.did.tariff
  if did and did.sure and did.want ~= state.memory.held then state.memory.held, state.memory.sent_at = did.want, did.at end
  local since_sent, since_known = ages(state, now)
  local differs = not did or not did.sure or did.want ~= inputs.sign
  if not differs and since_known < config.verify_every then return { why = "the site has these prices", again_at = again } end
  if differs and since_sent < config.min_gap then
    local at = state.memory.sent_at + config.min_gap
    local why = "new prices wait: the last change was sent less than " .. local_time.duration(config.min_gap) .. " ago"
    return { why = why, again_at = math.min(again, at) }
  end
  local why = reason(config, inputs, did)
  return { why = why, actions = { send(inputs, why) }, again_at = again }
end

--- Energy calls are free.
function M.month()
  return {}
end

return M
