-- The plan of a night as a household says it: "charging from 22:00 to 04:54 tonight, ready by 07:00, about 5.53 EUR: from 41 % to 80 %".
-- What is not known is left out.

local battery = require "fleet.automation.charging.battery"
local core = require "fleet.core"
local local_time = require "fleet.automation.local_time"
local plans = require "fleet.automation.charging.plan"

local M = {}

local hour = 3600
local evening, morning = 18, 8 -- between these hours of the clock a time is "tonight"
local changes_at = 5 -- until this hour the night of the day before goes on

local function clock(config, at)
  return (string.gsub(local_time.text(config.local_zone, at), "^%a+ ", ""))
end

-- "tonight", "today" or "on Wed".
local function day_of(config, now, at)
  local zone = config.local_zone
  local shown = zone:localtime(math.floor(at)).hour
  local night = local_time.date(zone, now - changes_at * hour)
  if (shown >= evening or shown < morning) and local_time.date(zone, at - morning * hour) == night then return "tonight" end
  if local_time.date(zone, at) == local_time.date(zone, now) then return "today" end
  return "on " .. string.match(local_time.text(zone, at), "^%a+")
end

local function joined(list)
  if #list < 2 then return list[1] end
  return table.concat(list, ", ", 1, #list - 1) .. " and " .. list[#list]
end

-- Stretches of time, the day after the last one of each day: "22:00-23:30 and 02:00-04:54 tonight".
local function spans(config, now, slots, first)
  local out, group = {}, {}
  for i = first, #slots do
    local day, following = day_of(config, now, slots[i].from), slots[i + 1] and day_of(config, now, slots[i + 1].from)
    group[#group + 1] = clock(config, slots[i].from) .. "-" .. clock(config, slots[i].to)
    if day ~= following then
      out[#out + 1], group = joined(group) .. " " .. day, {}
    end
  end
  return joined(out)
end

--- When a car charges: "until 04:54", "from 22:00 to 04:54 tonight", "22:00-23:30 and 02:00-04:54 tonight".
function M.times(config, now, slots)
  local first = slots[1]
  if first.from <= now then
    local text = "until " .. clock(config, first.to)
    return #slots > 1 and text .. ", then " .. spans(config, now, slots, 2) or text
  end
  if #slots > 1 then return spans(config, now, slots, 1) end
  return string.format("from %s to %s %s", clock(config, first.from), clock(config, first.to), day_of(config, now, first.from))
end

--- What a plan costs, such as "5.53 EUR"; nil where its energy, a price or the currency is not known. f: the facts of a look.
function M.price(config, now, state, f)
  local tariff, kwh = state.inputs and state.inputs.tariff, battery.kwh(config, state.memory, f.missing)
  if not tariff or not kwh or (tariff.currency or "") == "" then return nil end
  local cost = plans.cost(tariff, now, f.slots, f.missing / f.rate * hour, kwh)
  local text = cost and core.fixed(cost, 2)
  if not text or tonumber(text) == 0 then return nil end
  return text .. " " .. tariff.currency
end

local function purpose(config, now, state, f)
  local level = math.floor(f.level)
  if f.late then
    return string.format("%g %% now, and the time until %s is too short for %g %%", level, clock(config, f.deadline), config.level)
  end
  local text = string.format("from %g %% to %g %%", level, config.level)
  if f.overdue then return text .. ", as the car came too late" end
  local cheapest = f.slots[1].from > now and state.inputs and state.inputs.tariff
  return cheapest and text .. " when it is cheapest" or text
end

--- The sentence of a plan. by_itself: the car begins by its own schedule.
function M.plan(config, now, state, f, by_itself)
  local last_hours = f.slots[1].from > now and not (state.inputs and state.inputs.tariff)
  local text = "charging " .. (last_hours and "in the last hours, " or "") .. M.times(config, now, f.slots)
  if not f.late and not f.overdue then text = text .. ", ready by " .. clock(config, f.deadline) end
  local price = M.price(config, now, state, f)
  if price then text = text .. ", about " .. price end
  return text .. ": " .. purpose(config, now, state, f) .. (by_itself and ", started by the car's own schedule" or "")
end

--- That no charging is needed.
function M.reached(config, f)
  local level = math.floor(f.level)
  return string.format(level == config.level and "charged to %g %%, as wanted" or "charged to %g %%; %g %% was wanted", level, config.level)
end

return M
