-- Rule R1 through two hops: our client, the proxy, the simulated service and a vehicle that verifies. Every fault behind the proxy
-- and every way in which the first hop breaks; what the caller is told is held against what the vehicle did.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local faults = require "fleet.sim.faults"
local fleet = require "fleet"
local services = require "fleet.proxy.service"
local signed_world = require "spec.support.fixtures.signed_world"

local forms = {
  clock_step = { {}, { seconds = -600 } }, corrupted_tag = { {}, { of = "request" } },
  duplicated = { {}, { of = "request" }, { of = "request", answer = "second" } }, lost = { {}, { of = "request" } },
}

local commands = {
  honk_horn = function(car, options) return car:honk_horn(options) end,
  set_charge_limit = function(car, options) return car:set_charge_limit({ percent = 64 }, options) end,
}

describe("through the proxy", function()
  local world, opened, client, asked

  -- The first hop, as the client's own HTTP. spoil(number) → what happens to the request with this number: "before" it is lost on
  -- the way there, "after" on the way back.
  local function first_hop(service, spoil)
    local caller = callers.new({}).default_caller
    return function(request)
      asked = asked + 1
      local what = spoil and spoil(asked)
      if what == "before" then return nil, "no connection", false end
      local path, query = request.url:match("^https?://[^/]+([^?]*)%??(.*)$")
      local status, headers, body = service:handle(caller, {
        method = request.method, path = path, query = query, headers = request.headers, body = request.body or "",
      })
      if what == "after" then return nil, "the connection was closed" end
      return { status = status, headers = headers, body = body }
    end
  end

  local function car_behind(spoil, more)
    local behind = clients.new(world:client(more))
    local service = services.new { clients = behind, timeout = 60 }
    opened[#opened + 1] = behind
    client = fleet.new {
      base_url = "https://proxy", proxy_url = "https://proxy", commands = "proxy", token = "any", timeout = 60,
      http = first_hop(service, spoil),
    }
    return client:vehicle(signed_world.VIN)
  end

  before_each(function() world, opened, asked = signed_world.new(), {}, 0 end)

  after_each(function()
    client:close()
    for _, behind in ipairs(opened) do behind:close() end
    client, opened = nil, nil
    world:close()
  end)

  -- What was told, held against what was done. most: how often it may have been done.
  local function check(value, err, most)
    local done = #world.ran
    assert.is_true(done <= most, "done " .. done .. " times")
    if value and value.changed then return assert.is_true(done >= 1, "said to be done") end
    if value then return end
    if err.outcome == "not_sent" or err.outcome == "refused" then assert.equal(0, done, err.outcome .. ": " .. err.message) end
    assert.is_truthy(err.outcome, err.message)
  end

  for _, fault in ipairs(faults.names()) do
    for _, form in ipairs(forms[fault] or { {} }) do
      for _, message in ipairs { "command", "handshake" } do
        for name, command in pairs(commands) do
          local text = ("%s of the %s, %s"):format(fault, message, name)
          for key, value in pairs(form) do text = text .. ", " .. key .. " = " .. value end
          it(text, function()
            local car = car_behind()
            local options = { message = message, row = "signed_command" }
            if fault == "token_error" or fault == "revoked" then options = {} end
            for key, value in pairs(form) do options[key] = value end
            world:fault(fault, 1, options)
            local value, err = command(car)
            check(value, err, name == "honk_horn" and 1 or 3)
            assert.is_true(name ~= "honk_horn" or world:sent("command") <= 2)
          end)
        end
      end
    end
  end

  it("a horn whose answer is lost on the first hop is unknown, and asked for once", function()
    local value, err = commands.honk_horn(car_behind(function() return "after" end))
    assert.same({ nil, "unknown" }, { value, err.outcome })
    assert.same({ 1, 1 }, { asked, #world.ran })
  end)

  it("a horn that never reached the proxy is not sent, or sent once", function()
    local value = commands.honk_horn(car_behind(function(number) return number == 1 and "before" or nil end))
    assert.is_true(value.changed)
    assert.same({ 2, 1 }, { asked, #world.ran })
    local _, err = commands.honk_horn(car_behind(function() return "before" end))
    assert.equal("not_sent", err.outcome)
    assert.equal(1, #world.ran)
  end)

  it("what sets a value is asked for again", function()
    local value = commands.set_charge_limit(car_behind(function(number) return number == 1 and "after" or nil end))
    assert.equal(2, asked)
    assert.is_truthy(value)
  end)

  it("two proxies on one store use one counter, one after the other", function()
    local store = fleet.store.memory()
    local first = car_behind(nil, { store = store })
    local one = client
    local second = car_behind(nil, { store = store })
    opened[#opened + 1] = one
    for _ = 1, 5 do
      assert.is_true(assert(first:honk_horn()).changed)
      world.time.advance(1) -- longer than one keeps the other waiting
      assert.is_true(assert(second:honk_horn()).changed)
      world.time.advance(1)
    end
    assert.equal(10, #world.ran)
  end)

  it("a client that believes in the header does so of a proxy only", function()
    local http = function() return { status = 503, headers = { ["x-fleet-outcome"] = "not_sent" }, body = "{}" } end
    client = fleet.new { base_url = "https://base", token = "any", commands = "plain", http = http }
    local _, err = client:vehicle(signed_world.VIN):honk_horn()
    assert.equal("unknown", err.outcome)
    client:close()
    client = fleet.new { base_url = "https://base", proxy_url = "https://base", token = "any", commands = "proxy", http = http }
    _, err = client:vehicle(signed_world.VIN):honk_horn()
    assert.equal("not_sent", err.outcome)
    assert.is_truthy(core.is_open(client))
  end)
end)
