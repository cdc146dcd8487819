-- Commands in signed form: which way a command travels, in what order, what a result says, how the client recovers.

local core = require "fleet.core"
local control = require "fleet.sim.control"
local fleet = require "fleet"
local cli = require "spec.support.harness.cli"
local seam = require "spec.support.fixtures.host_http"
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

local function event(name, options) control.event(world.service, name, VIN, options) end

-- Runs functions as tasks and returns what each gave: { value, err } or { raised = }.
local function together(list)
  local results, tasks = {}, {}
  fleet.run(function()
    for i, fn in ipairs(list) do
      tasks[i] = fleet.spawn(function()
        local ran, value, err = pcall(fn)
        results[i] = ran and { value = value, err = err } or { raised = value }
      end)
    end
    for _, task in ipairs(tasks) do task:wait() end
  end)
  return results
end

-- ---- the way ----

describe("a command travels", function()
  it("signed when there is a key, and says so", function()
    local done = assert(world:car():honk_horn())
    assert.same({ changed = true, reason = "", via = "signed", authenticated = true }, done)
    assert.same({ "handshake", "command" }, world.messages)
  end)

  it("plain without a key, and the error then names the missing key", function()
    local _, err = world:client { key = false or nil, commands = "plain" }:vehicle(VIN):honk_horn()
    assert.same({ "key_not_paired", "refused" }, { err.kind, err.outcome })
    assert.same({ "plain" }, world.messages)
  end)

  it("plain to a vehicle that does not speak the protocol, after one refusal in a week", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local store = fleet.store.memory()
    local car = world:car { store = store }
    assert.equal("plain", assert(car:honk_horn()).via)
    assert.same({ "handshake", "plain" }, world.messages)
    assert.equal("plain", assert(car:door_unlock()).via)
    assert.equal("plain", assert((world:car { store = store }):door_lock()).via)
    assert.equal(1, world:sent "handshake")
    world.time.advance(7 * 86400 + 1)
    world.token = world.sim:own_token()
    assert.equal("plain", assert((world:car { store = store }):honk_horn()).via)
    assert.equal(2, world:sent "handshake")
    assert.equal(2, #world.ran - 2)
  end)

  it("plain when fleet_status says so", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local car, client = world:car()
    assert(client:fleet_status { VIN })
    assert.equal("plain", assert(car:honk_horn()).via)
    assert.equal(0, world:sent "handshake")
  end)

  it("signed to a vehicle that was taken for a plain one, after one refusal", function()
    local store = fleet.store.memory()
    store:put("plain/" .. VIN, "1")
    local car = world:car { store = store }
    assert.equal("signed", assert(car:honk_horn()).via)
    assert.equal("signed", assert(car:honk_horn()).via)
    assert.same({ "plain", "handshake", "command", "command" }, world.messages)
    assert.equal(2, #world.ran)
  end)

  it("never plain when it exists only signed", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local car = world:car()
    assert(car:honk_horn())
    for name, params in pairs { set_vehicle_name = { vehicle_name = "Pearl" }, set_pin_to_drive = { on = true, password = "1234" } } do
      local _, err = car[name](car, params)
      assert.same({ "unsupported", "not_sent" }, { err.kind, err.outcome })
      assert.matches("^" .. name .. ": this vehicle takes plain commands only, and the command has no plain form", err.message)
    end
    assert.same({ "handshake", "plain" }, world.messages) -- it is known by then
    local _, first = world:car():set_vehicle_name { vehicle_name = "Pearl" }
    assert.same({ "unsupported", "not_sent", 422, 2 }, { first.kind, first.outcome, first.status, world:sent "handshake" })
    assert.equal(1, world:sent "plain")
    local _, err = world:client { commands = "plain" }:vehicle(VIN):set_vehicle_name { vehicle_name = "Pearl" }
    assert.same({ "unsupported", "not_sent" }, { err.kind, err.outcome })
    assert.equal(1, world:sent "plain")
  end)

  it("with its bytes only where this client does not sign it, whatever the vehicle", function()
    local key = fleet.key.generate()
    for _, commands in ipairs { "auto", "signed" } do
      local car, requests = seam.car(seam.done, { key = key, commands = commands })
      for _, call in ipairs {
        function() return car:honk_horn { raw = true } end,
        function() return car:sun_roof_control({ state = "stop" }, { raw = true }) end,
        function() return car:set_vehicle_name({ vehicle_name = "Blue" }, { raw = true }) end,
        function()
          return car:navigation_request({ type = "share_ext_content_raw", value = { ["android.intent.extra.TEXT"] = "Berlin" },
            locale = "en-US", timestamp_ms = "1767225600000" }, { raw = true })
        end,
      } do
        local ok, message = pcall(call)
        assert.is_false(ok)
        assert.matches("command_spec%.lua:%d+: [%w_]+: option 'raw' is not for commands that this client signs", message)
      end
      assert.equal(0, #requests)
      if commands == "auto" then assert.equal(seam.done, car:take_drivenote({ note = "x" }, { raw = true })) end
    end
    for _, options in ipairs { {}, { key = key, commands = "plain" }, { commands = "proxy", proxy_url = seam.host } } do
      assert.equal(seam.done, (seam.car(seam.done, options):honk_horn { raw = true }))
    end
  end)

  it("plain when it has no signed form, with a key and past a proxy too", function()
    local car, requests = seam.car(seam.done, { key = fleet.key.generate() })
    assert.equal("plain", assert(car:take_drivenote { note = "rattle" }).via)
    assert.matches("/command/take_drivenote$", requests[1].url)
    car, requests = seam.car(seam.done, { commands = "proxy", proxy_url = "https://proxy.example" })
    assert.equal("plain", assert(car:take_drivenote { note = "rattle" }).via)
    assert.matches("^" .. seam.host, requests[1].url)
  end)

  it("never plain when it was asked to be signed", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local car = world:car { commands = "signed" }
    for _ = 1, 2 do
      local _, err = car:honk_horn()
      assert.same({ "unsupported", 422, "not_sent" }, { err.kind, err.status, err.outcome })
      assert.matches('this vehicle takes plain commands only, .* commands = "signed"', err.message)
    end
    assert.same({ "handshake", "handshake" }, world.messages)
    assert.equal(0, #world.ran)
  end)

  it("nowhere when it was asked to be signed without a key", function()
    local car, requests = seam.car(seam.done, { commands = "signed" })
    local _, err = car:honk_horn()
    assert.same({ "unsupported", "not_sent", 0 }, { err.kind, err.outcome, #requests })
  end)

  it("nowhere signed when the vehicle is known by an id, or by something that is no VIN", function()
    for _, id in ipairs { "1492931520123456", "12345678901234567", "5yj3flee9rf000001" } do
      local client, requests = seam.client(seam.done, { key = fleet.key.generate() })
      local accepted, car = pcall(client.vehicle, client, id)
      if accepted and id ~= "12345678901234567" then
        local _, err = car:honk_horn()
        assert.same({ "unsupported", "not_sent", 0 }, { err.kind, err.outcome, #requests })
      end
    end
  end)

  it("plain when it was asked to be plain, key or not", function()
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    assert.equal("plain", assert(world:car { commands = "plain" }:honk_horn()).via)
    assert.same({ "plain" }, world.messages)
  end)
end)

describe("through a signing proxy", function()
  local function ask(reply, call)
    local car, requests = seam.car(function() return reply end, { commands = "proxy", proxy_url = "https://proxy.example" })
    local value, err = (call or car.honk_horn)(car)
    return value, err, requests
  end
  local function error_reply(status, text)
    return { status = status, headers = {}, body = '{"response":null,"error":"' .. text .. '","error_description":""}' }
  end

  it("a command goes to the proxy, also one that exists only signed", function()
    local value, _, requests = ask(seam.answer(seam.done), function(car) return car:set_vehicle_name { vehicle_name = "Pearl" } end)
    assert.equal("proxy", value.via)
    assert.equal("https://proxy.example/api/1/vehicles/" .. seam.vin .. "/command/set_vehicle_name", requests[1].url)
  end)

  -- text of the proxy, status, kind, outcome (doc/protocol.md#proxy-replies)
  for _, case in ipairs {
    { "vehicle unavailable: vehicle is offline or asleep", 500, "asleep", "refused" },
    { "vehicle rejected request: your public key has not been paired with the vehicle", 500, "key_not_paired", "refused" },
    { "context deadline exceeded", 500, "timeout", "unknown" },
    { "timed out waiting for another command", 503, "timeout", "unknown" },
    { "token missing", 403, "forbidden", "refused" },
    { "invalid_command", 400, "unsupported", "refused" },
  } do
    it(("'%s' (%d) is %s"):format(case[1], case[2], case[3]), function()
      local _, err, requests = ask(error_reply(case[2], case[1]))
      assert.same({ case[3], case[4], 1 }, { err.kind, err.outcome, #requests })
    end)
  end

  it("a command that may not be repeated wakes the vehicle first when it may", function()
    local car, requests = seam.car(function(request, n)
      if request.url:find("/wake_up", 1, true) then return seam.answer '{"response":{"state":"online"}}' end
      if n == 1 then return error_reply(500, "vehicle unavailable: vehicle is offline or asleep") end
      return seam.answer(seam.done)
    end, { commands = "proxy", proxy_url = "https://proxy.example" })
    assert.equal("proxy", assert(car:honk_horn { wake = true }).via)
    local count = 0
    for _, request in ipairs(requests) do
      if request.url:find("/honk_horn", 1, true) then count = count + 1 end
    end
    assert.equal(2, count)
    local _, err = seam.car(function() return error_reply(500, "context deadline exceeded, asleep") end,
      { commands = "proxy", proxy_url = "https://proxy.example" }):honk_horn { wake = true }
    assert.equal("unknown", err.outcome)
  end)

  it("a reason is the vehicle's own, without the words of the proxy", function()
    local value = ask(seam.answer(seam.refused "car could not execute command: already_set"),
      function(car) return car:set_charge_limit { percent = 80 } end)
    assert.same({ false, "already_set" }, { value.changed, value.reason })
    local _, err = ask(seam.answer(seam.refused "vcsec could not execute command: GENERICERROR_CLOSURES_OPEN"))
    assert.same({ "refused", "refused", "GENERICERROR_CLOSURES_OPEN" }, { err.kind, err.outcome, err.reason })
    assert.matches("A door, lid or window is open", err.message)
  end)
end)

-- ---- results ----

-- What the computers answer in clear text or sealed, as bytes that are put in the place of the simulator's.
describe("an answer of the security computer", function()
  local answers

  local function answering(...)
    local list, count, deliver = { ... }, 0, world:http()
    answers = function() return count end
    return world:car { http = function(request)
      if world:kind(request) ~= "command" then return deliver(request) end
      count = count + 1
      if not list[count] then return deliver(request) end
      local sent = core.json_decode(core.message_json("UniversalMessage.RoutableMessage",
        core.unbase64(core.json_decode(request.body).routable_message)))
      local answer = core.encode_message("UniversalMessage.RoutableMessage", {
        ["from_destination.domain"] = 2, ["to_destination.routing_address"] = core.unbase64(sent.from_destination.routing_address),
        request_uuid = core.unbase64(sent.uuid), protobuf_message_as_bytes = list[count],
      })
      return { status = 200, headers = {}, body = ('{"response":"%s"}'):format(core.base64(answer)) }
    end }
  end

  it("says why it did not take the message: an unknown key, or a session that does not fit", function()
    local car = answering("\34\6\8\2\18\2\16\2", "\34\6\8\2\18\2\16\5")
    local _, err = car:door_lock()
    assert.same({ "key_not_paired", "refused", "not_on_whitelist" }, { err.kind, err.outcome, err.reason })
    assert.matches("pairing_url", err.message)
    world:forget()
    _, err = car:door_lock()
    assert.same({ "protocol", "refused", "token_and_counter_invalid", 2 }, { err.kind, err.outcome, err.reason, answers() })
    world:forget()
    assert(car:door_lock())
    assert.same({ "handshake", "command" }, world.messages) -- that session is dropped
  end)

  it("in clear text and empty is done only before the vehicle has encrypted one", function()
    local car = answering("")
    assert.same({ true, false }, { assert(car:door_unlock()).changed, #world.ran > 0 })
    car = answering(false, "")
    assert(car:door_unlock())
    local _, err = car:door_unlock()
    assert.same({ "protocol", "unknown" }, { err.kind, err.outcome })
  end)
end)

describe("a signed result", function()
  it("is no change where the vehicle says that it is so already, unless that is an error", function()
    new_world { vehicle = { charge_state = { conn_charge_cable = "IEC", charging_state = "Charging" } } }
    local car = world:car()
    local value = assert(car:charge_start())
    assert.same({ false, "signed", true }, { value.changed, value.via, value.authenticated })
    local _, err = car:charge_start { strict = true }
    assert.same({ "refused", "refused" }, { err.kind, err.outcome })
  end)

  it("carries the vehicle's reason, its advice, and what the error belongs to", function()
    local _, err = world:car():charge_start()
    assert.equal("disconnected", err.reason)
    assert.same({ "refused", VIN, "POST /api/1/vehicles/{vin}/command/charge_start" }, { err.outcome, err.vin, err.request })
  end)

  it("of the security domain has a reason too", function()
    event "drive"
    local _, err = world:car():remote_start_drive()
    if err then assert.equal("refused", err.outcome) end
  end)

  it("that is unknown can be settled by looking", function()
    local car = world:car()
    assert(car:flash_lights())
    for _, case in ipairs { { "reply", true }, { "request", false } } do
      world.sim:section("charge_state", VIN).charge_limit_soc = 80
      world:fault("lost", 3, { of = case[1] })
      local _, err = car:set_charge_limit { percent = 64 }
      assert.equal("unknown", err.outcome)
      assert.equal(case[2], car:settle(err))
    end
  end)

  it("names a vehicle that does not know the key, and all its keys are taken", function()
    new_world { keys = 20 }
    for _, key in ipairs(world.keys) do assert((world:car { key = key }):honk_horn()) end
    assert.equal(20, #world.ran)
    local stranger = fleet.key.generate()
    local _, err = (world:car { key = stranger }):honk_horn()
    assert.same({ "key_not_paired", "not_sent" }, { err.kind, err.outcome })
    assert.has_error(function() event("pair_key", { public_key = signed_world.hex(stranger) }) end)
  end)

  it("names a role that may not, an unsupported command and a sleeping vehicle", function()
    new_world { keys = 0, vehicle = { keys = nil } }
    local key = fleet.key.generate()
    event("pair_key", { public_key = signed_world.hex(key), role = "CHARGING_MANAGER" })
    local car = world:car { key = key }
    local _, err = car:honk_horn()
    assert.same({ "forbidden", "refused", 7 }, { err.kind, err.outcome, err.fault })
    event "sleep"
    _, err = car:charge_max_range()
    assert.same({ "asleep", "refused" }, { err.kind, err.outcome })
  end)
end)

-- ---- order, and many at once ----

describe("several commands to one vehicle", function()
  local function watch(seconds)
    local flying, most = 0, {}
    world.before = function(_, kind)
      flying = flying + 1
      most[kind] = math.max(most[kind] or 0, flying)
      fleet.sleep(seconds)
    end
    world.after = function() flying = flying - 1 end
    return most
  end

  it("of the security domain go one by one, in the order in which they were given", function()
    local car, most = world:car(), watch(1)
    local names = { "door_lock", "door_unlock", "remote_start_drive", "door_lock", "actuate_trunk", "door_unlock" }
    local list = {}
    for i, name in ipairs(names) do
      list[i] = function() return car[name](car, name == "actuate_trunk" and { which_trunk = "rear" } or nil) end
    end
    for i, result in ipairs(together(list)) do assert(result.value, tostring(i) .. tostring(result.err)) end
    assert.same(names, world.ran)
    assert.equal(1, most.command)
    assert.equal(1, world:sent "handshake")
  end)

  it("of infotainment go together, at most 16 at a time", function()
    local car = world:car()
    assert(car:honk_horn())
    world:forget()
    local most, list = watch(1), {}
    for i = 1, 60 do list[i] = function() return car:flash_lights() end end
    for _, result in ipairs(together(list)) do assert(result.value, tostring(result.err)) end
    assert.equal(60, #world.ran)
    assert.equal(16, most.command)
  end)

  it("of both domains do not wait for each other", function()
    local car, began = world:car(), world.time.now()
    watch(10)
    together { function() return car:door_lock() end, function() return car:honk_horn() end }
    assert.is_true(world.time.now() - began < 30)
    assert.equal(2, #world.ran)
  end)

  it("share one handshake", function()
    local car, list = world:car(), {}
    watch(1)
    for i = 1, 10 do list[i] = function() return car:honk_horn() end end
    for _, result in ipairs(together(list)) do assert(result.value, tostring(result.err)) end
    assert.equal(1, world:sent "handshake")
  end)

  it("wait no longer than their own time limit", function()
    local car = world:car()
    assert(car:door_lock())
    world:forget()
    watch(8)
    local results = together {
      function() return car:door_unlock() end,
      function() return car:door_lock { timeout = 5 } end,
      function() return car:actuate_trunk { which_trunk = "rear" } end,
    }
    assert(results[1].value)
    assert.same({ "timeout", "not_sent" }, { results[2].err.kind, results[2].err.outcome })
    assert(results[3].value)
    assert.same({ "door_unlock", "actuate_trunk" }, world.ran)
  end)

  it("are not held up by one that was cancelled while it waited, or before it came to wait", function()
    local car = world:car()
    assert(car:door_lock())
    watch(8)
    world:forget()
    local results = together {
      function() return car:door_unlock() end,
      function()
        local waiting = fleet.spawn(function() return car:door_lock() end)
        local late = fleet.spawn(function()
          pcall(fleet.sleep, 1000) -- a task that goes on although it was cancelled
          return car:door_lock()
        end)
        fleet.sleep(1)
        waiting:cancel()
        late:cancel()
        local _, first = pcall(waiting.wait, waiting)
        local _, second = pcall(late.wait, late)
        return { first, second }
      end,
      function()
        fleet.sleep(2)
        return car:actuate_trunk { which_trunk = "rear" }
      end,
    }
    for _, failure in ipairs(results[2].value) do assert.same({ "cancelled", "not_sent" }, { failure.kind, failure.outcome }) end
    assert(results[3].value, tostring(results[3].err))
    assert.same({ "door_unlock", "actuate_trunk" }, world.ran)
  end)
end)

-- ---- cancelling and closing ----

describe("a command that is cancelled", function()
  -- number of the request, before or after the vehicle got it, what is known of the horn, how often it blew
  for _, case in ipairs {
    { 1, "before", "not_sent", 0 }, { 1, "after", "not_sent", 0 }, { 2, "before", "unknown", 0 }, { 2, "after", "unknown", 1 },
  } do
    it(("%s request %d is %s, and the next one works"):format(case[2], case[1], case[3]), function()
      local car = world:car()
      world[case[2]] = function(number) if number == case[1] then fleet.sleep(1000) end end
      local result = together { function()
        local task = fleet.spawn(function() return car:honk_horn() end)
        fleet.sleep(1)
        task:cancel()
        local _, failure = pcall(task.wait, task)
        return failure
      end }
      assert.same({ "cancelled", case[3] }, { result[1].value.kind, result[1].value.outcome })
      assert.equal(case[4], #world.ran)
      assert(car:honk_horn())
      assert.equal(case[4] + 1, #world.ran)
    end)
  end

  it("by closing the client ends what has not started, and lets the rest finish", function()
    local car, client = world:car()
    assert(car:door_lock())
    world:forget()
    world.before = function() fleet.sleep(10) end
    local results = together {
      function() return car:door_unlock() end, function() return car:door_lock() end,
      function()
        fleet.sleep(1)
        client:close()
        return true
      end,
    }
    assert(results[1].value or results[1].err.outcome == "unknown")
    assert.equal("door_unlock", world.ran[1])
    assert.is_nil(world.ran[2])
    assert.is_nil(results[2].value)
  end)
end)

-- ---- time ----

describe("a signed message", function()
  it("that waited longer than its lifetime is not sent but signed anew", function()
    local real, swallowed = world:http(), 0
    local car = world:car { http = function(request)
      if request.url:find("signed_command", 1, true) and world:sent "handshake" == 1 and swallowed == 0 then
        swallowed = swallowed + 1
        fleet.sleep(20)
        return { status = 403, headers = {}, body = '{"error":"Unauthorized missing scopes"}' }
      end
      return real(request)
    end }
    assert(car:honk_horn())
    assert.same({ "handshake", "command" }, world.messages)
    assert.same({ "honk_horn" }, world.ran)
  end)

  it("is signed anew after a wake", function()
    event "sleep"
    world.sim:car(VIN).wake_seconds = 40
    local car = world:car()
    assert(car:honk_horn { wake = true })
    event "sleep"
    local began = world.time.now()
    assert(car:honk_horn { wake = true })
    assert.is_true(world.time.now() - began >= 40)
    assert.equal(2, #world.ran)
    for _, entry in ipairs(world.logs) do assert.is_nil(entry.message and entry.message:find("fault", 1, true)) end
  end)

  it("of several promises wakes the vehicle once", function()
    event "sleep"
    local car, list = world:car(), {}
    for i = 1, 5 do list[i] = function() return car:honk_horn { wake = true } end end
    list[6] = function() return car:door_unlock { wake = true } end
    for _, result in ipairs(together(list)) do assert(result.value, tostring(result.err)) end
    assert.equal(1, world:sent "wake_up")
    assert.equal(6, #world.ran)
  end)

  it("does not wake a vehicle unasked", function()
    event "sleep"
    local _, err = world:car():honk_horn()
    assert.same({ "asleep", "not_sent" }, { err.kind, err.outcome })
    assert.equal(0, world:sent "wake_up")
  end)
end)

-- ---- recovery ----

describe("after", function()
  -- fault, options, what a horn then says, how often it blew, how many handshakes and commands that took
  local cases = {
    { "a new epoch", "epoch_change", {}, "done", 1, 0, 2 },
    { "a step of the vehicle's clock", "clock_step", {}, "done", 1, 0, 2 },
    { "a step back of the vehicle's clock", "clock_step", { seconds = -600 }, "done", 1, 0, 1 },
    { "a lower counter", "counter_lowered", {}, "done", 1, 0, 2 },
    { "a request that was damaged", "corrupted_tag", { of = "request" }, "done", 1, 0, 2 },
    { "a new computer of the vehicle", "vehicle_key_change", {}, "protocol unknown", 0, 1, 1 },
    { "an answer that was damaged", "corrupted_tag", {}, "protocol unknown", 1, 0, 1 },
    { "a lost request", "lost", { of = "request" }, "service unknown", 0, 0, 1 },
    { "a lost answer", "lost", {}, "service unknown", 1, 0, 1 },
    { "an answer that came late", "reordered", {}, "service unknown", 1, 0, 1 },
    { "a key that was removed", "unpaired", {}, "key_not_paired refused", 0, 0, 1 },
    { "a request that came twice", "duplicated", { of = "request" }, "done", 1, 0, 1 },
    { "a request whose second copy is answered", "duplicated", { of = "request", answer = "second" }, "protocol unknown", 1, 0, 1 },
    { "a new epoch in this very second", "epoch_change", { seconds = 0 }, "protocol unknown", 0, 0, 1 },
    { "an answer that comes twice", "duplicated", {}, "done", 1, 0, 1 },
  }

  local function said(value, err)
    return value and "done" or err.kind .. " " .. err.outcome
  end

  for _, case in ipairs(cases) do
    it(case[1] .. " a horn says " .. case[4], function()
      local car = world:car()
      assert(car:flash_lights())
      world:forget()
      world:fault(case[2], 1, case[3])
      assert.equal(case[4], said(car:honk_horn()))
      assert.same({ case[5], case[6], case[7] }, { #world.ran, world:sent "handshake", world:sent "command" })
    end)

    it(case[1] .. " a charge limit is set", function()
      local car = world:car()
      assert(car:flash_lights())
      world:forget()
      world:fault(case[2], 1, case[3])
      local value, err = car:set_charge_limit { percent = 64 }
      if case[2] == "unpaired" then return assert.equal("key_not_paired", err.kind) end
      assert(value, tostring(err))
      assert.equal(64, world.sim:section("charge_state", VIN).charge_limit_soc)
      assert.is_true(world:sent "command" <= 3 and world:sent "handshake" <= 1)
    end)
  end

  it("a new computer that does not know the key the true reason is reported at once", function()
    local car = world:car()
    assert(car:flash_lights())
    world.sim:car(VIN).keys = {}
    event "new_computer"
    local _, err = car:honk_horn()
    assert.same({ "key_not_paired", 3 }, { err.kind, err.fault })
    world:forget()
    _, err = car:honk_horn()
    assert.same({ "key_not_paired", "not_sent" }, { err.kind, err.outcome })
    assert.same({ "handshake" }, world.messages)
  end)

  it("session infos that cannot be taken the session is dropped: one fresh handshake, and the next command works", function()
    local car = world:car()
    assert(car:flash_lights())
    event "restart"
    world:forget()
    world:fault("corrupted_tag", 1)
    local _, err = car:honk_horn()
    assert.same({ "protocol", "unknown", 15 }, { err.kind, err.outcome, err.fault })
    assert.same({ "command", "handshake" }, world.messages)
    assert(car:honk_horn())
    assert.same({ "command", "handshake", "command" }, world.messages)
    assert.equal(1, #world.ran)
  end)

  it("an unknown outcome no plain command follows, whatever the vehicle says of the protocol then", function()
    new_world { vehicle = { vehicle_command_protocol_required = false, protocol = true } }
    local car = world:car()
    assert(car:flash_lights())
    event "restart"
    world:forget()
    world:fault("corrupted_tag", 1)
    world:fault("no_protocol", 1, { message = "handshake" })
    local _, err = car:honk_horn()
    assert.equal("unknown", err.outcome)
    assert.same({ "command", "handshake" }, world.messages)
  end)

  it("faults without end a command ends", function()
    for _, name in ipairs { "epoch_change", "clock_step", "counter_lowered", "vehicle_key_change" } do
      local car = world:car()
      assert(car:flash_lights())
      world:forget()
      world:fault(name, 1000)
      assert.is_nil((car:set_charge_limit { percent = 64 }))
      assert.is_true(#world.messages <= 8, name .. " " .. #world.messages)
      world.service.faults:clear()
    end
  end)
end)

-- A relay has no key. It shows the vehicle a damaged copy of the command, and gives the client the answer to that.
describe("a relay that damages a copy", function()
  local function copy_of(request, damaged)
    local message = core.unbase64(core.json_decode(request.body).routable_message)
    if damaged then message = message:sub(1, -2) .. string.char((message:byte(-1) + 1) % 256) end
    local copy = {}
    for name, value in pairs(request) do copy[name] = value end
    copy.body = ('{"routable_message":"%s"}'):format(core.base64(message))
    return copy
  end

  -- delivers(count, request, deliver): the reply that the client gets to its command message with this number.
  local function relayed(delivers)
    local deliver, count = world:http(), 0
    return world:car { http = function(request)
      if world:kind(request) ~= "command" then return deliver(request) end
      count = count + 1
      return delivers(count, request, deliver)
    end }
  end

  for name, call in pairs {
    honk_horn = function(car) return car:honk_horn() end,
    actuate_trunk = function(car) return car:actuate_trunk { which_trunk = "rear" } end,
  } do
    it("makes " .. name .. " run once, where it delivers the true message at once, or after the second", function()
      local value, err = call(relayed(function(count, request, deliver)
        if count > 1 then return deliver(request) end
        local reply = deliver(copy_of(request, true))
        deliver(request)
        return reply
      end))
      assert.is_nil(value)
      assert.same({ "unknown", 1, 3 }, { err.outcome, #world.ran, world:sent "command" })
      new_world()
      local held
      local done = assert(call(relayed(function(count, request, deliver)
        if count == 1 then
          held = request
          return deliver(copy_of(request, true))
        end
        local reply = deliver(request)
        deliver(held)
        return reply
      end)))
      assert.is_true(done.changed)
      assert.equal(1, #world.ran)
    end)
  end

  it("of every message gets no third one", function()
    local count
    local _, err = relayed(function(number, request, deliver)
      count = number
      return deliver(copy_of(request, true))
    end):honk_horn()
    assert.same({ 5, 2, 0 }, { err.fault, count, #world.ran })
  end)
end)

it("a vehicle whose handshake leaves no counter is an error before anything is sent", function()
  local pool = require "fleet.signing.session_pool"
  local prepare = pool.prepare
  finally(function() pool.prepare = prepare end)
  function pool.prepare() return false, "begin" end
  local value, err, kind = world:car():honk_horn()
  assert.same({ nil, "protocol", "not_sent", 0 }, { value, kind, err.outcome, world:sent "command" })
  assert.matches("all counters of this key are used", err.message, 1, true)
end)

-- ---- counters that others use ----

describe("a machine without a common store", function()
  it("makes sure of its session before what must run once, and of nothing before what sets a value", function()
    local car, other = world:car(), world:car()
    assert(car:honk_horn())
    assert(other:honk_horn())
    assert(car:set_charge_limit { percent = 64 }) -- fault 6: somebody else is there
    fleet.sleep(10)
    world:forget()
    assert(car:honk_horn())
    assert.same({ "handshake", "command" }, world.messages)
    fleet.sleep(9)
    assert(car:honk_horn())
    assert.equal(1, world:sent "handshake")
    fleet.sleep(10)
    assert(car:set_charge_limit { percent = 65 })
    assert.equal(1, world:sent "handshake")
  end)

  it("makes sure with the key of the session, and with another one when that was removed", function()
    local fresh = fleet.key.generate()
    local car, other = world:car { key = { fresh, world.keys[1] } }, world:car()
    assert(car:honk_horn())
    assert(other:honk_horn())
    assert(car:set_charge_limit { percent = 64 })
    fleet.sleep(10)
    world:forget()
    assert(car:honk_horn())
    assert.same({ "handshake", "command" }, world.messages)
    event("pair_key", { public_key = signed_world.hex(fresh) })
    event("remove_key", { public_key = signed_world.hex(world.keys[1]) })
    fleet.sleep(10)
    world:forget()
    assert(car:honk_horn())
    assert.same({ "handshake", "handshake", "command" }, world.messages)
  end)

  it("whose key was removed fails with that reason before anything is sent", function()
    local car, other = world:car(), world:car()
    assert(car:honk_horn())
    assert(other:honk_horn())
    assert(car:set_charge_limit { percent = 64 })
    event("remove_key", { public_key = signed_world.hex(world.keys[1]) })
    fleet.sleep(10)
    world:forget()
    local _, err = car:honk_horn()
    assert.same({ "key_not_paired", "not_sent" }, { err.kind, err.outcome })
    assert.same({ "handshake" }, world.messages)
  end)

  it("that has its vehicle for itself never does", function()
    local car = world:car()
    assert(car:honk_horn())
    event "restart"
    fleet.sleep(3600)
    world:forget()
    assert(car:honk_horn()) -- fault 15, signed again
    fleet.sleep(3600)
    assert(car:honk_horn())
    assert.same({ "command", "command", "command" }, world.messages)
  end)
end)

-- ---- two keys ----

describe("a change of keys", function()
  it("uses the old key until the new one is on the vehicle, and the new one when the old one is gone", function()
    local fresh, store = fleet.key.generate(), fleet.store.memory()
    local car, client = world:car { key = { fresh, world.keys[1] }, store = store }
    assert(car:honk_horn())
    assert.same({ "handshake", "handshake", "command" }, world.messages)
    client:close()
    car = world:car { key = { fresh, world.keys[1] }, store = store }
    world:forget()
    assert(car:honk_horn())
    assert.same({ "command" }, world.messages)
    event("pair_key", { public_key = signed_world.hex(fresh) })
    event("remove_key", { public_key = signed_world.hex(world.keys[1]) })
    world:forget()
    local _, err = car:honk_horn()
    assert.same({ "key_not_paired", "refused" }, { err.kind, err.outcome })
    assert(car:honk_horn())
    assert.same({ "command", "handshake", "command" }, world.messages)
    assert.equal(1, #world.ran)
  end)

  it("does not disturb a command that may be repeated", function()
    local fresh = fleet.key.generate()
    local car = world:car { key = { fresh, world.keys[1] } }
    assert(car:flash_lights())
    event("pair_key", { public_key = signed_world.hex(fresh) })
    event("remove_key", { public_key = signed_world.hex(world.keys[1]) })
    assert(car:set_charge_limit { percent = 64 })
  end)

  it("reports that neither is on the vehicle", function()
    local _, err = world:car { key = { fleet.key.generate(), fleet.key.generate() } }:honk_horn()
    assert.same({ "key_not_paired", "not_sent" }, { err.kind, err.outcome })
    assert.equal(2, world:sent "handshake")
  end)
end)

-- ---- data ----

describe("signed_data", function()
  it("reads the sections that were asked for", function()
    local data = assert(world:car():signed_data { "charge", "climate" })
    assert.is_true(data.authenticated)
    assert.equal(world.sim:section("charge_state", VIN).battery_level, data.charge_state.battery_level)
    assert.is_table(data.climate_state)
    assert.is_nil(data.drive_state)
  end)

  it("has the sections' names and the values of vehicle_data: words, numbers, times", function()
    new_world { vehicle = {
      charge_state = { charging_state = "Disconnected", scheduled_departure_time = 1773140000, scheduled_charging_mode = "StartAt" },
      climate_state = { climate_keeper_mode = "camp", defrost_mode = 2, cabin_overheat_protection = "FanOnly",
        cop_activation_temperature = "Low", steering_wheel_heat_level = 3 },
      vehicle_state = { tonneau_state = "open", sun_roof_state = "vent" },
    } }
    local car = world:car()
    local wall = select(2, fleet.loop.clock())
    local signed = assert(car:signed_data { "charge", "climate", "closures", "drive", "location", "charge_schedule",
      "preconditioning_schedule" })
    local read = assert(car:vehicle_data { endpoints = { "charge_state", "climate_state", "drive_state", "location_data" } })
    for section, members in pairs {
      charge_state = "charging_state conn_charge_cable scheduled_charging_mode scheduled_departure_time preconditioning_times "
        .. "charge_port_latch battery_level",
      climate_state = "climate_keeper_mode defrost_mode cabin_overheat_protection cop_activation_temperature steering_wheel_heat_level",
      drive_state = "shift_state",
    } do
      for member in string.gmatch(members, "%S+") do
        local plain = read[section][member]
        assert.equal(plain ~= fleet.null and plain or nil, signed[section][member], member)
      end
    end
    assert.equal("number", type(signed.location_state.gps_as_of))
    assert.equal("wgs", signed.location_state.native_type)
    assert.is_true(math.abs(signed.charge_state.timestamp - wall * 1000) < 60000)
    assert.same({ "OPEN", "vent" }, { signed.closures_state.tonneau_state, signed.closures_state.sun_roof_state })
    assert.is_table(signed.charge_schedule_data)
    assert.is_table(signed.preconditioning_schedule_data)
    assert.is_nil(signed.charge_schedule_state)
  end)

  it("keeps a text that looks like a number, and ids as numbers", function()
    local car = world:car()
    local schedule = { days_of_week = "All", enabled = true, start_enabled = true, start_time = 60, end_enabled = false, lat = 52.5,
      lon = 13.25, name = "Name007", id = 123456789012345 }
    assert(car:add_charge_schedule(schedule))
    local entry = assert(car:signed_data { "charge_schedule" }).charge_schedule_data.charge_schedules[1]
    assert.same({ "Name007", 123456789012345, 127 }, { entry.name, entry.id, entry.days_of_week })
  end)

  it("raises for what it does not know", function()
    local car = world:car()
    assert.has_error(function() car:signed_data { "charg" } end, "signed_data: unknown section 'charg', did you mean 'charge'?")
    assert.has_error(function() car:signed_data {} end)
    assert.has_error(function() car:signed_data() end)
  end)

  for _, fault in ipairs { "epoch_change", "corrupted_tag", "lost", "vehicle_key_change", "counter_lowered", "clock_step", "reordered" } do
    it("goes on after " .. fault, function()
      local car = world:car()
      assert(car:flash_lights())
      world:fault(fault, 1)
      local data, err = car:signed_data { "charge" }
      assert(data or err.outcome == nil, tostring(err))
      if fault ~= "corrupted_tag" then assert(data, tostring(err)) end
    end)
  end

  it("needs a key, a VIN and a vehicle that speaks the protocol", function()
    local car, requests = seam.car(seam.done)
    local _, _, kind = car:signed_data { "charge" }
    assert.same({ "unsupported", 0 }, { kind, #requests })
    new_world { vehicle = { vehicle_command_protocol_required = false } }
    local value, err = world:car():signed_data { "charge" }
    assert.is_nil(value)
    assert.equal(422, err.status)
  end)
end)

-- ---- the command line ----

it("fleet honk_horn VIN signs when a key is configured", function()
  local directory = os.tmpname()
  os.remove(directory)
  assert(os.execute("mkdir -m 700 '" .. directory .. "'"))
  assert(world.keys[1]:save(directory .. "/key.pem"))
  local result = cli.run({ "honk_horn", VIN, "--json" }, {
    env = { FLEET_TOKEN = world.token, FLEET_KEY = directory .. "/key.pem", FLEET_BASE_URL = "https://base" }, http = world:http(),
  })
  os.execute("rm -r '" .. directory .. "'")
  assert.equal(0, result.status, result.err)
  assert.equal("signed", result.json.via)
  assert.same({ "honk_horn" }, world.ran)
end)

it("the simulated vehicle of all this refuses unsigned commands", function()
  assert.equal(403, (world.sim:command("honk_horn", {}, simulated.CAR)))
  assert.equal(0, #world.ran)
  assert.is_function(core.receiver)
end)

describe("a schedule that is added without an id", function()
  local function schedule(at)
    return { days_of_week = "All", enabled = true, start_enabled = true, start_time = at, end_enabled = false, lat = 52.5, lon = 13.4 }
  end

  it("gets one that no other call draws, which the result names, in every form", function()
    for _, options in ipairs { {}, { commands = "plain", vehicle = { vehicle_command_protocol_required = false } } } do
      new_world { vehicle = options.vehicle }
      local store = fleet.store.memory()
      local cars = { world:car { commands = options.commands, store = store }, world:car { commands = options.commands, store = store } }
      local ids = {}
      for i = 1, 6 do
        local car = cars[i % 2 + 1]
        local done = assert(car:add_charge_schedule(schedule(360 + i)))
        assert.is_number(done.id)
        assert.is_nil(ids[done.id])
        ids[done.id] = 360 + i
        local other = assert(car:add_precondition_schedule {
          days_of_week = "All", enabled = true, precondition_time = 400, lat = 52.5, lon = 13.4 })
        assert.is_nil(ids[other.id])
      end
      local list = world.sim:section("charge_schedule_data", VIN).charge_schedules
      assert.equal(6, #list)
      for _, seen in ipairs(list) do assert.equal(ids[seen.id], seen.start_time) end
      local first = list[1].id
      assert(cars[1]:remove_charge_schedule { id = first })
      assert.equal(5, #world.sim:section("charge_schedule_data", VIN).charge_schedules)
    end
  end)

  it("keeps the id that was given, and replaces with it", function()
    local car = world:car()
    local params = schedule(360)
    params.id = "7"
    assert.equal(7, assert(car:add_charge_schedule(params)).id)
    params.start_time = 420
    assert.equal(7, assert(car:add_charge_schedule(params)).id)
    assert.equal(1, #world.sim:section("charge_schedule_data", VIN).charge_schedules)
    assert.is_nil(assert(car:remove_charge_schedule { id = 7 }).id)
  end)
end)

describe("a plain command whose refusal says that unsigned ones are locked out", function()
  local locked = { status = 200, headers = {}, body = '{"response":{"result":false,"reason":"unsigned_cmds_hardlocked"}}' }

  it("is signed at once where there is a key, and says without one that a key is needed", function()
    local _, err = seam.car(seam.refused "unsigned_cmds_hardlocked"):flash_lights()
    assert.same({ "key_not_paired", "refused", "unsigned_cmds_hardlocked" }, { err.kind, err.outcome, err.reason })
    local deliver = world:http()
    local store = fleet.store.memory()
    store:put("plain/" .. VIN, "1")
    local car = world:car { store = store, http = function(request)
      local reply = deliver(request)
      return world:kind(request) == "plain" and locked or reply
    end }
    assert.equal("signed", assert(car:flash_lights()).via)
    assert.same({ "plain", "handshake", "command" }, world.messages)
  end)
end)

it("a record of another vehicle is no answer to a call about this one", function()
  local other = "5YJ3E7EB1KF000002"
  local function reply(vin)
    return seam.car(function() return { status = 200, headers = {}, body = ('{"response":{"vin":"%s","state":"online"}}'):format(vin) } end)
  end
  local value, err, kind = reply(other):vehicle_data()
  assert.same({ nil, "protocol" }, { value, kind })
  assert.matches("another vehicle", err.message)
  value, err, kind = reply(other):wake_up() -- its reply is closed with its result
  assert.same({ nil, "protocol", "unknown" }, { value, kind, err.outcome })
  assert(reply(seam.vin):vehicle_data())
  assert(reply(seam.vin):wake_up())
  assert(reply(""):vehicle_data())
end)
