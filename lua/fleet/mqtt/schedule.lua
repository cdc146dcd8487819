-- When to read, and what that costs. Pure.
--
-- The state of all cars and sites comes with one list. It is free, and neither wakes a car nor keeps it awake. A live read is billed and
-- keeps the car awake: one is made when the car has woken by itself, and then after pauses. While the car is busy (charging, driving,
-- climate on, a person inside) it stays awake anyway, and the pause is short. Otherwise the pause is longer than the time after which the
-- car falls asleep, and doubles.

local prices = require "fleet.budget.prices"
local values = require "fleet.mqtt.values"

local M = {}

-- ---- the list ----

--- The pause after reading the list: it doubles while nothing changes.
function M.list_pause(config, before, changed)
  if changed or not before then return config.look_every end
  return math.min(before * 2, config.longest_look)
end

-- ---- live reads ----

local charging = { Charging = true, Starting = true }
local driving = { D = true, R = true, N = true }

--- Whether a car with this data stays awake by itself.
function M.busy(data)
  local at = values.at
  return charging[at(data, "charge_state.charging_state") or ""] or at(data, "climate_state.is_climate_on") == true
    or driving[at(data, "drive_state.shift_state") or ""] or at(data, "vehicle_state.is_user_present") == true or false
end

--- The pause after a live read.
function M.live_pause(config, before, busy)
  if busy then return config.live_every end
  if not before or before < config.idle_every then return config.idle_every end
  return math.max(config.idle_every, math.min(before * 2, config.longest_idle))
end

--- Whether a live read is due. car: { state =, data_at =, next_live =, awake_since = }.
function M.live_due(car, now)
  if car.state ~= "online" then return false end
  if not car.data_at or car.awake_since and car.data_at < car.awake_since then return now >= (car.retry_at or 0) end
  return now >= (car.next_live or 0)
end

-- ---- cost ----

local month = 30

-- The assumed day: the hours in which a car is busy, and how often it wakes for an hour.
local day = { busy_hours = 2, awakenings = 4 }

local function looks_of_awakening(config)
  local looks, at, pause = 1, 0, nil
  while true do
    local before = pause
    pause = M.live_pause(config, before, false)
    if pause == before then return looks + math.floor((3600 - at) / pause) end
    at = at + pause
    if at > 3600 then return looks end
    looks = looks + 1
  end
end

local states = "list of cars and sites: every %.14g to %.14g s, free; "
local by_looks = "live reads of a car that is awake: every %.14g s while it is busy, else after %.14g s with doubling pauses; "
  .. "%d cars: about %.2f USD a month (%d busy hours and %d wake-ups a day), at most %.2f USD"
local by_stream = "cars that stream: no live reads; signals cost %s, and 'fleet telemetry cost' prices a configuration; "
  .. "while no car streams, "

--- { looks =, usd =, most =, text = }: the cost of a month for so many cars, as assumed and at most. own_prices: the client's, or nil.
--- streams: whether their values come by telemetry: then no live reads are assumed, and the maximum is that without telemetry.
function M.month(config, cars, own_prices, streams)
  local list = prices.of(own_prices)
  local busy, awakening = 3600 / config.live_every, looks_of_awakening(config)
  local looks = cars * month * (day.busy_hours * busy + day.awakenings * awakening)
  local most = cars * month * 24 * 3600 / math.min(config.live_every, config.idle_every)
  local usd, most_usd = prices.usd(list, { data = looks }), prices.usd(list, { data = most })
  local text = string.format(by_looks, config.live_every, config.idle_every, cars, usd, day.busy_hours, day.awakenings, most_usd)
  local short = string.format("about %.2f USD a month, at most %.2f", usd, most_usd)
  if streams then
    text = string.format(by_stream, string.format("%.2f USD for 1000", prices.usd(list, { signal = 1000 }))) .. text
    short = "no reads while cars stream, else " .. short
  end
  return { looks = streams and 0 or looks, usd = streams and 0 or usd, most = most_usd, short = short,
    text = string.format(states, config.look_every, config.longest_look) .. text }
end

return M
