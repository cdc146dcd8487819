-- The commands that are published in plain form only, and what any command does where the vehicle wants the other form.

local core = require "fleet.core"
local fleet = require "fleet"
local rows = require "fleet.call.rows"
local seam = require "spec.support.fixtures.host_http"
local signed_world = require "spec.support.fixtures.signed_world"
local signing = require "spec.support.fixtures.signing"
local vehicle_reply = require "spec.support.fixtures.vehicle_reply"

local world

local function new_world(options)
  if world then world:close() end
  world = signed_world.new(options)
  return world
end

after_each(function()
  if world then world:close() end
  world = nil
end)

-- What the service says of a plain command to a vehicle that requires signing.
local function must_sign()
  return { status = 403, headers = {}, body = '{"error":"Vehicle Command Protocol required"}' }
end

-- Vehicles that can do all of it.
local able = {
  vehicle_config = { sun_roof_installed = 1, can_accept_navigation_requests = true },
  climate_state = { is_climate_on = true, is_preconditioning = true },
}

-- speaks: the vehicle knows the protocol, whether or not it requires it.
local function able_world(protocol, speaks)
  local vehicle = { vehicle_command_protocol_required = protocol, protocol = speaks }
  for name, section in pairs(able) do vehicle[name] = section end
  return new_world { vehicle = vehicle }
end

local examples = {
  navigation_request = {
    type = "share_ext_content_raw", value = { ["android.intent.extra.TEXT"] = "Berlin" }, locale = "en-US",
    timestamp_ms = "1767225600000",
  },
  navigation_gps_request = { lat = 52.5, lon = 13.25, order = "replace" },
  navigation_sc_request = { id = 1001, order = "append" },
  navigation_waypoints_request = { waypoints = "refId:abc" },
  remote_boombox = { sound = "locate_ping" },
  sun_roof_control = { state = "vent" },
  remote_steering_wheel_heat_level_request = { level = "high" },
  remote_auto_steering_wheel_heat_climate_request = { on = true },
  upcoming_calendar_entries = { calendar_data = "[]" },
}

-- CarServer.Action, after the tag and length of vehicleAction: the fields are those of doc/protocol.md#commands.
local bytes = {
  navigation_request = "aa01080a064265726c696e",
  navigation_gps_request = "aa031409" .. "0000000000404a40" .. "11" .. "0000000000802a40" .. "1801",
  navigation_sc_request = "b2010508e9071003",
  navigation_waypoints_request = "d2050b0a0972656649643a616263",
  remote_boombox = "82040308d00f",
  sun_roof_control = "8202021a00",
  remote_steering_wheel_heat_level_request = "ba04020803",
  remote_auto_steering_wheel_heat_climate_request = "b204020801",
  upcoming_calendar_entries = "c201040a025b5d",
}

