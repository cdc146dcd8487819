local core = require "fleet.core"
local probe = require "probe_signing"
local signing = require "spec.support.fixtures.signing"
local unhex, hex = signing.unhex, signing.hex
local cjson = require("cjson").new()
local vectors = signing.vectors "protocol"

describe("an envelope", function()
  it("of the vectors is read into its parts", function()
    for _, v in ipairs(vectors.requests) do
      local m = probe.read(unhex(v.routable_message))
      assert.equal(v.uuid, hex(m.uuid))
      assert.equal(v.routing_address, hex(m.from_address))
      assert.equal(v.domain, m.to_domain)
      assert.equal(v.counter, m.counter)
      assert.equal(v.expires_at, m.expires_at)
      assert.equal(v.flags, m.flags)
      assert.equal(v.tag, hex(m.tag))
      assert.equal(v.ciphertext or v.plaintext, hex(m.payload))
    end
  end)

  it("shows a relay its destination, and the clear part of an HMAC message", function()
    local key = core.key.generate()
    local session = core.session { key = key, vin = "5YJ30123456789ABC", domain = "vehicle_security" }
    local handshake = core.read_envelope(session:handshake())
    assert.same({ domain = "vehicle_security", handshake = true, gcm = false }, handshake)
    for _, v in ipairs(vectors.requests) do
      local known = core.read_envelope(unhex(v.routable_message))
      local is_hmac = v.ciphertext == nil
      assert.equal(v.domain == 2 and "vehicle_security" or "infotainment", known.domain)
      assert.equal(not is_hmac, known.gcm)
      assert.is_false(known.handshake)
      assert.equal(65, #known.signer)
      assert.equal(is_hmac and v.counter or nil, known.counter)
      assert.equal(is_hmac and 16 or 0, #(known.epoch or ""))
    end
    assert.same({ handshake = false, gcm = false }, core.read_envelope "")
    assert.equal("protocol", (select(3, core.read_envelope "no message")))
  end)

  it("carries an action that consists of its name alone", function()
    local payload = core.command("set_charge_limit", { percent = 80 }).payload
    assert.equal("chargingSetLimitAction", core.command_action("infotainment", payload))
    assert.equal("RKEAction", core.command_action("vehicle_security", core.command("door_lock").payload))
    assert.is_nil(core.command_action("infotainment", ""))
    assert.is_nil(core.command_action("vehicle_security", "no message"))
  end)

  it("that is cut short is refused or read without what is missing, never with something else", function()
    local whole = unhex(vectors.requests[3].routable_message)
    for i = 0, #whole - 1 do
      local m = probe.read(whole:sub(1, i))
      if m then assert.is_true(m.uuid == "" or hex(m.uuid) == vectors.requests[3].uuid) end
    end
  end)

  it("is refused beyond 100000 bytes", function()
    local function padded(n) -- an unknown member of n bytes
      local length = string.char(128 + n % 128, 128 + math.floor(n / 128) % 128, math.floor(n / 16384))
      return unhex(vectors.requests[3].routable_message) .. "\234\6" .. length .. ("x"):rep(n)
    end
    assert.is_table(probe.read(padded(90000)))
    assert.is_nil(probe.read(padded(100000)))
  end)

  it("that would cost much more memory than bytes is refused", function()
    -- two bytes each: an empty, unknown member, for which a reader keeps a record of twenty-four
    assert.is_table(probe.read(("\234\6\0"):rep(1000)))
    assert.is_nil(probe.read(("\234\6\0"):rep(33000)))
  end)

  it("is the same as JSON, with names for enums and base64 for bytes", function()
    local v = vectors.requests[3]
    local m = cjson.decode(core.message_json("UniversalMessage.RoutableMessage", unhex(v.routable_message)))
    assert.equal("DOMAIN_INFOTAINMENT", m.to_destination.domain)
    assert.equal(core.base64(unhex(v.uuid)), m.uuid)
    assert.equal(v.counter, m.signature_data.HMAC_Personalized_data.counter)
  end)
end)

describe("numbers that do not fit into their member", function()
  -- The bytes of a fault, a domain and a flag of the envelope, and of the session info's status: 2^32 is not 0.
  it("make an envelope and a session info unreadable", function()
    local long = "\128\128\128\128\16"
    for _, bytes in ipairs { "\98\6\16" .. long, "\98\6\8" .. long, "\50\6\8" .. "\130\128\128\128\16", "\160\3" .. long } do
      local read, err, kind = core.read_envelope(bytes)
      assert.is_nil(read)
      assert.equal("protocol", kind)
      assert.match("not a message", err.message)
    end
    for _, bytes in ipairs { "\40" .. long, "\8" .. long } do
      assert.is_nil((core.message_json("Signatures.SessionInfo", bytes)))
    end
    assert.truthy(core.read_envelope("\98\2\16\1"))
    assert.truthy(core.message_json("Signatures.SessionInfo", "\8\255\255\255\255\15"))
  end)
end)

describe("core.encode_message", function()
  it("writes members by path, and message_json reads them", function()
    local bytes = core.encode_message("CarServer.Response", { ["actionStatus.result"] = "OPERATIONSTATUS_ERROR",
      ["actionStatus.result_reason.plain_text"] = "car_could_not", ["vehicleData.charge_state.battery_level"] = 55 })
    local m = cjson.decode(core.message_json("CarServer.Response", bytes))
    assert.same({ result = "OPERATIONSTATUS_ERROR", result_reason = { plain_text = "car_could_not" } }, m.actionStatus)
    assert.equal(55, m.vehicleData.charge_state.battery_level)
  end)

  it("writes empty messages and defaults inside a oneof, which are statements", function()
    assert.equal("120452020801", hex(core.encode_message("CarServer.Action", { ["vehicleAction.hvacAutoAction.power_on"] = true })))
    assert.equal("12025200", hex(core.encode_message("CarServer.Action", { ["vehicleAction.hvacAutoAction"] = {} })))
    assert.equal("1000", hex(core.encode_message("VCSEC.UnsignedMessage", { RKEAction = 0 })))
    assert.equal("1000", hex(core.encode_message("VCSEC.UnsignedMessage", { RKEAction = "RKE_ACTION_UNLOCK" })))
  end)

  it("writes several elements of a list in any order, and times", function()
    local at = "vehicleData.charge_schedule_state."
    local bytes = core.encode_message("CarServer.Response", {
      [at .. "charge_schedules[2].id"] = 7, [at .. "charge_schedules[1].start_time"] = 60, [at .. "timestamp.seconds"] = 1773136800,
    })
    local state = cjson.decode(core.message_json("CarServer.Response", bytes)).vehicleData.charge_schedule_state
    assert.same({ { start_time = 60 }, { id = "7" } }, state.charge_schedules)
    assert.same({ seconds = "1773136800" }, state.timestamp)
    for _, bad in ipairs { "charge_schedules[0].id", "charge_schedules[201].id", "charge_schedules[x].id", "charge_schedules[1]x.id",
      "timestamp[1].seconds", "charge_schedules[99999999999999999999].id", "charge_schedules].id", "charge_schedules[].id" } do
      assert.has_error(function() core.encode_message("CarServer.Response", { [at .. bad] = 1 }) end)
    end
  end)

  it("raises for members, values and types that do not exist", function()
    for _, bad in ipairs { { RKEAktion = 0 }, { RKEAction = "FLY" }, { RKEAction = 1.5 }, { ["closureMoveRequest.x"] = 1 },
      { closureMoveRequest = 5 }, { RKEAction = {} }, { [1] = 1 }, { ["RKEAction.x"] = 1 }, { [""] = 1 } } do
      assert.has_error(function() core.encode_message("VCSEC.UnsignedMessage", bad) end)
    end
    assert.has_error(function() core.encode_message("VCSEC.Nothing", {}) end)
    assert.is_nil((core.message_json("CarServer.Response", "\255")))
  end)
end)

describe("an application's answer", function()
  local function infotainment(members) return core.encode_message("CarServer.Response", members) end
  local function vcsec(members) return core.encode_message("VCSEC.FromVCSECMessage", members) end

  -- domain, payload, authenticated, status of the envelope; kind (nil: done), reason, outcome. doc/protocol.md#outcomes
  local rows = {
    { "infotainment", "\10\0", true, nil, nil },
    { "infotainment", "\10\0", false, nil, nil },
    { "infotainment", "", true, nil, nil },
    { "infotainment", "", false, nil, "protocol", nil, "unknown" },
    { "infotainment", infotainment { ["vehicleData.charge_state.battery_level"] = 5 }, false, nil, "protocol", nil, "unknown" },
    { "infotainment", infotainment { ["actionStatus.result"] = 1, ["actionStatus.result_reason.plain_text"] = "already_set" },
      true, nil, "refused", "already_set", "refused" },
    { "infotainment", infotainment { ["actionStatus.result"] = 1 }, true, nil, "refused", "unspecified error", "refused" },
    { "infotainment", "\10\0", true, "wait", "busy", nil, "unknown" },
    { "infotainment", "\10\0", true, "error", "refused", nil, "unknown" },
    { "infotainment", "\255", true, nil, "protocol", nil, "unknown" },
    { "vehicle_security", "", true, nil, nil },
    { "vehicle_security", "", false, nil, nil },
    { "vehicle_security", "", false, "wait", "busy", nil, "refused" },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = 0 }, true, nil, nil },
    { "vehicle_security", vcsec { commandStatus = {} }, true, nil, nil },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = "OPERATIONSTATUS_WAIT" }, true, nil, "busy", nil, "refused" },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = 2 }, true, nil, "refused", "GENERICERROR_UNKNOWN", "refused" },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = 2,
      ["commandStatus.signedMessageStatus.signedMessageInformation"] = 2 },
      true, nil, "refused", "not_on_whitelist", "refused" },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = 2,
      ["commandStatus.signedMessageStatus.signedMessageInformation"] = 4 },
      true, nil, "refused", "session_token_invalid", "refused" },
    { "vehicle_security", vcsec { ["commandStatus.operationStatus"] = 2,
      ["commandStatus.signedMessageStatus.signedMessageInformation"] = 99 },
      true, nil, "refused", "99", "refused" },
    { "vehicle_security", "\248\1\1", true, nil, "protocol", nil, "unknown" }, -- a field that the published message has not
    { "vehicle_security", vcsec { ["nominalError.genericError"] = "GENERICERROR_CLOSURES_OPEN" }, true, nil, "refused",
      "GENERICERROR_CLOSURES_OPEN", "refused" },
    { "vehicle_security", vcsec { nominalError = {} }, true, nil, "refused", "GENERICERROR_NONE", "refused" },
    { "vehicle_security", vcsec { ["commandStatus.whitelistOperationStatus.whitelistOperationInformation"] = 4 }, true, nil,
      "refused", "whitelist_full", "refused" },
    { "vehicle_security", vcsec { ["vehicleStatus.vehicleLockState"] = 1 }, true, nil, "protocol", nil, "unknown" },
  }

  -- A number of more bits than its member has: protobuf-c keeps the low 32, which may read as OK.
  local long = "\128\128\128\128\16" -- 2^32
  local top = "\128\128\128\128\128\128\128\128\128\1" -- 2^63
  for _, cut in ipairs { long, top, "\129\128\128\128\16", "\128\128\128\128\128\128\128\128\128\2" } do
    local n = #cut
    for _, row in ipairs {
      { "infotainment", "\10" .. string.char(n + 1) .. "\8" .. cut }, -- actionStatus.result
      { "infotainment", "\10\0\10" .. string.char(n + 1) .. "\8" .. cut }, -- of a second one, which is merged into the first
      { "vehicle_security", "\34" .. string.char(n + 1) .. "\8" .. cut }, -- commandStatus.operationStatus
      { "vehicle_security", "\34" .. string.char(n + 3) .. "\26" .. string.char(n + 1) .. "\8" .. cut }, -- its whitelistOperationStatus
      { "vehicle_security", "\242\2" .. string.char(n + 1) .. "\8" .. cut }, -- nominalError.genericError
    } do
      for _, authenticated in ipairs { true, false } do
        rows[#rows + 1] = { row[1], row[2], authenticated, nil, "protocol", nil, "unknown" }
      end
    end
  end
  -- The longer spellings of a number that fits are taken.
  rows[#rows + 1] = { "infotainment", "\10\4\8\128\128\0", true }
  rows[#rows + 1] = { "vehicle_security", "\34\4\8\128\128\0", true }
  -- A status without a name says neither done nor refused: -1, and 5.
  rows[#rows + 1] = { "vehicle_security", "\34\11\8\255\255\255\255\255\255\255\255\255\1", true, nil, "protocol", nil, "unknown" }
  rows[#rows + 1] = { "vehicle_security", "\34\2\8\5", true, nil, "protocol", nil, "unknown" }
  rows[#rows + 1] = { "infotainment", "\10\2\8\5", true, nil, "protocol", nil, "unknown" }

  it("says done only where it says so", function()
    for i, row in ipairs(rows) do
      local done, err, kind = probe.read_answer(row[1], row[2], row[3], row[4])
      assert.equal(row[5] == nil, done == true, "row " .. i)
      assert.equal(row[5], kind, "row " .. i .. ": " .. hex(row[2]))
      if row[6] then assert.equal(row[6], err.reason) end
      if row[7] then assert.equal(row[7], err.outcome, "row " .. i) end
    end
  end)
end)
