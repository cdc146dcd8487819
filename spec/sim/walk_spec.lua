-- Every row of the tables, called by the real client against `fleet sim` in another process: what comes back
-- has the documented shape (doc/protocol.md#requests-and-replies), and what must be refused is refused.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local services = require "spec.support.servers.service"

require "spec.support.harness.quick"(fleet)

local key = fleet.key.generate()

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- ---- the garage: a vehicle of its own for every command, in the state that the command needs ----

local climate_on = { climate_state = { is_climate_on = true, is_auto_conditioning_on = true,
  remote_heater_control_enabled = true } }
local needs = {
  charge_start = { charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped",
    battery_level = 40 } },
  charge_stop = { charge_state = { conn_charge_cable = "IEC", charging_state = "Charging",
    battery_level = 40 } },
  charge_port_door_close = { charge_state = { charge_port_door_open = true } },
  set_charge_limit = { charge_state = { charge_limit_soc = 70 } },
  remote_seat_heater_request = climate_on, remote_seat_cooler_request = climate_on,
    remote_auto_seat_climate_request = climate_on,
  remote_steering_wheel_heater_request = climate_on, remote_steering_wheel_heat_level_request = climate_on,
  remote_auto_steering_wheel_heat_climate_request = climate_on,
    adjust_volume = { vehicle_state = { is_user_present = true } },
  set_scheduled_charging = { firmware_version = "2024.14.9" },
    set_scheduled_departure = { firmware_version = "2024.14.9" },
}

-- What a vehicle says that is not in the state that these need.
local says_no = {
  open_tonneau = "not_supported", close_tonneau = "not_supported", stop_tonneau = "not_supported",
    sun_roof_control = "not_supported",
  navigation_sc_request = "invalid_value", schedule_software_update = "not_available",
    cancel_software_update = "not_scheduled",
  speed_limit_deactivate = "invalid_pin", speed_limit_clear_pin = "invalid_pin",
    parental_controls_deactivate = "invalid_pin", parental_controls_clear_pin = "invalid_pin",
  parental_controls_set_speed_limit = "speed_limit_not_enabled", erase_user_data = "guest_mode_not_active",
}
local nothing_to_do = { charge_standard = "already_started" }

local own, shared, commands = "5YJ3FLEE9RF000001", "5YJ3FLEE9RF000002", core.commands()
local stranger = "5YJ3FLEE9RF999999"

