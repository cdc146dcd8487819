-- Cars whose values come by telemetry: from the client's receiver, or from one of the bridge (option telemetry). While a car streams, the
-- bridge makes no live reads of it. A receiver that cannot listen, and a car that is awake and silent, are reported once, and live reads
-- resume.

local compat = require "fleet.util.compat"
local discovery = require "fleet.mqtt.discovery"
local fields = require "fleet.telemetry.fields"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local things = require "fleet.mqtt.things"
local values = require "fleet.mqtt.values"

local M = {}

-- Loaded with the first receiver.
local function looks() return require "fleet.telemetry.looks" end

local refresh_every = 60 -- seconds: unchanged values are current, too
local first_retry, longest_retry = 60, 3600
local silent_after = 3900 -- seconds: our configurations send each field once an hour
local under_way = 5 -- seconds that a value may travel which the car sent before a command took effect
local list_after = 30 -- seconds from the end of a connection until the list gives the reason
local billed = ": live reads are made, which are billed"

--- Whether cars may stream to this bridge.
function M.is_used(bridge)
  return bridge.config.telemetry ~= nil or bridge.client:telemetry() ~= nil
end

--- Whether the stream makes live reads of a car unnecessary. Before the receiver's first check: yes.
function M.covers(bridge, car)
  if car.by_stream == nil then return M.is_used(bridge) end
  return car.by_stream
end

-- ---- the receiver ----

local function wanted(bridge)
  local known = tables.set {}
  for _, one in ipairs(bridge.automations) do known[one.id] = true end
  return function(vin) return known[vin] == true or bridge.things[vin] ~= nil end
end

local function failed(bridge, state, text, now)
  state.failures = (state.failures or 0) + 1
  state.retry_at = now + math.min(first_retry * 2 ^ (state.failures - 1), longest_retry)
  if state.failing == text then return nil end
  state.failing = text
  bridge.log("the receiver of telemetry: " .. text .. billed)
end

-- The open receiver, or nil.
local function receiver_of(bridge, state)
  local now, receiver = bridge.now(), bridge.client:telemetry()
  if receiver and receiver.raw then return receiver end
  local given = bridge.config.telemetry
  if not given then return receiver and failed(bridge, state, "it has closed", now) end
  if now < (state.retry_at or 0) then return nil end
  local options = tables.copy(given, { vehicles = given.vehicles or wanted(bridge) })
  options.on_notice = given.on_notice or function(text) bridge.log("telemetry: " .. text) end
  local ran, made, err = compat.pcall(bridge.client.telemetry, bridge.client, options)
  if not ran or not made then return failed(bridge, state, ran and err.message or tostring(made), now) end
  bridge.own_receiver = made
  bridge.log("the receiver of telemetry listens at port " .. made.port)
  state.failing, state.failures, state.retry_at = nil, nil, nil
  return made
end

--- Ends the bridge's own receiver.
function M.close(bridge)
  if bridge.own_receiver then bridge.own_receiver:close() end
  bridge.own_receiver = nil
end

-- ---- values ----

