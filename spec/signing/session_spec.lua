local core = require "fleet.core"
local part = require "spec.support.harness.part"
local probe = require "probe_signing"
local process = require "spec.support.harness.process"
local signing = require "spec.support.fixtures.signing"

local function flipped(byte) -- its lowest bit
  return byte % 2 == 0 and byte + 1 or byte - 1
end
local unhex, hex, whole = signing.unhex, signing.hex, signing.whole
local vectors = signing.vectors "protocol"

local VIN = "5YJ30123456789ABC"
local domains = { [2] = "vehicle_security", [3] = "infotainment" }

local function client_key(name)
  return assert(core.key.load(signing.by_name(vectors.keys, name).client_private_pem))
end

-- Session info of this vector key's vehicle, tagged for the uuid.
local function info_for(keys, v, address, uuid, fields)
  local k = signing.by_name(vectors.keys, keys)
  local info = probe.info { counter = fields.counter, clock_time = fields.clock_time, epoch = fields.epoch,
    public = unhex(k.vehicle_public) }
  local tag = probe.hmac(unhex(k.session_info_key), probe.info_metadata(v.vin, uuid) .. info)
  return probe.envelope { address = address, domain = whole(v.domain), session_info = info, tag = tag, request_uuid = uuid }
end

-- A session that stands just before this request of the vectors; the clock stands still.
local function session_before(v)
  local address, uuid = unhex(v.routing_address), unhex(v.uuid)
  local draws = { ("a"):rep(16), ("u"):rep(16), address, uuid }
  if v.nonce then draws[#draws + 1] = unhex(v.nonce) end
  for _ = 1, 2 do draws[#draws + 1] = ("s"):rep(16) end
  local s = core.session { key = client_key(v.keys), vin = v.vin, domain = domains[v.domain],
    random = signing.draws(draws), clock = function() return 1000 end }
  s:handshake()
  assert(s:accept(info_for(v.keys, v, ("a"):rep(16), ("u"):rep(16), {
    counter = whole(v.counter) - 1, clock_time = whole(v.session_clock_time), epoch = unhex(v.epoch) })))
  return s
end

local function sign(s, v)
  return s:sign(unhex(v.plaintext), { method = v.method, flags = whole(v.flags),
    expires_in = v.expires_at - v.session_clock_time })
end

describe("a session", function()
  it("derives the keys of the vectors, from either side", function()
    for _, k in ipairs(vectors.keys) do
      for _, pair in ipairs { { k.client_private, k.vehicle_public }, { k.vehicle_private, k.client_public } } do
        local shared, command, info = probe.derive(unhex(pair[1]), unhex(pair[2]))
        assert.equal(k.k, hex(shared))
        assert.equal(k.message_auth_key, hex(command))
        assert.equal(k.session_info_key, hex(info))
      end
    end
  end)

  it("refuses a peer that is not a point in its 65-byte form", function()
    local k = vectors.keys[1]
    local good = unhex(k.vehicle_public)
    assert.is_string(probe.derive(unhex(k.client_private), good))
    for _, bad in ipairs { "", good:sub(1, 64), good .. "\0", "\3" .. good:sub(2), ("\0"):rep(65),
      good:sub(1, 64) .. string.char(flipped(good:byte(65))), "\2" .. good:sub(2, 33) } do
      assert.is_nil((probe.derive(unhex(k.client_private), bad)))
    end
  end)

  it("asks for session info with the bytes of the vectors", function()
    for _, v in ipairs(vectors.session_info) do
      if #v.challenge == 32 then
        local s = core.session { key = client_key(v.keys), vin = v.vin, domain = domains[v.domain],
          random = signing.draws { unhex(v.routing_address), unhex(v.challenge) } }
        local sent = s:handshake()
        assert.equal(v.request_routable_message, hex(sent), v.name)
        assert.equal(v.http_request_body, ('{"routable_message":"%s"}'):format(core.base64(sent)))
      end
    end
  end)

  it("takes every session info of the vectors, the first command has the next counter", function()
    for _, v in ipairs(vectors.session_info) do
      if #v.challenge == 32 then
        local s = core.session { key = client_key(v.keys), vin = v.vin, domain = domains[v.domain],
          random = signing.draws { unhex(v.routing_address), unhex(v.challenge), ("x"):rep(16), ("y"):rep(16) },
          clock = function() return 5 end }
        s:handshake()
        assert.is_false(s:ready())
        assert.is_true(s:accept(unhex(v.response_routable_message)), v.name)
        assert.is_true(s:ready())
        assert.equal(whole(v.session_info_fields.counter), s:counter())
        local command = probe.read(assert(s:sign("x")))
        assert.equal(whole(v.session_info_fields.counter) + 1, command.counter)
        assert.equal(v.session_info_fields.epoch, hex(command.epoch))
        assert.equal(whole(v.session_info_fields.clock_time) + 15, command.expires_at)
      end
    end
  end)

  it("computes the tag of a session info whose challenge has another length", function()
    local v = signing.by_name(vectors.session_info, "short_challenge")
    local k = signing.by_name(vectors.keys, v.keys)
    assert.equal(v.tag, hex(probe.hmac(unhex(k.session_info_key), unhex(v.metadata .. v.session_info))))
  end)

  it("signs every request of the vectors byte for byte", function()
    for _, v in ipairs(vectors.requests) do
      local bytes, id = sign(session_before(v), v)
      assert.equal(v.routable_message, hex(bytes), v.name)
      assert.equal(v.uuid, hex(id))
    end
  end)

  it("opens every answer of the vectors", function()
    for _, v in ipairs(vectors.responses) do
      local request = signing.by_name(vectors.requests, v.request)
      local s = session_before(request)
      local _, id = sign(s, request)
      local payload, answers, authenticated = s:open(unhex(v.routable_message))
      if v.fault == 0 then
        assert.equal(v.plaintext, hex(payload), v.name)
        assert.equal(id, answers)
        assert.is_true(authenticated)
      else
        assert.is_nil(payload)
        assert.equal(whole(v.fault), answers.fault)
        assert.equal("refused", answers.outcome)
        assert.equal(id, answers.id)
      end
    end
  end)

  it("opens an answer once", function()
    local v = vectors.responses[1]
    local request = signing.by_name(vectors.requests, v.request)
    local s = session_before(request)
    sign(s, request)
    assert.is_string(s:open(unhex(v.routable_message)))
    local payload, err, kind = s:open(unhex(v.routable_message))
    assert.is_nil(payload)
    assert.equal("protocol", kind)
    assert.equal("unknown", err.outcome)
  end)

  it("follows the must-discard and must-update rules of the vectors", function()
    local all = vectors.client_session_updates
    local now, start = 0, all.start
    local draws = { ("a"):rep(16), ("u"):rep(16) }
    for i, step in ipairs(all.steps) do
      draws[2 * i + 1], draws[2 * i + 2] = ("%016d"):format(i), unhex(step.challenge)
    end
    local s = core.session { key = client_key(all.keys), vin = all.vin, domain = "infotainment",
      random = signing.draws(draws), clock = function() return now end }
    s:handshake()
    assert(s:accept(info_for(all.keys, { vin = all.vin, domain = 3 }, draws[1], draws[2], {
      counter = whole(start.counter), clock_time = whole(start.clock_time), epoch = unhex(start.epoch) })))
    for i, step in ipairs(all.steps) do
      s:handshake()
      local taken, err = s:accept(probe.envelope { address = ("%016d"):format(i), domain = 3, tag = unhex(step.tag),
        session_info = unhex(step.session_info), request_uuid = unhex(step.challenge) })
      assert.equal(step.applied, taken == true, step.name)
      local counter = whole(step.counter_after)
      -- a new epoch may begin at the vehicle's counter (the vectors' own note)
      if step.name == "new_epoch_low_clock_low_counter" then counter = whole(step.fields.counter) end
      assert.equal(counter, s:counter(), step.name)
      if step.name == "changed_vehicle_key" then assert.equal("protocol", err.kind) end
    end
  end)
end)

describe("a session refuses", function()
  for _, v in ipairs(vectors.reject) do
    if v.direction == "session_info" then
      it("or takes the session info " .. v.name, function()
        local seen = probe.read(unhex(v.routable_message))
        local s = core.session { key = client_key(v.client_keys), vin = v.vin, domain = domains[seen.from_domain],
          random = signing.draws { seen.to_address, unhex(v.request_uuid_sent) } }
        s:handshake()
        local taken, err, kind = s:accept(unhex(v.routable_message))
        assert.equal(v.expect == "accept", taken == true)
        assert.equal(v.expect == "accept", s:ready())
        if v.name == "key_not_on_whitelist" then assert.equal("key_not_paired", kind) end
        if not taken then assert.is_true(#err.message > 0) end
      end)
    elseif v.direction == "response" then
      it("or opens the answer " .. v.name, function()
        local request = signing.by_name(vectors.requests, v.request)
        local s = session_before(request)
        local own = hex(select(2, sign(s, request)))
        assert.equal(request.uuid, own)
        -- some entries pretend that another request was made: then only the hash differs, which a session cannot be told
        local k = signing.by_name(vectors.keys, request.keys)
        if v.request_hash == request.request_hash then
          local payload, err = s:open(unhex(v.routable_message))
          assert.equal(v.expect == "accept", payload ~= nil)
          if v.expect ~= "accept" then assert.equal("unknown", err.outcome) end
        else
          local m = probe.read(unhex(v.routable_message))
          local facts = { domain = m.from_domain, vin = request.vin, request_hash = unhex(v.request_hash),
            counter = m.counter, flags = m.flags, fault = m.fault }
          local sha = unhex(core.sha256(probe.response_metadata(facts)))
          assert.is_nil(probe.gcm_open(unhex(k.k), m.nonce, sha, m.payload, m.tag))
          facts.request_hash = unhex(request.request_hash)
          sha = unhex(core.sha256(probe.response_metadata(facts)))
          assert.is_string(probe.gcm_open(unhex(k.k), m.nonce, sha, m.payload, m.tag))
          for _, tag in ipairs { m.tag .. "\0", m.tag:sub(1, 12), "" } do
            assert.is_nil(probe.gcm_open(unhex(k.k), m.nonce, sha, m.payload, tag))
          end
        end
      end)
    elseif v.direction == "response_sequence" then
      it("repeated answers of " .. v.name, function()
        local request = signing.by_name(vectors.requests, v.request)
        local s = session_before(request)
        sign(s, request)
        for i, step in ipairs(v.steps) do
          assert.equal(step.accept, s:open(unhex(step.routable_message)) ~= nil, "step " .. i)
        end
      end)
    end
  end
end)

-- One client and one vehicle at time t.
local function pair(domain, options)
  local t = { now = 100 }
  local clock = function() return t.now end
  t.client, t.vehicle = core.key.generate(), core.key.generate()
  t.s = core.session { key = t.client, vin = VIN, domain = domain or "infotainment", clock = clock }
  t.r = core.receiver { key = t.vehicle, vin = VIN, domain = domain or "infotainment", clock = clock,
    keys = { { public_key = t.client:public_bytes(), role = options and options.role } } }
  t.begin = function() return t.s:accept((t.r:handle(t.s:handshake()))) end
  return t
end

local HONK = assert(core.command("honk_horn")).payload

describe("the session's state", function()
  it("survives export and import, and the next command has the next counter", function()
    local t = pair()
    assert(t.begin())
    local first = t.s:sign(HONK)
    assert.is_string((t.r:handle(first)))
    local state = assert(t.s:export())
    t.s:close()
    local again = core.session { key = t.client, vin = VIN, domain = "infotainment", clock = function() return t.now end,
      state = state }
    assert.is_true(again:ready())
    assert.equal(1, again:counter())
    local reply, payload = t.r:handle((again:sign(HONK)))
    assert.equal(HONK, payload)
    assert.equal("\10\0", (again:open(reply)))
  end)

  it("can be exported with counters set aside", function()
    local t = pair()
    assert(t.begin())
    local again = core.session { key = t.client, vin = VIN, domain = "infotainment", state = t.s:export(32) }
    assert.equal(32, again:counter())
  end)

  it("can pass over counters, as far as there are any", function()
    local t = pair()
    assert(t.begin())
    t.s:skip(64)
    assert.equal(64, t.s:counter())
    assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
    assert.equal(65, t.s:counter())
    t.s:skip(0xFFFFFFFF)
    assert.equal(65, t.s:counter())
    t.s:skip(0xFFFFFFFF - 66)
    assert.is_true(t.s:ready())
    for _, wrong in ipairs { -1, 0x100000000 } do assert.has_error(function() t.s:skip(wrong) end) end
    assert.equal(0xFFFFFFFE, t.s:counter())
  end)

  it("continues at a counter of its own when others may have a copy of its state", function()
    local t = pair()
    assert(t.begin())
    local state, places, key_of_another = t.s:export(32), {}, core.key.generate()
    assert.is_nil((core.resume({ key_of_another }, { vin = VIN, domain = "infotainment", state = state })))
    for _ = 1, 40 do
      local again, which = core.resume({ key_of_another, t.client }, { vin = VIN, domain = "infotainment", state = state })
      assert.equal(2, which)
      local strides = (again:counter() - 32) / 64
      assert.is_true(strides >= 1 and strides <= 64 and strides % 1 == 0, tostring(strides))
      places[strides] = true
    end
    assert.is_truthy(next(places, (next(places)))) -- not always the same
  end)

  it("is dropped in silence when it is damaged, foreign, or of another key, VIN or domain", function()
    local t = pair()
    assert(t.begin())
    local state = t.s:export()
    local function ready(changes)
      local o = { key = t.client, vin = VIN, domain = "infotainment", state = state }
      for name, value in pairs(changes) do o[name] = value end
      return core.session(o):ready()
    end
    assert.is_true(ready {})
    assert.is_false(ready { key = core.key.generate() })
    assert.is_false(ready { vin = "LRWYGCEK5PC000001" })
    assert.is_false(ready { domain = "vehicle_security" })
    assert.is_false(ready { state = "" })
    assert.is_false(ready { state = state .. "x" })
    for i = 1, #state do
      local broken = state:sub(1, i - 1) .. string.char(flipped(state:byte(i))) .. state:sub(i + 1)
      assert.is_false(ready { state = broken }, "byte " .. i)
    end
  end)

  it("holds no secret", function()
    local v = vectors.requests[3]
    local k = signing.by_name(vectors.keys, v.keys)
    local state = session_before(v):export()
    for _, secret in ipairs { k.client_private, k.k, k.message_auth_key, k.session_info_key } do
      assert.is_nil(state:find(unhex(secret), 1, true))
    end
  end)

  it("bridges a restart by the wall clock, and believes no wall clock that went back", function()
    local t = pair()
    assert(t.begin())
    local function expiry(wall)
      local s = core.session { key = t.client, vin = VIN, domain = "infotainment", state = t.state,
        clock = function() return 7, wall end }
      return probe.read((s:sign("x"))).expires_at
    end
    local s = core.session { key = t.client, vin = VIN, domain = "infotainment", state = t.s:export(),
      clock = function() return 100, 1000 end }
    t.state = s:export()
    local base = expiry(1000)
    assert.equal(base + 50, expiry(1050))
    assert.equal(base, expiry(500))
  end)

  it("knows how long ago the vehicle confirmed it, also after export and import", function()
    local t = pair()
    assert.is_true(t.s:age() >= 1e9)
    assert(t.begin())
    assert.equal(0, t.s:age())
    t.now = t.now + 7
    assert.equal(7, t.s:age())
    local state = t.s:export()
    local function imported(later)
      return core.session { key = t.client, vin = VIN, domain = "infotainment", state = state,
        clock = function() return 5, t.now + later end }:age()
    end
    assert.equal(7, imported(0))
    assert.equal(12, imported(5))
    assert.is_true(imported(-1) >= 1e9)
    local reply = t.r:handle((t.s:sign(HONK)))
    assert(t.s:open(reply))
    assert.equal(0, t.s:age())
    t.now = t.now + 3
    assert.is_nil((t.s:open(reply)))
    assert.is_nil((t.s:open(t.r:handle((t.s:sign(HONK))):sub(1, -2))))
    assert.equal(3, t.s:age())
  end)

  it("is bounded however many requests go unanswered", function()
    local idle = probe.session_size()
    assert.is_true(idle < 1024, idle .. " bytes")
    assert.is_true(probe.session_size(1) < 1024)
    assert.equal(probe.session_size(100), probe.session_size(1000))
  end)
end)

describe("signing", function()
  it("needs a handshake first", function()
    local t = pair()
    local bytes, err, kind = t.s:sign(HONK)
    assert.is_nil(bytes)
    assert.equal("invalid", kind)
    assert.equal("not_sent", err.outcome)
    assert.is_nil((t.s:export()))
    assert(t.begin())
    assert.is_string((t.s:sign(HONK)))
  end)

  it("stops at the last counter instead of beginning again", function()
    local v = signing.by_name(vectors.requests, "hmac_user_command_flag")
    local s = session_before(v)
    assert.is_string((sign(s, v)))
    local bytes, err = s:sign("x")
    assert.is_nil(bytes)
    assert.equal("not_sent", err.outcome)
  end)

  it("raises for options it does not know or cannot use", function()
    local t = pair()
    assert(t.begin())
    for _, bad in ipairs { { methode = "gcm" }, { method = "none" }, { expires_in = 0 }, { expires_in = "5" },
      { expires_in = 0 / 0 }, { encrypt_response = 1 }, { flags = -1 }, { flags = 2 ^ 32 } } do
      assert.has_error(function() t.s:sign(HONK, bad) end)
    end
    assert.has_error(function() core.session { key = t.client, vin = "5YJ3012345678", domain = "infotainment" } end)
    assert.has_error(function() core.session { key = t.client, vin = VIN, domain = "trunk" } end)
    assert.has_error(function() core.session { vin = VIN, domain = "infotainment" } end)
    assert.has_error(function() core.session { key = t.client, vin = VIN, domain = "infotainment", stat = "" } end)
  end)

  it("never writes an expiry of 0, nor one beyond the longest epoch", function()
    assert.equal(1, probe.expiry(100, 0, 5))
    assert.equal(5, probe.expiry(100, 100, 5.9))
    assert.equal(2 ^ 30, probe.expiry(0, 2 ^ 31, 5))
    assert.equal(1, probe.expiry(0 / 0, 1, 5))
  end)

  it("draws routing address, uuid and nonce from random, and raises when it gives something else", function()
    local t = pair()
    local s = core.session { key = t.client, vin = VIN, domain = "infotainment", random = function() return "short" end }
    assert.has_error(function() s:handshake() end, "random(16) must return a string of 16 bytes")
  end)
end)

describe("answers", function()
  it("in clear text are opened as not authenticated", function()
    local t = pair()
    assert(t.begin())
    local bytes, id = t.s:sign(HONK, { encrypt_response = false })
    local payload, answers, authenticated = t.s:open((t.r:handle(bytes)))
    assert.equal("\10\0", payload)
    assert.equal(id, answers)
    assert.is_false(authenticated)
  end)

  it("without a receiver, of another domain, or with a uuid of another length are refused", function()
    local t = pair()
    assert(t.begin())
    local sent = probe.read((t.s:sign(HONK)))
    local function open(changes)
      local m = { address = sent.from_address, domain = 3, payload = "\10\0", request_uuid = sent.uuid }
      for name, value in pairs(changes) do m[name] = value or nil end
      return (t.s:open(probe.envelope(m)))
    end
    assert.equal("\10\0", open {})
    assert.is_string(open { request_uuid = false })
    assert.is_nil(open { address = ("z"):rep(16) })
    assert.is_nil(open { address = false })
    assert.is_nil(open { domain = 2 })
    assert.is_nil(open { request_uuid = ("z"):rep(16) })
    assert.is_nil(open { request_uuid = sent.uuid:sub(1, 8) })
  end)

  it("come too late after a minute", function()
    local t = pair()
    assert(t.begin())
    local reply = t.r:handle((t.s:sign(HONK)))
    t.now = t.now + 61
    t.s:sign(HONK)
    assert.is_nil((t.s:open(reply)))
  end)

  it("that wait or fail in clear text are busy and refused", function()
    local t = pair()
    assert(t.begin())
    local sent = probe.read((t.s:sign(HONK)))
    local function kind(status)
      return select(3, t.s:open(probe.envelope { address = sent.from_address, domain = 3, payload = "", status = status,
        request_uuid = sent.uuid }))
    end
    assert.equal("busy", kind(1))
    assert.equal("refused", kind(2))
  end)

  it("that are garbage leave the outcome unknown", function()
    local t = pair()
    assert(t.begin())
    t.s:sign(HONK)
    for _, garbage in ipairs { "", "x", ("\255"):rep(100), ("x"):rep(200000) } do
      local payload, err, kind = t.s:open(garbage)
      assert.is_nil(payload)
      assert.equal("protocol", kind)
      assert.equal("unknown", err.outcome)
    end
  end)
end)

describe("a fault", function()
  -- doc/protocol.md#protocol-faults and #recovery
  local refused = { 1, 3, 4, 7, 8, 9, 10, 12, 13, 14, 16, 18, 19, 21, 22, 23, 24, 27, 28 }
  local resync = { 5, 6, 15, 17, 20 }
  local unknown = { 2, 11, 25, 26, 29, 1000 }

  it("says what became of the command", function()
    local function said(n, evidence) return probe.fault_outcome(n, evidence) end
    for _, n in ipairs(refused) do
      assert.same({ "refused", "refused", "unknown" }, { said(n, "none"), said(n, "proof"), said(n, "against") }, n)
    end
    for _, n in ipairs(unknown) do
      assert.same({ "unknown", "unknown", "unknown" }, { said(n, "none"), said(n, "proof"), said(n, "against") }, n)
    end
    for _, n in ipairs(resync) do
      assert.same({ "unknown", "refused", "unknown" }, { said(n, "none"), said(n, "proof"), said(n, "against") }, n)
    end
  end)

  it("proves that a message was never taken only where the vehicle cannot have seen it before", function()
    local own, other = ("e"):rep(16), ("f"):rep(16)
    -- the message's counter is 100 and it was signed 5 s ago; the session info's epoch, counter, clock
    local cases = {
      { "not reached yet", own, 99, 1000, true }, { "just used", own, 100, 1000, false }, { "passed", own, 101, 1000, false },
      { "far beyond", own, 0xFFFFFFFF, 1000, false },
      { "an epoch from before", other, 0, 1000, true }, { "an epoch a little older than the message", other, 0, 6, true },
      { "an epoch that may have begun later", other, 0, 5, false }, { "an epoch that began later", other, 0, 4, false },
      { "an epoch that began later, with counters", other, 99, 4, false },
    }
    local function proven(counter, epoch, now, clock)
      return probe.never_taken {
        signed_epoch = own, signed_counter = counter, epoch = epoch, counter = now, clock_time = clock, passed = 5,
      }
    end
    for _, c in ipairs(cases) do assert.equal(c[5], proven(100, c[2], c[3], c[4]), c[1]) end
    assert.is_true(proven(0xFFFFFFFF, own, 0, 9))
    assert.is_false(proven(0xFFFFFFFF, own, 0xFFFFFFFF, 9))
  end)

  it("that answers the second copy of a message leaves its outcome unknown", function()
    local t = pair()
    assert(t.begin())
    local message = t.s:sign(HONK)
    assert.equal(HONK, select(2, t.r:handle(message)))
    local _, err = t.s:open((t.r:handle(message)))
    assert.same({ 6, true, "unknown" }, { err.fault, err.resynced, err.outcome })
    assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
  end)

  it("for a counter that another sender used proves nothing, and the session then knows of the other sender", function()
    local t = pair()
    assert(t.begin())
    local late = core.session { key = t.client, vin = VIN, domain = "infotainment", clock = function() return t.now end }
    assert(late:accept((t.r:handle(late:handshake()))))
    for _ = 1, 34 do assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK))))) end
    assert.is_false(late:shared())
    local _, err = late:open((t.r:handle((late:sign(HONK)))))
    assert.same({ 6, true, "unknown" }, { err.fault, err.resynced, err.outcome })
    assert.is_true(late:shared())
    assert.equal(HONK, select(2, t.r:handle((late:sign(HONK)))))
    local again = core.session { key = t.client, vin = VIN, domain = "infotainment", state = late:export() }
    assert.is_true(again:shared())
    assert.is_false(t.s:shared())
  end)

  it("of an epoch in which others have used counters shows that, and one without other senders does not", function()
    for others = 0, 1 do
      local t = pair()
      assert(t.begin())
      t.r:restart()
      if others == 1 then
        local other = core.session { key = t.client, vin = VIN, domain = "infotainment", clock = function() return t.now end }
        assert(other:accept((t.r:handle(other:handshake()))))
        assert.equal(HONK, select(2, t.r:handle((other:sign(HONK)))))
      end
      t.now = t.now + 60
      local _, err = t.s:open((t.r:handle((t.s:sign(HONK)))))
      assert.same({ 15, "refused" }, { err.fault, err.outcome })
      assert.equal(others == 1, t.s:shared())
    end
  end)

  it("of a copy that was damaged is no refusal when the other copy's answer comes as well", function()
    local t = pair()
    assert(t.begin())
    local message = t.s:sign(HONK)
    local damaged = message:sub(1, -2) .. string.char(flipped(message:byte(-1)))
    local first = t.r:handle(damaged)
    assert.equal(HONK, select(2, t.r:handle(message)))
    local second = t.r:handle(message)
    for _, reply in ipairs { second, first } do
      local _, err = t.s:open(reply)
      assert.equal("unknown", err.outcome)
    end
  end)

  it("after a restart of the vehicle brings session info, and the command signed again is accepted", function()
    local t = pair()
    assert(t.begin())
    t.r:restart()
    t.now = t.now + 40
    local payload, err = t.s:open((t.r:handle((t.s:sign(HONK)))))
    assert.is_nil(payload)
    assert.equal(15, err.fault)
    assert.is_true(err.resynced)
    assert.equal("refused", err.outcome)
    assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
  end)

  it("of a copy that a relay damaged is followed by a message with the same counter, so that one of both runs at most", function()
    for _, order in ipairs { { "first", "second" }, { "second", "first" } } do
      local t = pair()
      assert(t.begin())
      local messages, runs = {}, 0
      local first, id = t.s:sign(HONK)
      messages.first = first
      local _, err = t.s:open((t.r:handle(messages.first:sub(1, -2) .. string.char(flipped(messages.first:byte(-1))))))
      assert.same({ 5, "refused", id }, { err.fault, err.outcome, err.id })
      local counter = t.s:counter()
      messages.second = assert(t.s:sign(HONK, { again = id }))
      assert.equal(counter, t.s:counter())
      assert.not_equal(messages.first, messages.second)
      local replies = {}
      for i, name in ipairs(order) do replies[i] = t.r:handle(messages[name], function() runs = runs + 1 end) end
      assert.equal(1, runs)
      local payload, why = t.s:open(replies[order[2] == "second" and 2 or 1])
      if order[1] == "second" then assert.is_string(payload) else assert.same({ 6, "unknown" }, { why.fault, why.outcome }) end
      assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
    end
  end)

  it("is followed by a new counter only in another epoch, and never signed again without proof", function()
    local t = pair()
    assert(t.begin())
    local _, id = t.s:sign(HONK)
    local none, err, kind = t.s:sign(HONK, { again = id }) -- nothing was proved
    assert.same({ nil, "not_sent", "protocol" }, { none, err.outcome, kind })
    assert.equal("not_sent", select(2, t.s:sign(HONK, { again = ("x"):rep(16) })).outcome)
    assert.error_matches(function() t.s:sign(HONK, { again = 5 }) end, "option .again. must be the id that sign%(%) gave")
    t.r:restart()
    t.now = t.now + 40
    local message
    message, id = t.s:sign(HONK)
    _, err = t.s:open((t.r:handle(message)))
    assert.same({ 15, "refused" }, { err.fault, err.outcome })
    assert.is_nil((t.s:sign(HONK, { again = id })))
    assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
  end)

  it("without authentic session info leaves the outcome unknown and the session as it was", function()
    local t = pair()
    assert(t.begin())
    t.r:restart()
    local reply = t.r:handle((t.s:sign(HONK)))
    local at = 60
    local tampered = reply:sub(1, at) .. string.char(flipped(reply:byte(at + 1))) .. reply:sub(at + 2)
    local payload, err = t.s:open(tampered)
    assert.is_nil(payload)
    assert.is_false(err.resynced)
    assert.equal("unknown", err.outcome)
    assert.equal(1, t.s:counter())
  end)

  it("with session info of another key names the change, and a new session works", function()
    local t = pair()
    assert(t.begin())
    t.r = core.receiver { key = core.key.generate(), vin = VIN, domain = "infotainment", clock = function() return t.now end,
      keys = { t.client:public_bytes() } }
    local payload, err = t.s:open((t.r:handle((t.s:sign(HONK)))))
    assert.is_nil(payload)
    assert.equal("vehicle_key_changed", err.reason)
    assert.is_false(err.resynced)
    assert.is_nil((t.s:accept((t.r:handle(t.s:handshake())))))
    t.s = core.session { key = t.client, vin = VIN, domain = "infotainment" }
    assert(t.begin())
    assert.equal(HONK, select(2, t.r:handle((t.s:sign(HONK)))))
  end)

  it("3 means that the key is not paired", function()
    local t = pair()
    assert(t.begin())
    t.r:enroll {}
    local _, err, kind = t.s:open((t.r:handle((t.s:sign(HONK)))))
    assert.equal("key_not_paired", kind)
    assert.equal(3, err.fault)
    assert.equal("key_not_paired", select(3, t.s:accept((t.r:handle(t.s:handshake())))))
  end)
