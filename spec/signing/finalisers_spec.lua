-- A host's finalisers run wherever Lua makes something, and may call what is being called.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local rows = require "fleet.call.rows"

local VIN = "5YJ30123456789ABC"
local OFTEN = 1500

local function pair()
  local key = core.key.generate()
  local receiver = core.receiver { key = core.key.generate(), vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
  local session = core.session { key = key, vin = VIN, domain = "infotainment" }
  assert(session:accept((receiver:handle(session:handshake()))))
  return session, receiver
end

-- Calls act(i) often, while finalisers call noise(): the first mistake is what act raises.
local function among_finalisers(noise, act)
  local inside, runs, mt = false, 0, {}
  function mt.__gc()
    if inside then return end
    inside, runs = true, runs + 1
    noise(runs)
    inside = false
  end
  for i = 1, OFTEN do
    for _ = 1, 3 do compat.finalised({}, mt) end
    mt.ballast = string.rep("g", i % 997) -- so that each collection begins elsewhere
    act(i)
  end
  mt.__gc = function() end
  assert.is_true(runs > OFTEN / 10)
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
      other:sign_request("noise", rows.by_name.signed_command.pointer, 1)
      other:export(0)
    end
  end)

  local function sent_in(request)
    local body = request:table("https://service.example", "Authorization: Bearer t").body
    return core.unbase64(string.match(body, '"routable_message":"([^"]+)"'))
  end

  it("changes no message that is sent", function()
    among_finalisers(noise, function(i)
      local payload = core.command("set_charge_limit", { percent = 50 + i % 50 }).payload
      local request = assert(session:sign_request(payload, rows.by_name.signed_command.pointer, 1))
      local _, arrived = receiver:handle(sent_in(request))
      assert.equal(payload, arrived)
    end)
  end)

  it("changes no handshake", function()
    local fresh = core.session { key = core.key.generate(), vin = VIN, domain = "infotainment" }
    among_finalisers(noise, function()
      local request = assert(fresh:handshake_request("", rows.by_name.signed_command.pointer, 1))
      local message = core.json_decode(core.message_json("UniversalMessage.RoutableMessage", sent_in(request)))
      assert.is_table(message.session_info_request)
    end)
  end)

  it("changes no command that is written, and no text", function()
    among_finalisers(noise, function(i)
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
    among_finalisers(noise, function(i)
      local percent = 50 + i % 10
      local message, id = session:sign(core.command("honk_horn").payload)
      local reply = receiver:handle(message, function() return lists[percent] end)
      local data = assert(session:read(reply, id, 1))
      assert.same({ percent, true }, { data.charge_state.battery_level, data.authenticated })
    end)
  end)

  it("that closes the session while it signs gets an error raised there, and nothing is signed", function()
    local closing = false
    among_finalisers(function() if closing then session:close() end end, function()
      session, receiver = pair()
      closing = true
        local ran, raised = pcall(function()
        for _ = 1, 5 do session:sign_request("command", rows.by_name.signed_command.pointer, 1) end
      end)
      closing = false
      assert.is_true(ran or string.find(tostring(raised), "closed", 1, true) ~= nil)
    end)
  end)
end)
