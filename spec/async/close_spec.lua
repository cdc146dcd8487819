-- A client that is closed while calls are under way: what is on the wire ends with its true result, nothing more is sent,
-- nothing raises, and the store is closed behind the last of them.

local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"
local stores = require "spec.support.fixtures.stores"

local vin = "5YJ3E1EA7KF000001"
local fine = '{"response":{"result":true,"reason":""}}'
local server

setup(function() server = recorder.start() end)
teardown(function() server:stop() end)

-- Runs each function as a task, closes the client when so many requests have arrived, of which none is answered before, and returns
-- what each brought.
local function close_in_flight(client, arrived, functions)
  local results = {}
  fleet.run(function()
    for i, call in ipairs(functions) do
      fleet.spawn(function() results[i] = { pcall(call) } end)
    end
    repeat fleet.sleep(0.01) until #server:records() >= arrived
    client:close()
    server:release()
  end)
  for i = 1, #functions do assert(results[i][1], results[i][2]) end
  return results
end

local function new_client(more)
  local options = { base_url = server.url, token = not (more and more.client_id) and "t0ken" or nil }
  for name, value in pairs(more or {}) do options[name] = value end
  return fleet.new(options)
end

describe("closing with calls in flight", function()
  it("leaves commands and reads on the wire their true result", function()
    server:script {
      { on = "POST", hold = true, body = fine }, { on = "GET", hold = true, body = '{"response":{"state":"online"}}', times = 0 },
    }
    local client = new_client()
    local car = client:vehicle(vin)
    local results = close_in_flight(client, 3, {
      function() return car:honk_horn() end, function() return car:info() end, function() return car:info() end,
    })
    assert.is_true(results[1][2].changed)
    assert.equal("online", results[2][2].state)
    assert.equal("online", results[3][2].state)
    assert.equal("fleet.client (closed)", tostring(client))
  end)

  it("ends what would send again: closed, and the outcome of what was sent", function()
    server:script { { status = 503, body = "", hold = true, times = 0 } }
    local client = new_client()
    local car = client:vehicle(vin)
    local results = close_in_flight(client, 2, {
      function() return car:set_charge_limit { percent = 80 } end, function() return car:info() end,
    })
    assert.same({ "closed", "unknown" }, { results[1][4], results[1][3].outcome })
    assert.same({ "closed" }, { results[2][4], results[2][3].outcome })
    assert.equal(2, #server:records())
  end)

  it("ends waking, and who waits for it, without a further request", function()
    server:script { { on = "POST", hold = true, body = '{"response":{"state":"asleep"}}', times = 0 } }
    local client = new_client()
    local car = client:vehicle(vin)
    local results = close_in_flight(client, 1, {
      function() return car:wake() end, function() return car:wake() end,
    })
    for i = 1, 2 do assert.same({ "closed" }, { results[i][4] }) end
    assert.equal(1, #server:records())
  end)

  it("ends a walk through pages with an error, not with a shorter list", function()
    server:script { { hold = true, body = '{"response":[{"id":1}],"pagination":{"next":2},"count":1}', times = 0 } }
    local client = new_client()
    local seen = {}
    local results = close_in_flight(client, 1, { function()
      local _, failure = pcall(function() for record in client:vehicles() do seen[#seen + 1] = record end end)
      return failure
    end })
    assert.equal("closed", results[1][2] and results[1][2].kind)
  end)

  it("keeps the pair that an exchange brings", function()
    local directory = stores.directory()
    local store = assert(require("fleet.store").file(directory))
    local _, wall = core.clock()
    assert(store:put("token/default/user", core.json_encode {
      access_token = "a0", refresh_token = "r0", saved_at = wall - 9000, refreshed_at = wall - 9000, expires_at = wall - 100,
    }, { durable = true }))
    store:close()
    server:script {
      { on = "POST /oauth2", hold = true, body = '{"access_token":"a1","refresh_token":"r1","expires_in":28800}' },
    }
    local client = new_client { client_id = "app", store = directory, auth_url = server.url, token_url = server.url }
    local results = close_in_flight(client, 1, { function() return client.user:me() end })
    assert.equal("closed", results[1][4])
    assert.equal(1, #server:records())
    store = assert(require("fleet.store").file(directory))
    assert.equal("r1", core.json_decode((store:get "token/default/user")).refresh_token)
    store:close()
    stores.remove(directory)
  end)

  it("lets a program that changes clients go on", function()
    server:script { { delay = 0.05, body = '{"response":{"state":"online"}}', times = 0 } }
    local client, ended = new_client(), 0
    fleet.run(function()
      for _ = 1, 10 do
        fleet.spawn(function()
          for _ = 1, 3 do
            local value, _, kind = client:vehicle(vin):info()
            assert(value or kind == "closed", kind)
          end
          ended = ended + 1
        end)
      end
      fleet.sleep(0.02)
      local old = client
      client = new_client()
      old:close()
    end)
    assert.equal(10, ended)
    client:close()
  end)
end)
