local core = require "fleet.core"
local probe = require "probe_signing"
local signing = require "spec.support.fixtures.signing"
local unhex, hex, whole = signing.unhex, signing.hex, signing.whole
local vectors = signing.vectors "protocol"

local VIN = "5YJ30123456789ABC"

local function vehicle(v)
  return probe.vehicle { private = unhex(v.vehicle_private), client = unhex(v.enrolled_client_public), vin = v.vin,
    domain = whole(v.domain), epoch = unhex(v.epoch), clock_time = whole(v.clock_time),
    highest = whole(v.highest_counter), used = tonumber(v.window_hex, 16) }
end

-- The vehicle of a request of the vectors, just before the request comes.
local function vehicle_for(request)
  local k = signing.by_name(vectors.keys, request.keys)
  return probe.vehicle { private = unhex(k.vehicle_private), client = unhex(k.client_public), vin = request.vin,
    domain = whole(request.domain), epoch = unhex(request.epoch), clock_time = whole(request.session_clock_time),
    highest = whole(request.counter) - 1, used = 0 }
end

describe("the vehicle's side", function()
  it("accepts every request of the vectors and reads its plain text", function()
    for _, v in ipairs(vectors.requests) do
      local fault, info, _, authentic, plain = vehicle_for(v):open(unhex(v.routable_message))
      assert.is_true(authentic, v.name)
      assert.is_false(info)
      -- the vectors' large and empty payloads are no commands; the application's checks come after the authentication
      local command = v.name ~= "hmac_large_payload" and v.plaintext ~= ""
      if command then assert.equal(0, fault, v.name) end
      if command then assert.equal(v.plaintext, hex(plain)) end
    end
  end)

  it("refuses them a second time", function()
    for _, v in ipairs(vectors.requests) do
      local car = vehicle_for(v)
      car:open(unhex(v.routable_message))
      local fault, info, _, authentic = car:open(unhex(v.routable_message))
      assert.is_false(authentic)
      assert.is_true(info)
      assert.equal(6, fault)
    end
  end)

  it("writes the session infos of the vectors byte for byte", function()
    for _, v in ipairs(vectors.session_info) do
      local k = signing.by_name(vectors.keys, v.keys)
      local f = v.session_info_fields
      local car = probe.vehicle { private = unhex(k.vehicle_private), client = unhex(k.client_public), vin = v.vin,
        domain = whole(v.domain), epoch = unhex(f.epoch), clock_time = whole(f.clock_time), highest = whole(f.counter), used = 0 }
      local fault, info, reply = car:open(unhex(v.request_routable_message))
      assert.equal(0, fault)
      assert.is_true(info)
      -- we hand out no key handles, which one vector has
      if f.handle == 0 then assert.equal(v.response_routable_message, hex(reply), v.name) end
    end
  end)

  it("writes the answers of the vectors byte for byte", function()
    for _, v in ipairs(vectors.responses) do
      local request = signing.by_name(vectors.requests, v.request)
      local answer = unhex(v.plaintext)
      local _, _, reply = vehicle_for(request):open(unhex(request.routable_message), {
        answer = answer, nonce = unhex(v.nonce), answers = whole(v.counter), fault = whole(v.fault) })
      local ours, theirs = probe.read(reply), probe.read(unhex(v.routable_message))
      -- flags of an answer are free; ours are 0, and the tag covers them
      if v.flags == 0 then
        assert.equal(v.tag, hex(ours.tag), v.name)
        assert.equal(hex(theirs.payload), hex(ours.payload))
        assert.equal(theirs.to_address, ours.to_address)
        assert.equal(theirs.from_domain, ours.from_domain)
      end
      if v.flags == 0 and v.fault == 0 and theirs.request_uuid == ours.request_uuid then
        assert.equal(v.routable_message, hex(reply), v.name)
      end
    end
  end)

  for _, v in ipairs(vectors.reject) do
    if v.direction == "command" then
      it(("answers %s with fault %d"):format(v.name, v.expect_fault), function()
        local fault, info, reply, authentic = vehicle(v.vehicle):open(unhex(v.routable_message))
        local expected, with_info = v.expect_fault, v.session_info_in_answer
        -- the vector begins at step 4; a signer whose key is not enrolled is already refused in step 3
        if v.name == "wrong_client_key" then expected, with_info = 3, false end
        -- the vector allows both; the tag has its own member, so what follows the ciphertext is not ours to take
        if v.name == "gcm_tag_appended_to_ciphertext" then expected, with_info = 5, true end
        assert.equal(expected, fault)
        assert.equal(with_info, info)
        assert.equal(expected == 0, authentic)
        assert.equal(expected, probe.read(reply).fault)
      end)
    elseif v.direction == "command_sequence" then
      it("follows " .. v.name, function()
        local car = vehicle(v.vehicle)
        for i, step in ipairs(v.steps) do
          assert.equal(whole(step.expect_fault), (car:open(unhex(step.routable_message))), "step " .. i)
        end
      end)
    end
  end
end)

