-- A host's finaliser may call the service, wherever it runs: in a task, while one begins to wait, while replies and requests are
-- handed out. It waits there as a coroutine that is no task, and turns the loop.

local core = require "fleet.core"
local fleet = require "fleet"
local finalisers = require "spec.support.harness.finalisers"
local server = require "fleet.server"

local VINS = { "5YJ3E1EA7KF000001", "5YJ3E1EA7KF000002" }

describe("a finaliser of the host's that reads a vehicle", function()
  local opened, clients

  -- Each reply says which vehicle was asked for; status: of the replies.
  local function open(status)
    opened, clients = assert(server.new { loop = fleet.loop, on_request = function(request, fields)
      local vin = fields.path:match("vehicles/(%w+)")
      request:respond(status, { ["content-type"] = "application/json" }, '{"response":{"vin":"' .. vin .. '","state":"online"}}')
    end }), {}
    for i = 1, 2 do
      clients[i] = fleet.new { token = "t0ken", base_url = "http://127.0.0.1:" .. opened:port() }
      core.context(clients[i]).config.log = nil -- the suite listens, and then no read is a usual one
    end
  end

  after_each(function()
    for _, client in ipairs(clients) do client:close() end
    opened:close()
  end)

  -- read(client, vin) in tasks and in finalisers; check(its results, vin)
  local function read_everywhere(read, check)
    local nested = 0
    finalisers.among(function(n)
      if n % 3 ~= 0 then return end
      check(VINS[2], read(clients[2], VINS[2]))
      nested = nested + 1
    end, function()
      local tasks = {}
      for i = 1, 3 do
        tasks[i] = fleet.spawn(function()
          for _ = 1, 3 do check(VINS[1], read(clients[1], VINS[1])) end
        end)
      end
      for i = 1, 3 do tasks[i]:wait() end
    end, 300)
    assert.is_true(nested > 10)
    for i = 1, 2 do assert.equal(0, core.context(clients[i]).under_way) end
  end

  it("gets its own reply, and so do the tasks", function()
    open(200)
    read_everywhere(function(client, vin) return client:vehicle(vin):info() end, function(vin, info, err)
      assert(info, err)
      assert.equal(vin, info.vin)
    end)
  end)

  it("gets its own failure, and so do the tasks", function()
    open(404)
    read_everywhere(function(client, vin) return client:vehicle(vin):info() end, function(_, info, err)
      assert.same({ nil, "not_found" }, { info, err.kind })
    end)
  end)
end)