local function set(data, path, value)
  for i = 1, #path - 1 do
    if type(data[path[i]]) ~= "table" then
      if value == nil then return end
      data[path[i]] = {}
    end
    data = data[path[i]]
  end
  data[path[#path]] = value
end

-- When a value arrived, by the bridge's clock, because the clocks of cars differ; for a value from before the bridge started, the value's
-- own time.
local function came_at(bridge, car, name)
  local at = car.vehicle.at[name] or car.vehicle.ended and car.vehicle.ended[name]
  return car.arrived[name] or bridge.now() - tasks.age(at)
end

-- From when a value counts. One that arrives just after a command may have been sent before it; it counts two minutes later, unless another
-- arrives.
local function counts_from(bridge, car, name, came)
  local is_current = car.vehicle.online and car.vehicle.current[name]
  return math.max(came - under_way, is_current and bridge.now() - looks().settles_within or -math.huge)
end

-- Merges values of the stream that are newer than the last read. names: of the fields that arrived, nil for all. Returns from when they
-- count, by section and path.
local function take(bridge, car, names)
  local taken = {}
  looks().each(car.vehicle, function(path, value, name)
    if names and not names[name] then return end
    local section, place = path[1], table.concat(path, ".")
    if not bridge.config.location and string.find(place, "itude$") then return end
    local came = came_at(bridge, car, name)
    if came < (car.at[section] or car.restored[place] or -math.huge) then return end
    set(car.data, path, value)
    taken[section] = taken[section] or {}
    taken[section][place] = counts_from(bridge, car, name, came)
  end)
  return taken
end

-- Rows with a form read several fields of their section.
local function latest(times)
  local at
  for _, one in pairs(times) do at = math.max(at or one, one) end
  return at
end

local function publish(bridge, car, taken)
  for section, times in pairs(taken) do
    local newest = latest(times)
    things.learn_rows(bridge, car, section, function(row)
      if row.form then return newest end
      return times[row.from]
    end)
  end
  local drive = taken.drive_state
  local place_at = drive and (drive["drive_state.latitude"] or drive["drive_state.longitude"])
  if place_at and bridge.config.location then
    local place = values.location(car.data)
    things.learn(bridge, car, "location", place or {}, place_at, place or {})
  end
end

-- Takes all values, including unchanged ones: they are still valid.
local function refresh(bridge, car)
  publish(bridge, car, take(bridge, car))
  local version = values.text_at(car.data, "vehicle_state.car_version")
  car.version = version and string.match(version, "%S+") or car.version
  if car.heard_at and car.heard_at > (car.saw_at or -math.huge) then
    car.saw_at = bridge.now()
    things.saw(bridge, car, car.heard_at)
  end
  things.announce(bridge, car)
end

-- ---- events ----

local heard = {}

function heard.record(bridge, car, record)
  if not record.resend then
    local names, now = {}, bridge.now()
    for name in pairs(record.values) do names[name] = true end
    for _, name in ipairs(record.invalid) do names[name] = true end
    for name in pairs(record.texts or {}) do names[name] = true end
    for name in pairs(names) do
      if fields.is_kept(name) then car.arrived[name] = now end
    end
    car.came = tables.add(car.came or {}, names)
  else
    car.refresh_at = nil
  end
end

function heard.connected() end

function heard.disconnected(bridge, car)
  car.left_at, car.gone_at = bridge.now(), bridge.now()
end

-- Returns a function that ends it. Only this car is updated soon.
local function listen(bridge, car, receiver)
  return receiver:listen(car.id, function(_, what, record)
    if what ~= "disconnected" then car.heard_at = bridge.now() end
    heard[what](bridge, car, record)
    bridge.stream_due[car] = true
    bridge.rouse "stream"
  end)
end

-- ---- whether a car streams ----

-- Why a car that should stream does not; nil while it does.
local function failure_of(car, now)
  if car.vehicle.online then
    local limit = next(car.vehicle.values) and silent_after or looks().connects_within
    car.heard_at = car.heard_at or now
    if now - car.heard_at > limit then return string.format("it is connected and has sent nothing for %d minutes", limit / 60) end
    return nil
  end
  if car.state ~= "online" then return car.stream_failure end
  local awake_for, gone_for = car.awake_since and now - car.awake_since, car.gone_at and now - car.gone_at
  if not looks().is_missing(awake_for, gone_for, car.stream_failure ~= nil) then return nil end
  return car.stream_failure or "it is awake and not connected to the receiver of telemetry"
end

local function assess(bridge, car, now)
  local failure = failure_of(car, now)
  if failure and failure ~= car.stream_failure then bridge.log(car.name .. ": " .. failure .. billed) end
  if not failure and car.stream_failure then bridge.log(car.name .. ": it streams again") end
  car.stream_failure, car.by_stream = failure, failure == nil
end

local function attach(bridge, car, receiver)
  if car.receiver == receiver then return end
  if car.end_listening then car.end_listening() end
  car.receiver, car.end_listening, car.vehicle, car.refresh_at, car.heard_at = receiver, nil, nil, nil, nil
  if not receiver then return end
  car.vehicle = receiver:vehicle(car.id) -- may wait for the store
  car.arrived = {}
  if not car.restored then
    car.restored = {}
    for _, row in ipairs(discovery.rows(bridge.config, car)) do
      if row.from then car.restored[row.from] = car.seen[discovery.state_topic(bridge.config, car, row)] end
    end
  end
  car.end_listening = listen(bridge, car, receiver)
end

-- Requests the list some time after a connection ended: it says whether the car sleeps.
local function ask_for_list(bridge, car, now)
  if not car.left_at or now - car.left_at < list_after then return end
  if not car.vehicle.online and (bridge.list_at or 0) < car.left_at + list_after then bridge.rouse "list" end
  car.left_at = nil
end

local function tend(bridge, car, receiver, now)
  attach(bridge, car, looks().receiver({ receiver = receiver }, car.id))
  if not car.vehicle then
    car.by_stream = false
    return
  end
  if car.vehicle.online and car.state ~= "online" then bridge.see_state(car, "online") end
  assess(bridge, car, now)
  ask_for_list(bridge, car, now)
  local came = car.came
  car.came = nil
  if now >= (car.refresh_at or 0) then
    car.refresh_at = now + refresh_every
    if next(car.vehicle.values) then refresh(bridge, car) end
  elseif came then
    publish(bridge, car, take(bridge, car, came))
  end
end

-- Updates cars; live reads may be due for those that no longer stream.
local function tend_all(bridge, cars, receiver)
  local changed = false
  for car in pairs(cars) do
    if bridge.things[car.id] == car then
      local before = car.by_stream
      local ran, failure = compat.pcall(tend, bridge, car, receiver, bridge.now())
      if bridge.stopped then return end
      if not ran then bridge.log_once(car.name .. ": what it streamed: " .. tostring(failure)) end
      changed = changed or car.by_stream ~= before
    end
  end
  if changed then bridge.rouse "work" end
end

local function all_cars(bridge)
  local cars = {}
  for _, thing in pairs(bridge.things) do
    if thing.kind == "car" then cars[thing] = true end
  end
  return cars
end

--- Publishes what cars stream until the bridge ends.
function M.keep_streaming(bridge)
  local state, all_at = {}, 0
  bridge.stream_due = {}
  while not bridge.stopped do
    if not bridge.listed or not M.is_used(bridge) then
      bridge.rest("stream", refresh_every)
    else
      local now, due = bridge.now(), bridge.stream_due
      local receiver = receiver_of(bridge, state)
      bridge.stream_due = {}
      if now >= all_at or receiver ~= state.receiver then due, all_at = all_cars(bridge), now + refresh_every / 2 end
      state.receiver = receiver
      tend_all(bridge, due, receiver)
      if not next(bridge.stream_due) then bridge.rest("stream", math.max(all_at - bridge.now(), 0.05)) end
    end
  end
end

return M
