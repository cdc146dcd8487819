-- Idempotency-Key: the first result, whichever proxy of one store is asked, while the first is under way as well; and nothing is
-- ever sent again for a key whose first holder died.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local sealing = require "fleet.store.sealed"
local services = require "fleet.proxy.service"
local signed_world = require "spec.support.fixtures.signed_world"

local function is_sealed(value)
  return value:sub(1, #core.seal_mark) == core.seal_mark
end

describe("an Idempotency-Key", function()
  local world, store, opened, audited, first, second

  local function serving()
    local made = clients.new(world:client { store = store })
    opened[#opened + 1] = made
    return services.new { clients = made, timeout = 30, audit = function(entry) audited[#audited + 1] = entry end }
  end

  local function ask(service, name, body, key, caller)
    local status, headers, text = service:handle(caller or callers.new({}).default_caller, {
      method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/" .. name, query = "",
      headers = { ["idempotency-key"] = key }, body = body or "",
    })
    return { status = status, outcome = headers["x-fleet-outcome"], body = text }
  end

  local function honk(service, key, more)
    return fleet.run(ask, service, "honk_horn", more, key)
  end

  before_each(function()
    world, store, opened, audited = signed_world.new(), fleet.store.memory(), {}, {}
    first, second = serving(), serving()
  end)

  after_each(function()
    for _, made in ipairs(opened) do made:close() end
    first, second, opened = nil, nil, nil
    store:close()
    world:close()
  end)

  it("gives the first result again, from this proxy and from another", function()
    local reply = honk(first, "k1")
    assert.equal(200, reply.status)
    assert.same(reply, honk(first, "k1"))
    assert.same(reply, honk(second, "k1"))
    assert.equal(1, #world.ran)
    assert.same({ true, true }, { audited[2].repeated, audited[3].repeated })
    assert.is_nil(audited[1].repeated)
  end)

  it("keeps its answers sealed where the store is: an invitation's code is one", function()
    local sealed = sealing(store, assert(core.store_key(("0123456789abcdef"):rep(4))))
    local made = clients.new(world:client { store = sealed })
    opened[#opened + 1] = made
    local service = services.new { clients = made, timeout = 30 }
    local seen
    local put = store.acts.put
    function store.acts.put(acts, key, value, ...)
      if key:find("^proxy/") then seen = value end
      return put(acts, key, value, ...)
    end
    local function invite()
      return fleet.run(function()
        local status, _, body = service:handle(callers.new({}).default_caller, {
          method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/invitations", query = "",
          headers = { ["idempotency-key"] = "k1" }, body = "",
        })
        return { status, body }
      end)
    end
    local first_answer = invite()
    assert.equal(200, first_answer[1])
    assert.same(first_answer, invite())
    assert.is_true(is_sealed(seen))
    assert.not_matches("answer", seen, 1, true)
  end)

  it("is claimed on the disk before anything is sent, and only where no other claim is", function()
    local claim
    local put = store.acts.put
    function store.acts.put(acts, key, value, options, ...)
      if key:find("^proxy/") and not claim then
        claim = { sent = #world.messages, durable = options.durable, generation = options.generation, leased = options.lease ~= nil }
      end
      return put(acts, key, value, options, ...)
    end
    assert.equal(200, honk(first, "k1").status)
    assert.same({ sent = 0, durable = true, generation = 0, leased = true }, claim)
  end)

  it("keeps no digest of a PIN: the body of a command that may hold one is not compared", function()
    local function ask_with(pin, key)
      return fleet.run(ask, first, "speed_limit_activate", '{"pin":"' .. pin .. '"}', key)
    end
    local reply = ask_with("1234", "k1")
    assert.same(reply, ask_with("4321", "k1"))
    assert.equal(400, fleet.run(ask, first, "speed_limit_deactivate", '{"pin":"1234"}', "k1").status)
    honk(first, "k2")
    assert.equal(400, honk(first, "k2", '{"other":1}').status)
  end)

  it("holds over a wall clock that is set forwards or backwards, whatever came of the command", function()
    local directory = process.temporary("once")
    finally(function() process.execute("rm -rf " .. process.quote(directory)) end)
    local jump = 0
    local on_disk = assert(fleet.store.file(directory, { clock = function()
      local mono, wall = fleet.loop.clock()
      return mono, wall + jump
    end }))
    local made = clients.new(world:client { store = on_disk })
    opened[#opened + 1] = made
    local service = services.new { clients = made, timeout = 30 }
    world:fault("executed_503", 1, { row = "signed_command", message = "command" })
    for i, seconds in ipairs { 3600, -7200, 20 * 365 * 86400, 0 } do
      local key = "k" .. i
      local reply = honk(service, key)
      assert.equal(i == 1 and "unknown" or nil, reply.outcome)
      local ran = #world.ran
      jump = seconds
      assert.same(reply, honk(service, key))
      world.time.advance(500)
      assert.same(reply, honk(service, key))
      assert.equal(ran, #world.ran)
      world.time.advance(101)
      assert.equal(200, honk(service, key).status)
      assert.equal(ran + 1, #world.ran)
    end
    on_disk:close()
  end)

  it("leaves nothing in a directory when its ten minutes have passed", function()
    local directory = process.temporary("once")
    finally(function() process.execute("rm -rf " .. process.quote(directory)) end)
    local on_disk = assert(fleet.store.file(directory, { clock = fleet.loop.clock }))
    local made = clients.new(world:client { store = on_disk })
    opened[#opened + 1] = made
    local service = services.new { clients = made, timeout = 30 }
    local function files() return #core.directory_list(directory) end
    assert.equal(200, honk(service, "k0").status)
    local before = files()
    for i = 1, 30 do assert.equal(200, honk(service, "k" .. i).status) end
    assert.is_true(files() > before)
    assert.equal(31, #world.ran)
    world.time.advance(700)
    assert.equal(200, honk(service, "later").status)
    world.time.advance(700)
    assert.equal(200, honk(service, "last").status)
    assert.is_true(files() <= before, files() .. " files, " .. before .. " with one key")
    on_disk:close()
  end)

  it("that differs is another command, and so is another caller's", function()
    honk(first, "k1")
    honk(first, "k2")
    fleet.run(ask, first, "honk_horn", nil, "k1", callers.new({ callers = { other = {} } }).by_name.other)
    assert.equal(3, #world.ran)
  end)

  it("holds for ten minutes", function()
    honk(first, "k1")
    world.time.advance(599)
    honk(second, "k1")
    assert.equal(1, #world.ran)
    world.time.advance(2)
    honk(second, "k1")
    assert.equal(2, #world.ran)
  end)

  it("gives an unknown outcome again, and sends nothing", function()
    world:fault("executed_503", 1, { row = "signed_command", message = "command" })
    local reply = honk(first, "k1")
    assert.equal("unknown", reply.outcome)
    assert.same(reply, honk(second, "k1"))
    assert.equal(1, #world.ran)
  end)

  it("is free again when nothing was sent", function()
    local enter = first.queue.enter
    first.queue.enter = function() return false end
    local reply = honk(first, "k1")
    assert.same({ 429, "not_sent" }, { reply.status, reply.outcome })
    first.queue.enter = enter
    assert.equal(200, honk(first, "k1").status)
    assert.equal(200, honk(second, "k1").status)
    assert.equal(1, #world.ran)
  end)

  it("of a call that is passed on is free again when nothing was sent, too", function()
    local function invite(service)
      return fleet.run(function()
        return (service:handle(callers.new({}).default_caller, {
          method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/invitations", query = "",
          headers = { ["idempotency-key"] = "k1" }, body = "",
        }))
      end)
    end
    world:fault("rate_limit", 1, { retry_after = 60 })
    local refused = invite(first)
    local client = clients.new(world:client { store = store, http = function() return nil, "no connection", false end })
    opened[#opened + 1] = client
    assert.equal(429, refused)
    assert.equal(429, invite(second)) -- what the service refused is the key's answer
    local function not_sent(key)
      return fleet.run(function()
        local status, headers = services.new({ clients = client, timeout = 30 }):handle(callers.new({}).default_caller, {
          method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/invitations", query = "",
          headers = { ["idempotency-key"] = key }, body = "",
        })
        return { status, headers["x-fleet-outcome"] }
      end)
    end
    assert.same({ 502, "not_sent" }, not_sent("k2"))
    assert.is_nil((store:get("proxy/" .. core.sha256("local\nk2"))))
  end)

  it("waits for another proxy that is at work, and gives what came of it", function()
    world.before = function(_, kind) if kind == "command" then fleet.sleep(3) end end
    local replies = {}
    fleet.run(function()
      local tasks = {}
      for i, service in ipairs { first, second, first, second } do
        tasks[i] = fleet.spawn(function() replies[i] = ask(service, "honk_horn", nil, "k1") end)
      end
      for _, task in ipairs(tasks) do task:wait() end
    end)
    assert.equal(1, #world.ran)
    for i = 1, 4 do assert.same({ status = 200, body = '{"response":{"result":true,"reason":""}}' }, replies[i]) end
  end)

  it("whose holder has died is unknown, and never sent again", function()
    local killed
    world.before = function(_, kind)
      if kind == "command" and not killed then
        killed = true
        error(core.err { kind = "cancelled", message = "the process has died" }, 0)
      end
    end
    local put = first.clients.store.put
    local dead = { put = function(_, name, value, options) -- it dies after the claim: no result is ever written
      if value:find("answer", 1, true) then return nil, core.err { kind = "store", message = "dead" }, "store" end
      return put(store, name, value, options)
    end }
    first.clients.store = setmetatable(dead, { __index = function(_, name) return function(_, ...) return store[name](store, ...) end end })
    pcall(honk, first, "k1")
    world.before = nil
    local reply = honk(second, "k1")
    assert.same({ "unknown", 502 }, { reply.outcome, reply.status })
    assert.matches("ended before it stored the result", reply.body)
    assert.same(reply, honk(second, "k1"))
    assert.equal(0, #world.ran)
  end)

  it("used for another request is refused, and nothing is sent", function()
    assert.equal(200, fleet.run(ask, first, "set_charge_limit", '{"percent":70}', "k1").status)
    local reply = fleet.run(ask, second, "set_charge_limit", '{"percent":80}', "k1")
    assert.same({ 400, "not_sent" }, { reply.status, reply.outcome })
    assert.equal(1, #world.ran)
  end)

  it("used for another account, or with another's token, is refused, and nothing is sent", function()
    local made = clients.new(world:client { store = store }, { b = world:client { account = "b" } })
    opened[#opened + 1] = made
    local service = services.new { clients = made, timeout = 30 }
    local function of(key, account, token)
      return fleet.run(function()
        return service:handle(callers.new({}).default_caller, {
          method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/honk_horn", query = "", body = "",
          headers = { ["idempotency-key"] = key, ["x-fleet-account"] = account },
        }, token)
      end)
    end
    assert.same({ 200, 400, 200 }, { (of("k1")), (of("k1", "b")), (of("k1")) })
    local first_answer, other = of("k2", nil, "token-of-one"), of("k2", nil, "token-of-another")
    assert.is_true(first_answer ~= 400)
    assert.equal(400, other)
    assert.equal(first_answer, (of("k2", nil, "token-of-one")))
  end)

  it("of which the store says nothing is unknown: another proxy may have sent the command", function()
    assert.equal(200, honk(second, "k1").status)
    local lease, get = store.lease, store.get
    local function dead() return nil, core.err { kind = "store", message = "the store is away" }, "store" end
    store.lease = dead
    assert.equal("unknown", honk(first, "k1").outcome)
    store.lease, store.get = lease, dead
    assert.equal("unknown", honk(first, "k1").outcome)
    store.get = get
    assert.equal(200, honk(first, "k1").status)
    assert.equal(1, #world.ran)
  end)

  it("that cannot be kept sends nothing", function()
    store.put = function() return nil, core.err { kind = "store", message = "the disk is full" }, "store" end
    local reply = honk(first, "k1")
    assert.same({ 503, "not_sent" }, { reply.status, reply.outcome })
    assert.equal(0, #world.ran)
  end)

  it("leaves no PIN in the store, nor what it could be found from", function()
    local body = '{"on":true,"password":"4711"}'
    assert.equal(200, fleet.run(ask, first, "set_valet_mode", body, "k1").status)
    local name = "proxy/" .. core.sha256("local\nk1")
    local record = assert(store:get(name))
    assert.is_nil(record:find("4711", 1, true))
    local path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/set_valet_mode"
    assert.is_nil(record:find(core.sha256("POST\n" .. path .. "\n\n" .. body), 1, true))
  end)

  it("of no length, or too long, or with control characters is refused", function()
    for _, key in ipairs { "", ("k"):rep(256), "a\1b" } do assert.equal(400, honk(first, key).status) end
    assert.equal(0, #world.ran)
  end)

  it("of a read is nothing", function()
    local function read()
      return fleet.run(function()
        return (first:handle(callers.new({}).default_caller, { method = "GET", path = "/api/1/vehicles/" .. signed_world.VIN, query = "",
          headers = { ["idempotency-key"] = "k1" }, body = "" }))
      end)
    end
    assert.equal(200, read())
    assert.equal(200, read())
    assert.equal(2, #world.messages)
  end)
end)