local function pair(domain, role, options)
  local t = { now = 0 }
  t.key, t.vehicle = core.key.generate(), core.key.generate()
  local o = { key = t.vehicle, vin = VIN, domain = domain or "infotainment", clock = function() return t.now end,
    keys = { { public_key = t.key:public_bytes(), role = role } } }
  for name, value in pairs(options or {}) do o[name] = value end
  t.r = core.receiver(o)
  t.s = core.session { key = t.key, vin = VIN, domain = domain or "infotainment", clock = function() return t.now end }
  assert(t.s:accept((t.r:handle(t.s:handshake()))))
  return t
end

local function send(t, name, params)
  local command = assert(core.command(name, params))
  return t.r:handle((t.s:sign(command.payload)))
end

describe("fleet.receiver", function()
  it("hands the payload to respond and returns its answer encrypted", function()
    local t = pair()
    local seen
    local command = core.command("honk_horn")
    local reply, payload, fault = t.r:handle((t.s:sign(command.payload)), function(bytes)
      seen = bytes
      return "\10\4\8\1\18\0"
    end)
    assert.equal(command.payload, seen)
    assert.equal(command.payload, payload)
    assert.is_nil(fault)
    assert.is_nil(reply:find("\10\4\8\1\18\0", 1, true))
    assert.equal("\10\4\8\1\18\0", (t.s:open(reply)))
  end)

  it("gives each domain's plain OK when respond gives nothing or is missing", function()
    local t, l = pair(), pair("vehicle_security")
    assert.equal("\10\0", (t.s:open((send(t, "honk_horn")))))
    assert.equal("", (l.s:open((send(l, "door_lock")))))
    local reply = t.r:handle((t.s:sign(core.command("honk_horn").payload)), function() end)
    assert.equal("\10\0", (t.s:open(reply)))
  end)

  it("lets respond refuse with the number of a fault", function()
    local t = pair()
    local reply, payload, fault = t.r:handle((t.s:sign(core.command("honk_horn").payload)), function() return nil, 21 end)
    assert.is_string(payload)
    assert.equal("REMOTE_ACCESS_DISABLED", fault)
    local opened, err = t.s:open(reply)
    assert.is_nil(opened)
    assert.equal(21, err.fault)
  end)

  it("answers a handshake with a key that is no point of the curve with fault 13, and one with a strange key with 'not paired'", function()
    local t = pair()
    local off_the_curve = "\4" .. string.rep("\1", 64)
    for key, expected in pairs { [off_the_curve] = 13, [core.key.generate():public_bytes()] = 0 } do
      local reply, _, fault = t.r:handle(core.encode_message("UniversalMessage.RoutableMessage", {
        ["to_destination.domain"] = "DOMAIN_INFOTAINMENT", ["from_destination.routing_address"] = string.rep("a", 16),
        ["session_info_request.public_key"] = key, uuid = string.rep("u", 16),
      }))
      local answer = core.json_decode(core.message_json("UniversalMessage.RoutableMessage", reply))
      local status = answer.signedMessageStatus or {}
      local wanted = expected == 13 and { "BAD_PARAMETER", "MESSAGEFAULT_ERROR_BAD_PARAMETER", nil } or {}
      assert.same(wanted, { fault, status.signed_message_fault, nil })
      assert.equal(expected == 0, answer.session_info ~= nil)
    end
  end)

  it("leaves nothing open when respond raises, and handles the next message", function()
    local t = pair()
    assert.has_error(function() t.r:handle((t.s:sign(core.command("honk_horn").payload)), error) end)
    assert.equal("\10\0", (t.s:open((send(t, "honk_horn")))))
  end)

  it("may be closed or given other keys by respond", function()
    local t = pair()
    local bytes = t.s:sign(core.command("honk_horn").payload)
    local reply = t.r:handle(bytes, function() t.r:enroll {} end)
    assert.equal("\10\0", (t.s:open(reply)))
    t = pair()
    bytes = t.s:sign(core.command("honk_horn").payload)
    assert.has_error(function() t.r:handle(bytes, function() t.r:close() end) end)
  end)

  it("names its faults", function()
    local t = pair()
    local bytes = t.s:sign(core.command("honk_horn").payload)
    local function fault(message) return select(3, t.r:handle(message)) end
    assert.is_nil(fault(bytes))
    assert.equal("INVALID_TOKEN_OR_COUNTER", fault(bytes))
    assert.equal("DECODING", fault("\255\255"))
    assert.equal("INVALID_SIGNATURE", fault((t.s:sign("\18\2")):gsub("\18\2", "\18\3", 1) .. ""))
    assert.equal("DECODING", fault((t.s:sign("\18\5"))))
    assert.equal("INVALID_COMMAND", fault((t.s:sign(""))))
    assert.equal("INVALID_COMMAND", fault((t.s:sign("\18\0"))))
    assert.equal("INVALID_DOMAINS", fault(""))
    t.now = 20
    bytes = t.s:sign(core.command("honk_horn").payload, { expires_in = 1 })
    t.now = 22
    assert.equal("TIME_EXPIRED", fault(bytes))
  end)

  it("begins its clock at 0, and a new epoch with restart", function()
    local drawn = 0
    local t = pair(nil, nil, { random = function(n) drawn = drawn + 1 return string.char(drawn):rep(n) end,
      clock = function() return 1000 end })
    local first = probe.read((t.s:sign("x")))
    assert.equal(("\1"):rep(16), first.epoch)
    assert.equal(15, first.expires_at)
    assert.equal(1, first.counter)
    assert(t.r:restart())
    assert(t.s:accept((t.r:handle(t.s:handshake()))))
    local second = probe.read((t.s:sign("x")))
    assert.not_equal(first.epoch, second.epoch)
    assert.equal(1, second.counter)
  end)

  it("begins a new epoch when the old one has lasted 2^30 seconds", function()
    local t = pair()
    t.now = 2 ^ 30 + 1
    local old = probe.read((t.s:sign("x"))).epoch
    assert.equal("INCORRECT_EPOCH", select(3, send(t, "honk_horn")))
    assert(t.s:accept((t.r:handle(t.s:handshake()))))
    assert.not_equal(old, probe.read((t.s:sign("x"))).epoch)
  end)

  it("keeps a counter for each key", function()
    local t = pair()
    local other = core.key.generate()
    assert(t.r:enroll { t.key:public_bytes(), other:public_bytes() })
    local s = core.session { key = other, vin = VIN, domain = "infotainment", clock = function() return t.now end }
    assert(s:accept((t.r:handle(s:handshake()))))
    for _ = 1, 3 do assert.is_nil((select(3, send(t, "honk_horn")))) end
    assert.is_nil((select(3, t.r:handle((s:sign(core.command("honk_horn").payload))))))
    assert.equal(1, s:counter())
    assert.equal(3, t.s:counter())
  end)

  it("answers unsigned requests for status and key list in the security domain, and no others", function()
    local t = pair("vehicle_security")
    local function unsigned(payload)
      return t.r:handle(core.encode_message("UniversalMessage.RoutableMessage", {
        ["to_destination.domain"] = 2, ["from_destination.routing_address"] = ("a"):rep(16),
        protobuf_message_as_bytes = payload, uuid = ("u"):rep(16) }))
    end
    local _, payload, fault = unsigned("\10\0")
    assert.equal("\10\0", payload)
    assert.is_nil(fault)
    assert.equal("BAD_PARAMETER", select(3, unsigned("\16\0")))
    assert.equal("BAD_PARAMETER", select(3, unsigned("")))
  end)

  it("raises for keys and roles it cannot use", function()
    local key = core.key.generate()
    local function make(keys) return core.receiver { key = key, vin = VIN, domain = "infotainment", keys = keys } end
    assert.is_userdata(make { key:public_bytes() })
    assert.is_userdata(make(nil))
    assert.is_userdata(make { { public_key = key:public_bytes(), role = "DRIVER" } })
    for _, bad in ipairs { "x", { "short" }, { key:public_pem() }, { { public_key = key:public_bytes(), role = "KING" } } } do
      assert.has_error(function() make(bad) end)
    end
  end)
end)

