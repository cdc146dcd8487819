-- Energy sites: status, settings, histories, and the list of products. doc/protocol.md#energy
local calendar = require("fleet.sim.calendar")
local energy = require("fleet.sim.energy")
local history = require("fleet.sim.history")
local json = require("fleet.sim.json")
local physics = require("fleet.sim.physics")
local tariffs = require("fleet.sim.tariff")
local vehicles_api = require("fleet.sim.api.vehicles")

local handlers = {}

local function round(x)
  return math.floor(x + 0.5)
end

-- ---- status ----

local function charging_now(context)
  local watts, connectors = 0, json.list()
  for _, vehicle in ipairs(context.service.vehicles) do
    local kw = vehicle.owner == context.site.owner and physics.charging_kw(vehicle) or 0
    watts = watts + kw * 1000
    if vehicle.owner == context.site.owner and vehicle:cable() then
      connectors[#connectors + 1] = {
        din = "1529455-02-D--SIM0000" .. #connectors, vin = vehicle.vin, wall_connector_state = kw > 0 and 1 or 4,
        wall_connector_fault_state = 2, wall_connector_power = round(kw * 1000), ocpp_status = json.null,
        powershare_session_state = json.null,
      }
    end
  end
  return watts, connectors
end

local function island(site)
  if site.live.island_status and site.grid_up then return site.live.island_status end
  return site.grid_up and "on_grid" or "off_grid_unintentional"
end

function handlers.live_status(context)
  local site = context.site
  local watts, connectors = charging_now(context)
  local f, services = energy.present(site, watts), site.live.grid_services_power or 0
  local services_active = site.live.grid_services_active
  if services_active == nil then services_active = services ~= 0 end
  local out = {
    solar_power = round(f.sun), load_power = round(f.load), generator_power = site.live.generator_power or 0,
    grid_power = round(f.grid_to_load + f.grid_to_battery - f.sun_to_grid), grid_status = site.grid_up and "Active" or "Inactive",
    grid_services_power = services, grid_services_active = services_active, island_status = island(site),
    storm_mode_active = site.storm and site.info.user_settings.storm_mode_enabled == true,
    storm_mode_states = site.live.storm_mode_states or json.list(), wall_connectors = site.live.wall_connectors or connectors,
    timestamp = calendar.text(context.now, energy.offset(site, context.now)),
  }
  if not energy.has_battery(site) then return out end
  out.energy_left, out.total_pack_energy = round(site.stored), site.capacity
  out.percentage_charged = site.stored / site.capacity * 100
  out.battery_power = round(f.battery_to_load - f.sun_to_battery - f.grid_to_battery)
  out.backup_capable = site.live.backup_capable ~= false
  return out
end

function handlers.site_info(context)
  return context.site.info
end

-- ---- settings ----

local function done(code)
  return { code = code or 201, message = "Updated" }
end

local function percent(context, name)
  local value = context.body[name]
  if value < 0 or value > 100 or value % 1 ~= 0 then
    context.fail(422, "invalid_field", name .. " is 0 to 100", { [name] = json.list({ "must be a whole number from 0 to 100" }) })
  end
  return value
end

function handlers.backup(context)
  if not energy.has_battery(context.site) then context.fail(540, "device_error", "the site has no battery") end
  context.site.info.backup_reserve_percent = percent(context, "backup_reserve_percent")
  return done()
end

function handlers.off_grid_vehicle_charging_reserve(context)
  local info = context.site.info
  if not info.components.off_grid_vehicle_charging_reserve_supported then
    context.fail(540, "device_error", "the site does not support this")
  end
  info.off_grid_vehicle_charging_reserve_percent = percent(context, "off_grid_vehicle_charging_reserve_percent")
  return done()
end

local MODES = { autonomous = true, self_consumption = true, backup = true }

function handlers.operation(context)
  local mode = context.body.default_real_mode
  if not MODES[mode] then
    context.fail(422, "invalid_field", "default_real_mode is autonomous or self_consumption",
      { default_real_mode = json.list({ "unknown mode" }) })
  end
  context.site.info.default_real_mode = mode
  return done()
end

function handlers.storm_mode(context)
  if not context.site.info.components.storm_mode_capable then
    context.fail(540, "device_error", "the site cannot watch for storms")
  end
  context.site.info.user_settings.storm_mode_enabled = context.body.enabled
  return done()
end

local RULES = { battery_ok = true, pv_only = true, never = true }

