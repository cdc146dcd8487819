-- doc/protocol.md#states-and-moves and #reasons, line by line: what the line says happens, and beside it what is
-- refused when its condition does not hold. The fields of a row: section, line, what happens, what does not.
local control = require("fleet.sim.control")
local core = require("fleet.core")
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")
local text = require("fleet.sim.text")

local DAY = 86400
local CAR, OLD = simulated.CAR, simulated.OLD -- the first requires the protocol, the second takes plain commands
local PATH = "/api/1/vehicles/" .. OLD
local CHALLENGE_OF_V = core.oauth_challenge(("v"):rep(43))

-- ---- worlds and what is asked of them ----

local function hex_of(key)
  return (key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local KEY = hex_of(core.key.generate())

local function world(vehicle, more)
  local garage = simulated.garage(vehicle)
  garage.accounts = { { email = "owner@x" }, { email = "friend@x" }, { email = "third@x" } }
  for name, value in pairs(more or {}) do garage[name] = value end
  return simulated.new(garage)
end

local function event(sim, name, options) control.event(sim.service, name, OLD, options) end

local function obey(sim, name, params)
  return sim.service:obey(sim:car(), name, params or {}, { now = sim.service:now() }) or ""
end

local function token_of(sim, email) return sim:login({ login_hint = email }).access_token end

local function invite(sim) return sim:call("POST", PATH .. "/invitations").response end

local function redeem(sim, invitation, email)
  return sim:call("POST", "/api/1/invitations/redeem", { code = invitation.code }, token_of(sim, email or "friend@x")).status
end

local function share(sim, email)
  assert.equal(200, redeem(sim, invite(sim), email))
  return token_of(sim, email)
end

local function refresh(sim, token, client, host)
  local reply = sim:token({ grant_type = "refresh_token", client_id = client or "c1", refresh_token = token }, host)
  return reply.status == 200 and reply.json.refresh_token or nil, reply.status .. " " .. tostring(reply.json.error)
end

local LOGIN_REQUIRED = "401 login_required"

local function open_source()
  local sim = simulated.new({ apps = { { client_id = "os", redirect_uris = { "http://app/cb" } } } })
  local code = assert(sim:code({ client_id = "os", code_challenge = CHALLENGE_OF_V }))
  local reply = sim:token({ grant_type = "authorization_code", client_id = "os", audience = "http://base", code = code,
    redirect_uri = "http://app/cb", code_verifier = ("v"):rep(43) }, "auth")
  return sim, reply.json.refresh_token
end

local function exchange(sim, code, host)
  local reply = sim:token({ grant_type = "authorization_code", client_id = "c1", client_secret = "x", code = code,
    audience = "http://base", redirect_uri = "http://app/cb" }, host)
  return reply.status, reply.json.error
end

local FIELDS = { Soc = { interval_seconds = 60 } }
local PLACE = { Location = { interval_seconds = 60 } }

local function configure(sim, fields, token)
  return sim:call("POST", "/api/1/vehicles/fleet_telemetry_config", {
    vins = json.list({ OLD }), config = { hostname = "t.example.com", ca = "PEM", fields = fields or FIELDS },
  }, token)
end

local function configure_signed(sim)
  local claims = { hostname = "t.example.com", ca = "PEM", fields = FIELDS, aud = "com.vendor.fleet.TelemetryClient",
    iss = core.base64((KEY:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))) }
  local token = text.base64url(json.encode({ alg = "V.SS256" })) .. "." .. text.base64url(json.encode(claims)) .. ".c2ln"
  return sim:call("POST", "/api/1/vehicles/fleet_telemetry_config_jws", { vins = json.list({ OLD }), token = token })
end

-- The reason for which the vehicle was skipped, or "updated".
local function skipped(reply)
  for reason, vins in pairs(reply.response.skipped_vehicles) do
    if vins[1] == OLD then return reason end
  end
  return reply.response.updated_vehicles == 1 and "updated" or "neither"
