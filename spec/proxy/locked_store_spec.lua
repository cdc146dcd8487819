-- A store in a directory that another program keeps locked: the proxy goes on, and what needs the store ends in its own time.
local cqueues = require "cqueues"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local proxies = require "fleet.proxy"
local served = require "spec.support.servers.signed_sim"

describe("the proxy before a store that another program keeps locked", function()
  local directory, sim, client, proxy, holder

  before_each(function()
    directory = process.temporary("locked")
    sim = served.start(nil, directory .. "/store")
    client = sim:client { timeout = 1 }
    proxy = assert(proxies.new { client = client, listen = "unix:" .. directory .. "/socket", timeout = 1 })
  end)

  after_each(function()
    if holder then holder:close() end
    proxy:close()
    client:close()
    sim:close()
    process.execute("rm -rf " .. process.quote(directory))
  end)

  local function hold()
    holder = assert(io.popen(("flock %s/store/lock sh -c 'echo held >%s/held; cat >/dev/null'"):format(directory, directory), "w"))
    served.wait(function() return io.open(directory .. "/held") ~= nil end)
  end

  local function say(lines, body)
    return served.raw_in_task(proxy, lines, body)
  end

  it("returns its health in the meantime, and ends a command that needs the store", function()
    local honk = { "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1", "Host: x", "Idempotency-Key: one" }
    local order, reply = {}, nil
    hold()
    fleet.run(function()
      local asked = fleet.spawn(function()
        reply = say(honk)
        order[#order + 1] = "command"
      end)
      while proxy.in_flight == 0 do fleet.sleep(0.001) end
      local health = say { "GET /health HTTP/1.1", "Host: x" }
      order[#order + 1] = "health"
      assert.equal(200, health.status)
      asked:wait()
    end)
    assert.same({ "health", "command" }, order)
    assert.equal(503, reply.status, reply.body)
    assert.same({}, sim.ran)
    holder:close()
    holder = nil
    cqueues.sleep(0)
    assert.equal(200, served.raw(proxy, { honk[1], honk[2], "Idempotency-Key: two" }).status)
    assert.same({ "honk_horn" }, sim.ran)
  end)
end)
