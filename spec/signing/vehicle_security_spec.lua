-- What the vehicle's security computer tells and changes beside the older commands: its state, the keys of the vehicle, trunks by
-- the state that they are to have; and what else a vehicle answers to a signed question.

local cjson = require("cjson").new()
local core = require "fleet.core"
local fleet = require "fleet"
local signed_world = require "spec.support.fixtures.signed_world"
local simulated = require "spec.support.fixtures.simulated"

local VIN = signed_world.VIN
local world

local function new_world(options)
  if world then world:close() end
  world = signed_world.new(options)
  return world
end

before_each(function() new_world() end)
after_each(function()
  world:close()
  world = nil
end)

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

local function vehicle() return world.sim:car(VIN) end

-- A car whose security computer gives these answers, one after the other, the last one for ever: members by their paths, or bytes.
-- Also what it was asked, as tables.
local function answering(...)
  local answers, asked = { ... }, {}
  local key = core.key.generate()
  local receiver = assert(core.receiver { key = core.key.generate(), vin = VIN, domain = "vehicle_security",
    keys = { { public_key = key:public_bytes(), role = "OWNER" } } })
  local function http(request)
    local body = core.json_decode(request.body)
    local reply = receiver:handle(core.unbase64(body.routable_message), function(payload)
      asked[#asked + 1] = cjson.decode(core.message_json("VCSEC.UnsignedMessage", payload))
      local members = answers[math.min(#asked, #answers)]
      return type(members) == "string" and members or core.encode_message("VCSEC.FromVCSECMessage", members)
    end)
    return { status = 200, headers = {}, body = core.json_encode { response = core.base64(reply) } }
  end
  local client = fleet.new { base_url = "https://base", token = "t", key = key, http = http, timeout = 5 }
  return client:vehicle(VIN), asked
end

-- ---- the messages ----

describe("the bytes of", function()
  local key = core.unbase64("BGsX0fLhLEJH+Lzm5WOkQPJ3A32BLeszoPShOUXYmMKWT+NC4v4af5uO5+tKfA+eFivOM1drMV7Oy7ZAaDe/UfU=")
  local POINT = "0a43" .. "0a41" .. hex(key)

  for _, case in ipairs {
    { "open_trunk", { which_trunk = "rear" }, "22022803" }, { "open_trunk", { which_trunk = "front" }, "22023003" },
    { "close_trunk", { which_trunk = "rear" }, "22022804" }, { "close_trunk", { which_trunk = "front" }, "22023004" },
    { "add_key", { public_key = key, role = "driver" }, "8201492a47" .. POINT .. "2003" },
    { "add_key", { public_key = hex(key), role = "owner" }, "8201492a47" .. POINT .. "2002" },
    { "add_key", { public_key = hex(key):upper(), role = "guest", form_factor = "cloud_key" },
      "82014d2a47" .. POINT .. "2008" .. "32020809" },
    { "remove_key", { public_key = key }, "82014512430a41" .. hex(key) },
    { "parental_controls_clear_pin", { pin = "1234" }, "1209ea06060a0431323334" },
  } do
    it(case[1] .. " " .. tostring(case[2].which_trunk or case[2].role or ""), function()
      local command = assert(core.command(case[1], case[2]))
      assert.equal(case[3], hex(command.payload))
      local name, params = core.decode_command(command.domain, command.payload)
      assert.equal(case[1], name)
      assert.equal(case[3], hex(core.command(name, params).payload))
    end)
  end

  it("a toggled trunk stay those of the toggle, and are read back as it", function()
    local command = core.command("actuate_trunk", { which_trunk = "rear" })
    assert.equal("22022801", hex(command.payload))
    assert.equal("actuate_trunk", (core.decode_command(command.domain, command.payload)))
  end)

  it("a key take no private key, no certificate, no other point, no role beyond the known ones", function()
    local pem = core.key.generate():public_pem()
    assert.is_table(core.command("add_key", { public_key = pem, role = "driver" }))
    local cut = "-----BEGIN PUBLIC KEY-----\nAAAA"
    for _, wrong in ipairs { "", "abc", string.rep("0", 130), string.rep("\4", 65), hex(key) .. "00", cut } do
      assert.has_error(function() core.command("add_key", { public_key = wrong, role = "driver" }) end)
      assert.has_error(function() core.command("remove_key", { public_key = wrong }) end)
    end
    assert.has_error(function() core.command("add_key", { public_key = pem, role = "service" }) end)
    assert.has_error(function() core.command("add_key", { public_key = pem, role = "none" }) end)
    assert.has_error(function() core.command("add_key", { public_key = pem }) end)
    assert.has_error(function() core.command("add_key", { public_key = pem, role = "driver", form_factor = "fob" }) end)
  end)
end)

-- ---- trunks ----

describe("a trunk", function()
  it("is open after open_trunk and closed after close_trunk, however often", function()
    local car = world:car()
    local state = vehicle().sections.vehicle_state
    for _ = 1, 2 do
      local done = assert(car:open_trunk { which_trunk = "rear" })
      assert.same({ true, "signed", true }, { done.changed, done.via, done.authenticated })
      assert.equal(1, state.rt)
    end
    assert(car:open_trunk { which_trunk = "front" })
    assert.equal(1, state.ft)
    vehicle().sections.vehicle_config.plg = true
    for _ = 1, 2 do
      assert(car:close_trunk { which_trunk = "rear" })
      assert.equal(0, state.rt)
    end
    assert.same({ "open_trunk", "open_trunk", "open_trunk", "close_trunk", "close_trunk" }, world.ran)
  end)

  it("without a motor is not closed, nor is the front one", function()
    vehicle().sections.vehicle_config.plg = false
    for _, lid in ipairs { "rear", "front" } do
      local _, err = world:car():close_trunk { which_trunk = lid }
      assert.same({ "refused", "refused" }, { err.kind, err.outcome })
    end
    assert.same({}, world.ran)
  end)

  it("that is none raises", function()
    local car = world:car()
    assert.has_error(function() car:open_trunk { which_trunk = "boot" } end)
    assert.has_error(function() car:open_trunk() end)
    assert.has_error(function() car:close_trunk {} end)
  end)

  -- A person may have closed the trunk meanwhile.
  it("is closed by a repeat after a lost answer, but opening is sent once", function()
    local car = world:car()
    local state = vehicle().sections.vehicle_state
    vehicle().sections.vehicle_config.plg = true
    assert(car:door_lock())
    state.rt = 1
    world:forget()
    world:fault("lost", 1)
    assert(car:close_trunk { which_trunk = "rear" })
    assert.same({ 0, 2 }, { state.rt, world:sent("command") })
    for _, name in ipairs { "open_trunk", "actuate_trunk" } do
      state.rt = 0
      world:forget()
      world:fault("lost", 1)
      local _, err = car[name](car, { which_trunk = "rear" })
      assert.same({ "unknown", 1 }, { err.outcome, world:sent("command") })
    end
  end)

  it("is not moved by a plain command: the vehicle's message alone has such a state", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local car = world:car { commands = "plain" }
    local _, err = car:open_trunk { which_trunk = "rear" }
    assert.same({ "unsupported", "not_sent" }, { err.kind, err.outcome })
    assert.same({}, world.messages)
  end)

  it("settles by the security computer's state", function()
    local car = world:car()
    assert(car:door_lock())
    world:fault("lost", 9)
    local _, err = car:open_trunk({ which_trunk = "rear" }, { timeout = 8 })
    assert.equal("unknown", err.outcome)
    world.service.faults:clear()
    assert.is_true(car:settle(err))
    vehicle().sections.vehicle_state.rt = 0
    assert.is_false(car:settle(err))
  end)

  it("settles neither way where the computer does not know its state", function()
    for _, state in ipairs { { "CLOSURESTATE_OPENING", true }, { "CLOSURESTATE_CLOSED", false }, { "CLOSURESTATE_UNKNOWN" }, { 9 } } do
      local car = answering({ whitelistInfo = {} }, {
        ["vehicleStatus.closureStatuses.rearTrunk"] = state[1], ["vehicleStatus.vehicleSleepStatus"] = 1,
      })
      local _, err = car:open_trunk { which_trunk = "rear" }
      assert.equal("unknown", err.outcome)
      local shown, _, kind = car:settle(err)
      assert.same({ state[2], state[2] == nil and "protocol" or nil }, { shown, kind })
    end
  end)
end)

-- ---- state ----

describe("body_controller_state", function()
  it("returns locks, lids, sleep and presence, and that the vehicle authenticated them", function()
    local state = vehicle().sections.vehicle_state
    state.locked, state.rt, state.df = false, 1, 1
    assert.same({
      lock = "unlocked", locked = false, sleep = "awake", user_presence = "not_present", authenticated = true,
      closures = {
        front_driver_door = "open", front_passenger_door = "closed", rear_driver_door = "closed", rear_passenger_door = "closed",
        rear_trunk = "open", front_trunk = "closed", charge_port = "closed", tonneau = "closed",
      },
    }, assert(world:car():body_controller_state()))
    assert.same({}, world.ran)
  end)

  it("keeps what has no name unknown, and what is not there away", function()
    local car = answering({ ["vehicleStatus.vehicleLockState"] = 7, ["vehicleStatus.vehicleSleepStatus"] = 9,
      ["vehicleStatus.closureStatuses.rearTrunk"] = 42, ["vehicleStatus.detailedClosureStatus.tonneauPercentOpen"] = 40 })
    local found = assert(car:body_controller_state())
    assert.same({ "unknown", "unknown", "unknown", 40 }, { found.lock, found.sleep, found.user_presence, found.tonneau_percent_open })
    assert.is_nil(found.locked)
    assert.same({ "unknown", "closed" }, { found.closures.rear_trunk, found.closures.front_trunk })
    local bare = assert(answering({ ["vehicleStatus.vehicleLockState"] = "VEHICLELOCKSTATE_SELECTIVE_UNLOCKED" }):body_controller_state())
    assert.same({ "selective_unlocked", false }, { bare.lock, bare.locked })
    assert.is_nil(bare.closures)
  end)

  it("takes no other answer for one", function()
    for _, answer in ipairs { "", { vehicleStatus = {} }, { whitelistInfo = {} }, { ["commandStatus.operationStatus"] = 0 }, "\1\2" } do
      local found, err = answering(answer):body_controller_state()
      assert.is_nil(found)
      assert.is_true(err.kind == "protocol", tostring(err))
    end
    local _, err = answering({ ["nominalError.genericError"] = 6 }):body_controller_state()
    assert.equal("forbidden", err.kind)
  end)

  it("asks with the published message, leaves a sleeping vehicle asleep, and needs a key", function()
    local car, asked = answering({ ["vehicleStatus.vehicleLockState"] = 1 })
    assert(car:body_controller_state())
    assert.same({ { InformationRequest = {} } }, asked)
    vehicle().record.state = "asleep"
    local _, err = world:car():body_controller_state()
    assert.equal("asleep", err.kind)
    assert.equal("asleep", vehicle().record.state)
    local keyless = fleet.new { base_url = "https://base", token = "t", http = function() error("not reached") end }:vehicle(VIN)
    assert.equal("unsupported", select(3, keyless:body_controller_state()))
    assert.has_error(function() car:body_controller_state { wakee = true } end)
  end)
end)

-- ---- keys ----

describe("keys of a car", function()
  local function others(n)
    local list = {}
    for i = 1, n do list[i] = core.key.generate() end
    return list
  end

  it("are listed with role, form factor and which one is the client's", function()
    new_world { keys = 2 }
    vehicle().keys[2].role, vehicle().keys[2].form_factor = "DRIVER", "KEY_FORM_FACTOR_NFC_CARD"
    local list = assert(world:car():keys())
    assert.equal(2, #list)
    local first, second = list[1], list[2]
    assert.same({ "owner", true, true }, { first.role, first.own, first.authenticated })
    assert.equal(hex(world.keys[1]:public_bytes()), first.public_key)
    assert.is_nil(first.form_factor)
    assert.same({ "driver", false, "nfc_card" }, { second.role, second.own, second.form_factor })
    assert.equal(hex(core.sha1(world.keys[2]:public_bytes()):sub(1, 4)), second.id)
    assert.equal(3, world:sent("command"))
  end)

  it("are added with a role and removed again, and open and close the vehicle for them", function()
    local car, new = world:car(), others(1)[1]
    assert.is_true(assert(car:add_key { public_key = new:public_pem(), role = "driver", form_factor = "cloud_key" }).changed)
    local list = assert(car:keys())
    assert.same({ "driver", "cloud_key", hex(new:public_bytes()) }, { list[2].role, list[2].form_factor, list[2].public_key })
    local guest = world:car { key = new }
    assert(guest:door_unlock())
    assert.equal("forbidden", select(3, guest:add_key { public_key = others(1)[1], role = "driver" }))
    assert.is_true(assert(car:remove_key { public_key = new }).changed)
    assert.equal(1, #assert(car:keys()))
    assert.equal("key_not_paired", select(3, guest:door_unlock()))
    local again = assert(car:remove_key { public_key = new })
    assert.same({ false, "public_key_not_on_whitelist" }, { again.changed, again.reason })
  end)

  it("that are there already are refused, whatever their role", function()
    new_world { keys = 2 }
    local _, err = world:car():add_key { public_key = world.keys[2], role = "driver" }
    assert.same({ "conflict", "refused", "attempting_to_add_key_that_is_already_on_the_whitelist" }, { err.kind, err.outcome, err.reason })
    assert.equal("OWNER", vehicle().keys[2].role)
  end)

  it("become owners with force only, and the client's own goes with force only", function()
    local car, new = world:car(), others(1)[1]
    for _, role in ipairs { "owner", "fleet_manager" } do
      local _, err = car:add_key { public_key = new, role = role }
      assert.same({ "unsupported", "not_sent" }, { err.kind, err.outcome })
      assert.matches("force = true", err.message, 1, true)
    end
    local _, err = car:remove_key { public_key = hex(world.keys[1]:public_bytes()):upper() }
    assert.same({ "unsupported", "not_sent" }, { err.kind, err.outcome })
    assert.same({}, world.messages)
    assert(car:add_key({ public_key = new, role = "owner" }, { force = true }))
    assert.equal("OWNER", vehicle().keys[2].role)
    local _, own = car:remove_key({ public_key = world.keys[1] }, { force = true })
    assert.same({ "refused", "no_permission_to_remove_oneself" }, { own.kind, own.reason })
    assert.equal(2, #vehicle().keys)
  end)

  it("are not added twice after a lost answer, and settle by the list", function()
    local car, new = world:car(), others(2)
    assert(car:door_lock())
    world:forget()
    world:fault("lost", 1)
    local _, err = car:add_key { public_key = new[1], role = "driver" }
    assert.same({ "unknown", 1 }, { err.outcome, world:sent("command") })
    assert.is_true(car:settle(err))
    vehicle().keys[2].role = "GUEST"
    assert.is_false(car:settle(err))
    vehicle():remove_key(vehicle().keys[2])
    assert.is_false(car:settle(err))
    vehicle():add_key { public_key = hex(new[2]:public_bytes()), role = "DRIVER" }
    world:fault("lost", 9)
    local _, gone = car:remove_key({ public_key = new[2] }, { timeout = 8 })
    world.service.faults:clear()
    assert.equal("unknown", gone.outcome)
    assert.is_true(car:settle(gone))
    assert.is_false(car:settle(err))
  end)

  it("are not half a list: another slot, a wrong count, a refusal, another message", function()
    local entry = { ["whitelistEntryInfo.slot"] = 2, ["whitelistEntryInfo.keyRole"] = "ROLE_DRIVER" }
    local two = { ["whitelistInfo.numberOfEntries"] = 1, ["whitelistInfo.slotMask"] = 4 }
    local list, asked = answering(two, entry)
    local found = assert(list:keys())
    assert.same({ 2, "driver" }, { found[1].slot, found[1].role })
    assert.is_nil(found[1].public_key)
    assert.same({ { InformationRequest = { informationRequestType = "INFORMATION_REQUEST_TYPE_GET_WHITELIST_INFO" } },
      { InformationRequest = { informationRequestType = "INFORMATION_REQUEST_TYPE_GET_WHITELIST_ENTRY_INFO", slot = 2 } } }, asked)
    assert.equal("protocol", select(3, answering(two, { ["whitelistEntryInfo.slot"] = 3 }):keys()))
    assert.equal("protocol", select(3, answering({ ["whitelistInfo.numberOfEntries"] = 2, ["whitelistInfo.slotMask"] = 4 }, entry):keys()))
    assert.equal("refused", select(3, answering(two, { ["nominalError.genericError"] = 1 }):keys()))
    assert.equal("protocol", select(3, answering(two, two):keys()))
    entry["whitelistEntryInfo.keyRole"] = 77
    assert.equal("unknown", assert(answering(two, entry):keys())[1].role)
  end)

  it("are those of a vehicle: a plain client and one without a key are refused before anything is sent", function()
    local car = world:car { commands = "plain" }
    assert.equal("unsupported", select(3, car:add_key { public_key = world.keys[1], role = "driver" }))
    assert.same({}, world.messages)
  end)

  for information, kind in pairs {
    WHITELIST_FULL = "refused", NO_PERMISSION_TO_ADD = "forbidden", NO_PERMISSION_TO_REMOVE = "forbidden", INVALID_PUBLIC_KEY = "invalid",
    ATTEMPTING_TO_ADD_KEY_WITHOUT_ROLE = "refused",
  } do
    it("are refused as the vehicle says: " .. information, function()
      local car = answering({
        ["commandStatus.operationStatus"] = "OPERATIONSTATUS_ERROR",
        ["commandStatus.whitelistOperationStatus.whitelistOperationInformation"] = "WHITELISTOPERATION_INFORMATION_" .. information,
      })
      local _, err = car:add_key { public_key = core.key.generate(), role = "driver" }
      assert.same({ kind, "refused", information:lower() }, { err.kind, err.outcome, err.reason })
    end)
  end
end)

-- ---- infotainment ----

describe("signed_nearby_charging_sites", function()
  it("lists superchargers in the plain call's shape", function()
    local found = assert(world:car():signed_nearby_charging_sites { count = 2, radius = 20 })
    assert.equal(2, #found.superchargers)
    local site = found.superchargers[1]
    local plain = assert(world:car():nearby_charging_sites()).superchargers[1]
    assert.same({ plain.id, plain.type, plain.name, plain.total_stalls }, { site.id, site.type, site.name, site.total_stalls })
    assert.equal("string", type(site.id))
    assert.near(plain.location.lat, site.location.lat, 1e-4)
    assert.near(plain.location.long, site.location.long, 1e-4)
    assert.is_nil(site.amenities)
    assert.same({ true, simulated.START }, { found.authenticated, found.congestion_sync_time_utc_secs })
    assert.equal(simulated.START * 1000, found.timestamp)
    assert.equal("restrooms,wifi", assert(world:car():signed_nearby_charging_sites { detail = true }).superchargers[1].amenities)
  end)

  it("is an empty list where there are none, and raises for what it does not take", function()
    assert.same({}, assert(world:car():signed_nearby_charging_sites { radius = 1 }).superchargers)
    local car = world:car()
    for _, wrong in ipairs { { count = 0 }, { count = 1.5 }, { radius = "3" }, { detail = 1 }, { limit = 3 } } do
      assert.has_error(function() car:signed_nearby_charging_sites(wrong) end)
    end
  end)
end)

describe("parental_controls_clear_pin", function()
  it("takes the PIN, and no other", function()
    local car = world:car()
    assert(car:parental_controls_activate { pin = "1234" })
    local _, err = car:parental_controls_clear_pin { pin = "4321" }
    assert.same({ "refused", "invalid_pin" }, { err.kind, err.reason })
    assert.is_true(vehicle().sections.vehicle_state.parental_controls.pin_code_set)
    assert(car:parental_controls_clear_pin { pin = "1234" })
    assert.is_false(vehicle().sections.vehicle_state.parental_controls.pin_code_set)
    assert.has_error(function() car:parental_controls_clear_pin { pin = "12" } end)
  end)
end)