end

local function synced(sim) return sim:get(PATH .. "/fleet_telemetry_config").response.synced end

local function state(fields) return { vehicle_state = fields } end

local function charge(fields) return { charge_state = fields } end

local function guest(sim)
  obey(sim, "guest_mode", { enable = true })
  event(sim, "qr_scan", { guest = "g1" })
  assert.equal("g1", sim:car().guest)
  return sim
end

local function assert_no_guest(sim) assert.is_nil(sim:car().guest) end

local function update(sim) return sim:section("vehicle_state").software_update.status end

-- A command of section 7: the reason in one garage, done in another.
local function reason(name, params, wrong, wanted, right)
  return { 7, ("%s: %s"):format(wanted, name),
    function() assert.equal("", (world(right):command(name, params))) end,
    function()
      local said, reply = world(wrong):command(name, params)
      assert.same({ wanted, false }, { said, reply.response.result })
    end }
end

local function skip(line, make, right, wrong)
  return { 7, line,
    function() for _, vehicle in ipairs(right) do assert.equal("updated", skipped(make(world(vehicle)))) end end,
    function() for _, vehicle in ipairs(wrong) do assert.equal(line:match("^[%w_]+"), skipped(make(world(vehicle)))) end end }
end

local function paired(fields)
  local vehicle = { keys = { KEY }, model = "m3" }
  for name, value in pairs(fields or {}) do vehicle[name] = value end
  return vehicle
end

-- ---- the lines ----

