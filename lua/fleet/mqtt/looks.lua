-- Reads the state: the free list of all cars and sites on a schedule that backs off, live data of a car that is awake anyway, and the free
-- status and settings of sites.

local errors = require "fleet.util.errors"
local compat = require "fleet.util.compat"
local core = require "fleet.core"
local schedule = require "fleet.mqtt.schedule"
local streamed = require "fleet.mqtt.streamed"
local tasks = require "fleet.async"
local things = require "fleet.mqtt.things"
local values = require "fleet.mqtt.values"

local M = {}

local records_at_once = 5 -- of a list, before the loop runs other tasks
local most_at_once = 16 -- reads in flight
local first_retry, longest_retry = 60, 3600
local look_after_command = 30 -- seconds until the effect of a command is visible
local longest_rest = 300
local expiry_every = 60
local fresh = 60 -- seconds for which the list counts as current
local missing_lists = 2 -- lists without a thing before it counts as removed

local live_sections = { "charge_state", "climate_state", "vehicle_state", "drive_state" }

-- Errors that only a person can fix.
local hopeless = { auth = true, scope = true, forbidden = true, unregistered = true, limit_exceeded = true, unsupported = true,
  budget = true }

local function retry_pause(holder, err)
  holder.failures = (holder.failures or 0) + 1
  local pause = hopeless[err.kind] and longest_retry or math.min(first_retry * 2 ^ (holder.failures - 1), longest_retry)
  return math.max(pause, err.retry_after or 0)
end

-- ---- the list ----

local function wanted(list, id)
  if list == nil then return true end
  for _, one in ipairs(list) do
    if tostring(one) == id then return true end
  end
  return false
end

local function text_of(value)
  return type(value) == "string" and value ~= "" and values.cut(value) or nil
end

-- The identity of a record: "car" or "site" and its id; nothing for a product of another kind; nil and why for an invalid record.
local function identity(record)
  if type(record) ~= "table" then return nil, "it is no object" end
  local vin, site = record.vin, record.energy_site_id
  if vin ~= nil and vin ~= core.null then
    if core.is_vin(vin) then return "car", vin end
    return nil, "'vin' is no VIN: " .. values.cut(core.json_encode(vin))
  end
  if site == nil or site == core.null then return nil end
  local ok, id = pcall(core.check_id, "energy_site", site)
  if ok then return "site", id end
  return nil, "'energy_site_id' is not digits: " .. values.cut(core.json_encode(site))
end

local function new_thing(bridge, kind, id, record)
  local config, client = bridge.config, bridge.client
  if kind == "car" and wanted(config.vehicles, id) then
    return things.new("car", id, client:vehicle(id), text_of(record.display_name) or id)
  end
  if kind == "site" and wanted(config.sites, id) then
    return things.new("site", id, client:energy_site(id), text_of(record.site_name) or "Site " .. id)
  end
end

local function see_car(bridge, car, record, began)
  local state = text_of(record.state)
  local changed = car.state ~= state
  if state == "online" and changed then car.awake_since, car.next_live, car.live_pause = began, nil, nil end
  car.state = state
  things.learn(bridge, car, "info", { state = state }, began)
  return changed
end

local function see_site(_, site, record)
  things.merge(site, "components", record.components)
  return false
end

local function take_up(bridge, kind, id, record)
  local thing = new_thing(bridge, kind, id, record)
  if not thing then return nil end
  bridge.add(thing)
  return thing
end

-- Takes a record. Returns its id, and whether anything changed.
local function see(bridge, record, began)
  local kind, id = identity(record)
  if not kind then
    if id then bridge.log_once("a record of the list is left out: " .. id) end
    return nil, false
  end
  local thing = bridge.things[id]
  local is_new = not thing
  thing = thing or take_up(bridge, kind, id, record)
  if not thing or thing.kind == "account" then return id, false end
  thing.missing = 0
  local changed = (thing.kind == "car" and see_car or see_site)(bridge, thing, record, began)
  if is_new then things.announce(bridge, thing) end
  return id, changed or is_new
end

