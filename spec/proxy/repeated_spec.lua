-- Commands that repeat an earlier one, on warm sessions: each is decided anew, counted once, and carried out at most once whatever
-- fault it meets; whatever is raised on the way, nothing stays held.
local command = require "fleet.signing.command"
local core = require "fleet.core"
local faults = require "fleet.sim.faults"
local fleet = require "fleet"
local lifetime = require "fleet.call.lifetime"
local proxies = require "fleet.proxy"
local process = require "spec.support.harness.process"
local routes = require "fleet.proxy.routes"
local served = require "spec.support.servers.signed_sim"
local tasks = require "fleet.async"

describe("a repeated command", function()
  local sim, opened, audited, count

  before_each(function()
    sim, opened, audited, count = served.start(), {}, {}, nil
  end)

  after_each(function()
    for _, object in ipairs(opened) do object:close() end
    sim:close()
    sim, opened = nil, nil
  end)

  local function open(options, of_client)
    options, count = options or {}, fleet.metrics.prometheus()
    local given = {
      base_url = sim.sim.base_url, token = sim:token(), key = sim.key, commands = "signed", metrics = count, timeout = 30,
    }
    for name, value in pairs(of_client or {}) do given[name] = value or nil end
    local client = fleet.new(given)
    for name, value in pairs {
      client = client, listen = "127.0.0.1:0", secret = "a-secret-of-16-bytes",
      audit = function(entry) audited[#audited + 1] = entry end,
    } do
      if options[name] == nil then options[name] = value end
    end
    options.secret = options.secret or nil
    core.context(client).logs_attempts = false
    local proxy = assert(proxies.new(options))
    opened[#opened + 1], opened[#opened + 2] = proxy, client
    return proxy, client
  end

  local function ask(proxy, name, body, more)
    local lines = {
      "POST /api/1/vehicles/" .. served.VIN .. "/command/" .. name .. " HTTP/1.1", "Host: localhost",
      "Authorization: Bearer " .. ((more or {}).secret or "a-secret-of-16-bytes"), "Content-Type: application/json",
    }
    for _, line in ipairs(more or {}) do lines[#lines + 1] = line end
    return assert(served.raw(proxy, lines, body or "{}"), "no answer")
  end

  local function text_of(proxy)
    return proxy.service.metrics:text { waiting = 0, connections = 0, tokens = {} }
  end

  it("is answered, counted and written down as the first was", function()
    local proxy = open()
    local first, second = ask(proxy, "honk_horn"), ask(proxy, "honk_horn")
    assert.same({ 200, first.body, first.headers["content-type"] }, { second.status, second.body, second.headers["content-type"] })
    assert.same({ "honk_horn", "honk_horn" }, sim.ran)
    audited[1].time, audited[1].ms, audited[2].time, audited[2].ms = nil, nil, nil, nil
    assert.same(audited[1], audited[2])
    assert.matches('fleet_proxy_commands_total{outcome="done",kind=""} 2', text_of(proxy), 1, true)
    assert.matches('fleet_proxy_requests_total{status="200"} 2', text_of(proxy), 1, true)
    assert.matches('call="signed_command",class="command",status="200",kind=""} 3', count:text(), 1, true) -- with the handshake
    assert.matches('fleet_billed_total{class="command"} 3', count:text(), 1, true)
  end)

  it("keeps its client open until the last call under way has ended", function()
    sim:close()
    local other, seen = "5YJ3FLEE9RF000002", {}
    sim = served.start { other }
    local proxy, client = open()
    local context, first = core.context(client), proxy.service.clients
    local function ask_both()
      fleet.run(function()
        local asked = {}
        for i, vin in ipairs { served.VIN, other } do
          asked[i] = fleet.spawn(served.raw_in_task, proxy, {
            "POST /api/1/vehicles/" .. vin .. "/command/honk_horn HTTP/1.1", "Host: localhost",
            "Authorization: Bearer a-secret-of-16-bytes", "Content-Type: application/json",
          }, "{}")
        end
        for _, one in ipairs(asked) do assert.equal(200, one:wait().status) end
      end)
    end
    ask_both()
    function sim.on_run()
      seen[#seen + 1] = { context.under_way > 0, first.users > 0, proxy.in_flight, proxy.service.metrics.in_flight }
      if #seen == 1 then client:close() end
    end
    ask_both()
    for _, one in ipairs(seen) do assert.same({ true, true, one[3], one[3] }, one) end
    assert.is_true(seen[1][3] == 2 or seen[2][3] == 2)
    assert.same({ 0, 0, 0, 0 }, { context.under_way, first.users, proxy.in_flight, proxy.service.metrics.in_flight })
    assert.is_nil(next(proxy.service.queue.places))
    assert.is_nil(next(context.sessions)) -- the client was closed behind the last
  end)

  it("takes parameters where they are the same", function()
    local proxy = open()
    for _, percent in ipairs { 60, 60, 70 } do
      assert.equal(200, ask(proxy, "set_charge_limit", ('{"percent":%d}'):format(percent)).status)
    end
    assert.same({ "set_charge_limit", "set_charge_limit" }, sim.ran) -- the second one had nothing to change
  end)

  it("needs the secret again, counts for the limit of calls, and is not sent again with the same key", function()
    local proxy = open()
    ask(proxy, "honk_horn")
    assert.equal(401, ask(proxy, "honk_horn", nil, { secret = "a-secret-of-17-bytes" }).status)
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn", nil, { "Idempotency-Key: one" }).status) end
    assert.equal(2, #sim.ran)
    local limited = open { per_minute = 2 }
    local statuses = {}
    for i = 1, 3 do statuses[i] = ask(limited, "honk_horn").status end
    assert.same({ 200, 200, 429 }, statuses)
  end)

  it("is refused after a reload that no longer allows it", function()
    local proxy, client = open()
    for _ = 1, 2 do ask(proxy, "honk_horn") end
    local closes = client.close
    assert.is_function(closes)
    assert(proxy:reload {
      client = client, listen = "127.0.0.1:0",
      callers = { one = { secret = "a-secret-of-16-bytes", rows = { "flash_lights" } } },
    })
    assert.equal(403, ask(proxy, "honk_horn").status)
  end)

  it("of a removed caller is refused on a connection that was kept over the reload", function()
    local proxy, client = open { callers = { one = { secret = "a-secret-of-16-bytes" }, two = { secret = "another-secret-of-25-bytes" } } }
    local lines = {
      "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1", "Host: localhost",
      "Authorization: Bearer a-secret-of-16-bytes", "Content-Type: application/json",
    }
    local statuses = served.on_connection(proxy, function(_, say)
      local first = say(lines, "{}").status
      assert(proxy:reload { client = client, listen = "127.0.0.1:0", callers = { two = { secret = "another-secret-of-25-bytes" } } })
      return { first, say(lines, "{}").status }
    end)
    assert.same({ 200, 401 }, statuses)
    assert.same({ "honk_horn" }, sim.ran)
  end)

  it("on a Unix socket is each time that of the user who asks", function()
    local directory = process.temporary("peer")
    finally(function() process.execute("rm -rf " .. process.quote(directory)) end)
    local proxy = open {
      listen = "unix:" .. directory .. "/socket", secret = false,
      callers = { ["local"] = { rows = { "flash_lights" } }, one = { uid = 70001, rows = { "honk_horn" } } },
    }
    local lines = { "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1", "Host: localhost",
      "Content-Type: application/json" }
    local users, statuses, decide = { 70001, 70002, 70001 }, {}, proxy.admission.caller
    for i, uid in ipairs(users) do
      function proxy.admission.caller(admission, _, asked)
        return decide(admission, { peer = function() return nil, uid end }, asked)
      end
      statuses[i] = served.raw(proxy, lines, "{}").status
    end
    assert.same({ 200, 403, 200 }, statuses)
  end)

  it("is decided by the options of a reload that came between its arrival and its task", function()
    local proxy, client = open { callers = { one = { secret = "a-secret-of-16-bytes-too" } } }
    local admission = proxy.admission
    local admits = admission.caller
    function admission.caller(...)
      admission.caller = admits
      fleet.spawn(function() -- before the task of the request
        assert(proxy:reload {
          client = client, listen = "127.0.0.1:0",
          callers = { one = { secret = "a-secret-of-16-bytes-too", rows = { "flash_lights" } } },
        })
      end)
      return admits(...)
    end
    assert.equal(403, ask(proxy, "honk_horn", nil, { secret = "a-secret-of-16-bytes-too" }).status)
    assert.equal(0, #sim.ran)
    assert.equal(200, ask(proxy, "flash_lights", nil, { secret = "a-secret-of-16-bytes-too" }).status)
  end)

  it("continues with shared sessions after a reload closed the other client", function()
    local second = fleet.new { base_url = sim.sim.base_url, token = sim:token(), key = sim.key, commands = "signed", account = "second" }
    local proxy, client = open { accounts = { second = second } }
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    assert(proxy:reload { client = client, listen = "127.0.0.1:0", secret = "a-secret-of-16-bytes" })
    assert.is_true(core.context(second).closed)
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    assert.equal(4, #sim.ran)
  end)

  for _, what in ipairs { "audit", "metrics" } do
    it("has a task for an owner's function that may wait: " .. what, function()
      local outside, inside = 0, 0
      local function waits()
        if tasks.current() then inside = inside + 1 else outside = outside + 1 end
        fleet.sleep(0.01)
      end
      local proxy = open({ audit = what == "audit" and waits or nil }, { metrics = what == "metrics" and waits or nil })
      for _ = 1, 3 do assert.equal(200, ask(proxy, "honk_horn").status) end
        assert.is_true(inside >= 3)
      assert.equal(0, outside)
    end)
  end

  it("passes a refusal of the vehicle on unchanged", function()
    local proxy = open()
    for _ = 1, 2 do assert.equal(200, ask(proxy, "charge_port_door_open").status) end
    local vehicle_says = sim.sim.service.obey
    sim.sim.service.obey = function() return "cabin_overheat" end
    local reply = ask(proxy, "charge_port_door_open")
    sim.sim.service.obey = vehicle_says
    assert.same({ result = false, reason = "cabin_overheat" }, core.json_decode(reply.body).response)
    assert.same({ "refused", "refused" }, { audited[3].outcome, audited[3].kind })
    assert.equal(200, ask(proxy, "charge_port_door_open").status)
  end)

  it("that ends in a mistake of ours is unknown, and holds nothing", function()
    local proxy, client = open()
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    local meter = core.context(client).meter
    local pending = meter.pending
    meter.pending = nil -- counting raises, before anything was given back
    local reply = ask(proxy, "honk_horn")
    meter.pending = pending
    assert.same({ 500, "unknown" }, { reply.status, reply.headers["x-fleet-outcome"] })
    assert.is_false(proxy.service.queue:is_busy(served.VIN))
    assert.same({ 0, 0, 0 }, { proxy.in_flight, proxy.service.metrics.in_flight, core.context(client).under_way })
    assert.equal(200, ask(proxy, "honk_horn").status)
    assert.equal(4, #sim.ran)
  end)

  it("after which the counters could not be written is unknown, and holds nothing", function()
    local proxy, client = open()
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    local context = core.context(client)
    local after_call, raised = lifetime.after_call, 0
    lifetime.after_call = function()
      raised = raised + 1
      error("not enough memory", 0)
    end
    context.meter.written = -math.huge
    local reply = ask(proxy, "honk_horn")
    lifetime.after_call = after_call
    assert.same({ 500, "unknown", 1 }, { reply.status, reply.headers["x-fleet-outcome"], raised })
    assert.same({ 0, 0, 0, 0 }, { proxy.in_flight, proxy.service.metrics.in_flight, context.under_way, proxy.service.clients.users })
    assert.equal(200, ask(proxy, "honk_horn").status)
    assert.equal(4, #sim.ran)
  end)

  it("whose audit line cannot be written is done all the same, and the proxy's health says so", function()
    local fails = false
    local proxy = open { audit = function() if fails then error("no room", 0) end end }
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    fails = true
    assert.equal(200, ask(proxy, "honk_horn").status)
    assert.matches('fleet_proxy_commands_total{outcome="done",kind=""} 3', text_of(proxy), 1, true)
    assert.matches("fleet_proxy_audit_failures_total 1", text_of(proxy), 1, true)
    local function health(path) return served.raw(proxy, { "GET " .. path .. " HTTP/1.1", "Host: localhost" }) end
    assert.same({ 200, "OK, but the audit cannot be written" }, { health("/health").status, health("/health").body })
    fails = false
    ask(proxy, "honk_horn")
    assert.same({ 200, "ok" }, { health("/status").status, health("/status").body })
  end)

  -- Where something may be raised while a command is under way.
  local mistakes = {
    ["when its route is found"] = function() return routes, "find" end,
    ["when its vehicle is found"] = function(proxy) return proxy.service.clients, "car" end,
    ["when its call is planned"] = function() return core, "plan" end,
    ["when its call is performed"] = function() return command, "perform" end,
    ["when there is no memory for its place in the queue"] = function(proxy) return proxy.service.queue, "enter" end,
  }

  for where, mistake in pairs(mistakes) do
    it("that ends in a mistake " .. where .. " is answered with 500 and holds nothing", function()
      local proxy, client = open()
      local context = core.context(client)
      for _ = 1, 2 do assert.equal(200, ask(proxy, "charge_port_door_open").status) end
      local table_of, name = mistake(proxy)
      local right, raised = table_of[name], 0
      table_of[name] = function()
        raised, table_of[name] = raised + 1, right
        error("not enough memory", 0)
      end
      local reply = ask(proxy, "charge_port_door_open")
      table_of[name] = right
      assert.same({ 500, "unknown", 1 }, { reply.status, reply.headers["x-fleet-outcome"], raised })
      assert.is_false(proxy.service.queue:is_busy(served.VIN))
      assert.same({ 0, 0, 0, 0 }, { proxy.in_flight, proxy.service.metrics.in_flight, context.under_way, proxy.service.clients.users })
      for _, slot in pairs(context.sessions) do assert.equal(0, slot[served.VIN] and slot[served.VIN].users or 0) end
      assert.equal(200, ask(proxy, "charge_port_door_open").status)
    end)
  end

  it("is passed on with the caller's token, and its 401 is the service's", function()
    local proxy = open({ pass_through = true, secret = false }, { token = "unused" })
    local token = sim:token()
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn", nil, { secret = token }).status) end
    sim:expire()
    local reply = ask(proxy, "honk_horn", nil, { secret = token })
    assert.same({ 401, 2 }, { reply.status, #sim.ran })
  end)

  it("that is refused for its token is signed anew where a new one comes after its message's life", function()
    local given = {
      auth_url = sim.sim.auth_url, token_url = sim.sim.token_url, client_id = "c", client_secret = "s",
      redirect_uri = "http://localhost/cb", scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds" },
      token = false, timeout = 60,
    }
    local proxy, client = open(nil, given)
    local oauth, clock = sim.sim.service.oauth, fleet.loop.clock
    local url, pending = client:authorize_url()
    local _, headers = oauth:authorize(require("fleet.sim.text").form(url:match("%?(.*)$")), false)
    assert(client:authorize(headers.Location, pending))
    for _ = 1, 2 do assert.equal(200, ask(proxy, "honk_horn").status) end
    sim:expire()
    local gives = oauth.token
    function oauth.token(...)
      local mono, wall = clock()
      function fleet.loop.clock() return mono + 20, wall + 20 end
      return gives(...)
    end
    local reply = ask(proxy, "honk_horn")
    oauth.token, fleet.loop.clock = gives, clock
    assert.same({ 200, 3 }, { reply.status, #sim.ran })
  end)

  local forms = {
    corrupted_tag = { {}, { of = "request" } }, lost = { {}, { of = "request" } },
    duplicated = { {}, { of = "request" }, { of = "request", answer = "second" } },
  }

  for _, fault in ipairs(faults.names()) do
    for _, form in ipairs(forms[fault] or { {} }) do
      for _, name in ipairs { "honk_horn", "set_charge_limit" } do
        local text = fault
        for key, value in pairs(form) do text = text .. ", " .. key .. " = " .. value end
        it("that meets the fault " .. text .. " is passed on unchanged: " .. name, function()
          local proxy = open()
          local body = name == "honk_horn" and "{}" or '{"percent":64}'
          for _ = 1, 2 do assert.equal(200, ask(proxy, name, body).status) end
          sim.ran = {}
          local options = { message = "command", row = "signed_command" }
          if fault == "token_error" or fault == "revoked" then options = {} end
          for key, value in pairs(form) do options[key] = value end
          sim:fault(fault, 1, options)
          local reply = ask(proxy, name, body)
          local outcome, done = reply.headers["x-fleet-outcome"], #sim.ran
          assert.is_true(done <= (name == "honk_horn" and 1 or 3), "done " .. done .. " times")
          assert.equal(outcome == "unknown" and "unknown" or audited[3].outcome, audited[3].outcome)
          if reply.status == 200 and core.json_decode(reply.body).response.result then assert.is_true(done >= 1) end
          if outcome == "not_sent" or outcome == "refused" then assert.equal(0, done, outcome .. ": " .. reply.body) end
          sim:clear()
          local slots = proxy.service.clients.first
          for _, slot in pairs(core.context(slots).sessions.infotainment) do assert.equal(0, slot.users) end
          assert.is_false(proxy.service.queue:is_busy(served.VIN))
          assert.same({ 0, 0 }, { proxy.in_flight, proxy.service.metrics.in_flight })
          assert.equal(0, core.context(slots).under_way)
        end)
      end
    end
  end
end)
