-- An energy site, simple enough to check by hand. Powers in W, energies in Wh, as in the API.
--   sun      a half sine between 6:00 and 20:00 local time, to the power of 1.5, times the peak power of the roof
--   load     400 W, 1,500 W more from 6:00 to 9:00, 2,000 W more from 17:00 to 22:00, and the charging of vehicles at home
--   battery  takes the surplus of the sun and covers its deficit, within its power and above the reserve; in time-based control
--            it discharges only at the dearest price of the tariff; storm watch charges it, and so does a reserve above its level
--   grid     takes and gives the rest, as far as the export rule allows; without grid the battery supplies the house
-- Time advances in steps of five minutes. Sums are kept per quarter hour for the histories: every zone's offset is a multiple of it.
local garage = require("fleet.sim.garage")
local json = require("fleet.sim.json")
local tariff = require("fleet.sim.tariff")
local vehicles = require("fleet.sim.vehicle")

local M = {}

M.STEP = 300
M.SLOT = 900
local KEPT_SLOTS = 96 * 100 -- a hundred days; older days are modelled again

local function components()
  return {
    solar = true, solar_type = "pv_panel", battery = true, grid = true, backup = true, load_meter = true,
    storm_mode_capable = true, off_grid_vehicle_charging_reserve_supported = true, solar_value_enabled = true,
    set_islanding_mode_enabled = true, battery_type = "ac_powerwall", configurable = true, grid_services_enabled = false,
    wall_connectors = json.list(), gateways = json.list(), batteries = json.list(),
    customer_preferred_export_rule = "pv_only", energy_service_self_scheduling_enabled = true,
  }
end

-- The default site_info.
local function default_info(id, index)
  return {
    id = ("STE20260101-%05d"):format(index), site_name = "Site " .. index, backup_reserve_percent = 20,
    default_real_mode = "self_consumption", installation_date = "2024-05-02T10:00:00+02:00",
    user_settings = { storm_mode_enabled = true, go_off_grid_test_banner_enabled = json.null },
    components = components(), version = "24.44.0", battery_count = 1, nameplate_power = 5000, nameplate_energy = 13500,
    installation_time_zone = "Europe/Berlin", max_site_meter_power_ac = 1000000000, min_site_meter_power_ac = -1000000000,
    vpp_backup_reserve_percent = 0, off_grid_vehicle_charging_reserve_percent = 65, tariff_id = json.null,
    utility = "Example Power", energy_site_id = id,
  }
end

local LIVE = {
  "percentage_charged", "grid_status", "island_status", "storm_mode_active", "backup_capable", "generator_power",
  "grid_services_power", "grid_services_active", "storm_mode_states", "wall_connectors", "total_pack_energy", "energy_left",
  "solar_power", "load_power",
}

local PRODUCT = {
  "resource_type", "gateway_id", "asset_site_id", "warp_site_number", "features", "energy_site_id", "device_type", "owner",
}

local function pick(source, names)
  local out = {}
  for _, name in ipairs(names) do out[name] = source[name] end
  return out
end

local function without(source, ...)
  local out = garage.copy(source)
  for _, names in ipairs({ ... }) do
    for _, name in ipairs(names) do
      if name ~= "total_pack_energy" then out[name] = nil end
    end
  end
  return out
end

-- new(garage entry, index, now, account, zone) → site.
function M.new(entry, index, now, account, zone)
  local number = entry.energy_site_id or 2252147638651584 + index
  local info = vehicles.overlay(default_info(number, index), without(entry, LIVE, PRODUCT))
  info.total_pack_energy = nil
  local live, product = pick(entry, LIVE), pick(entry, PRODUCT)
  local self = {
    id = ("%.0f"):format(number), number = number, owner = entry.owner or account, info = info, live = live, product = product,
    updated = now, slots = {}, slot_count = 0, backup_events = {}, charges = {}, zone = zone, peak = 6000,
    capacity = live.total_pack_energy or info.nameplate_energy, grid_up = (live.grid_status or "Active") == "Active",
    storm = live.storm_mode_active == true, metered = {}, born = now, origin = garage.copy(info),
  }
  local percent = live.percentage_charged
  if not percent and live.energy_left then percent = live.energy_left / self.capacity * 100 end
  self.stored = self.capacity * (percent or 62) / 100
  return self
