-- Vehicles: records, live data, status. doc/protocol.md#vehicles
local defaults = require("fleet.sim.defaults")
local json = require("fleet.sim.json")
local tables = require("fleet.util.tables")
local paging = require("fleet.sim.paging")
local physics = require("fleet.sim.physics")
local reply = require("fleet.sim.reply")
local sites = require("fleet.sim.charging_sites")
local text = require("fleet.sim.text")

local M = {}

-- The record as the account of the request sees it.
local function record(vehicle, role, hidden)
  local out = tables.copy(vehicle.record)
  out.access_type = role == "PARTNER" and "OWNER" or role
  out.granular_access = { hide_private = hidden }
  return out
end

M.record = record

-- The record for a reply. The owner sees all of it, so it is returned without a copy.
local function own_or_copy(vehicle, role, hidden)
  local own, granular = vehicle.record, vehicle.record.granular_access
  if own.access_type == role and granular ~= json.null and granular.hide_private == hidden then return own end
  return record(vehicle, role, hidden)
end

local function visible(context)
  local list = {}
  for _, vehicle in ipairs(context.service.vehicles) do
    local role, hidden = vehicle:access(context.account.email)
    if role then list[#list + 1] = { vehicle, role, hidden } end
  end
  return list
end

M.visible = visible

local handlers = {}
M.handlers = handlers

function handlers.vehicles(context)
  local page, beside = paging.slice(context, visible(context), 100)
  for i, entry in ipairs(page) do
    physics.advance(entry[1], context.now)
    page[i] = own_or_copy(entry[1], entry[2], entry[3])
  end
  return page, beside
end

function handlers.info(context)
  return own_or_copy(context.vehicle, context.role, context.hidden)
end

function handlers.wake_up(context)
  local vehicle = context.vehicle
  physics.wake(vehicle, context.now)
  vehicle.used_at = context.now
  local out = record(vehicle, context.role, context.hidden)
  out.user_id = vehicle.user_id
  return out
end

-- ---- vehicle_data ----

local ALWAYS = { "charge_state", "climate_state", "drive_state", "gui_settings", "vehicle_config", "vehicle_state" }
local KNOWN = text.set({
  "charge_state", "climate_state", "closures_state", "drive_state", "gui_settings", "location_data", "charge_schedule_data",
  "preconditioning_schedule_data", "vehicle_config", "vehicle_state", "vehicle_data_combo",
})
local CLOSURES = text.set({
  "df", "dr", "pf", "pr", "ft", "rt", "fd_window", "fp_window", "rd_window", "rp_window", "locked", "sun_roof_state",
  "sun_roof_percent_open", "timestamp",
})

local function wanted(context)
  local names = context.query.endpoints
  if not names or names == "" then return text.set(ALWAYS) end
  if names:find(",", 1, true) then context.fail(400, "invalid_request", "endpoints are joined with ;") end
  local set = {}
  for name in names:gmatch("[^;]+") do
    if not KNOWN[name] then context.fail(400, "invalid_request", "unknown endpoint " .. name) end
    set[name] = true
  end
  if set.vehicle_data_combo then
    for _, name in ipairs(ALWAYS) do set[name] = true end
  end
  return set
end

-- Firmware before 2023.38 returns the position with drive_state.
local function drive_state(context, set)
  local asked = set.location_data or (set.drive_state and not context.vehicle:firmware("2023.38"))
  local shown = context.vehicle:drive_state(asked and context.shows_place)
  if set.drive_state then return shown end
  if not (asked and context.shows_place) then return nil end
  local only = { timestamp = shown.timestamp }
  for _, name in ipairs(defaults.location_fields) do only[name] = shown[name] end
  return only
end

local function closures(vehicle)
  local out = {}
  for name, value in pairs(vehicle.sections.vehicle_state) do
    if CLOSURES[name] then out[name] = value end
  end
  return out
end

local function vehicle_data(context)
  local vehicle, set = context.vehicle, wanted(context)
  local out = record(vehicle, context.role, context.hidden)
  out.user_id = vehicle.user_id
  for name in pairs(set) do out[name] = vehicle.sections[name] end
  out.drive_state = drive_state(context, set)
  if set.closures_state then out.closures_state = closures(vehicle) end
  return out
end

-- Programs repeat the same read, and encoding its JSON costs more than the rest of the call. The text is cached until the vehicle changes
-- (physics.show) or a request asks for other sections.
local function kept_text(context)
  local vehicle, kept = context.vehicle, context.vehicle.kept_text
  local endpoints = context.query.endpoints
  if kept and kept.shown == vehicle.shown and kept.endpoints == endpoints and kept.shows_place == context.shows_place
    and kept.role == context.role and kept.hidden == context.hidden then
    return kept.text
  end
  vehicle.kept_text = {
    shown = vehicle.shown, endpoints = endpoints, shows_place = context.shows_place, role = context.role, hidden = context.hidden,
    text = json.encode({ response = vehicle_data(context) }),
  }
  return vehicle.kept_text.text
end

function handlers.vehicle_data(context)
  return reply.text_of_json(kept_text(context))
end

-- ---- status of many ----

local function paired(context, vehicle)
  local key = context.service:app_key(context.token)
  if key then return vehicle:has_key(key) ~= nil end
  return #vehicle.keys > 0
end

M.paired = paired

function handlers.fleet_status(context)
  local vins, info = context.body.vins, {}
  local with, without = json.list(), json.list()
  if #vins == 0 then context.fail(400, "invalid_request", "vins is empty") end
  if #vins > 100 then context.fail(400, "invalid_request", "at most 100 vins per call") end
  for _, vin in ipairs(vins) do
    local vehicle = context.service:find_vehicle(context, vin)
    if not vehicle then context.fail(404, "not_found", "no such vehicle, or not yours: " .. tostring(vin)) end
    physics.advance(vehicle, context.now)
    local status = tables.copy(vehicle.status)
    status.total_number_of_keys = vehicle:key_count()
    if #vins > 1 then status.discounted_device_data = nil end
    info[vehicle.vin] = status
    table.insert(paired(context, vehicle) and with or without, vehicle.vin)
  end
  return { key_paired_vins = with, unpaired_vins = without, vehicle_info = info }
end

-- ---- smaller reads ----

function handlers.mobile_enabled(context)
  local on = context.vehicle.mobile_enabled
  return { result = on, reason = on and "" or "mobile_access_disabled" }
end

function handlers.nearby_charging_sites(context)
  local found = sites.near(context.vehicle, { count = tonumber(context.query.count), radius = tonumber(context.query.radius) })
  found.congestion_sync_time_utc_secs = math.floor(context.now)
  found.timestamp = math.floor(context.now * 1000)
  return found
end

function handlers.service_data(context)
  return context.vehicle.service_data or {}
end

function handlers.recent_alerts(context)
  return { recent_alerts = json.list(context.vehicle.recent_alerts or {}) }
end

function handlers.release_notes(context)
  local vehicle = context.vehicle
  local update = vehicle.sections.vehicle_state.software_update
  local staged = update.version:match("%S+")
  local version = context.query.staged == "true" and staged or vehicle.status.firmware_version
  return {
    release_notes = json.list({ {
      title = "Minor fixes", subtitle = "", description = "This release contains minor fixes and improvements.",
      customer_version = version, icon = "release_notes_icon", show_in_history = true, image_url = "", light_image_url = "",
    } }),
    deployed_version = vehicle.status.firmware_version, staged_version = staged or json.null,
    release_notes_version = version,
  }
end

-- Specifications of any vehicle as sold, for a partner; an unknown VIN gives an empty object.
function handlers.specs(context)
  local vehicle = context.vehicle
  if not vehicle then return {} end
  local out = {
    vin = vehicle.vin, model = vehicle.model, trim = "Long Range", modelYear = vehicle.model_year, typeOfDrive = "AWD",
    totalPrice = "54990.00", productionDate = ("%d-03-01"):format(vehicle.model_year),
    equipmentPrice = json.list({ { code = "PPSB", name = "Deep Blue Metallic" } }), batterySoH = 96.5,
    batteryCapacityKwh = physics.PACK_KWH, batterySoHTimestamp = "2026-01-15T08:00:00Z",
  }
  return tables.add(out, vehicle.specs)
end

-- ---- eligibility, options, prices: not wrapped in `response` (doc/protocol.md#product-data) ----

local function bare(make)
  return function(context)
    return reply.bare(make(context.vehicle, context))
  end
end

local function price(code, amount)
  return { billingPeriod = "MONTHLY", currencyCode = "EUR", optionCode = code, price = amount, tax = amount * 0.19,
    total = amount * 1.19 }
end

handlers.subscriptions_eligibility = bare(function(vehicle, context)
  return {
    vin = vehicle.vin, country = "DE",
    eligible = json.list({ {
      optionCode = "$CPF1", product = "PREMIUM_CONNECTIVITY", startDate = require("fleet.sim.calendar").text(context.now),
      addons = json.list(), billingOptions = json.list({ price("$CPF1", 9.99) }),
    } }),
  }
end)

handlers.upgrades_eligibility = bare(function(vehicle)
  return {
    vin = vehicle.vin, country = "DE", type = "VEHICLE",
    eligible = json.list({ {
      optionCode = "$FM3U", optionGroup = "PERF_FIRMWARE", currentOptionCode = "$FM3B",
      pricing = json.list({ { price = 1800, total = 1800, currencyCode = "EUR", isPrimary = true } }),
    } }),
  }
end)

local function warranty(kind, name, date, miles, years)
  return {
    warrantyType = kind, warrantyDisplayName = name, expirationDate = date, expirationOdometer = miles, odometerUnit = "MI",
    warrantyExpiredOn = json.null, coverageAgeInYears = years,
  }
end

handlers.warranty = bare(function(vehicle)
  local year = vehicle.model_year
  return {
    activeWarranty = json.list({
      warranty("BATTERY", "Battery & Drive Unit Limited Warranty", ("%d-03-01T00:00:00Z"):format(year + 8), 120000, 8),
      warranty("NEW_MFG_WARRANTY", "Basic Vehicle Limited Warranty", ("%d-03-01T00:00:00Z"):format(year + 4), 50000, 4),
    }),
    upcomingWarranty = json.list(), expiredWarranty = json.list(),
  }
end)

-- The required parameters are not documented; a model and a market are needed (doc/protocol.md#product-data).
function handlers.pricing(context)
  return reply.bare({
    model = context.body.model or json.null, market = context.body.market or json.null, currencyCode = "EUR",
    prices = json.list({ { optionCode = "$MTY03", price = 54990 } }),
  })
end

return M