end)

describe("session info", function()
  it("that comes later than ten seconds after its request is refused", function()
    local t = pair()
    local reply = t.r:handle(t.s:handshake())
    t.now = t.now + 11
    assert.is_nil((t.s:accept(reply)))
    assert.is_false(t.s:ready())
    assert(t.begin())
  end)

  it("that comes twice changes nothing the second time", function()
    local t = pair()
    local reply = t.r:handle(t.s:handshake())
    assert(t.s:accept(reply))
    local expires = probe.read((t.s:sign("x"))).expires_at
    t.s:sign("x")
    t.now = t.now + 5
    assert(t.s:accept(reply))
    assert.equal(2, t.s:counter())
    assert.equal(expires + 5, probe.read((t.s:sign("x"))).expires_at)
  end)

  it("is taken by epoch, clock and counter: the rules as a table", function()
    local a, b = ("a"):rep(16), ("b"):rep(16)
    local rows = {
      -- what came before, what comes; taken, counter after
      { nil, { a, 5, 100 }, true, 5 },
      { { a, 5, 100 }, { a, 9, 101 }, true, 9 },
      { { a, 5, 100 }, { a, 3, 101 }, true, 5 },
      { { a, 5, 100 }, { a, 9, 100 }, true, 9 },
      { { a, 5, 100 }, { a, 9, 99 }, false, 5 },
      { { a, 5, 100 }, { b, 2, 1 }, true, 2 },
      { { a, 5, 100 }, { "short", 9, 101 }, false, 5 },
      { nil, { "", 9, 101 }, false, 0 },
    }
    local function info(i) return { epoch = i[1], counter = i[2], clock_time = i[3] } end
    for n, row in ipairs(rows) do
      local state = row[1] and probe.update(nil, info(row[1]), 0) or nil
      local after, taken = probe.update(state, info(row[2]), 0)
      assert.equal(row[3], taken, "row " .. n)
      assert.equal(row[4], (probe.state(after)), "row " .. n)
    end
  end)

  it("of the epoch before is still known as old", function()
    local a, b = ("a"):rep(16), ("b"):rep(16)
    local s = probe.update(nil, { epoch = a, counter = 5, clock_time = 100 }, 0)
    s = probe.update(s, { epoch = b, counter = 0, clock_time = 0 }, 0)
    assert.is_false(select(2, probe.update(s, { epoch = a, counter = 50, clock_time = 99 }, 0)))
    assert.is_true(select(2, probe.update(s, { epoch = a, counter = 50, clock_time = 100 }, 0)))
  end)
end)