end

-- The offset of the zone; it can only change at a quarter hour.
function M.offset(site, at)
  local quarter, zone = math.floor(at / M.SLOT), site.info.installation_time_zone
  if site.offset_quarter ~= quarter or site.offset_zone ~= zone then
    site.offset_quarter, site.offset_zone, site.offset_seconds = quarter, zone, site.zone(zone, at)
  end
  return site.offset_seconds
end

-- ---- power at a moment ----

function M.local_hour(site, at)
  return (at + M.offset(site, at)) % 86400 / 3600
end

function M.sun(site, at)
  if not site.info.components.solar then return 0 end
  if site.live.solar_power then return site.live.solar_power end
  local hour = M.local_hour(site, at)
  if hour <= 6 or hour >= 20 then return 0 end
  return math.floor(site.peak * math.sin(math.pi * (hour - 6) / 14) ^ 1.5 + 0.5)
end

function M.house(site, at)
  if site.live.load_power then return site.live.load_power end
  local hour = M.local_hour(site, at)
  return 400 + (hour >= 6 and hour < 9 and 1500 or 0) + (hour >= 17 and hour < 22 and 2000 or 0)
end

local function has_battery(site)
  return site.info.components.battery == true and site.info.battery_count > 0
end

M.has_battery = has_battery

-- The level at which the battery stops discharging while there is a grid.
local function floor_of(site)
  if not site.grid_up then return 0 end
  if site.storm and site.info.user_settings.storm_mode_enabled then return site.capacity end
  local reserve = site.info.default_real_mode == "backup" and 100 or site.info.backup_reserve_percent
  return site.capacity * reserve / 100
end

local function may_charge_from_grid(site)
  return site.grid_up and site.info.components.disallow_charge_from_grid_with_solar_installed ~= true
end

-- Time-based control discharges only at the dearest price of the tariff.
local function may_discharge(site, at)
  if not site.grid_up or site.info.default_real_mode ~= "autonomous" or not site.info.tariff_content_v2 then return true end
  return tariff.is_dearest(site.info.tariff_content_v2, at + M.offset(site, at))
end

local function discharge_power(site, need, at, seconds)
  if not has_battery(site) or not may_discharge(site, at) then return 0 end
  local above = math.max(0, site.stored - floor_of(site))
  return math.min(need, site.info.nameplate_power, above * 3600 / seconds)
end

local function charge_power(site, surplus, seconds)
  if not has_battery(site) then return 0, 0 end
  local room = math.max(0, site.capacity - site.stored) * 3600 / seconds
  local most = math.min(site.info.nameplate_power, room)
  local from_sun = math.min(surplus, most)
  local missing = math.max(0, floor_of(site) - site.stored) * 3600 / seconds
  local from_grid = may_charge_from_grid(site) and math.min(missing, most - from_sun) or 0
  return from_sun, from_grid
end

local function may_export(site)
  return site.grid_up and site.info.components.customer_preferred_export_rule ~= "never"
end

-- flows(site, at, vehicle_power, seconds) → the power from each source to each use. All other values follow from these.
function M.flows(site, at, vehicle_power, seconds)
  local sun, load = M.sun(site, at), M.house(site, at) + vehicle_power
  local f = { load = load, sun_to_load = math.min(sun, load) }
  local surplus, need = sun - f.sun_to_load, load - f.sun_to_load
  f.battery_to_load = discharge_power(site, need, at, seconds)
  f.sun_to_battery, f.grid_to_battery = charge_power(site, surplus, seconds)
  f.grid_to_load = site.grid_up and need - f.battery_to_load or 0
  f.load = f.sun_to_load + f.battery_to_load + f.grid_to_load
  f.sun_to_grid = may_export(site) and surplus - f.sun_to_battery or 0
  f.sun = f.sun_to_load + f.sun_to_battery + f.sun_to_grid -- the roof is curtailed: it makes only what has a use
  return f