-- The disallow flag is absent when false (doc/protocol.md#energy-settings).
function handlers.grid_import_export(context)
  local body, parts = context.body, context.site.info.components
  local disallow, rule = body.disallow_charge_from_grid_with_solar_installed, body.customer_preferred_export_rule
  if disallow == nil and rule == nil then context.fail(400, "invalid_request", "at least one of the two settings is needed") end
  if rule ~= nil and not RULES[rule] then
    context.fail(422, "invalid_field", "customer_preferred_export_rule is battery_ok, pv_only or never",
      { customer_preferred_export_rule = json.list({ "unknown rule" }) })
  end
  if disallow ~= nil then parts.disallow_charge_from_grid_with_solar_installed = disallow or nil end
  if rule ~= nil then parts.customer_preferred_export_rule = rule end
  return done(204)
end

-- The service does not check a tariff, but changes some of its prices (doc/protocol.md#tariff-checks).
function handlers.time_of_use_settings(context)
  local tariff, info = tariffs.kept(context.body.tariff_content_v2), context.site.info
  info.tariff_content_v2, info.tariff_id = tariff, type(tariff.code) == "string" and tariff.code or json.null
  info.utility = type(tariff.utility) == "string" and tariff.utility or info.utility
  return done()
end

-- ---- histories ----

local function range(context)
  local query = context.query
  local name = query.time_zone or context.site.info.installation_time_zone
  if not context.service.zone(name, context.now) then
    context.fail(400, "invalid_request", "time_zone is a name like Europe/Berlin, not " .. name)
  end
  local function zone(at) return context.service.zone(name, at) end
  local function moment(text, fallback)
    if not text then return fallback end
    local at = calendar.parse(text)
    if not at then context.fail(400, "invalid_request", "a date is RFC 3339 with offset, with + as %2B: " .. text) end
    return at
  end
  local to = moment(query.end_date, calendar.midnight(context.now, zone, 1))
  local from = moment(query.start_date, calendar.midnight(to - 1, zone, 0))
  if to <= from then context.fail(400, "invalid_request", "end_date must lie after start_date") end
  return from, math.min(to, context.now), zone
end

local MOST_ENTRIES = 3000 -- about one month of quarter hours

function handlers.energy_history(context)
  local period = context.query.period or "day"
  local entries = history.ENTRIES[period]
  if not entries then
    context.fail(400, "invalid_request", "period is day, week, month, year or lifetime")
  end
  local from, to, zone = range(context)
  if to - from > MOST_ENTRIES * entries.seconds then context.fail(400, "invalid_request", "the range is too long") end
  local list = history.energy(context.site, from, to, period, zone)
  if #list == 0 then return json.null end
  return { period = period, time_series = list, installation_time_zone = context.site.info.installation_time_zone,
    serial_number = context.site.info.id }
end

function handlers.backup_history(context)
  local from, to, zone = range(context)
  local list = history.backup(context.site, from, to, zone)
  return { events = list, total_events = #list }
end

function handlers.charge_history(context)
  local from, to = range(context)
  return { charge_history = history.charges(context.site, from, to) }
end

-- ---- products ----

local function site_product(site)
  local out = {
    energy_site_id = site.number, device_type = "energy", resource_type = energy.has_battery(site) and "battery" or "solar",
    site_name = site.info.site_name, id = site.info.id, gateway_id = "1232100-00-E--SIM000001",
    asset_site_id = "00000000-0000-4000-a000-" .. ("%012d"):format(site.number % 1e12), warp_site_number = site.info.id,
    components = site.info.components, features = { rate_plan_manager_no_pricing_constraint = true },
  }
  if energy.has_battery(site) then
    out.energy_left, out.total_pack_energy = round(site.stored), site.capacity
    out.percentage_charged, out.battery_power = site.stored / site.capacity * 100, 0
  end
  for name, value in pairs(site.product) do
    if name ~= "owner" then out[name] = value end
  end
  return out
end

local function vehicle_product(context, vehicle, role, hidden)
  physics.advance(vehicle, context.now)
  local item = vehicles_api.record(vehicle, role, hidden)
  item.device_type, item.cached_data, item.release_notes_supported = "vehicle", json.null, true
  item.mobile_access_disabled = not vehicle.mobile_enabled
  item.command_signing = vehicle:requires_protocol() and "required" or "off"
  return item
end

-- Each kind is listed for its own scope.
function handlers.products(context)
  local list, scopes = json.list(), context.token.scopes
  for _, entry in ipairs(scopes.vehicle_device_data and vehicles_api.visible(context) or {}) do
    list[#list + 1] = vehicle_product(context, entry[1], entry[2], entry[3])
  end
  for _, site in ipairs(scopes.energy_device_data and context.service.sites or {}) do
    if site.owner == context.account.email then
      context.service:advance_site(site, context.now)
      list[#list + 1] = site_product(site)
    end
  end
  return list, { count = #list }
end

return { handlers = handlers }