local LINES = {
  { 3, "refresh token of an open-source app: valid, exchanged, used", function()
    local sim, first = open_source()
    local second = refresh(sim, first, "os", "auth")
    assert.is_string(refresh(sim, second, "os", "auth"))
  end, function()
    local sim, first = open_source()
    refresh(sim, first, "os", "auth")
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, first, "os", "auth")))
  end },

  { 3, "refresh token of a third-party app: valid, exchanged, superseded; the last used one works for 24 hours", function()
    local sim = simulated.new()
    local first = sim:login().refresh_token
    refresh(sim, first)
    sim:advance(DAY)
    assert.is_string(refresh(sim, first))
  end, function()
    local sim = simulated.new()
    local first = sim:login().refresh_token
    local second = refresh(sim, first)
    refresh(sim, second)
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, first)))
    sim:advance(DAY + 1)
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, second)))
  end },

  { 3, "refresh token: valid, three months pass, expired", function()
    local sim = simulated.new()
    local token = sim:login().refresh_token
    sim:advance(90 * DAY - 1)
    assert.is_string(refresh(sim, token))
  end, function()
    local sim = simulated.new()
    local token = sim:login().refresh_token
    sim:advance(90 * DAY)
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, token)))
  end },

  { 3, "share invite: created, redeemed within 24 hours, redeemed", function()
    local sim = world()
    local friend = share(sim, "friend@x")
    assert.equal("DRIVER", sim:get(PATH, friend).response.access_type)
  end, function()
    local sim = world()
    local invitation = invite(sim)
    assert.equal(404, sim:get(PATH, token_of(sim, "friend@x")).status)
    assert.equal(200, redeem(sim, invitation))
    assert.equal(404, redeem(sim, invitation, "third@x"))
  end },

  { 3, "share invite: created, revoked, revoked", function()
    local sim = world()
    local invitation = invite(sim)
    assert.is_true(sim:call("POST", PATH .. "/invitations/" .. invitation.id_s .. "/revoke").response)
    assert.equal(0, #sim:get(PATH .. "/invitations").response)
  end, function()
    local sim = world()
    local invitation = invite(sim)
    sim:call("POST", PATH .. "/invitations/" .. invitation.id_s .. "/revoke")
    assert.equal(404, redeem(sim, invitation))
    assert.equal(404, sim:call("POST", PATH .. "/invitations/" .. invitation.id_s .. "/revoke").status)
    local redeemed = invite(sim)
    redeem(sim, redeemed)
    assert.equal(404, sim:call("POST", PATH .. "/invitations/" .. redeemed.id_s .. "/revoke").status)
  end },

  { 3, "share invite: created, 24 hours pass, expired", function()
    local sim = world()
    local invitation = invite(sim)
    sim:advance(DAY - 1)
    assert.equal(200, redeem(sim, invitation))
  end, function()
    local sim = world()
    local invitation = invite(sim)
    sim:advance(DAY)
    assert.equal(404, redeem(sim, invitation))
    assert.equal(0, #sim:get(PATH .. "/invitations").response)
  end },

  { 3, "driver access: present, removed; share users their own only, owners any", function()
    local sim = world()
    local friend, third = share(sim, "friend@x"), share(sim, "third@x")
    assert.equal("ok", sim:call("DELETE", PATH .. "/drivers", nil, friend).response)
    assert.equal(404, sim:get(PATH, friend).status)
    local id = sim:get(PATH .. "/drivers").response[1].user_id_s
    assert.equal("ok", sim:call("DELETE", PATH .. "/drivers?share_user_id=" .. id).response)
    assert.equal(404, sim:get(PATH, third).status)
  end, function()
    local sim = world()
    local friend, third = share(sim, "friend@x"), share(sim, "third@x")
    local id = sim:get(PATH .. "/drivers").response[2].user_id_s
    assert.equal(403, sim:call("DELETE", PATH .. "/drivers?share_user_id=" .. id, nil, friend).status)
    assert.equal(200, sim:get(PATH, third).status)
    assert.equal(404, sim:call("DELETE", PATH .. "/drivers?share_user_id=1").status)
  end },

  { 3, "guest access: present, removed by a key card, a new code, guest mode off, or the drivers endpoint", function()
    local sim = guest(world())
    event(sim, "key_card")
    assert_no_guest(sim)
    event(sim, "park")
    guest(sim)
    obey(sim, "guest_mode", { enable = true })
    event(sim, "qr_scan", { guest = "g2" })
    assert.equal("g2", sim:car().guest)
    obey(sim, "guest_mode", { enable = false })
    assert_no_guest(sim)
    guest(sim)
    assert.equal("ok", sim:call("DELETE", PATH .. "/drivers?share_user_id=g1").response)
    assert_no_guest(sim)
  end, function()
    local sim = guest(world())
    event(sim, "drive")
    event(sim, "park")
    obey(sim, "guest_mode", { enable = true })
    assert.equal("g1", sim:car().guest)
    assert.equal(404, sim:call("DELETE", PATH .. "/drivers?share_user_id=g2").status)
  end },

  { 3, "guest code: shown, used or ten minutes pass, expired", function()
    local sim = world()
    obey(sim, "guest_mode", { enable = true })
    sim:advance(599)
    event(sim, "qr_scan")
  end, function()
    local sim = guest(world())
    assert.has_error(function() event(sim, "qr_scan") end)
    obey(sim, "guest_mode", { enable = true })
    sim:advance(600)
    assert.has_error(function() event(sim, "qr_scan") end)
  end },

  { 3, "parental controls: settings are changed only while not active", function()
    local sim = world()
    assert.equal("", (sim:command("parental_controls_enable_setting", { setting = "SpeedLimit", enable = true })))
    assert.equal("", (sim:command("parental_controls_set_speed_limit", { limit_mph = 60 })))
    assert.equal(60, sim:section("vehicle_state").parental_controls.speed_limit_mph)
  end, function()
    local sim = world(state({ parental_controls = { active = true, settings = { SpeedLimit = true } } }))
    local active = "parental_controls_active"
    assert.equal(active, (sim:command("parental_controls_enable_setting", { setting = "SpeedLimit", enable = false })))
    assert.equal(active, (sim:command("parental_controls_set_speed_limit", { limit_mph = 60 })))
    assert.same({ true, 85 }, { sim:section("vehicle_state").parental_controls.settings.SpeedLimit,
      sim:section("vehicle_state").parental_controls.speed_limit_mph })
  end },

  { 3, "parental controls: not active, activated with a PIN of four digits, active", function()
    local sim = world()
    assert.equal("", (sim:command("parental_controls_activate", { pin = "1234" })))
    assert.equal("", (sim:command("parental_controls_activate", { pin = "1234" })))
    assert.is_true(sim:section("vehicle_state").parental_controls.active)
  end, function()
    local sim = world()
    assert.equal("invalid_pin", (sim:command("parental_controls_activate", { pin = "123" })))
    assert.is_false(sim:section("vehicle_state").parental_controls.active)
    sim:command("parental_controls_activate", { pin = "1234" })
    assert.equal("invalid_pin", (sim:command("parental_controls_activate", { pin = "4321" })))
  end },

  { 3, "parental controls: active, deactivated with the PIN, not active; the PIN is remembered until it is cleared", function()
    local sim = world({ pins = { parental = "1234" }, vehicle_state = { parental_controls = { active = true } } })
    assert.equal("", (sim:command("parental_controls_deactivate", { pin = "1234" })))
    assert.is_false(sim:section("vehicle_state").parental_controls.active)
    assert.equal("", (sim:command("parental_controls_clear_pin_admin")))
    assert.equal("", (sim:command("parental_controls_activate", { pin = "4321" })))
  end, function()
    local sim = world({ pins = { parental = "1234" }, vehicle_state = { parental_controls = { active = true } } })
    assert.equal("invalid_pin", (sim:command("parental_controls_deactivate", { pin = "4321" })))
    assert.is_true(sim:section("vehicle_state").parental_controls.active)
    sim:command("parental_controls_deactivate", { pin = "1234" })
    assert.equal("invalid_pin", (sim:command("parental_controls_activate", { pin = "4321" })))
  end },

  { 3, "PIN to Drive: no PIN, set, stored; it stays while PIN to Drive is off", function()
    local sim = world()
    assert.equal("", obey(sim, "set_pin_to_drive", { on = true, password = "1234" }))
    assert.equal("", obey(sim, "set_pin_to_drive", { on = false }))
    assert.equal("1234", sim:car().pins.pin_to_drive)
  end, function()
    local sim = world()
    assert.equal("invalid_pin", obey(sim, "set_pin_to_drive", { on = true, password = "12" }))
    obey(sim, "set_pin_to_drive", { on = true, password = "1234" })
    obey(sim, "set_pin_to_drive", { on = true, password = "9999" })
    assert.equal("1234", sim:car().pins.pin_to_drive)
  end },

  { 3, "PIN to Drive: stored, reset, no PIN; only while neither it nor valet mode is on", function()
    local sim = world({ pins = { pin_to_drive = "1234" } })
    assert.equal("", obey(sim, "reset_pin_to_drive_pin"))
    assert.is_nil(sim:car().pins.pin_to_drive)
  end, function()
    for field, wanted in pairs({ pin_to_drive_enabled = "pin_to_drive_active", valet_mode = "valet_mode_active" }) do
      local sim = world({ pins = { pin_to_drive = "1234" }, vehicle_state = { [field] = true } })
      assert.equal(wanted, obey(sim, "reset_pin_to_drive_pin"))
      assert.equal("1234", sim:car().pins.pin_to_drive)
    end
  end },

  { 3, "valet mode: off, set with a PIN of four digits, on; the PIN switches it off", function()
    local sim = world()
    assert.equal("", (sim:command("set_valet_mode", { on = true, password = "1234" })))
    assert.is_true(sim:section("vehicle_state").valet_mode)
    assert.equal("", (sim:command("set_valet_mode", { on = false, password = "1234" })))
  end, function()
    local sim = world()
    assert.equal("invalid_pin", (sim:command("set_valet_mode", { on = true, password = "12345" })))
    assert.is_false(sim:section("vehicle_state").valet_mode)
    sim:command("set_valet_mode", { on = true, password = "1234" })
    assert.equal("invalid_pin", (sim:command("set_valet_mode", { on = false, password = "4321" })))
    assert.is_true(sim:section("vehicle_state").valet_mode)
  end },

  { 3, "valet PIN: stored, reset while valet mode is off, cleared", function()
    local sim = world({ pins = { valet = "1234" } })
    assert.equal("", (sim:command("reset_valet_pin")))
    assert.equal("", (sim:command("set_valet_mode", { on = true, password = "4321" })))
  end, function()
    local sim = world({ pins = { valet = "1234" }, vehicle_state = { valet_mode = true } })
    assert.equal("valet_mode_active", (sim:command("reset_valet_pin")))
    assert.equal("1234", sim:car().pins.valet)
  end },

  { 3, "software update: scheduled, cancelled before it begins, cancelled", function()
    local sim = world()
    event(sim, "software_available", { version = "2027.1" })
    sim:command("schedule_software_update", { offset_sec = 600 })
    sim:advance(599)
    assert.equal("", (sim:command("cancel_software_update")))
    sim:advance(DAY)
    assert.equal("available", update(sim))
  end, function()
    local sim = world()
    event(sim, "software_available", { version = "2027.1" })
    sim:command("schedule_software_update", { offset_sec = 600 })
    sim:advance(660)
    assert.equal("installing", (sim:command("cancel_software_update")))
    sim:advance(DAY)
    assert.same({ "", "2027.1" }, { update(sim), sim:car().status.firmware_version })
  end },

  { 3, "telemetry configuration: a target, the vehicle connects, synced", function()
    local sim = world(paired())
    configure(sim)
    sim:advance(60)
    assert.is_true(synced(sim))
  end, function()
    local sim = world(paired({ state = "asleep" }))
    configure(sim)
    sim:advance(DAY)
    assert.is_false(synced(sim))
    sim:call("POST", PATH .. "/wake_up")
    sim:advance(60)
    assert.is_true(synced(sim))
  end },

  { 7, "401 login_required: a refresh token that was used, superseded, has expired, or is older than the password", function()
    local sim = simulated.new()
    event(sim, "password_reset")
    sim:advance(1)
    assert.is_string(refresh(sim, sim:login().refresh_token))
  end, function()
    local sim = simulated.new()
    local token = sim:login().refresh_token
    event(sim, "password_reset")
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, token)))
  end },

  { 7, "invalid_auth_code: the code has expired, or was used", function()
    local sim = simulated.new()
    local code = sim:code()
    sim:advance(599)
    assert.equal(200, exchange(sim, code))
  end, function()
    local sim = simulated.new()
    local code = sim:code()
    sim:advance(600)
    assert.same({ 400, "invalid_auth_code" }, { exchange(sim, code) })
    code = sim:code()
    exchange(sim, code)
    assert.same({ 400, "invalid_auth_code" }, { exchange(sim, code) })
  end },

  { 7, "403 location access not granted: a share that hides the place, even with the scope", function()
    assert.equal("updated", skipped(configure(world(paired()), PLACE)))
    assert.equal("updated", skipped(configure(world(paired({ granular_access = { hide_private = true } })), FIELDS)))
  end, function()
    local reply = configure(world(paired({ granular_access = { hide_private = true } })), PLACE)
    assert.same({ 403, "location access not granted" }, { reply.status, reply.json.error })
    local sim = world(paired())
    assert.equal(403, configure(sim, PLACE, sim:login({ scope = "openid vehicle_device_data" }).access_token).status)
  end },

  reason("charge_port_door_close", {}, charge({ conn_charge_cable = "IEC" }), "cable connected",
    charge({ charge_port_door_open = true })),
  reason("charge_port_door_close", {}, { vehicle_config = { motorized_charge_port = false } }, "non-motorized charge port",
    charge({ charge_port_door_open = true })),
  reason("charge_port_door_close", {}, charge({ charge_port_door_open = false }), "already closed",
    charge({ charge_port_door_open = true })),
  reason("charge_port_door_open", {}, { car_wash = true }, "car_wash", { car_wash = false }),
  reason("charge_port_door_open", {}, { drive_state = { shift_state = "D" } }, "not allowed", { drive_state = { shift_state = "P" } }),
  reason("charge_standard", {}, charge({ charge_limit_soc = 80, charge_limit_soc_std = 80 }), "already_started",
    charge({ charge_limit_soc = 81, charge_limit_soc_std = 80 })),
  reason("charge_start", {}, charge({ conn_charge_cable = "IEC", charging_state = "Complete" }), "complete",
    charge({ conn_charge_cable = "IEC", charging_state = "Stopped" })),
  reason("charge_start", {}, charge({ conn_charge_cable = "IEC", charging_state = "Charging" }), "is_charging",
    charge({ conn_charge_cable = "IEC", charging_state = "Stopped" })),
  reason("charge_start", {}, charge({ charging_state = "Disconnected" }), "disconnected",
    charge({ conn_charge_cable = "IEC", charging_state = "Stopped" })),
  reason("charge_start", {}, charge({ conn_charge_cable = "IEC", charging_state = "NoPower" }), "no_power",
    charge({ conn_charge_cable = "IEC", charging_state = "Stopped" })),
  reason("charge_start", {}, charge({ conn_charge_cable = "IEC", charging_state = "Starting" }), "requested",
    charge({ conn_charge_cable = "IEC", charging_state = "Stopped" })),
  reason("charge_stop", {}, charge({ conn_charge_cable = "IEC", charging_state = "Stopped" }), "not_charging",
    charge({ conn_charge_cable = "IEC", charging_state = "Charging" })),
  reason("set_charge_limit", { percent = 80 }, charge({ charge_limit_soc = 80 }), "already_set", charge({ charge_limit_soc = 79 })),
  reason("trigger_homelink", { lat = 1, lon = 2, token = "t" }, state({ homelink_device_count = 0 }), "not_supported",
    state({ homelink_device_count = 1 })),
  reason("parental_controls_enable_setting", { setting = "Curfew", enable = true },
    state({ parental_controls = { active = true } }), "parental_controls_active", {}),

  skip("missing_key: the virtual key is not on the vehicle", configure, { paired() }, { { keys = {} } }),
  skip("unsupported_hardware: S and X before 2018, direct", configure,
    { paired({ model = "ms", model_year = 2018 }), paired({ model = "m3", model_year = 2017 }) },
    { paired({ model = "ms", model_year = 2017 }), paired({ model = "mx", model_year = 2017 }) }),
  skip("unsupported_hardware: S and X before 2021, signed", configure_signed, { paired({ model = "mx", model_year = 2021 }) },
    { paired({ model = "ms", model_year = 2020 }), paired({ model = "mx", model_year = 2018 }) }),
  skip("unsupported_firmware: before 2023.20, direct", configure, { paired({ firmware_version = "2023.20" }) },
    { paired({ firmware_version = "2023.19.9" }) }),
  skip("unsupported_firmware: before 2024.26, signed", configure_signed, { paired({ firmware_version = "2024.26" }) },
    { paired({ firmware_version = "2024.25.99" }) }),
  skip("unsupported_firmware: before 2025.20, with an Intel Atom", configure,
    { paired({ intel_atom = true, firmware_version = "2025.20" }) }, { paired({ intel_atom = true, firmware_version = "2025.19" }) }),
  skip("max_configs: the vehicle has five", configure, { paired({ telemetry_configs = 4 }) },
    { paired({ telemetry_configs = 5 }) }),

  { 7, "unsigned command: the vehicle rejects it and does nothing", function()
    assert.equal("", (world():command("set_charge_limit", { percent = 55 })))
  end, function()
    local sim = simulated.new()
    assert.equal(403, (sim:command("set_charge_limit", { percent = 55 }, CAR)))
    assert.equal(80, sim:section("charge_state", CAR).charge_limit_soc)
  end },

  { 8, "keys per vehicle: 20", function()
    local sim = world()
    for _ = 1, 20 do event(sim, "pair_key", { public_key = hex_of(core.key.generate()) }) end
    local status = sim:call("POST", "/api/1/vehicles/fleet_status", { vins = json.list({ OLD }) }).response
    assert.equal(20, status.vehicle_info[OLD].total_number_of_keys)
    event(sim, "pair_key", { public_key = sim:car().keys[1].public_key }) -- one that it has
  end, function()
    local sim, keys = world(), {}
    for i = 1, 21 do keys[i] = hex_of(core.key.generate()) end
    for i = 1, 20 do event(sim, "pair_key", { public_key = keys[i] }) end
    assert.error_matches(function() event(sim, "pair_key", { public_key = keys[21] }) end, "at most 20 keys")
    assert.error_matches(function() world({ keys = keys }) end, "keys: at most 20")
  end },

  { 8, "telemetry configurations per vehicle: five, or three", function()
    local two = simulated.new(simulated.garage(paired({ telemetry_configs = 2 })), { config_limit = 3 })
    assert.equal("updated", skipped(configure(two)))
    local sim = world(paired({ telemetry_configs = 4 }))
    configure(sim)
    assert.equal("updated", skipped(configure(sim))) -- one's own may be replaced
    assert.is_true(sim:get(PATH .. "/fleet_telemetry_config").response.limit_reached)
  end, function()
    local three = simulated.new(simulated.garage(paired({ telemetry_configs = 3 })), { config_limit = 3 })
    assert.equal("max_configs", skipped(configure(three)))
    assert.is_true(three:get(PATH .. "/fleet_telemetry_config").response.limit_reached)
    assert.is_false(world(paired({ telemetry_configs = 3 })):get(PATH .. "/fleet_telemetry_config").response.limit_reached)
  end },

  { 8, "drivers: up to five", function()
    local drivers = {}
    for i = 1, 4 do drivers[i] = { email = i .. "@x" } end
    local sim = world({ drivers = drivers })
    assert.equal(200, redeem(sim, invite(sim)))
  end, function()
    local drivers = {}
    for i = 1, 5 do drivers[i] = { email = i .. "@x" } end
    local sim = world({ drivers = drivers })
    local invitation = invite(sim)
    assert.equal(400, redeem(sim, invitation))
    assert.equal(404, sim:get(PATH, token_of(sim, "friend@x")).status)
  end },

  { 8, "share invite: single use, 24 hours", function()
    local sim = world()
    local invitation = invite(sim)
    sim:advance(DAY - 1)
    assert.equal(200, redeem(sim, invitation))
  end, function()
    local sim = world()
    local used, late = invite(sim), invite(sim)
    redeem(sim, used)
    assert.equal(404, redeem(sim, used, "third@x"))
    sim:advance(DAY)
    assert.equal(404, redeem(sim, late, "third@x"))
  end },

  { 8, "guest code: single use, 10 minutes, from firmware 2024.14", function()
    local sim = world({ firmware_version = "2024.14" })
    obey(sim, "guest_mode", { enable = true })
    sim:advance(599)
    event(sim, "qr_scan")
  end, function()
    local sim = world({ firmware_version = "2024.13" })
    obey(sim, "guest_mode", { enable = true })
    assert.has_error(function() event(sim, "qr_scan") end)
  end },

  { 8, "refresh token of an open-source app: three months, single use", function()
    local sim, token = open_source()
    sim:advance(90 * DAY - 1)
    assert.is_string(refresh(sim, token, "os", "auth"))
  end, function()
    local sim, token = open_source()
    sim:advance(90 * DAY)
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, token, "os", "auth")))
  end },

  { 8, "previous refresh token of a third-party app: the last used one, up to 24 hours", function()
    local sim = simulated.new()
    local first = sim:login().refresh_token
    refresh(sim, first)
    assert.is_string(refresh(sim, first))
  end, function()
    local sim = simulated.new()
    local first = sim:login().refresh_token
    refresh(sim, first)
    sim:advance(DAY + 1)
    assert.equal(LOGIN_REQUIRED, select(2, refresh(sim, first)))
  end },

  { 8, "vehicles per page: 100 unless asked otherwise", function()
    local vehicles = {}
    for i = 1, 101 do vehicles[i] = { vin = ("5YJ3FLEE9RF%06d"):format(i) } end
    local sim = simulated.new({ vehicles = vehicles })
    assert.equal(100, #sim:get("/api/1/vehicles").response)
    assert.equal(1, #sim:get("/api/1/vehicles?page=2").response)
    assert.equal(101, #sim:get("/api/1/vehicles?per_page=200").response)
  end, function()
    assert.equal(400, simulated.new():get("/api/1/vehicles?page=0").status)
    assert.equal(0, #simulated.new():get("/api/1/vehicles?page=2").response)
  end },

  { 8, "invitations per page: 25 at most", function()
    local sim = world()
    for _ = 1, 26 do invite(sim) end
    assert.equal(25, #sim:get(PATH .. "/invitations?per_page=25").response)
    assert.equal(1, #sim:get(PATH .. "/invitations?page=2").response)
  end, function()
    assert.equal(400, world():get(PATH .. "/invitations?per_page=26").status)
  end },

  { 8, "specs: 0.10 dollars per successful result", function()
    local sim = world()
    assert.equal(OLD, sim:get(PATH .. "/specs", sim:partner("vehicle_specs")).response.vin)
    assert.same({ 1, 0.10 }, { sim.service.billing:state().specs, sim.service.billing:state().usd })
  end, function()
    local sim = world()
    assert.same({}, sim:get("/api/1/vehicles/5YJ3FLEE9RF999999/specs", sim:partner("vehicle_specs")).response)
    assert.equal(403, sim:get(PATH .. "/specs").status)
    assert.equal(0, sim.service.billing:state().usd)
  end },

  { 8, "authentication: not billed", function()
    local sim = world()
    refresh(sim, sim:login().refresh_token)
    assert.equal(0, sim.service.billing:state().usd)
  end, function()
    local sim = world()
    sim:get(PATH .. "/vehicle_data")
    sim:command("honk_horn")
    sim:call("POST", PATH .. "/wake_up")
    sim.service.faults:add("error_500")
    sim:get(PATH .. "/vehicle_data")
    local bill = sim.service.billing:state()
    assert.same({ 1, 1, 1 }, { bill.data, bill.command, bill.wake })
    assert.near(0.023, bill.usd, 1e-9)
  end },

  { 8, "token calls of third-party apps: at the token address", function()
    local sim = simulated.new()
    assert.equal(200, exchange(sim, sim:code(), "token"))
    assert.is_string(refresh(sim, sim:login().refresh_token, "c1", "token"))
  end, function()
    local sim = simulated.new()
    assert.same({ 400, "unauthorized_client" }, { exchange(sim, sim:code(), "auth") })
    assert.equal("400 unauthorized_client", select(2, refresh(sim, sim:login().refresh_token, "c1", "auth")))
  end },
}

local counts = {}
for _, line in ipairs(LINES) do
  counts[line[1]] = (counts[line[1]] or 0) + 1
  describe(("section %d, %s"):format(line[1], line[2]), function()
    it("holds", line[3])
    it("refuses the rest", line[4])
  end)
end

-- Section 7 has 23 lines; the one on S and X and the one on firmware are proved once per case.
it("every line of sections 3, 7 and 8 is tested here", function()
  assert.same({ [3] = 18, [7] = 23 + 3, [8] = 12 }, counts)
end)