end

-- ---- sums ----

local FIELDS = {
  "sun", "load", "sun_to_load", "sun_to_battery", "sun_to_grid", "battery_to_load", "grid_to_load", "grid_to_battery",
}
M.FIELDS = FIELDS

function M.add(sum, flows, hours)
  for i = 1, #FIELDS do
    local name = FIELDS[i]
    sum[name] = (sum[name] or 0) + flows[name] * hours
  end
  return sum
end

local function keep(site, at, flows, hours)
  local number = math.floor(at / M.SLOT)
  if not site.slots[number] then
    site.slots[number] = {}
    site.first_slot = site.first_slot or number
    site.slot_count = site.slot_count + 1
    while site.slot_count > KEPT_SLOTS do
      if site.slots[site.first_slot] then site.slot_count = site.slot_count - 1 end
      site.slots[site.first_slot] = nil
      site.first_slot = site.first_slot + 1
    end
  end
  M.add(site.slots[number], flows, hours)
end

function M.step(site, at, seconds, vehicle_power)
  local flows = M.flows(site, at, vehicle_power, seconds)
  local stored = site.stored + (flows.sun_to_battery + flows.grid_to_battery - flows.battery_to_load) * seconds / 3600
  site.stored = math.max(0, math.min(site.capacity, stored))
  return flows
end

-- ---- vehicles at home ----

-- Collects what the vehicle has charged since the last call from its meter, in pieces of five minutes.
function M.take_meter(site, vehicle)
  for _, entry in ipairs(vehicle.meter or {}) do
    local slot = math.floor(entry.from / M.STEP)
    site.metered[slot] = (site.metered[slot] or 0) + entry.kwh * 1000
    local last = site.charges[#site.charges]
    if last and last.vin == vehicle.vin and entry.from - last.to <= M.STEP then
      last.to, last.wh = entry.to, last.wh + entry.kwh * 1000
    else
      site.charges[#site.charges + 1] = { vin = vehicle.vin, from = entry.from, to = entry.to, wh = entry.kwh * 1000 }
      if #site.charges > 1000 then table.remove(site.charges, 1) end
    end
  end
  vehicle.meter = nil
end

local function vehicle_power(site, at)
  return (site.metered[math.floor(at / M.STEP)] or 0) * 3600 / M.STEP
end

-- Whether the sun does not shine for the next quarter hour.
local function is_dark(site, at)
  if not site.info.components.solar then return true end
  if site.live.solar_power then return site.live.solar_power == 0 end
  local hour = M.local_hour(site, at)
  return hour >= 20 or hour < 5.75
end

-- A quarter hour is one step while neither sun, battery nor a car changes the flows: the load of the house changes by the hour.
local function step_of(site, at)
  local steady = not has_battery(site) and next(site.metered) == nil and is_dark(site, at)
  return steady and M.SLOT or M.STEP
end

function M.advance(site, now)
  local at = site.updated
  while at < now do
    local length = step_of(site, at)
    local to = math.min(now, (math.floor(at / length) + 1) * length)
    keep(site, at, M.step(site, at, to - at, vehicle_power(site, at)), (to - at) / 3600)
    if to % M.STEP == 0 then site.metered[math.floor(at / M.STEP)] = nil end
    at = to
  end
  site.updated = math.max(now, site.updated)
end

-- The power at this moment, without advancing the site.
function M.present(site, charging_watts)
  return M.flows(site, site.updated, charging_watts, M.STEP)
end

-- ---- events ----

function M.set_grid(site, up, now)
  if site.grid_up == up then return end
  site.grid_up = up
  if not up then
    site.outage_at = now
    return
  end
  table.insert(site.backup_events, { at = site.outage_at or now, duration = math.floor(now - (site.outage_at or now)) })
  if #site.backup_events > 1000 then table.remove(site.backup_events, 1) end
  site.outage_at = nil
end

function M.set_storm(site, on)
  site.storm = on
end

return M