describe("a command that is published in plain form only", function()
  it("is one of nine", function()
    local names = {}
    for _, row in ipairs(rows.all()) do
      if row.flags.either_form then names[row.name] = true end
    end
    local expected = {}
    for name in pairs(examples) do expected[name] = true end
    assert.same(expected, names)
  end)

  for name, params in pairs(examples) do
    it(name .. " is written and read in the form that other clients send", function()
      local command = assert(fleet.command(name, params, { unpublished = true }))
      local inner = signing.unhex(bytes[name])
      assert.equal(signing.hex("\18" .. string.char(#inner) .. inner), signing.hex(command.payload))
      local read, values = core.decode_command("infotainment", command.payload)
      assert.equal(name, read)
      assert.is_table(values)
    end)

    it(name .. " has no form for fleet.command unless it is asked for", function()
      local command, err, kind = fleet.command(name)
      assert.same({ nil, "unsupported" }, { command, kind })
      assert.matches("unpublished = true", err.message, 1, true)
    end)

    it(name .. " reaches a vehicle that requires signing", function()
      local car = able_world(true):car()
      local done = assert(car[name](car, params))
      assert.equal(name == "navigation_request" and "plain" or "signed", done.via)
      assert.same({ name }, world.ran)
    end)

    it(name .. " reaches a vehicle that knows no signing", function()
      local car = able_world(false):car()
      assert.equal("plain", assert(car[name](car, params)).via)
      assert.same({ name }, world.ran)
    end)

    it(name .. " is tried in the other form once after a certain refusal", function()
      for _, fault in ipairs { 8, 9 } do
        able_world(false, true)
        local http, answered = vehicle_reply.always(world, fault)
        local car = world:car { http = http }
        assert.equal("plain", assert(car[name](car, params)).via)
        assert.equal(name == "navigation_request" and 0 or 1, answered.count)
        assert.same({ name }, world.ran)
      end
    end)

    it(name .. " says so when the vehicle takes neither form", function()
      able_world(true)
      local http, answered = vehicle_reply.always(world, 9)
      local car = world:car { http = function(request)
        if request.url:find("/command/", 1, true) then
          table.insert(world.messages, "plain")
          return must_sign()
        end
        return http(request)
      end }
      local value, err = car[name](car, params)
      assert.same({ nil, "unsupported", "refused" }, { value, err.kind, err.outcome })
      assert.matches("neither form", err.message)
      assert.not_matches("set a key", err.message)
      assert.same({ 1, 1 }, { answered.count, world:sent "plain" })
      assert.same({}, world.ran)
    end)

    it(name .. " is not tried in the other form after an outcome that is unknown", function()
      able_world(false, true)
      local car = world:car { http = (vehicle_reply.always(world, 25)) }
      if name == "navigation_request" then return end -- goes plain first
      local _, err = car[name](car, params)
      assert.same({ "unknown", 0, 1 }, { err.outcome, world:sent "plain", world:sent "command" })
    end)
  end

  it("goes past a proxy, which does not know it, and says how it could travel when the vehicle refuses that", function()
    local car, requests = seam.car(must_sign, { commands = "proxy", proxy_url = "https://proxy.example" })
    local _, err = car:remote_boombox { sound = "random" }
    assert.matches("^" .. seam.host, requests[1].url)
    assert.same({ "unsupported", "refused" }, { err.kind, err.outcome })
    assert.matches('commands = "auto"', err.message, 1, true)
  end)

  -- answer: what the proxy says.
  local function behind_proxy(answer)
    return seam.car(function(request)
      if request.url:find("^https://proxy%.example") then return seam.answer(answer) end
      return must_sign()
    end, { commands = "proxy", proxy_url = "https://proxy.example" })
  end

  for name, params in pairs(examples) do
    it(name .. " goes to the proxy once, where the vehicle wants it signed: a proxy may know it", function()
      local car, requests = behind_proxy(seam.done)
      assert.equal("proxy", assert(car[name](car, params)).via)
      assert.equal(2, #requests)
      assert.matches("^" .. seam.host, requests[1].url)
      assert.equal("https://proxy.example/api/1/vehicles/" .. seam.vin .. "/command/" .. name, requests[2].url)
      assert.equal(requests[1].body, requests[2].body)
    end)
  end

  it("says so where the proxy does not know it, and passes on what the vehicle says through it", function()
    for status, body in pairs { [400] = '{"error":"invalid_command"}', [404] = '{"error":"not found"}', [501] = "{}" } do
      local car, requests = behind_proxy { status = status, headers = {}, body = body }
      local _, err = car:remote_boombox { sound = "random" }
      assert.same({ "unsupported", "refused", 2 }, { err.kind, err.outcome, #requests })
      assert.matches("the proxy does not sign this one", err.message, 1, true)
    end
    local _, err = behind_proxy(seam.refused "user_not_present"):remote_boombox { sound = "random" }
    assert.same({ "refused", "user_not_present" }, { err.kind, err.reason })
    _, err = behind_proxy { status = 500, headers = {}, body = "{}" }:remote_boombox { sound = "random" }
    assert.same({ "service", "unknown" }, { err.kind, err.outcome })
  end)

  it("goes nowhere else after any other refusal of the plain way", function()
    for _, answer in ipairs { seam.refused "not_supported", { status = 503, headers = {}, body = "{}" },
      { status = 403, headers = {}, body = '{"error":"forbidden"}' } } do
      local car, requests = seam.car(answer, { commands = "proxy", proxy_url = "https://proxy.example" })
      assert.is_nil((car:remote_boombox { sound = "random" }))
      for _, request in ipairs(requests) do assert.matches("^" .. seam.host, request.url) end
    end
    local car, requests = behind_proxy(seam.done)
    assert.is_nil((car:sun_roof_control { state = "stop" })) -- has no signed form
    assert.equal(1, #requests)
  end)

  it("goes plain where this value has no signed form", function()
    local car = able_world(true):car()
    local _, err = car:sun_roof_control { state = "stop" }
    assert.same({ "unsupported", "refused", 0 }, { err.kind, err.outcome, world:sent "handshake" })
    assert.matches("state = 'stop' has no signed form", err.message, 1, true)
    car = able_world(false):car()
    assert(car:sun_roof_control { state = "stop" })
    assert.equal("plain", world.messages[#world.messages])
  end)

  it("is sent to the navigation in signed form where the vehicle refuses the plain one", function()
    able_world(true)
    local real = world:http()
    local car = world:car { http = function(request)
      if request.url:find("/command/", 1, true) then
        return must_sign()
      end
      return real(request)
    end }
    assert.equal("signed", assert(car:navigation_request(examples.navigation_request)).via)
    assert.same({ "navigation_request" }, world.ran)
  end)
end)

describe("a value that the signed form does not take", function()
  local loud = { volume = 11 }

  local function media(required)
    return new_world { vehicle = {
      vehicle_command_protocol_required = required, vehicle_state = { is_user_present = true, media_info = { audio_volume_max = 11 } },
    } }
  end

  it("goes plain where the vehicle may take that, without a handshake", function()
    local car = media(false):car()
    assert.equal("plain", assert(car:adjust_volume(loud)).via)
    assert.same({ "plain" }, world.messages)
  end)

  it("is an error of kind invalid where the vehicle takes signed commands: which form it takes is the world's", function()
    local car = media(true):car()
    local value, err, kind = car:adjust_volume(loud)
    assert.same({ nil, "invalid", "refused" }, { value, kind, err.outcome })
    assert.matches("'volume' must be 0 to 10 in signed form", err.message, 1, true)
    assert.same({ "plain" }, world.messages)
    value, err, kind = car:adjust_volume(loud) -- its refusal says which form it takes
    assert.same({ nil, "invalid", "not_sent", 1 }, { value, kind, err.outcome, #world.messages })
    assert(car:adjust_volume { volume = 10 })
    local sent = #world.messages
    value, err, kind = car:adjust_volume(loud)
    assert.same({ nil, "invalid", "not_sent", sent }, { value, kind, err.outcome, #world.messages })
    value, err, kind = world:car { commands = "signed" }:adjust_volume(loud)
    assert.same({ nil, "invalid", "not_sent", sent }, { value, kind, err.outcome, #world.messages })
  end)

  it("is a text, too, that the message has no place for", function()
    local params = { manual_override = "socdoors" }
    local car = new_world { vehicle = { vehicle_command_protocol_required = false } }:car()
    assert.equal("plain", assert(car:auto_conditioning_start(params)).via)
    car = new_world():car()
    local value, err, kind = car:auto_conditioning_start(params)
    assert.same({ nil, "unsupported", "refused" }, { value, kind, err.outcome })
    assert.matches("has no signed form", err.message)
    assert.equal("signed", assert(car:auto_conditioning_start { manual_override = true }).via)
  end)

  it("raises where no form takes it, and in fleet.command", function()
    local car = media(true):car()
    assert.error_matches(function() car:adjust_volume { volume = 11.5 } end, "'volume' must be 0 to 11")
    assert.error_matches(function() fleet.command("adjust_volume", loud) end, "'volume' must be 0 to 10 in signed form")
    assert.truthy(fleet.command("adjust_volume", { volume = 10 }))
    assert.equal(0, #world.messages)
  end)
end)

describe("a command without any signed form", function()
  it("says that nothing can carry it, with a key and without one", function()
    for _, key in ipairs { fleet.key.generate(), false } do
      local car = seam.car(must_sign, { key = key or nil })
      local _, err = car:take_drivenote { note = "x" }
      assert.same({ "unsupported", "refused" }, { err.kind, err.outcome })
      assert.matches("no signed form", err.message)
      assert.not_matches("set a key", err.message)
    end
  end)
end)

describe("a fault after which the command may have run", function()
  for _, number in ipairs { 25, 26, 99 } do
    it(number .. " is not repeated, even where the command sets a value", function()
      new_world()
      local http, answered = vehicle_reply.always(world, number)
      local _, err = world:car { http = http }:set_charge_limit { percent = 64 }
      assert.same({ number, "unknown", 1 }, { err.fault, err.outcome, answered.count })
    end)
  end

  it("such as a time-out of the vehicle is repeated where the command sets a value, and only there", function()
    new_world()
    local http, answered = vehicle_reply.always(world, 2)
    local car = world:car { http = http }
    local _, err = car:set_charge_limit { percent = 64 }
    assert.same({ 2, "unknown", 3 }, { err.fault, err.outcome, answered.count })
    _, err = car:honk_horn()
    assert.same({ 2, "unknown", 4 }, { err.fault, err.outcome, answered.count })
  end)
end)

describe("a failure of a signed command", function()
  local function request_of(http)
    new_world()
    local _, err = world:car { http = http and http(world) }:honk_horn()
    return err
  end

  it("names the command and not the message that carried it", function()
    local faults = {
      request_of(function(w) return (vehicle_reply.always(w, 9)) end),
      request_of(function(w) return (vehicle_reply.always(w, 3, { handshake = true })) end),
      request_of(function() return function() return { status = 500, headers = {}, body = "" } end end),
      request_of(function() return function() return nil, "cut", true end end),
    }
    assert.equal(4, #faults)
    for _, err in ipairs(faults) do
      assert.equal("POST /api/1/vehicles/{vin}/command/honk_horn", err.request)
      assert.not_matches("signed_command", err.message)
      assert.matches("honk_horn", tostring(err))
    end
  end)
end)