describe("roles", function()
  -- doc/protocol.md#key-roles: what each may do, and the fault of what it may not
  local infotainment = {
    { "OWNER", "honk_horn", nil }, { "OWNER", "reset_pin_to_drive_pin", nil },
    { "FM", "honk_horn", nil }, { "FM", "reset_pin_to_drive_pin", nil },
    { "DRIVER", "honk_horn", nil }, { "DRIVER", "reset_pin_to_drive_pin", "INSUFFICIENT_PRIVILEGES" },
    { "GUEST", "honk_horn", nil }, { "GUEST", "reset_pin_to_drive_pin", "INSUFFICIENT_PRIVILEGES" },
    { "CHARGING_MANAGER", "charge_start", nil }, { "CHARGING_MANAGER", "honk_horn", "INSUFFICIENT_PRIVILEGES" },
    { "VEHICLE_MONITOR", "charge_start", "INSUFFICIENT_PRIVILEGES" },
    { "SERVICE", "honk_horn", "REMOTE_SERVICE_ACCESS_DISABLED" },
    { "NONE", "honk_horn", "INSUFFICIENT_PRIVILEGES" },
  }

  it("decide over commands of infotainment", function()
    for _, row in ipairs(infotainment) do
      local _, _, fault = send(pair("infotainment", row[1]), row[2])
      assert.equal(row[3], fault, row[1] .. " " .. row[2])
    end
  end)

  it("decide over locks and keys", function()
    local _, _, fault = send(pair("vehicle_security", "SERVICE"), "door_unlock")
    assert.is_nil(fault)
    fault = select(3, send(pair("vehicle_security", "VEHICLE_MONITOR"), "door_unlock"))
    assert.equal("INSUFFICIENT_PRIVILEGES", fault)
    for _, role in ipairs { "OWNER", "FM", "DRIVER", "SERVICE" } do
      assert.equal(role == "OWNER", probe.role_may(role, 2, "WhitelistOperation"))
    end
  end)

  it("that may read may read", function()
    for _, role in ipairs { "OWNER", "FM", "DRIVER", "GUEST", "VEHICLE_MONITOR", "CHARGING_MANAGER" } do
      assert.is_true(probe.role_may(role, 3, "getVehicleData"))
    end
    assert.is_false(probe.role_may("NONE", 3, "getVehicleData"))
    assert.is_nil(probe.role_may("KING", 3, "getVehicleData"))
  end)
end)
