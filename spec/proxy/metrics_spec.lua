-- What GET /metrics says of a proxy that served: over a real socket, with the simulator behind it.
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local proxies = require "fleet.proxy"
local served = require "spec.support.servers.signed_sim"

describe("the proxy's figures", function()
  local sim, client, proxy, directory

  before_each(function() sim = served.start() end)

  local function open(budgets)
    directory = process.temporary("proxy-figures")
    os.execute("chmod 700 " .. process.quote(directory))
    client = sim:client { metrics = fleet.metrics.prometheus(), budgets = budgets }
    proxy = assert(proxies.new { client = client, listen = "127.0.0.1:0", secret_file = directory .. "/secret" })
  end

  after_each(function()
    proxy:close()
    client:close()
    sim:close()
    sim, proxy, client = nil, nil, nil
  end)

  local function lines(method, path)
    local secret = files.read(directory .. "/secret"):gsub("%s", "")
    return { method .. " " .. path .. " HTTP/1.1", "Host: 127.0.0.1:" .. proxy.server:port(), "Authorization: Bearer " .. secret }
  end

  local function command(name) return lines("POST", "/api/1/vehicles/" .. served.VIN .. "/command/" .. name) end

  local function figures_of(reply)
    local known = {}
    for name, value in reply.body:gmatch "([^#%s][^\n]*) ([^\n ]+)\n" do
      assert.is_nil(known[name], name .. " stands there twice")
      known[name] = tonumber(value)
    end
    return known
  end

  local function figures() return figures_of(served.raw(proxy, lines("GET", "/metrics"))) end

  it("count commands by their outcome, and requests by their status", function()
    open()
    local none = figures()
    assert.is_nil(none['fleet_proxy_commands_total{outcome="done",kind=""}'])
    served.raw(proxy, command "honk_horn")
    served.raw(proxy, command "honk_horn")
    served.raw(proxy, command "charge_start") -- it is not plugged in
    served.raw(proxy, lines("GET", "/nothing"))
    local known = figures()
    assert.equal(2, known['fleet_proxy_commands_total{outcome="done",kind=""}'])
    assert.equal(1, known['fleet_proxy_commands_total{outcome="refused",kind="refused"}'])
    assert.equal(3, known['fleet_proxy_requests_total{status="200"}'] - (none['fleet_proxy_requests_total{status="200"}'] or 0) - 1)
    assert.equal(1, known['fleet_proxy_requests_total{status="404"}'])
  end)

  it("put each command's time into the buckets that hold it", function()
    open()
    sim.sim:fault("slow", 1, { seconds = 0.3 })
    served.raw(proxy, command "honk_horn")
    served.raw(proxy, command "honk_horn")
    local known, before = figures(), 0
    for _, bound in ipairs { "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "+Inf" } do
      local inside = assert(known['fleet_proxy_command_seconds_bucket{le="' .. bound .. '"}'], bound)
      assert.is_true(inside >= before, bound)
      before = inside
    end
    assert.is_true(known['fleet_proxy_command_seconds_bucket{le="0.25"}'] <= 1, "what took 0.3 s is no answer within 0.25 s")
    assert.equal(2, known['fleet_proxy_command_seconds_bucket{le="+Inf"}'])
    assert.equal(2, known.fleet_proxy_command_seconds_count)
    assert.is_true(known.fleet_proxy_command_seconds_sum >= 0.3)
  end)

  it("count what waits for its vehicle and what is being served, and nothing of it afterwards", function()
    open()
    local seen
    local function look(seconds)
      sim.sim:fault("slow", 1, { seconds = seconds })
      local tasks, ended = {}, 0
      for i = 1, 3 do
        tasks[i] = fleet.spawn(function()
          served.raw_in_task(proxy, command "honk_horn")
          ended = ended + 1
        end)
      end
      repeat
        seen = figures_of(served.raw_in_task(proxy, lines("GET", "/metrics")))
      until seen.fleet_proxy_queue == 2 or ended == 3
      for _, task in ipairs(tasks) do task:wait() end
      return seen.fleet_proxy_queue == 2
    end
    -- where the machine stood still, the first may have been answered before the third came: then slower
    fleet.run(function() return look(0.5) or look(3) or look(10) end)
    assert.same({ 2, 3 }, { seen.fleet_proxy_queue, seen.fleet_proxy_in_flight })
    assert.is_true(seen.fleet_proxy_connections >= 4)
    local known = figures()
    assert.same({ 0, 0 }, { known.fleet_proxy_queue, known.fleet_proxy_in_flight })
  end)

  it("show the budget: what was sent, what was refused, and the token's age", function()
    open { per_day = { command = 4 } } -- the session costs one
    for _ = 1, 5 do served.raw(proxy, command "honk_horn") end
    local known = figures()
    assert.equal(3, known['fleet_proxy_commands_total{outcome="done",kind=""}'])
    assert.equal(2, known['fleet_proxy_commands_total{outcome="not_sent",kind="budget"}'])
    assert.equal(2, known['fleet_budget_total{limit="per_day.command",result="refused"}'])
    assert.equal(4, known['fleet_billed_total{class="command"}'])
    local labels = '{account="default",token="user"}'
    local age, left = known["fleet_proxy_token_age_seconds" .. labels], known["fleet_proxy_token_expires_seconds" .. labels]
    assert.is_true(age >= 0 and age < 28800 and left > 0 and left <= 28800)
  end)
end)