local function drop_missing(bridge, seen)
  local gone = {}
  for id, thing in pairs(bridge.things) do
    if thing.kind ~= "account" and not seen[id] then
      thing.missing = (thing.missing or 0) + 1
      if thing.missing >= missing_lists then gone[#gone + 1] = thing end
    end
  end
  for _, thing in ipairs(gone) do bridge.remove(thing) end
  return #gone > 0
end

local function odd_reply(what)
  return errors.new("protocol", "the service answered without " .. what)
end

--- Reads the list once. Returns whether anything changed, or nil, err.
function M.list(bridge)
  local began = bridge.now()
  local records, err = bridge.client:products()
  if not records then return nil, err end
  if type(records) ~= "table" then return nil, odd_reply "a list" end
  local changed, seen = false, {}
  for i, record in ipairs(records) do
    local id, differs = see(bridge, record, began)
    if id then seen[id] = true end
    changed = differs or changed
    if i % records_at_once == 0 then tasks.sleep(0) end
  end
  bridge.list_at = began
  return drop_missing(bridge, seen) or changed
end

--- Reads the list until the bridge ends.
function M.keep_listing(bridge)
  local state, pause = {}, nil
  while not bridge.stopped do
    local ran, changed, err = compat.pcall(M.list, bridge)
    if not ran then
      if bridge.stopped then return end
      changed, err = nil, errors.new("protocol", tostring(changed))
    end
    if err then
      bridge.log("the list of cars and sites: " .. err.message)
      pause = retry_pause(state, err)
      bridge.list_fails = true
    else
      state.failures, bridge.list_fails = 0, false
      bridge.after_list()
      pause = schedule.list_pause(bridge.config, pause, changed)
    end
    bridge.learn_account()
    bridge.rouse "work"
    bridge.rest("list", pause)
  end
end

-- ---- live data of a car ----

local function learn_car(bridge, car, data, began)
  for _, section in ipairs(live_sections) do
    if type(data[section]) == "table" then things.learn(bridge, car, section, data[section], began) end
  end
  if bridge.config.location then
    local place = values.location(data)
    if place or car.data.location then things.learn(bridge, car, "location", place or {}, began, place or {}) end
  end
  local version = values.text_at(data, "vehicle_state.car_version")
  car.version = version and string.match(version, "%S+") or car.version
  things.saw(bridge, car, began)
  things.announce(bridge, car)
end

local function seen_away(bridge, car, state, began)
  see_car(bridge, car, { state = state }, began)
end

--- Takes the state of a car that is known without a read, because it is connected to the telemetry receiver.
function M.see_state(bridge, car, state)
  see_car(bridge, car, { state = state }, bridge.now())
end

local function sections_of(config)
  local list = { live_sections[1], live_sections[2], live_sections[3], live_sections[4] }
  if config.location then list[#list + 1] = "location_data" end
  return list
end

local function look_at_car(bridge, car)
  local began = bridge.now()
  local data, err = car.handle:vehicle_data { endpoints = sections_of(bridge.config) }
  if data and type(data) ~= "table" then data, err = nil, odd_reply "the car's data" end
  if data and (data.state == "asleep" or data.state == "offline") then return seen_away(bridge, car, data.state, began) end
  if data then
    car.failures, car.retry_at, car.data_at = 0, nil, began
    car.live_pause = schedule.live_pause(bridge.config, car.live_pause, schedule.busy(data))
    car.next_live = began + car.live_pause
    return learn_car(bridge, car, data, began)
  end
  if err.kind == "asleep" or err.kind == "offline" then return seen_away(bridge, car, err.kind, began) end
  bridge.log(car.name .. ": " .. err.message)
  local pause = retry_pause(car, err)
  car.retry_at, car.next_live = bridge.now() + pause, bridge.now() + pause
end

-- ---- a site ----

local function price_now(bridge, info)
  local content, zone = info.tariff_content_v2, info.installation_time_zone
  if type(content) ~= "table" or type(zone) ~= "string" then return nil end
  local ok, tariff = pcall(require("fleet.tariff").new, content, { time_zone = zone, stored = true })
  if not ok or not tariff then return nil end
  local priced, price = pcall(tariff.price, tariff, math.floor(bridge.now()))
  if not priced or type(price) ~= "table" then return nil end
  local buy, sell = price.buy or {}, price.sell or {}
  return { buy = buy.price, sell = sell.price, label = buy.label, season = buy.season,
    currency = text_of(content.currency) }
end

-- Records the wall connectors of a site. Returns whether there is a new one.
local function note_connectors(site, data)
  local list, known, is_new = values.at(data, "wall_connectors"), {}, false
  site.connectors = site.connectors or {}
  for _, din in ipairs(site.connectors) do known[din] = true end
  for _, one in ipairs(type(list) == "table" and list or {}) do
    local din = text_of(values.at(one, "din"))
    if din and not known[din] then
      site.connectors[#site.connectors + 1] = din
      known[din], is_new = true, true
    end
  end
  return is_new
end

-- ---- the energy of a day ----

-- Members of an entry of the history, in Wh, and the sum to which each belongs.
local sums = {
  solar = { "solar_energy_exported" }, from_grid = { "grid_energy_imported" }, battery_out = { "battery_energy_exported" },
  to_grid = { "grid_energy_exported_from_solar", "grid_energy_exported_from_battery", "grid_energy_exported_from_generator" },
  battery_in = { "battery_energy_imported_from_grid", "battery_energy_imported_from_solar", "battery_energy_imported_from_generator" },
  home = { "consumer_energy_imported_from_grid", "consumer_energy_imported_from_solar", "consumer_energy_imported_from_battery",
    "consumer_energy_imported_from_generator" },
}

-- The sums of a history in kWh; a sum that the service does not report is unknown. A history without entries is that of a new day.
local function energy_of(history)
  local entries, data = values.at(history, "time_series"), {}
  if type(entries) ~= "table" then return nil end
  for name, members in pairs(sums) do
    for _, entry in ipairs(entries) do
      for _, member in ipairs(members) do
        local value = values.at(entry, member)
        if type(value) == "number" and value >= 0 then data[name] = (data[name] or 0) + value / 1000 end
      end
    end
  end
  return data
end

local function today(bridge, site)
  local name = values.text_at(site.data, "site_info.installation_time_zone")
  local zone = name and core.zone(name)
  if not zone then return nil end
  local t = zone:localtime(math.floor(bridge.wall()))
  return string.format("%04d-%02d-%02d", t.year, t.month, t.day)
end

-- Within a day no sum decreases, even if the service corrects its entries later.
local function learn_energy(bridge, site, day, data, began)
  if site.energy_day == day then
    for name, value in pairs(site.data.energy or {}) do
      if data[name] and data[name] < value then data[name] = value end
    end
  else
    site.energy_day = day
    for topic in pairs(site.totals) do site.totals[topic] = nil end
  end
  things.learn(bridge, site, "energy", data, began)
end

local function look_at_energy(bridge, site)
  local began, day = bridge.now(), today(bridge, site)
  site.next.energy = began + bridge.config.energy_every
  if not day then return end
  local history, err = site.handle:energy_history { period = "day", day = day }
  local data = history and energy_of(history)
  if data then return learn_energy(bridge, site, day, data, began) end
  bridge.log_once(site.name .. ": its energy: " .. (err and err.message or "the service answered without a series"))
  site.next.energy = bridge.now() + math.max(bridge.config.energy_every, retry_pause({}, err or {}))
end

local function learn_site(bridge, site, section, data, began)
  things.learn(bridge, site, section, data, began)
  things.saw(bridge, site, began)
  if section == "live_status" and note_connectors(site, data) then
    things.announce(bridge, site)
    things.learn(bridge, site, section, data, began)
  end
  local info = site.data.site_info
  local price = info and price_now(bridge, info)
  if price then things.learn(bridge, site, "tariff", price, began, { season = price.season }) end
  if section == "site_info" then
    site.version = text_of(data.version) or site.version
    things.merge(site, "components", data.components)
    things.announce(bridge, site)
  end
end

local function look_at_site(bridge, site, section)
  if section == "energy" then return look_at_energy(bridge, site) end
  local began = bridge.now()
  local data, err = site.handle[section](site.handle)
  if data and type(data) ~= "table" then data, err = nil, odd_reply(section) end
  local every = section == "live_status" and bridge.config.site_every or bridge.config.site_info_every
  if data then
    site.failures = 0
    site.next[section] = began + every
    return learn_site(bridge, site, section, data, began)
  end
  bridge.log(site.name .. ": " .. err.message)
  site.next[section] = bridge.now() + math.max(every, retry_pause(site, err))
end

-- ---- due reads ----

local function due_of_site(site, now)
  site.next = site.next or {}
  for _, section in ipairs { "site_info", "live_status", "energy" } do
    if now >= (site.next[section] or 0) then return section end
  end
end

-- An unexpected error of a read is logged, and the read is repeated later: it must not end the bridge for the other cars.
local function put_off(bridge, thing, failure)
  bridge.log(thing.name .. ": the look failed: " .. tostring(failure))
  local at = bridge.now() + retry_pause(thing, {})
  thing.retry_at, thing.next_live = at, at
  thing.next = { site_info = at, live_status = at, energy = at }
end

local function start(bridge, thing, fn, ...)
  thing.looking = true
  bridge.looking = bridge.looking + 1
  local arguments = { ... }
  bridge.spawn(function()
    local ok, failure = compat.pcall(fn, bridge, thing, arguments[1])
    thing.looking = false
    bridge.looking = bridge.looking - 1
    if not ok and not bridge.stopped then put_off(bridge, thing, failure) end
    bridge.rouse "work"
  end)
end

-- Reads the free list before each live read, because the car may have fallen asleep.
local function start_car(bridge, car, now)
  if car.looking or streamed.covers(bridge, car) or not schedule.live_due(car, now) then return end
  if now - (bridge.list_at or 0) > fresh then
    bridge.wants_list = true
  else
    start(bridge, car, look_at_car)
  end
end

local function start_due(bridge, now)
  bridge.wants_list = false
  for _, thing in pairs(bridge.things) do
    if bridge.looking >= most_at_once then return end
    if thing.kind == "car" then start_car(bridge, thing, now) end
    local section = not thing.looking and thing.kind == "site" and due_of_site(thing, now)
    if section then start(bridge, thing, look_at_site, section) end
  end
end

local function next_of(bridge, thing)
  if thing.looking or thing.kind == "car" and bridge.wants_list then return nil end
  if thing.kind == "site" then
    local next_at = thing.next or {}
    return math.min(next_at.live_status or 0, next_at.site_info or 0, next_at.energy or 0)
  end
  if thing.kind ~= "car" or thing.state ~= "online" or streamed.covers(bridge, thing) then return nil end
  if not thing.data_at or thing.data_at < (thing.awake_since or 0) then return thing.retry_at or 0 end
  return thing.next_live or 0
end

local function seconds_to_next(bridge, now)
  local at = now + longest_rest
  for _, thing in pairs(bridge.things) do
    local own = next_of(bridge, thing)
    if own and own < at then at = own end
  end
  return math.max(at - now, 0.05)
end

--- Makes the reads that are due, until the bridge ends.
function M.keep_looking(bridge)
  while not bridge.stopped do
    local now = bridge.now()
    start_due(bridge, now)
    if bridge.wants_list and not bridge.list_fails then bridge.rouse "list" end
    bridge.rest("work", bridge.looking >= most_at_once and longest_rest or seconds_to_next(bridge, now))
  end
end

--- Withdraws values that have expired, until the bridge ends.
function M.keep_expiring(bridge)
  while not bridge.stopped do
    local list = {}
    for _, thing in pairs(bridge.things) do list[#list + 1] = thing end
    for i, thing in ipairs(list) do
      things.expire(bridge, thing)
      if i % records_at_once == 0 then tasks.sleep(0) end
    end
    bridge.rest("expiry", expiry_every)
  end
end

--- Schedules a read for when the effect of a command is visible.
function M.look_soon(bridge, thing)
  local at = bridge.now() + look_after_command
  if thing.kind == "car" then thing.next_live = math.min(thing.next_live or at, at) end
  if thing.kind == "site" then
    thing.next = thing.next or {}
    thing.next.site_info = math.min(thing.next.site_info or at, at)
  end
  bridge.rouse "work"
end

return M
