-- Other clients say the same in other words: messages that the protocol allows and the client of this project never writes.
local core = require("fleet.core")
local signed_vehicle = require("spec.support.fixtures.signed_vehicle")

local hex = signed_vehicle.hex

describe("a simulated vehicle", function()
  local v

  local function fresh(members, options)
    v = signed_vehicle.new(members, options)
    return v
  end

  before_each(function() fresh() end)

  local function refused(domain, members)
    local answer = v:request(domain, members)
    if domain == "infotainment" then return answer.actionStatus.result_reason.plain_text end
    return answer ~= "" and answer.nominalError.genericError or nil
  end

  it("has a key of its own in each domain, both new with a new computer", function()
    local function key_of(domain)
      local _, accepted, message = v:handshake(domain)
      assert.is_true(accepted)
      local info = core.message_json("Signatures.SessionInfo", core.unbase64(message.session_info))
      return info:match('"publicKey":"(.-)"')
    end
    local security, infotainment = key_of("vehicle_security"), key_of("infotainment")
    assert.equal(88, #security)
    assert.not_equal(security, infotainment)
    assert.equal(security, key_of("vehicle_security"))
    require("fleet.sim.control").event(v.sim.service, "new_computer", v.VIN)
    assert.not_equal(security, key_of("vehicle_security"))
    assert.not_equal(infotainment, key_of("infotainment"))
  end)

  describe("refuses, signed as plain,", function()
    local ADMIN = { ["drivingClearSpeedLimitPinAdminAction"] = {} }

    local function status(domain, members)
      local paths = {}
      for path, value in pairs(members) do paths[(domain == "infotainment" and "vehicleAction." or "") .. path] = value end
      local message = core.encode_message(domain == "infotainment" and "CarServer.Action" or "VCSEC.UnsignedMessage", paths)
      local signed = v:session(domain):sign(message, { method = "hmac", encrypt_response = true })
      return select(2, v:send(signed)).status
    end

    it("what only the owner may do to a driver, though the key is an owner's", function()
      assert.equal(200, status("infotainment", ADMIN))
      v.car.owner, v.car.drivers = "else@example.com", { { email = v.sim.service.garage.accounts[1].email } }
      v.car.pins.speed_limit = "1234"
      assert.equal(403, status("infotainment", ADMIN))
      assert.equal("1234", v.car.pins.speed_limit)
      assert.equal(200, status("infotainment", { vehicleControlHonkHornAction = {} }))
      assert.equal(200, status("vehicle_security", { RKEAction = 1 }))
      v.car.record.access_type, v.car.owner = "DRIVER", v.sim.service.garage.accounts[1].email
      assert.equal(403, status("infotainment", ADMIN))
    end)

    it("what is no charging command to a token for charging only", function()
      v.sim.access, v.sim.access_until = v.sim:login({ scope = "openid vehicle_charging_cmds" }).access_token, math.huge
      assert.equal(403, status("infotainment", { vehicleControlHonkHornAction = {} }))
      assert.equal(403, status("vehicle_security", { RKEAction = 0 }))
      assert.equal(200, status("infotainment", { ["chargingSetLimitAction.percent"] = 70 }))
      assert.equal(70, v:section("charge_state").charge_limit_soc)
    end)
  end)

  -- ---- infotainment ----

  it("answers a ping with its number", function()
    local answer = v:request("infotainment", { ["ping.ping_id"] = 42, ["ping.local_timestamp.seconds"] = 1700000000 })
    assert.equal(42, answer.ping.ping_id)
    assert.equal("1700000000", answer.ping.last_remote_timestamp.seconds)
    assert.equal(tostring(math.floor(v.sim.service:now())), answer.ping.local_timestamp.seconds)
  end)

  it("heats two seats in one message, and refuses both while the climate is off", function()
    local list = "hvacSeatHeaterActions.hvacSeatHeaterAction"
    local both = {
      [list .. "[1].SEAT_HEATER_HIGH"] = {}, [list .. "[1].CAR_SEAT_FRONT_LEFT"] = {},
      [list .. "[2].SEAT_HEATER_LOW"] = {}, [list .. "[2].CAR_SEAT_REAR_CENTER"] = {},
    }
    assert.matches("not enabled", refused("infotainment", both))
    v:request("infotainment", { ["hvacAutoAction.power_on"] = true })
    v:request("infotainment", both)
    local climate = v:section("climate_state")
    assert.same({ 3, 1, 0 }, { climate.seat_heater_left, climate.seat_heater_rear_center, climate.seat_heater_right })
  end)

  it("cools two seats in one message", function()
    local list = "hvacSeatCoolerActions.hvacSeatCoolerAction"
    v:request("infotainment", { ["hvacAutoAction.power_on"] = true })
    v:request("infotainment", {
      [list .. "[1].seat_cooler_level"] = 4, [list .. "[1].seat_position"] = 1,
      [list .. "[2].seat_cooler_level"] = 2, [list .. "[2].seat_position"] = 2,
    })
    assert.same({ 3, 1 }, { v:section("climate_state").seat_fan_front_left, v:section("climate_state").seat_fan_front_right })
  end)

  it("takes temperatures without a level, and one alone", function()
    v:request("infotainment", {
      ["hvacTemperatureAdjustmentAction.driver_temp_celsius"] = 23, ["hvacTemperatureAdjustmentAction.passenger_temp_celsius"] = 19,
    })
    assert.same({ 23, 19 }, { v:section("climate_state").driver_temp_setting, v:section("climate_state").passenger_temp_setting })
    v:request("infotainment", { ["hvacTemperatureAdjustmentAction.driver_temp_celsius"] = 20.5 })
    assert.same({ 20.5, 19 }, { v:section("climate_state").driver_temp_setting, v:section("climate_state").passenger_temp_setting })
  end)

  it("leaves valet mode for its PIN, not for another one, and for its key alone", function()
    local function valet(members)
      local paths = { vehicleControlSetValetModeAction = {} }
      for name, value in pairs(members) do paths["vehicleControlSetValetModeAction." .. name] = value end
      return v:request("infotainment", paths).actionStatus.result_reason
    end
    valet({ on = true, password = "1234" })
    assert.is_true(v:section("vehicle_state").valet_mode)
    assert.equal("invalid_pin", valet({ password = "9999" }).plain_text)
    assert.is_true(v:section("vehicle_state").valet_mode)
    assert.is_nil(valet({ password = "1234" }))
    assert.is_false(v:section("vehicle_state").valet_mode)
    valet({ on = true, password = "1234" })
    assert.is_nil(valet({}))
    assert.is_false(v:section("vehicle_state").valet_mode)
  end)

  it("forgets the PIN of parental controls when the request has it", function()
    v:request("infotainment", { ["parentalControlsAction.activate"] = true, ["parentalControlsAction.pin"] = "1234" })
    assert.equal("invalid_pin", refused("infotainment", { ["parentalControlsClearPinAction.pin"] = "4321" }))
    assert.is_true(v:section("vehicle_state").parental_controls.pin_code_set)
    v:request("infotainment", { ["parentalControlsClearPinAction.pin"] = "1234" })
    assert.is_false(v:section("vehicle_state").parental_controls.pin_code_set)
  end)

  it("does not know an action that says nothing", function()
    local answer, err = v:request("infotainment", { chargingStartStopAction = {} })
    assert.same({ nil, 9 }, { answer, err.fault })
  end)

  -- ---- commands that are published in plain form only, signed as other clients sign them ----

  local WARM = { climate_state = { is_climate_on = true }, vehicle_config = { sun_roof_installed = 1 } }
  local function drive(member) return function() return v:section("drive_state")[member] end end
  local function climate(member) return function() return v:section("climate_state")[member] end end
  local function roof() return v:section("vehicle_state").sun_roof_state end

  for _, case in ipairs({
    { "navigation_request", { type = "share_ext_content_raw", value = { ["android.intent.extra.TEXT"] = "Berlin" }, locale = "en",
      timestamp_ms = "1" }, { ["navigationRequest.destination"] = "Berlin" }, drive("active_route_destination"), "Berlin" },
    { "navigation_gps_request", { lat = 1.5, lon = 2.5, order = 1 }, {
      ["navigationGpsRequest.lat"] = 1.5, ["navigationGpsRequest.lon"] = 2.5, ["navigationGpsRequest.order"] = 1,
    }, drive("active_route_latitude"), 1.5 },
    { "navigation_sc_request", { id = 1001, order = 1 }, { ["navigationSuperchargerRequest.id"] = 1001 },
      function() return drive("active_route_destination")() ~= nil end, true },
    { "navigation_waypoints_request", { waypoints = "refId:abc" }, { ["navigationWaypointsRequest.waypoints"] = "refId:abc" },
      drive("active_route_destination"), "refId:abc" },
    { "remote_boombox", { sound = 2000 }, { ["boomboxAction.sound"] = 2000 }, function() return v.car.sound end, 2000 },
    { "sun_roof_control", { state = "vent" }, { ["vehicleControlSunroofOpenCloseAction.vent"] = {} }, roof, "vent" },
    { "sun_roof_control", { state = "open" }, { ["vehicleControlSunroofOpenCloseAction.open"] = {} }, roof, "open" },
    { "sun_roof_control", { state = "close" }, { ["vehicleControlSunroofOpenCloseAction.close"] = {} }, roof, "closed" },
    { "remote_steering_wheel_heat_level_request", { level = 1 }, { ["stwHeatLevelAction.stw_heat_level"] = "StwHeatLevel_Low" },
      climate("steering_wheel_heat_level"), 1 },
    { "remote_auto_steering_wheel_heat_climate_request", { on = true }, { ["autoStwHeatAction.on"] = true },
      climate("auto_steering_wheel_heat"), true },
    { "upcoming_calendar_entries", { calendar_data = "x" }, { ["uiSetUpcomingCalendarEntries.calendar_data"] = "x" },
      function() return v.car.calendar end, "x" },
  }) do
    local name, params, members, look, wanted = case[1], case[2], case[3], case[4], case[5]
    it(("obeys %s plain and signed (case %d)"):format(name, _), function()
      fresh(WARM)
      local answer = v:request("infotainment", members)
      assert.same({}, answer.actionStatus)
      assert.equal(wanted, look())
      fresh({ climate_state = WARM.climate_state, vehicle_config = WARM.vehicle_config, vehicle_command_protocol_required = false })
      assert.equal("", (v.sim:command(name, params, v.VIN)))
      assert.equal(wanted, look())
    end)
  end

  it("refuses them signed by the same rules", function()
    fresh({ vehicle_config = { can_accept_navigation_requests = false } })
    assert.equal("not_supported", refused("infotainment", { ["navigationGpsRequest.lat"] = 1.5, ["navigationGpsRequest.lon"] = 1.5 }))
    assert.equal("not_supported", refused("infotainment", { ["vehicleControlSunroofOpenCloseAction.vent"] = {} }))
    assert.matches("not enabled", refused("infotainment", { ["autoStwHeatAction.on"] = true }))
    v:section("drive_state").shift_state = "D"
    assert.equal("not_parked", refused("infotainment", { ["boomboxAction.sound"] = 0 }))
  end)

  it("opens the sun roof by percent, as far as there is one", function()
    fresh(WARM)
    v:request("infotainment", { ["vehicleControlSunroofOpenCloseAction.absolute_level"] = 60 })
    assert.same({ "open", 60 }, { roof(), v:section("vehicle_state").sun_roof_percent_open })
    v:request("infotainment", { ["vehicleControlSunroofOpenCloseAction.delta_level"] = -60 })
    assert.same({ "closed", 0 }, { roof(), v:section("vehicle_state").sun_roof_percent_open })
    assert.equal("invalid_value", refused("infotainment", { ["vehicleControlSunroofOpenCloseAction.absolute_level"] = 101 }))
    fresh()
    assert.equal("not_supported", refused("infotainment", { ["vehicleControlSunroofOpenCloseAction.absolute_level"] = 60 }))
  end)

  -- ---- closures ----

  local OPEN, CLOSE, STOP, MOVE = 3, 4, 2, 1

  it("opens and closes the trunk where it has a drive", function()
    v:request("vehicle_security", { ["closureMoveRequest.rearTrunk"] = OPEN })
    assert.equal(1, v:section("vehicle_state").rt)
    v:request("vehicle_security", { ["closureMoveRequest.rearTrunk"] = STOP })
    assert.equal(1, v:section("vehicle_state").rt)
    assert.is_nil(refused("vehicle_security", { ["closureMoveRequest.rearTrunk"] = CLOSE }))
    assert.equal(0, v:section("vehicle_state").rt)
    v:request("vehicle_security", { ["closureMoveRequest.rearTrunk"] = CLOSE })
    assert.equal(0, v:section("vehicle_state").rt)
    fresh({ vehicle_config = { plg = false } })
    v:request("vehicle_security", { ["closureMoveRequest.rearTrunk"] = OPEN })
    assert.equal("GENERICERROR_UNKNOWN", refused("vehicle_security", { ["closureMoveRequest.rearTrunk"] = CLOSE }))
    assert.equal(1, v:section("vehicle_state").rt)
  end)

  it("moves both lids in one message, and opens the front one only", function()
    v:request("vehicle_security", { ["closureMoveRequest.rearTrunk"] = MOVE, ["closureMoveRequest.frontTrunk"] = MOVE })
    assert.same({ 1, 1 }, { v:section("vehicle_state").rt, v:section("vehicle_state").ft })
    assert.equal("GENERICERROR_UNKNOWN", refused("vehicle_security", { ["closureMoveRequest.frontTrunk"] = CLOSE }))
    assert.equal(1, v:section("vehicle_state").ft)
  end)

  it("moves the charge port as a closure, by the rules of the command", function()
    v:request("vehicle_security", { ["closureMoveRequest.chargePort"] = OPEN })
    assert.is_true(v:section("charge_state").charge_port_door_open)
    v:request("vehicle_security", { ["closureMoveRequest.chargePort"] = CLOSE })
    assert.is_false(v:section("charge_state").charge_port_door_open)
    v:request("vehicle_security", { ["closureMoveRequest.chargePort"] = MOVE })
    assert.is_true(v:section("charge_state").charge_port_door_open)
    v.car.car_wash = true
    v:section("charge_state").charge_port_door_open = false
    assert.equal("GENERICERROR_UNKNOWN", refused("vehicle_security", { ["closureMoveRequest.chargePort"] = OPEN }))
  end)

  it("opens no door, and takes a kind of move that it knows", function()
    assert.equal("GENERICERROR_UNKNOWN", refused("vehicle_security", { ["closureMoveRequest.frontDriverDoor"] = OPEN }))
    assert.equal("GENERICERROR_UNKNOWN", refused("vehicle_security", { ["closureMoveRequest.rearTrunk"] = 9 }))
    assert.equal("", v:request("vehicle_security", { closureMoveRequest = {} }))
  end)

  it("secures itself in park, and is woken by its own protocol", function()
    v:section("vehicle_state").locked = false
    v:request("vehicle_security", { RKEAction = "RKE_ACTION_AUTO_SECURE_VEHICLE" })
    assert.is_true(v:section("vehicle_state").locked)
    v:section("drive_state").shift_state = "D"
    assert.equal("GENERICERROR_VEHICLE_NOT_IN_PARK", refused("vehicle_security", { RKEAction = "RKE_ACTION_AUTO_SECURE_VEHICLE" }))
    assert.equal("", v:request("vehicle_security", { RKEAction = "RKE_ACTION_WAKE_VEHICLE" }))
    v:request("vehicle_security", { RKEAction = "RKE_ACTION_UNLOCK" })
    assert.is_false(v:section("vehicle_state").locked)
  end)

  -- ---- what needs no signature ----

  local function ask(members)
    local paths = {}
    for name, value in pairs(members) do paths["InformationRequest." .. name] = value end
    return v:ask("vehicle_security", next(paths) and paths or { InformationRequest = {} })
  end

  it("returns its status without a signature", function()
    local status = ask({}).vehicleStatus
    assert.equal("VEHICLELOCKSTATE_LOCKED", status.vehicleLockState)
    assert.equal("VEHICLE_SLEEP_STATUS_AWAKE", status.vehicleSleepStatus)
    assert.equal("VEHICLE_USER_PRESENCE_NOT_PRESENT", status.userPresence)
    assert.same({}, status.closureStatuses)
    v:section("vehicle_state").locked, v:section("vehicle_state").rt = false, 1
    status = ask({ informationRequestType = 0 }).vehicleStatus
    assert.is_nil(status.vehicleLockState) -- unlocked is 0
    assert.same({ rearTrunk = "CLOSURESTATE_OPEN" }, status.closureStatuses)
  end)

  it("returns its list of keys, and each by slot, id or the key", function()
    local other = core.key.generate()
    fresh({ keys = { hex(core.key.generate()), { public_key = hex(other), role = "DRIVER" } } })
    local list = ask({ informationRequestType = 5 }).whitelistInfo
    assert.same({ 2, 3, 2 }, { list.numberOfEntries, list.slotMask, #list.whitelistEntries })
    local id = list.whitelistEntries[2].publicKeySHA1
    assert.equal(4, #core.unbase64(id))
    for _, way in ipairs({ { slot = 1 }, { ["keyId.publicKeySHA1"] = core.unbase64(id) }, { publicKey = other:public_bytes() } }) do
      way.informationRequestType = 6
      local entry = ask(way).whitelistEntryInfo
      assert.same({ "ROLE_DRIVER", 1, id }, { entry.keyRole, entry.slot, entry.keyId.publicKeySHA1 })
      assert.equal(other:public_bytes(), core.unbase64(entry.publicKey.PublicKeyRaw))
    end
    assert.equal("ROLE_OWNER", ask({ informationRequestType = 6, slot = 0 }).whitelistEntryInfo.keyRole)
    assert.is_not_nil(ask({ informationRequestType = 6, slot = 7 }).nominalError)
  end)

  it("takes nothing else without a signature", function()
    local answer, fault = v:ask("vehicle_security", { RKEAction = "RKE_ACTION_UNLOCK" })
    assert.same({ nil, "MESSAGEFAULT_ERROR_BAD_PARAMETER" }, { answer, fault })
    assert.is_true(v:section("vehicle_state").locked)
    assert.equal("MESSAGEFAULT_ERROR_BAD_PARAMETER", select(2, v:ask("infotainment", { ["vehicleAction.ping"] = {} })))
  end)

  -- ---- keys ----

  local ADD, REMOVE = "WhitelistOperation.addKeyToWhitelistAndAddPermissions", "WhitelistOperation.removePublicKeyFromWhitelist"

  local function add(public, role, options)
    local paths = { [ADD .. ".key.PublicKeyRaw"] = public, [ADD .. ".keyRole"] = role and "ROLE_" .. role }
    paths["WhitelistOperation.metadataForKey.keyFormFactor"] = options and options.form_factor
    return v:request("vehicle_security", paths)
  end

  local function remove(public)
    return v:request("vehicle_security", { [REMOVE .. ".PublicKeyRaw"] = public })
  end

  local function outcome(answer)
    local status = answer.commandStatus
    return status.operationStatus, status.whitelistOperationStatus.whitelistOperationInformation
  end

  it("adds a key for its owner's key, which then commands, and removes it, which then does not", function()
    local other = core.key.generate()
    assert.is_nil((select(2, v:handshake("infotainment", other))))
    assert.is_nil((outcome(add(other:public_bytes(), "DRIVER", { form_factor = "KEY_FORM_FACTOR_CLOUD_KEY" }))))
    local session, accepted = v:handshake("infotainment", other)
    assert.is_true(accepted)
    local horn = core.command("honk_horn").payload
    assert.is_string((session:open(assert(v:send(session:sign(horn, { method = "hmac" }))))))
    assert.equal("KEY_FORM_FACTOR_CLOUD_KEY",
      ask({ informationRequestType = 6, slot = 1 }).whitelistEntryInfo.metadataForKey.keyFormFactor)
    assert.equal(2, v.car:key_count())
    assert.is_nil((outcome(remove(other:public_bytes()))))
    assert.is_nil((session:open(assert(v:send(session:sign(horn, { method = "hmac" }))))))
    assert.equal(1, v.car:key_count())
  end)

  it("says why it does not change its keys", function()
    local other, NAME = core.key.generate():public_bytes(), "WHITELISTOPERATION_INFORMATION_"
    local function why(answer)
      local status, information = outcome(answer)
      assert.equal("OPERATIONSTATUS_ERROR", status)
      return information:sub(#NAME + 1)
    end
    assert.equal("INVALID_PUBLIC_KEY", why(add("\4\1\2", "DRIVER")))
    assert.equal("ATTEMPTING_TO_ADD_KEY_WITHOUT_ROLE", why(add(other)))
    assert.equal("ATTEMPTING_TO_ADD_KEY_WITH_SERVICE_ROLE", why(add(other, "SERVICE")))
    assert.equal("ATTEMPTING_TO_ADD_KEY_THAT_IS_ALREADY_ON_THE_WHITELIST", why(add(v.key:public_bytes(), "DRIVER")))
    assert.equal("PUBLIC_KEY_NOT_ON_WHITELIST", why(remove(other)))
    assert.equal("NO_PERMISSION_TO_REMOVE_ONESELF", why(remove(v.key:public_bytes())))
    for _ = 2, 20 do add(core.key.generate():public_bytes(), "DRIVER") end
    assert.equal("WHITELIST_FULL", why(add(other, "DRIVER")))
    assert.equal(20, v.car:key_count())
  end)

  it("changes a role, replaces a key, and forgets keys that are for a while", function()
    local a, b, c = core.key.generate():public_bytes(), core.key.generate():public_bytes(), core.key.generate():public_bytes()
    add(a, "DRIVER")
    local function operate(members)
      local paths = {}
      for path, value in pairs(members) do paths["WhitelistOperation." .. path] = value end
      return outcome(v:request("vehicle_security", paths))
    end
    local update = "updateKeyAndPermissions."
    assert.is_nil((operate({ [update .. "key.PublicKeyRaw"] = a, [update .. "keyRole"] = "ROLE_CHARGING_MANAGER" })))
    assert.equal("ROLE_CHARGING_MANAGER", ask({ informationRequestType = 6, slot = 1 }).whitelistEntryInfo.keyRole)
    operate({ ["replaceKey.slotToReplace"] = 1, ["replaceKey.keyToAdd.PublicKeyRaw"] = b, ["replaceKey.keyRole"] = "ROLE_DRIVER" })
    assert.equal(b, core.unbase64(ask({ informationRequestType = 6, slot = 1 }).whitelistEntryInfo.publicKey.PublicKeyRaw))
    operate({ ["addImpermanentKey.key.PublicKeyRaw"] = c, ["addImpermanentKey.keyRole"] = "ROLE_GUEST" })
    assert.equal(3, v.car:key_count())
    operate({ removeAllImpermanentKeys = true })
    assert.equal(2, v.car:key_count())
  end)

  it("changes its keys for no other role, nor without a signature", function()
    for _, role in ipairs({ "DRIVER", "FM", "CHARGING_MANAGER" }) do
      fresh(nil, { role = role })
      local answer = add(core.key.generate():public_bytes(), "DRIVER")
      assert.is_nil(answer, role)
      assert.equal(1, v.car:key_count(), role)
    end
    fresh()
    local _, fault = v:ask("vehicle_security", {
      [ADD .. ".key.PublicKeyRaw"] = core.key.generate():public_bytes(), [ADD .. ".keyRole"] = "ROLE_OWNER",
    })
    assert.equal("MESSAGEFAULT_ERROR_BAD_PARAMETER", fault)
    assert.equal(1, v.car:key_count())
  end)
end)