local function garage()
  local vehicles = {
    { vin = own, keys = { hex(key:public_bytes()) } },
    { vin = shared, keys = { hex(key:public_bytes()) }, drivers = { { email = "friend@example.com" } } },
  }
  for i, row in ipairs(commands) do
    local vehicle = { vin = string.format("5YJSFLEE9KF%06d", i), vehicle_command_protocol_required = false }
    for name, value in pairs(needs[row.name] or {}) do vehicle[name] = value end
    vehicles[#vehicles + 1] = vehicle
  end
  return {
    vehicles = vehicles, energy_sites = { { energy_site_id = 1000001 } },
    accounts = { { email = "owner@example.com" }, { email = "friend@example.com" },
      { email = "fleet@example.com", business = true, auth_code = "business-code" } },
    apps = { { client_id = "app", client_secret = "app-secret",
      redirect_uris = { "https://app.example.com/callback" },
      domain = "app.example.com", public_key = hex(key:public_bytes()) } },
    charging_history = { { vin = own, sessionId = 11, chargeStartDateTime = "2026-03-01T10:00:00+01:00",
      invoices = { { contentId = "c0ffee", fileName = "a.pdf", invoiceType = "IMMEDIATE" } } } },
  }
end

local partner_scopes = { "openid", "vehicle_device_data", "vehicle_specs", "vehicle_pricing_info" }
local service, store, client, friend, fleet_owner, car, site

setup(function()
  service = services.start(garage())
  store = fleet.store.memory()
  client = service:sign_in(service:client { store = store })
  assert(client:partner_login { scopes = partner_scopes })
  friend = service:sign_in(service:client {}, { login_hint = "friend@example.com" })
  fleet_owner = service:client {}
  assert(fleet_owner:business_login { auth_code = "business-code",
    scopes = { "openid", "vehicle_charging_cmds", "vehicle_device_data" } })
  car, site = client:vehicle(own), client:energy_site("1000001")
end)
teardown(function()
  client:close()
  friend:close()
  fleet_owner:close()
  service:stop()
  client, friend, fleet_owner, car, site = nil, nil, nil, nil, nil -- each holds its tokens
end)

-- ---- shapes ----

local function members(list)
  local count = 0
  for _ in pairs(list) do count = count + 1 end
  return count
end

-- shape: { member = "type" }; a list of one shape is a list with at least one such element; "list" may be
-- empty.
local function check(shape, value, where)
  if type(shape) == "string" then
    local wanted = shape == "list" and "table" or shape
    assert.are.equal(wanted, type(value), where)
    if shape == "list" then assert.are.equal(#value, members(value), where) end
    return
  end
  assert.are.equal("table", type(value), where)
  if shape[1] then return check(shape[1], value[1], where .. "[1]") end
  for name, inner in pairs(shape) do check(inner, value[name], where .. "." .. name) end
end

local record = { id = "string", id_s = "string", vehicle_id = "string", vin = "string",
  display_name = "string", state = "string",
  in_service = "boolean", api_version = "number", access_type = "string",
    granular_access = { hide_private = "boolean" } }
local setting = { changed = "boolean", code = "number", message = "string" }
local dates = { start_date = "2026-03-01T00:00:00+01:00", end_date = "2026-03-02T00:00:00+01:00",
  time_zone = "Europe/Berlin" }

local function with(more)
  local copy = {}
  for _, list in ipairs { dates, more } do
    for name, value in pairs(list) do copy[name] = value end
  end
  return copy
end

local telemetry = { hostname = "t.example.com", port = 443, ca = "-----BEGIN CERTIFICATE-----",
  fields = { Soc = { interval_seconds = 60 } } }
local invitation

-- row → { shape, what to call }, in an order in which each finds what it needs.
local endpoints = {
  { "vehicles", { record }, function() return client:vehicles { page_size = 50 }:collect() end },
  { "info", record, function() return car:info() end },
  { "vehicle_data", { vin = "string", state = "string",
    charge_state = { battery_level = "number", timestamp = "number" },
    drive_state = { latitude = "number", longitude = "number" } },
    function() return car:vehicle_data { endpoints = { "charge_state", "drive_state",
      "location_data" } } end },
  { "drivers", { { user_id = "string", user_id_s = "string", driver_first_name = "string",
    granular_access = { hide_private = "boolean" } } },
    function() return client:vehicle(shared):drivers() end },
  { "remove_driver", "string", function()
    local given = client:vehicle(shared)
    return given:remove_driver { share_user_id = given:drivers()[1].user_id }
  end },
  { "fleet_status", { key_paired_vins = "list", unpaired_vins = "list",
    vehicle_info = { [own] = { firmware_version = "string",
    vehicle_command_protocol_required = "boolean", discounted_device_data = "boolean",
      total_number_of_keys = "number" } } },
    function() return client:fleet_status { own } end },
  { "create_fleet_telemetry_config_jws", { updated_vehicles = "number", skipped_vehicles = "list" },
    function()
    return client:create_fleet_telemetry_config_jws { vins = { own }, token = assert(key:jws(telemetry, {})) }
  end },
  { "create_fleet_telemetry_config", { updated_vehicles = "number" }, function()
    local signing <close> = service:client { store = store, key = key }
    return signing:create_fleet_telemetry_config({ vins = { own, "5YJSFLEE9KF000001" }, config = telemetry },
      { force = true })
  end },
  { "fleet_telemetry_config", { synced = "boolean", limit_reached = "boolean", key_paired = "boolean",
    config = { hostname = "string" } },
    function() return car:fleet_telemetry_config() end },
  { "fleet_telemetry_errors", { fleet_telemetry_errors = "list" },
    function() return car:fleet_telemetry_errors() end },
  { "delete_fleet_telemetry_config", { updated_vehicles = "number" },
    function() return car:delete_fleet_telemetry_config() end },
  { "mobile_enabled", { result = "boolean", reason = "string" }, function() return car:mobile_enabled() end },
  { "nearby_charging_sites", {
    superchargers = { { name = "string", location = { lat = "number", long = "number" },
      total_stalls = "number" } },
    destination_charging = "list", timestamp = "number" },
    function() return car:nearby_charging_sites { count = 3 } end },
  { "service_data", "table", function() return car:service_data() end },
  { "create_invitation", { id = "string", id_s = "string", code = "string", share_link = "string",
    state = "string",
    expires_at = "string", vin = "string" }, function()
    invitation = assert(car:create_invitation())
    return invitation
  end },
  { "invitations", { { id = "string", code = "string", state = "string" } },
    function() return car:invitations():collect() end },
  { "redeem_invitation", { vehicle_id_s = "string", vin = "string" }, function()
    return friend:redeem_invitation { code = invitation.share_link }
  end },
  { "revoke_invitation", "boolean",
    function() return car:revoke_invitation(assert(car:create_invitation()).id) end },
  { "signed_command", "string", function()
    local session <close> = fleet.session { key = key, vin = own, domain = "infotainment" }
    local reply, err = car:signed_command(session:handshake())
    if reply then assert(session:accept(reply)) end
    return reply, err
  end },
  { "specs", { vin = "string", model = "string", modelYear = "number", batteryCapacityKwh = "number",
    equipmentPrice = "list" },
    function() return car:specs() end },
  { "recent_alerts", { recent_alerts = "list" }, function() return car:recent_alerts() end },
  { "release_notes", { release_notes = "list", deployed_version = "string" },
    function() return car:release_notes { staged = false } end },
  { "wake_up", { vin = "string", state = "string" }, function() return car:wake_up() end },
  { "products", { record }, function() return client:products() end },
  { "backup", setting, function() return site:backup { backup_reserve_percent = 30 } end },
  { "operation", setting, function() return site:operation { default_real_mode = "autonomous" } end },
  { "storm_mode", setting, function() return site:storm_mode { enabled = true } end },
  { "grid_import_export", setting,
    function() return site:grid_import_export { customer_preferred_export_rule = "never" } end },
  { "off_grid_vehicle_charging_reserve", setting, function()
    return site:off_grid_vehicle_charging_reserve { off_grid_vehicle_charging_reserve_percent = 30 }
  end },
  { "time_of_use_settings", { changed = "boolean" }, function()
    return site:time_of_use_settings(fleet.tariff.flat { name = "Flat", utility = "U", currency = "EUR",
      price = 0.3 })
  end },
  { "site_info", { id = "string", site_name = "string", backup_reserve_percent = "number",
    default_real_mode = "string",
    installation_time_zone = "string", components = { solar = "boolean", battery = "boolean" },
      nameplate_power = "number",
    tariff_content_v2 = { seasons = "table" } }, function() return site:site_info() end },
  { "live_status", { solar_power = "number", battery_power = "number", load_power = "number",
    grid_power = "number",
    percentage_charged = "number", grid_status = "string", island_status = "string",
      storm_mode_active = "boolean",
    timestamp = "string", wall_connectors = "list" }, function() return site:live_status() end },
  { "backup_history", { events = "list", total_events = "number" },
    function() return site:backup_history(with { period = "day" }) end },
  { "energy_history", { period = "string",
    time_series = { { timestamp = "string", solar_energy_exported = "number" } } },
    function() return site:energy_history(with { period = "day" }) end },
  { "charge_history", { charge_history = "list" }, function() return site:charge_history(dates) end },
  { "partner.register", { client_id = "string", domain = "string", public_key = "string",
    created_at = "string" },
    function() return client.partner:register { domain = "app.example.com" } end },
  { "partner.public_key", { public_key = "string" },
    function() return client.partner:public_key { domain = "app.example.com" } end },
  { "partner.fleet_telemetry_errors", { fleet_telemetry_errors = "list" },
    function() return client.partner:fleet_telemetry_errors() end },
  { "partner.fleet_telemetry_error_vins", "list",
    function() return client.partner:fleet_telemetry_error_vins() end },
  { "user.me", { email = "string", full_name = "string", vault_uuid = "string" },
    function() return client.user:me() end },
  { "user.orders", "list", function() return client.user:orders() end },
  { "user.region", { region = "string", fleet_api_base_url = "string" },
    function() return client.user:region() end },
  { "user.feature_config", { signaling = { enabled = "boolean" } },
    function() return client.user:feature_config() end },
  { "subscriptions_eligibility", { vin = "string", country = "string", eligible = "list" },
    function() return car:subscriptions_eligibility() end },
  { "upgrades_eligibility", { vin = "string", country = "string", eligible = "list" },
    function() return car:upgrades_eligibility() end },
  { "options", { codes = { { code = "string", displayName = "string", isActive = "boolean" } } },
    function() return car:options() end },
  { "warranty", { activeWarranty = "list", upcomingWarranty = "list", expiredWarranty = "list" },
    function() return car:warranty() end },
  { "pricing", "table", function() return client:pricing { model = "m3", market = "DE" } end },
  { "charging.history", { { sessionId = "string", vin = "string", invoices = { { contentId = "string" } } } },
    function() return client.charging:history { page_size = 10 }:collect() end },
  { "charging.invoice", "string", function() return client.charging:invoice("c0ffee") end },
  { "charging.sessions", "list",
    function() return fleet_owner.charging:sessions { page_size = 10 }:collect() end },
}

local function names(rows)
  local list = {}
  for i, row in ipairs(rows) do list[i] = row.name or row[1] end
  table.sort(list)
  return list
end

local function arguments_of(row)
  local arguments = table.pack(load("return " .. row.example)())
  if row.name == "charging.invoice" then arguments.n = 1 end -- no file
  return arguments
end

local function call(from, vin, site_id, row)
  local handles = { client = from, partner = from.partner, user = from.user, charging = from.charging,
    vehicle = from:vehicle(vin),
    site = from:energy_site(site_id) }
  local handle, arguments = handles[row.handle], arguments_of(row)
  local checked_here = row.flags.deprecated or row.name == "create_fleet_telemetry_config"
  if checked_here then arguments[2], arguments.n = { force = true }, 2 end
  local value, err, kind = handle[row.method](handle, table.unpack(arguments, 1, arguments.n))
  if row.paging ~= "no" then value, err, kind = value:collect() end
  return value, err, kind
end

-- ---- what is answered ----

describe("the simulator", function()
  it("answers every endpoint in its documented shape", function()
    for _, case in ipairs(endpoints) do
      local value, err = case[3]()
      assert.is_nil(err, case[1] .. ": " .. tostring(err))
      check(case[2], value, case[1])
    end
  end)

  it("is asked here for every published endpoint", function()
    local published = {}
    for _, row in ipairs(core.endpoints()) do
      if not row.flags.unpublished then published[#published + 1] = row end
    end
    assert.are.same(names(published), names(endpoints))
  end)

  it("obeys every command in plain form, or says why not", function()
    for i, row in ipairs(commands) do
      local vin = string.format("5YJSFLEE9KF%06d", i)
      local value, err = call(client, vin, 1, row)
      if row.flags.needs_protocol then
        assert.are.same({ "unsupported", "not_sent" }, { err.kind, err.outcome }, row.name)
      elseif says_no[row.name] then
        assert.is_nil(value, row.name)
        assert.are.same({ says_no[row.name], "refused" }, { err.reason, err.outcome }, row.name)
      else
        assert.is_nil(err, row.name .. ": " .. tostring(err))
        local wanted = nothing_to_do[row.name]
        assert.are.same({ not wanted, wanted or "", "plain", false },
          { value.changed, value.reason, value.via, value.authenticated }, row.name)
      end
    end
  end)

  it("sends an invoice as a document", function()
    assert.is_truthy(string.find(assert(client.charging:invoice("c0ffee")), "^%%PDF"))
  end)

  it("keeps a tariff and gives it back as it was sent", function()
    local tariff = fleet.tariff.flat { name = "Mine", utility = "U", currency = "USD", price = 0.25 }
    assert(site:time_of_use_settings(tariff))
    assert.are.same(cjson.decode(tariff:encode()), site:site_info().tariff_content_v2)
    assert.is_false(assert(site:time_of_use_settings(tariff)).changed)
    local content = {}
    for name, value in pairs(tariff) do content[name] = value end
    content.currency = "AUD"
    local none, err = site:time_of_use_settings(content)
    assert.is_nil(none)
    assert.equal("bad_currency", err.problems[1].kind)
    assert.is_true(assert(site:time_of_use_settings(content, { force = true, read_back = true })).changed)
  end)

  it("answers calls from tasks as it answers one", function()
    local results = fleet.run(function()
      return fleet.map(commands, function(row) return client:vehicle(own):info() or row end,
        { concurrency = 16 })
    end)
    for _, result in ipairs(results) do assert.are.equal(own, result.value.vin) end
  end)
end)

-- ---- what is carried out, and then lost ----

describe("a command that the simulator carries out before it fails", function()
  local plain_vin = "5YJSFLEE9KF000001"

  local function trunk(vin)
    return service:control().vehicles[vin].sections.vehicle_state.rt ~= 0
  end

  -- A second delivery would close the trunk again, and use up a second fault.
  local function opens_once(from, vin, row, fault)
    -- a session with the same part of the vehicle stands, a connection is kept
    assert(from:vehicle(vin):door_lock())
    local before = trunk(vin)
    service:control { fault = fault, times = 5, row = row }
    local value, err = from:vehicle(vin):actuate_trunk { which_trunk = "rear" }
    assert.are.equal(4, service:control().faults[1].times, fault)
    service:control { clear = "faults" }
    assert.is_nil(value, fault)
    assert.are.equal("unknown", err.outcome, fault .. ": " .. tostring(err))
    assert.are.equal(not before, trunk(vin), fault)
  end

  local lost = { "executed_503", "drop_after", "truncated", "wrong_type" }

  it("is carried out once in plain form", function()
    for _, fault in ipairs(lost) do opens_once(client, plain_vin, "actuate_trunk", fault) end
  end)

  it("can be settled by looking, in both forms", function()
    local signing <close> = service:client { store = store, key = key }
    for row, car_of in pairs { door_unlock = client:vehicle(plain_vin),
      signed_command = signing:vehicle(own) } do
      assert(car_of:door_lock())
      service:control { fault = "executed_503", row = row }
      local _, err = car_of:door_unlock()
      assert.are.equal("unknown", err.outcome)
      assert.is_true(car_of:settle(err))
      assert(car_of:door_lock())
      assert.is_false(car_of:settle(err))
    end
  end)

  it("is carried out once in signed form", function()
    local signing <close> = service:client { store = store, key = key }
    for _, fault in ipairs(lost) do opens_once(signing, own, "signed_command", fault) end
  end)
end)

-- ---- what is refused ----

describe("the simulator refuses", function()
  local every = {}
  for _, rows in ipairs { core.endpoints(), commands } do
    for _, row in ipairs(rows) do every[#every + 1] = row end
  end

  local function held(slot)
    return cjson.decode((store:get("token/default/" .. slot))).access_token
  end

  it("a token without the scope, and the err names it", function()
    local narrow <close> = service:sign_in(service:client { scopes = { "openid", "offline_access" } })
    assert(narrow:partner_login { scopes = { "openid" } })
    local seen = 0
    for _, row in ipairs(every) do
      if row.scope and not row.flags.needs_protocol then
        local value, err, kind = call(narrow, own, "1000001", row)
        assert.is_nil(value, row.name)
        -- it reads before it writes
        local wanted = row.name == "time_of_use_settings" and "energy_device_data" or row.flags.charging_scope and "vehicle_charging_cmds"
          or row.scope
        assert.are.same({ "scope", wanted }, { kind, err.scope }, row.name)
        seen = seen + 1
      end
    end
    assert.is_true(seen > 100)
  end)

  it("the token of another kind", function()
    local as_user <close> = service:client { token = held "user" }
    local as_partner <close> = service:client { token = held "partner" }
    for _, row in ipairs(every) do
      local takes = {}
      for _, slot in ipairs(row.tokens) do takes[slot] = true end
      for slot, from in pairs { user = as_user, partner = as_partner } do
        if not takes[slot] and not row.flags.needs_protocol then
          local value, err, kind = call(from, own, "1000001", row)
          assert.is_nil(value, row.name .. " with a " .. slot .. " token")
          assert.is_truthy(kind == "forbidden" or kind == "scope" or kind == "auth",
            row.name .. ": " .. tostring(err))
        end
      end
    end
  end)

  it("no token, and one that it did not give", function()
    for _, token in ipairs { "NA_made-up-token", "eyJhbGciOiJub25lIn0.e30." } do
      local from <close> = service:client { token = token }
      for _, row in ipairs(every) do
        if not row.flags.needs_protocol then
          local value, err, kind = call(from, own, "1000001", row)
          assert.are.same({ nil, "auth" }, { value, kind }, row.name .. ": " .. tostring(err))
        end
      end
    end
  end)

  it("a vehicle or a site that is not there, or another's", function()
    for _, row in ipairs(every) do
      local asks = row.handle == "vehicle" or row.handle == "site"
      if asks and row.tokens[1] == "user" and not row.flags.needs_protocol then
        local value, err, kind = call(client, stranger, "999", row)
        assert.are.same({ nil, "not_found" }, { value, kind }, row.name .. ": " .. tostring(err))
      end
    end
    local _, _, kind = friend:vehicle("5YJSFLEE9KF000001"):info()
    assert.are.equal("not_found", kind)
  end)

  it("an unsigned command to a vehicle that requires the protocol", function()
    for _, row in ipairs(commands) do
      if row.message and not row.flags.needs_protocol and not row.flags.plain_first then
        local value, err = call(client, own, 1, row)
        assert.is_nil(value, row.name)
        assert.are.same({ "key_not_paired", "refused" }, { err.kind, err.outcome }, row.name)
      end
    end
  end)
end)
