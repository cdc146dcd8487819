-- The battery of a car as an automation knows it: how fast it charges, and its level now.

local manual_override = require "fleet.automation.manual_override"

local M = {}

local function number(value)
  return type(value) == "number" and value or nil
end

M.number = number

--- A percentage as whole percent, also from text and with a fraction, as other tools leave them; nil where it is none.
function M.percent(value)
  local found = tonumber(value)
  if not found or not (found >= 0 and found <= 100) then return nil end
  return math.floor(found + 0.5)
end

--- Options of an automation that needs to know the rate.
M.options = {
  amps = { type = "number", min = 1, max = 80, doc = "amps to request while the car charges. By default the car's setting" },
  capacity_kwh = {
    type = "number", min = 5, max = 300,
    doc = "capacity of the battery, used until a charge has shown its rate. Without it plans assume 75, and name no price until then",
  },
  power_kw = { type = "number", min = 0.5, max = 50, doc = "power of the cable, used until a charge has shown its rate" },
}

--- The capacity of the battery in kWh for a plan.
function M.capacity(config)
  return config.capacity_kwh or 75
end

--- The power in kW as the car shows it.
function M.power(charge)
  local amps, volts = number(charge.charger_actual_current), number(charge.charger_voltage)
  return (amps or 0) * (volts or 0) * math.max(1, number(charge.charger_phases) or 1) / 1000
end

--- The limit of the charge in percent.
function M.limit(charge)
  return number(charge.charge_limit_soc) or 100
end

local least_percent, least_minutes = 2, 15 -- near the limit the rate is not learned
local coarse_percent = 10 -- below this, whole percents give only bounds of the rate

-- Bounds of the rate in percent per hour while the car charges: it reports the level in whole percent and the time in whole minutes.
local function shown_rates(charge)
  local minutes, limit = number(charge.minutes_to_full_charge), number(charge.charge_limit_soc)
  if not manual_override.is_charging(charge) or not minutes or minutes < least_minutes or not limit then return nil end
  local missing = limit - charge.battery_level
  if missing < least_percent then return nil end
  local shown = missing / minutes * 60
  if missing >= coarse_percent then return shown, shown end
  return (missing - 1) / (minutes + 0.5) * 60, missing / (minutes - 0.5) * 60
end

local function assumed_rate(config, charge)
  local amps = math.min(number(charge.charge_current_request) or 16, number(charge.charger_pilot_current) or 16)
  if config.amps then amps = math.min(config.amps, number(charge.charge_current_request_max) or config.amps) end
  local kw = config.power_kw or math.max(1.4, 230 * amps * math.max(1, number(charge.charger_phases) or 1) / 1000)
  return kw / M.capacity(config) * 100
end

-- The rate belongs to the amps at which it was shown.
local function known_rate(config, memory, charge, amps)
  if not memory.rate then return assumed_rate(config, charge) end
  if memory.rate_amps and memory.rate_amps > 0 and amps and amps ~= memory.rate_amps then return memory.rate * amps / memory.rate_amps end
  return memory.rate
end

-- kWh of a percent, as charging shows it. A car may count three phases as two: then its whole kW are nearer.
local function shown_kwh(charge, rate)
  local kw, whole = M.power(charge), number(charge.charger_power)
  if whole and whole > 0 and math.abs(whole - kw) >= 1 then kw = whole end
  return kw > 0 and kw / rate or nil
end

--- kWh that so many percent take, or nil before a charge has shown it where no capacity was given.
function M.kwh(config, memory, percent)
  local one = memory.percent_kwh or config.capacity_kwh and config.capacity_kwh / 100
  return one and one * percent
end

--- Percent per hour; at: when the car was seen. What is known stays where it agrees with what the car shows.
function M.rate(config, memory, charge, at)
  local least, most = shown_rates(charge)
  if least and memory.rate_at ~= at then
    local known = known_rate(config, memory, charge, charge.charge_current_request)
    memory.rate, memory.rate_amps, memory.rate_at = math.max(least, math.min(known, most)), charge.charge_current_request, at
    memory.percent_kwh = shown_kwh(charge, memory.rate) or memory.percent_kwh
  end
  return known_rate(config, memory, charge, config.amps or charge.charge_current_request)
end

--- The level now: what was last seen, and what has been charged since then; or since we began it later.
function M.level(now, state, charge, rate)
  local did, seen_at = state.did.charging, state.at.charge_state
  if not manual_override.is_charging(charge) then return charge.battery_level end
  local from = did and did.want == "on" and did.at > seen_at and did.at or seen_at
  return math.min(charge.battery_level + (now - from) / 3600 * rate, math.max(M.limit(charge), charge.battery_level))
end

return M