describe("the window", function()
  for _, v in ipairs(vectors.sliding_windows) do
    it("follows the vector " .. v.name, function()
      local highest, used, open = whole(v.start_counter or 0), 0, v.start_counter ~= nil
      for i, step in ipairs(v.steps) do
        local accepted
        highest, used, accepted = probe.window(highest, used, open, whole(step.counter))
        open = open or accepted
        assert.equal(step.accept, accepted, "step " .. i)
        if step.highest_after then assert.equal(whole(step.highest_after), highest) end
      end
    end)
  end

  it("takes each of any 32 numbers once, in any order", function()
    local pick = signing.generator(7)
    for _ = 1, 200 do
      local base, numbers = pick(1000) * 1000, {}
      for i = 1, 32 do numbers[i] = base + i end
      local highest, used, seen = base, 0, {}
      for _ = 1, 200 do
        local n, accepted = numbers[pick(32)]
        highest, used, accepted = probe.window(highest, used, true, n)
        assert.equal(not seen[n], accepted)
        seen[n] = true
      end
    end
  end)
end)

describe("over a network that loses, doubles, reorders and delays", function()
  for _, domain in ipairs { "infotainment", "vehicle_security" } do
    it("no command runs twice and no valid reply is refused, in " .. domain, function()
      local command = domain == "infotainment" and HONK or core.command("door_lock").payload
      local pick = signing.generator(#domain)
      for _ = 1, part(30, 15) do
        local t = pair(domain)
        assert(t.begin())
        local ran, runs, to_vehicle, to_client, waiting = {}, 0, {}, {}, {}
        for step = 1, 60 do
          local what = pick(10)
          if what <= 3 then
            local bytes, id = t.s:sign(command, { method = pick(2) == 1 and "gcm" or "hmac" })
            waiting[id] = true
            for _ = 1, pick(3) - 1 do to_vehicle[#to_vehicle + 1] = { bytes, id } end
          elseif what <= 6 and #to_vehicle > 0 then
            local m = table.remove(to_vehicle, pick(#to_vehicle))
            local reply, payload = t.r:handle(m[1], function() runs = runs + 1 end)
            if payload then
              assert.is_nil(ran[m[2]], "ran twice")
              ran[m[2]] = true
              for _ = 1, pick(3) - 1 do to_client[#to_client + 1] = { reply, m[2] } end
            end
          elseif what <= 8 and #to_client > 0 then
            local m = table.remove(to_client, pick(#to_client))
            local payload, id, authenticated = t.s:open(m[1])
            if waiting[m[2]] then
              assert.is_string(payload)
              assert.is_true(authenticated)
              assert.equal(m[2], id)
              waiting[m[2]] = nil
            else
              assert.is_nil(payload)
            end
          elseif what == 9 then
            t.now = t.now + 0.1
          elseif step % 20 == 0 then
            local again = core.session { key = t.client, vin = VIN, domain = domain, state = t.s:export(),
              clock = function() return t.now end }
            assert.equal(t.s:counter(), again:counter())
          end
        end
        local count = 0
        for _ in pairs(ran) do count = count + 1 end
        assert.equal(count, runs)
      end
    end)
  end
end)

-- The rule of doc/protocol.md#recovery as a client follows it: sign again, once, what the vehicle proved not to have
-- taken. Somebody else uses the key meanwhile, the vehicle restarts, and its clock runs away from what is under way.
describe("a call over such a network, signed again where that is proved to be safe,", function()
  local function new_world(domain, pick)
    local w = pair(domain)
    assert(w.begin())
    w.other = core.session { key = w.client, vin = VIN, domain = domain, clock = function() return w.now end }
    w.to_vehicle, w.to_client, w.pick, w.signed_again, w.done, w.again_done = {}, {}, pick, 0, 0, 0
    w.command = domain == "infotainment" and HONK or core.command("actuate_trunk", { which_trunk = "rear" }).payload
    return w
  end

  local function send(w, call)
    local bytes, id = w.s:sign(w.command)
    if not bytes then return end
    call.id = id
    for _ = 1, w.pick(3) do w.to_vehicle[#w.to_vehicle + 1] = { bytes = bytes, id = id, call = call } end
  end

  local function arrive(w)
    if #w.to_vehicle == 0 then return end
    local m = table.remove(w.to_vehicle, w.pick(#w.to_vehicle))
    local reply, payload = w.r:handle(m.bytes)
    if payload then m.call.runs = m.call.runs + 1 end
    assert.is_true(m.call.runs <= 1, "a call ran twice")
    if w.pick(4) > 1 then w.to_client[#w.to_client + 1] = { reply = reply, id = m.id, call = m.call } end
  end

  local function answer(w)
    if #w.to_client == 0 then return end
    local m = table.remove(w.to_client, w.pick(#w.to_client))
    local call = m.call
    local payload, err = w.s:open(m.reply)
    if payload then
      assert.equal(1, call.runs)
      w.done, w.again_done = w.done + 1, w.again_done + (call.signed_again and 1 or 0)
    elseif err.resynced and err.outcome == "refused" and err.id == call.id then
      assert.equal(0, call.runs)
      if call.signed_again then return end
      call.signed_again, w.signed_again = true, w.signed_again + 1
      send(w, call)
    end
  end

  local function others(w)
    if not (w.other:ready() or w.other:accept((w.r:handle(w.other:handshake())))) then return end
    if w.pick(3) == 1 then w.other:skip(w.pick(100)) end
    local reply = w.r:handle((w.other:sign(w.command)))
    w.other:open(reply)
  end

  local function something(w)
    local what = w.pick(20)
    if what <= 4 then
      send(w, { runs = 0 })
    elseif what <= 11 then
      arrive(w)
    elseif what <= 15 then
      answer(w)
    elseif what <= 17 then
      others(w)
    elseif what <= 19 then
      w.now = w.now + w.pick(40) / 10
    elseif w.pick(4) == 1 then
      w.r:restart()
    end
  end

  for _, domain in ipairs { "infotainment", "vehicle_security" } do
    it("is carried out once at most, in " .. domain, function()
      local pick, done, again, again_done = signing.generator(7 + #domain), 0, 0, 0
      local worlds = part(200, 60)
      for _ = 1, worlds do
        local w = new_world(domain, pick)
        for _ = 1, 150 do something(w) end
        done, again, again_done = done + w.done, again + w.signed_again, again_done + w.again_done
      end
      assert.is_true(done > 2.5 * worlds and again > worlds / 5 and again_done > worlds / 40,
        done .. " " .. again .. " " .. again_done)
    end)
  end
end)

describe("secrets", function()
  -- in a process of its own: the probe replaces the allocator of OpenSSL before anything uses it
  local script = [[
    local probe = require "probe_wipe"
    assert(probe.live())
    local found, looked = probe.found()
    assert(looked > 10000)
    probe.leak()
    io.write(found, " ", (probe.found()))
  ]]

  it("are gone from every block of memory before it is freed", function()
    local pipe = assert(io.popen((process.lua .. " -e '%s' 2>&1"):format(script:gsub("\n", " "))))
    local text = pipe:read("a")
    pipe:close()
    assert.equal("0 1", text)
  end)

  -- valgrind counts the jumps that depend on bytes declared unknown, in a process of its own. Returns a line for each of others:
  -- the jumps where it is secret, whether it is equal to tag, and the jumps of an ordinary comparison.
  local function jumps(tag, others)
    local text = ([[
      local probe = require "probe_compare"
      assert(probe.watched())
      for other in ("%s"):gmatch "%%S+" do
        local counted, equal = probe.jumps("%s", other, "secret")
        print(counted, equal, (probe.jumps("%s", other, "public")))
      end
    ]]):format(table.concat(others, " "), tag, tag)
    local pipe = assert(io.popen(("valgrind -q " .. process.lua .. " -e '%s' 2>/dev/null"):format(text:gsub("\n", " "))))
    local lines = {}
    for line in pipe:lines() do lines[#lines + 1] = line end
    pipe:close()
    return lines
  end

  it("are compared without a decision that depends on them", function()
    local why = require("spec.support.harness.needs").missing("valgrind", "valgrind's headers")
    if why then return pending(why) end
    if os.getenv "LD_PRELOAD" then return pending "valgrind does not run with a preloaded sanitizer" end
    local tag = ("t"):rep(32)
    local others = { tag, tag:sub(1, 31) .. "x", "x" .. tag:sub(2) }
    local lines = jumps(tag, others)
    assert.equal(#others, #lines)
    for i, other in ipairs(others) do
      local counted, equal, ordinary = string.match(lines[i], "^(%d+)\t(%a+)\t(%d+)$")
      assert.equal("0 " .. tostring(other == tag), counted .. " " .. equal)
      assert.is_true(tonumber(ordinary) > 0, "an ordinary comparison would not be noticed either")
    end
  end)
end)
