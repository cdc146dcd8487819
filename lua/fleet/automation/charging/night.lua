-- The plan of the night as data: when the car charges until it must be ready, and what a kWh costs meanwhile. For who looks on;
-- decisions do not read it.

local battery = require "fleet.automation.charging.battery"
local entries = require "fleet.automation.charging.entries"
local local_time = require "fleet.automation.local_time"
local plans = require "fleet.automation.charging.plan"

local M = {}

local price_step = 900 -- seconds: no tariff changes more often

-- { from, to, price } of neighbouring moments with one price.
local function prices_of(tariff, from, to)
  local list = {}
  for at = from, to - 1, price_step do
    local found = tariff:price(math.floor(at))
    local price, last = found and found.buy and found.buy.price, list[#list]
    if price and last and last.price == price and last.to == at then
      last.to = math.min(at + price_step, to)
    elseif price then
      list[#list + 1] = { from = at, to = math.min(at + price_step, to), price = price }
    end
  end
  return list
end

local function clipped(list, from, to)
  local out = {}
  for _, slot in ipairs(list) do
    local one = { from = math.max(slot.from, from), to = math.min(slot.to, to) }
    if one.from < one.to then out[#out + 1] = one end
  end
  table.sort(out, function(a, b) return a.from < b.from end)
  return out
end

-- The car's entries for a night without a look.
local function stretches_in_car(config, state, to)
  local list = {}
  for _, one in ipairs(entries.stretches(state)) do
    local from = local_time.next(config.local_zone, to - 86400 - 1, one.start_time)
    list[#list + 1] = { from = from, to = local_time.next(config.local_zone, from, one.seen.end_time) }
  end
  return list
end

-- By start and stop nothing is kept: the plan is made anew from what is known.
local function planned(config, now, state, night)
  local m = state.memory.session or {}
  if not m.plugged or m.manual or night.level >= config.level then return {} end
  return (plans.of(night.tariff, now, night.to, (config.level - night.level) / night.rate, false))
end

--- { from, to (when it must be ready), slots = { { from, to }, … }, prices = { { from, to, price }, … }, currency,
--- level and wanted (percent), in_car = whether the car keeps it }, or nil while nothing is known of the battery.
function M.of(config, now, state)
  local charge = state.seen.charge_state
  if not charge or type(charge.battery_level) ~= "number" then return nil end
  local night = { from = now, to = local_time.next(config.local_zone, now, config.ready_minutes), wanted = config.level }
  night.rate = battery.rate(config, state.memory, charge, state.at.charge_state)
  night.level = battery.level(now, state, charge, night.rate)
  night.tariff = state.inputs and state.inputs.tariff or type(config.tariff) == "table" and config.tariff or nil
  night.in_car = entries.any(state)
  local slots = night.in_car and (state.memory.plan or stretches_in_car(config, state, night.to)) or planned(config, now, state, night)
  night.slots = clipped(slots, now, night.to)
  night.prices = night.tariff and prices_of(night.tariff, now, night.to) or {}
  night.currency = night.tariff and night.tariff.currency ~= "" and night.tariff.currency or nil
  night.rate, night.tariff = nil, nil
  return night
end

return M
