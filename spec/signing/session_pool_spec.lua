-- Sessions in the store: counters reserved before use, sessions used again after a restart, and files that are damaged,
-- foreign, old or cannot be written: a fresh handshake, nothing worse.

local core = require "fleet.core"
local fleet = require "fleet"
local support = require "spec.support.fixtures.stores"
local signed_world = require "spec.support.fixtures.signed_world"

local VIN = signed_world.VIN
local world

before_each(function() world = signed_world.new() end)
after_each(function() world:close() end)

local function key_of(domain, key)
  return "session/" .. (key or world.keys[1]):fingerprint() .. "/" .. VIN .. "/" .. (domain or "infotainment")
end

-- A store that tells what is done with it: puts = { { key, value }, ... }.
local function watched(store)
  local puts, leases = {}, { held = 0, most = 0 }
  local object = setmetatable({}, { __index = store })
  function object.put(_, key, value, options)
    puts[#puts + 1] = { key = key, value = value, lease = options and options.lease ~= nil }
    return store:put(key, value, options)
  end
  function object.lease(_, key, ttl)
    local lease, err, kind = store:lease(key, ttl)
    leases.ttl = ttl
    if not lease then return nil, err, kind end
    leases.held = leases.held + 1
    leases.most = math.max(leases.most, leases.held)
    local release = lease.release
    function lease.release(...)
      leases.held = leases.held - 1
      return release(...)
    end
    return lease
  end
  for _, name in ipairs { "get", "delete", "reserve" } do
    object[name] = function(_, ...) return store[name](store, ...) end
  end
  return object, puts, leases
end

-- The counter that a stored state stands for: what a session made from it would use up first, less one.
local function counter_in(state, key)
  local session = core.session { key = key or world.keys[1], vin = VIN, domain = "infotainment", state = state }
  return session:ready() and session:counter() or nil
end

describe("counters", function()
  it("are reserved before the first is used, and the true one is written back", function()
    local store, puts = watched(fleet.store.memory())
    local car = world:car { store = store }
    local at_command
    world.before = function(_, kind) if kind == "command" then at_command = at_command or puts[#puts] end end
    assert(car:honk_horn())
    assert.equal(key_of(), at_command.key)
    assert.is_true(at_command.lease)
    assert.equal(32, counter_in(at_command.value))
    assert.equal(1, counter_in((store:get(key_of()))))
  end)

  it("are reserved again after 32, and after the vehicle moved them", function()
    local store, puts = watched(fleet.store.memory())
    local car = world:car { store = store }
    world.before = function(_, kind) if kind == "command" then fleet.sleep(0.01) end end
    fleet.run(function()
      fleet.map((function()
        local list = {}
        for i = 1, 100 do list[i] = i end
        return list
      end)(), function() return car:flash_lights() end, { concurrency = 10 })
    end)
    assert.equal(100, #world.ran)
    local highest = 0
    for _, put in ipairs(puts) do
      local reserved = put.key == key_of() and counter_in(put.value)
      if reserved then
        assert.is_true(reserved - highest <= 33 + 32)
        highest = math.max(highest, reserved)
      end
    end
    assert.is_true(highest >= 100)
    assert.equal(100, counter_in((store:get(key_of()))))
  end)

  it("that a killed process had reserved are left out", function()
    local store = fleet.store.memory()
    local reserved
    world.before = function(_, kind) if kind == "command" then reserved = reserved or store:get(key_of()) end end
    assert((world:car { store = store }):honk_horn())
    store:put(key_of(), reserved)
    world:forget()
    assert((world:car { store = store }):honk_horn())
    assert.same({ "command" }, world.messages)
    local counter = counter_in((store:get(key_of())))
    assert.is_true(counter > 32 + 64 and (counter - 32 - 1) % 64 == 0, counter) -- reserved, passed over, and the one used
  end)
end)

describe("a session", function()
  local directory

  local function stores()
    return { memory = fleet.store.memory(), file = assert(fleet.store.file(directory)) }
  end
  before_each(function() directory = support.directory() end)
  after_each(function() support.remove(directory) end)

  for _, kind in ipairs { "memory", "file" } do
    it("is used again after a restart, store " .. kind, function()
      local store = stores()[kind]
      local car, client = world:car { store = store }
      assert(car:honk_horn())
      assert(car:door_lock())
      client:close()
      if kind == "file" then store = assert(fleet.store.file(directory)) end
      world:forget()
      car = world:car { store = store }
      assert(car:honk_horn())
      assert(car:door_lock())
      assert.same({ "command", "command" }, world.messages)
    end)

    it("goes on for another client of the same store, in turns, store " .. kind, function()
      local store = stores()[kind]
      local one, other = world:car { store = store }, world:car { store = store }
      for _ = 1, 3 do
        assert(one:door_lock())
        assert(other:door_unlock())
      end
      assert.equal(1, world:sent "handshake")
      assert.equal(6, world:sent "command")
    end)

    -- what is done to the stored state; how many handshakes and commands the next call then takes
    local damages = {
      ["cut short"] = { function(state) return state:sub(1, #state - 1) end, 1, 1 },
      ["emptied"] = { function() return "" end, 1, 1 },
      ["changed in one place"] = { function(s) return s:sub(1, 40) .. string.char((s:byte(41) + 1) % 256) .. s:sub(42) end, 1, 1 },
      ["replaced by a stranger's"] = { function() return ("x"):rep(200) end, 1, 1 },
      ["replaced by the other domain's"] = { function(_, store) return (store:get(key_of "vehicle_security")) end, 1, 1 },
      ["replayed"] = { function(_, _, old) return old end, 0, 1 },
    }
    for name, damage in pairs(damages) do
      it("that was " .. name .. " costs an exchange and nothing else, store " .. kind, function()
        local store = stores()[kind]
        local car, client = world:car { store = store }
        assert(car:honk_horn())
        assert(car:door_lock())
        local old = store:get(key_of())
        assert(car:honk_horn())
        client:close()
        assert(store:put(key_of(), damage[1](store:get(key_of()), store, old)))
        world:forget()
        assert((world:car { store = store }):honk_horn())
        assert.same({ damage[2], damage[3] }, { world:sent "handshake", world:sent "command" })
        assert.equal(1, #world.ran)
      end)
    end
  end

  -- The counter that the next process leaves out, and the generation, as another process reads them.
  local function standing_in(store)
    local state, generation = store:get(key_of())
    return counter_in(state), generation
  end

  it("reserves anew with each lease, whether the true counter was written meanwhile or another process came", function()
    local store, theirs = assert(fleet.store.file(directory)), assert(fleet.store.file(directory))
    local car, other = world:car { store = store }, world:car { store = theirs }
    for _ = 1, 3 do assert(car:honk_horn()) end
    for _, act in ipairs { function() assert(store:flush()) end, function() assert(other:honk_horn()) end } do
      local _, generation = standing_in(theirs)
      act()
      assert(car:honk_horn())
      local reserved, newer = standing_in(assert(fleet.store.file(directory)))
      assert.is_true(newer > generation)
      assert.is_true(reserved > counter_in((store:get(key_of()))))
    end
    assert.equal(1, world:sent "handshake")
    assert.equal(6, world:sent "command")
    assert.equal(6, #world.ran)
  end)

  it("that reserved begins anew after one that the vehicle did not know", function()
    local car = world:car { store = assert(fleet.store.file(directory)) }
    for _ = 1, 3 do assert(car:honk_horn()) end
    world:fault("unpaired", 1)
    assert.equal("key_not_paired", select(3, car:honk_horn()))
    world:forget()
    assert(car:honk_horn())
    assert.same({ "handshake", "command" }, world.messages)
  end)

  it("leaves to the process that follows a killed one what that had reserved, however often it was used", function()
    local store = assert(fleet.store.file(directory))
    local car = world:car { store = store }
    for _ = 1, 10 do assert(car:honk_horn()) end
    local reserved = standing_in(assert(fleet.store.file(directory)))
    world:forget()
    local following = assert(fleet.store.file(directory))
    assert((world:car { store = following }):honk_horn())
    assert.same({ "command" }, world.messages)
    assert.is_true(counter_in((following:get(key_of()))) > reserved)
  end)

  it("of another machine, copied with its directory and used at once, repeats no counter", function()
    local one, two = fleet.store.memory(), fleet.store.memory()
    local car = world:car { store = one }
    assert(car:door_unlock())
    two:put(key_of "vehicle_security", (one:get(key_of "vehicle_security")))
    assert(car:door_unlock())
    local other = world:car { store = two }
    world:forget()
    assert(other:door_unlock())
    assert.same({ "command" }, world.messages)
    assert(car:door_lock()) -- signed again: it sets a state
    assert.same({ "command", "command", "command" }, world.messages)
    assert.same({ "door_unlock", "door_lock" }, world.ran)
  end)

  it("that another program also uses gives one unknown outcome on either side; from then on a handshake comes first", function()
    local one, two = world:car(), world:car()
    assert(one:honk_horn())
    assert(two:honk_horn())
    for _, car in ipairs { one, two } do
      world:forget()
      local _, err = car:honk_horn()
      assert.same({ "protocol", "unknown", 6 }, { err.kind, err.outcome, err.fault })
      assert.matches("another copy", err.message)
      assert.same({ "command" }, world.messages)
      assert.equal(0, #world.ran)
      assert(car:honk_horn())
    end
    world:forget()
    for _ = 1, 3 do
      for _, car in ipairs { one, two } do
        fleet.sleep(10)
        assert(car:honk_horn())
      end
    end
    assert.same({ 6, 6, 6 }, { #world.ran, world:sent "handshake", world:sent "command" })
  end)

  it("written under a clock that is wrong now is set right by the vehicle", function()
    for _, step in ipairs { 86400 * 400, -86400 * 400 } do
      local store = fleet.store.memory()
      assert((world:car { store = store }):honk_horn())
      local clock = fleet.loop.clock
      fleet.loop.clock = function()
        local mono, wall = clock()
        return mono, wall + step
      end
      local done, err = (world:car { store = store }):honk_horn()
      fleet.loop.clock = clock
      assert(done, tostring(err))
    end
    assert.equal(4, #world.ran)
  end)

  it("whose counters are all used begins anew", function()
    local store = fleet.store.memory()
    assert((world:car { store = store }):honk_horn())
    local session = core.session { key = world.keys[1], vin = VIN, domain = "infotainment", state = (store:get(key_of())) }
    assert.is_true(session:ready())
    store:put(key_of(), session:export(4294967295))
    world:forget()
    assert((world:car { store = store }):honk_horn())
    assert.same({ "handshake", "command" }, world.messages)
  end)

  it("of another key is not touched", function()
    local store = fleet.store.memory()
    assert((world:car { store = store }):honk_horn())
    local before = store:get(key_of())
    assert.is_nil(((world:car { store = store, key = fleet.key.generate() }):honk_horn()))
    assert.equal(before, (store:get(key_of())))
  end)
end)

describe("a store that", function()
  local function failing(names)
    local store = fleet.store.memory()
    local object = setmetatable({}, { __index = store })
    for _, name in ipairs { "get", "put", "delete", "lease", "reserve" } do
      object[name] = function(_, ...) return store[name](store, ...) end
    end
    for _, name in ipairs(names) do
      object[name] = function()
        return nil, core.err { kind = "store", message = "the disk is read-only" }, "store"
      end
    end
    return object, store
  end

  for name, functions in pairs {
    ["cannot write"] = { "put", "delete" }, ["gives no lease"] = { "lease" }, ["cannot read"] = { "get" },
    ["can do nothing"] = { "get", "put", "delete", "lease" },
  } do
    it(name .. " is logged, and commands continue from memory", function()
      local car = world:car { store = failing(functions) }
      for _ = 1, 3 do
        assert(car:honk_horn())
        assert(car:door_lock())
      end
      assert.equal(2, world:sent "handshake")
      assert.equal(6, #world.ran)
      local logged = 0
      for _, entry in ipairs(world.logs) do if entry.kind == "store" then logged = logged + 1 end end
      if name ~= "cannot read" then assert.is_true(logged >= 1) end
    end)
  end

  it("lost the lease to another process draws a new counter for the command", function()
    local store = fleet.store.memory()
    local object, stolen = setmetatable({}, { __index = store }), 0
    for _, name in ipairs { "get", "delete", "lease", "reserve" } do
      object[name] = function(_, ...) return store[name](store, ...) end
    end
    function object.put(_, key, value, options)
      if options and options.lease and stolen < 1 then
        stolen = stolen + 1
        return nil, core.err { kind = "conflict", message = "the lease was lost to another process" }, "conflict"
      end
      return store:put(key, value, options)
    end
    local reserved
    world.before = function(_, kind)
      if kind == "command" then reserved = (store:get(key_of())) ~= nil end
    end
    assert((world:car { store = object }):honk_horn())
    assert.equal(1, #world.ran)
    assert.is_true(reserved)
  end)

  it("is busy with another process is waited for, as long as the call may take", function()
    local store = fleet.store.memory()
    local lease = assert(store:lease(key_of(), 1000))
    local car = world:car { store = store }
    local began = world.time.now()
    local _, err = car:honk_horn { timeout = 7 }
    assert.same({ "busy", "not_sent" }, { err.kind, err.outcome })
    assert.is_true(world.time.now() - began > 6)
    lease:release()
    assert(car:honk_horn())
  end)

  it("is leased for a call and some seconds, so that a holder who dies is not waited for longer", function()
    local store, _, leases = watched(fleet.store.memory())
    local car = world:car { store = store }
    assert(car:honk_horn { timeout = 30 })
    assert.is_true(leases.ttl > 34 and leases.ttl <= 35, leases.ttl)
    assert(car:honk_horn { timeout = 2 })
    assert.equal(15, leases.ttl)
  end)

  it("is shared gives others the lease under steady load", function()
    local store, _, leases = watched(fleet.store.memory())
    local one, other = world:car { store = store }, world:car { store = store }
    world.before = function() fleet.sleep(0.1) end
    local waited
    fleet.run(function()
      local stop
      for _ = 1, 3 do
        fleet.spawn(function() while not stop do assert(one:flash_lights()) end end)
      end
      fleet.sleep(1)
      local began = world.time.now()
      assert(other:honk_horn())
      waited, stop = world.time.now() - began, true
    end)
    assert.is_true(waited < 4, "waited for " .. waited .. " s")
    assert.equal(1, leases.most)
    assert.equal(0, leases.held)
  end)
end)
