-- A host's finalisers run wherever Lua makes something, and may call what is being called.

local core = require "fleet.core"
local finalisers = require "spec.support.harness.finalisers"
local rows = require "fleet.call.rows"

local VIN = "5YJ30123456789ABC"

local function pair()
  local key = core.key.generate()
  local receiver = core.receiver { key = core.key.generate(), vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
  local session = core.session { key = key, vin = VIN, domain = "infotainment" }
  assert(session:accept((receiver:handle(session:handshake()))))
  return session, receiver
end

describe("a finaliser of the host's", function()
  local session, receiver, noise

  before_each(function()
    local other = pair()
    session, receiver = pair()
    function noise(i)
      core.unbase64(string.rep("QUJD", i % 500) .. "!")
      other:sign(string.rep("n", i % 700 + 1))
      other:command("set_charge_limit", { percent = 55 })
      other:sign_request("noise", rows.by_name.signed_command.pointer, (core.clock()))
      other:export(0)
    end
  end)

  local function sent_in(request)
    local body = request:table("https://service.example", "Authorization: Bearer t").body
    return core.unbase64(string.match(body, '"routable_message":"([^"]+)"'))
  end

  it("changes no message that is sent", function()
    finalisers.among(noise, function(i)
      local payload = core.command("set_charge_limit", { percent = 50 + i % 50 }).payload
      local request = assert(session:sign_request(payload, rows.by_name.signed_command.pointer, (core.clock())))
      local _, arrived = receiver:handle(sent_in(request))
      assert.equal(payload, arrived)
    end)
  end)

  it("changes no handshake", function()
    local fresh = core.session { key = core.key.generate(), vin = VIN, domain = "infotainment" }
    finalisers.among(noise, function()
      local request = assert(fresh:handshake_request("", rows.by_name.signed_command.pointer, (core.clock())))
      local message = core.json_decode(core.message_json("UniversalMessage.RoutableMessage", sent_in(request)))
      assert.is_table(message.session_info_request)
    end)
  end)

  it("changes no command that is written, and no text", function()
    finalisers.among(noise, function(i)
      local text, id = assert(session:command("set_charge_limit", { percent = 50 + i % 50 }))
      local reply, payload = receiver:handle(core.unbase64(text))
      assert.equal(core.command("set_charge_limit", { percent = 50 + i % 50 }).payload, payload)
      local answer, answered = session:open(reply)
      assert.same({ "\10\0", id }, { answer, answered })
      assert.equal("QUJDREVG", core.base64("ABCDEF"))
    end)
  end)

  it("changes nothing of the data that are read", function()
    local lists = {}
    for percent = 50, 59 do
      lists[percent] = core.encode_message("CarServer.Response", {
        ["vehicleData.charge_state.battery_level"] = percent, ["vehicleData.charge_state.charging_state.Charging"] = {} })
    end
    finalisers.among(noise, function(i)
      local percent = 50 + i % 10
      local message, id = session:sign(core.command("honk_horn").payload)
      local reply = receiver:handle(message, function() return lists[percent] end)
      local data = assert(session:read(reply, id, (core.clock()), "vehicleData"))
      assert.same({ percent, true }, { data.charge_state.battery_level, data.authenticated })
    end)
  end)

  it("that closes the session while it signs gets an error raised there, and nothing is signed", function()
    local closing = false
    finalisers.among(function() if closing then session:close() end end, function()
      session, receiver = pair()
      closing = true
      local ran, raised = pcall(function()
        for _ = 1, 5 do session:sign_request("command", rows.by_name.signed_command.pointer, (core.clock())) end
      end)
      closing = false
      assert.is_true(ran or string.find(tostring(raised), "closed", 1, true) ~= nil)
    end)
  end)
end)

describe("a finaliser of the host's that closes", function()
  local payload = core.command("honk_horn").payload
  local own, vehicle = core.key.generate(), core.key.generate()
  local enrolled = { own:public_bytes() }

  local function clock() -- of the host's: it makes something, too
    local times = { 1000, { 1000 }, tostring {} }
    return times[1], times[2][1]
  end

  local function pair_of(given)
    local receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = enrolled, clock = given }
    local session = core.session { key = own, vin = VIN, domain = "infotainment", clock = given }
    assert(session:accept((receiver:handle(session:handshake()))))
    return session, receiver
  end

  for name, use in pairs {
    public_pem = function(key) key:public_pem() end,
    public_bytes = function(key) assert(#key:public_bytes() == 65) end,
    fingerprint = function(key) key:fingerprint() end,
    save = function(key) key:save("/nowhere/at/all") end,
    jws = function(key) key:jws { hostname = "a.example", ca = "b" } end,
    session = function(key) core.session({ key = key, vin = VIN, domain = "infotainment" }):close() end,
    receiver = function(key) core.receiver({ key = key, vin = VIN, domain = "infotainment", keys = enrolled }):close() end,
  } do
    it("a key in use harms nothing: " .. name, function()
      finalisers.closing(core.key.generate, use)
    end)
  end

  for name, use in pairs {
    handshake = function(session) session:handshake() end,
    sign = function(session) session:sign(payload) end,
    command = function(session) session:command("honk_horn") end,
    export = function(session) session:export(0) end,
    age = function(session)
      for _ = 1, 20 do session:age() end
    end,
    open = function(session, receiver) session:open((receiver:handle((session:sign(payload))))) end,
    accept = function(session, receiver) session:accept((receiver:handle(session:handshake()))) end,
    read = function(session, receiver)
      local message, id = session:sign(payload)
      session:read((receiver:handle(message)), id, 1000, "vehicleData")
    end,
  } do
    it("a session in use harms nothing: " .. name, function()
      local receiver
      finalisers.closing(function()
        local session
        session, receiver = pair_of(clock)
        return session
      end, function(session) use(session, receiver) end)
    end)
  end

  for name, use in pairs {
    handle = function(receiver, message) receiver:handle(message) end,
    restart = function(receiver) receiver:restart() end,
    enroll = function(receiver) receiver:enroll(enrolled) end,
  } do
    it("a receiver in use harms nothing: " .. name, function()
      local message
      finalisers.closing(function()
        local session, receiver = pair_of(clock)
        message = session:sign(payload)
        return receiver
      end, function(receiver) use(receiver, message) end)
    end)
  end

  it("no receiver, but enrolls its keys anew, changes no answer to a handshake", function()
    local session, receiver = pair_of()
    finalisers.among(function() receiver:enroll(enrolled) end, function()
      local fresh = core.session { key = own, vin = VIN, domain = "infotainment" }
      assert(fresh:accept((receiver:handle(fresh:handshake()))))
      fresh:close()
    end)
    session:close()
  end)
end)
