-- A good guest in somebody else's process (rule R9): nothing global, nothing at load, no harm by fork, exit or many states.

local process = require "spec.support.harness.process"
local rude = require "spec.support.servers.hostile_server"

local server
setup(function() server = rude.start() end)
teardown(function() server.stop() end)

-- Runs Lua text in a process of its own; returns what it printed on both channels, and how it ended.
local function run(text, environment)
  local prelude = "local URL = " .. string.format("%q", server.url) .. "\n"
  local command = process.bare_lua .. " -e " .. process.quote(prelude .. text)
  local pipe = io.popen((environment or "") .. " " .. command .. " 2>&1; echo \" status $?\"")
  local out = pipe:read("a")
  pipe:close()
  local printed, status = out:match("^(.*) status (%d+)\n$")
  return printed, tonumber(status)
end

local function good(text, environment)
  local printed, status = run(text, environment)
  assert.equal("good\n", printed)
  assert.equal(0, status)
end

local busy = [[
  local fleet = require "fleet"
  local client = fleet.new { token = "t0ken", base_url = URL .. "/trickle", timeout = 60 }
  local car = client:vehicle "5YJ3E1EA7KF000001"
  local miniclient = require "spec.support.harness.miniclient"
  local function arrived()
    return tonumber(miniclient.request({ port = tonumber(URL:match "%d+$") }, "GET", "/count/trickle", {}).body)
  end
  local function in_flight(n)
    local tasks, before, stop = {}, arrived(), fleet.loop.clock() + 30
    for i = 1, n or 3 do tasks[i] = fleet.spawn(function() return car:honk_horn() end) end
    repeat
      assert(fleet.loop.clock() < stop, "they did not arrive")
      fleet.loop.wait(0.05)
      fleet.loop.step()
    until arrived() == before + #tasks
    return tasks
  end
]]

describe("loading", function()
  it("makes no globals, and neither does use", function()
    good [[
      local before = {}
      for name in pairs(_G) do before[name] = true end
      setmetatable(_G, { __newindex = function(_, name) error("a global: " .. tostring(name), 2) end })
      local fleet = require "fleet"
      local client = fleet.new { token = "t0ken", base_url = URL .. "/ok", timeout = 2 }
      client:vehicle "5YJ3E1EA7KF000001":info()
      fleet.map({ 1 }, function() return client:vehicle "5YJ3E1EA7KF000001":honk_horn() end)
      fleet.throwing(client) fleet.drain() fleet.endpoints() client:close()
      setmetatable(_G, nil)
      for name in pairs(_G) do assert(before[name], name) end
      print "good" ]]
  end)

  it("reads no file and opens no descriptor", function()
    good [[
      require "cjson"
      local open = io.open
      local function descriptors() -- without a shell: its own pipe comes and goes while it lists
        local found = {}
        for n = 0, 1023 do
          local file = open("/proc/self/fdinfo/" .. n)
          if file then
            found[#found + 1] = n
            file:close()
          end
        end
        assert(#found >= 3)
        return table.concat(found, " ")
      end
      local before = descriptors()
      local function poison(t, ...)
        for _, name in ipairs { ... } do t[name] = function() error("called: " .. name, 2) end end
      end
      poison(io, "open", "popen", "lines", "tmpfile", "output", "input", "read", "write")
      poison(os, "execute", "tmpname", "setlocale", "rename", "remove", "exit")
      local fleet = require "fleet"
      local after = descriptors()
      assert(after == before, "descriptors were opened: " .. before .. " -> " .. after)
      local client = fleet.new { token = "t0ken", base_url = URL, http = function() return { status = 404 } end }
      assert(select(3, client:vehicle "5YJ3E1EA7KF000001":info()) == "not_found")
      assert(fleet.endpoints() and fleet.store and fleet.time)
      local held = open "/dev/null"
      assert(descriptors() ~= before, "the count sees nothing") held:close()
      io.stdout:write "good\n" ]]
  end)

  it("changes nothing that belongs to the host: strings, tables, randomness, the collector, hooks, signals", function()
    good [[
      local function shape(t)
        local names = {}
        for name, value in pairs(t) do names[#names + 1] = tostring(name) .. "=" .. tostring(value) end
        table.sort(names)
        return table.concat(names, " ")
      end
      local function signals()
        local file, found = io.open "/proc/self/status", {}
        for line in file:lines() do if line:find "^Sig[A-Z][a-z][a-z]:" and not line:find "Pnd" then found[#found + 1] = line end end
        file:close()
        return table.concat(found, " ")
      end
      local function all()
        return table.concat({ shape(string), shape(table), shape(math), shape(os), shape(io), shape(coroutine), shape(debug),
          tostring(debug.gethook()), tostring(getmetatable "".__index == string), tostring(debug.getmetatable(nil)),
          tostring(debug.getmetatable(1)), tostring(debug.getmetatable(print)), os.setlocale(), signals() }, "\n")
      end
      math.randomseed(7)
      local expected = math.random(1e9)
      math.randomseed(7)
      local before = all()
      local fleet = require "fleet"
      assert(all() == before, "by loading")
      local client = fleet.new { token = "t0ken", base_url = URL .. "/drop", timeout = 2 }
      client:vehicle "5YJ3E1EA7KF000001":honk_horn()
      client:close()
      assert(all() == before, "by use")
      assert(math.random(1e9) == expected, "randomness")
      assert(_VERSION == "Lua 5.1" and not jit or collectgarbage "isrunning")
      print "good" ]]
  end)

  it("can be done twice: a module that was forgotten is loaded anew beside the old one", function()
    good(busy .. [[
      local tasks = in_flight()
      for name in pairs(package.loaded) do if name:find "^fleet" then package.loaded[name] = nil end end
      local again = require "fleet"
      assert(again ~= fleet)
      local other = again.new { token = "t0ken", base_url = URL .. "/ok", timeout = 30 }
      assert(select(3, other:vehicle "5YJ3E1EA7KF000001":info()) == "protocol")
      tasks, fleet, client, car = nil
      collectgarbage() collectgarbage()
      assert(select(3, other:vehicle "5YJ3E1EA7KF000001":info()) == "protocol")
      print "good" ]])
  end)
end)

describe("SIGPIPE", function()
  it("does not end the host when the other side is gone", function()
    good [[
      local fleet = require "fleet"
      for _, path in ipairs { "/drop", "/drop_if_reused/x", "/truncated" } do
        local car = fleet.new { token = "t0ken", base_url = URL .. path, timeout = 3 }:vehicle "5YJ3E1EA7KF000001"
        for _ = 1, 5 do car:honk_horn() end
      end
      print "good" ]]
  end)
end)

describe("the end of the host in mid-flight", function()
  local ends = {
    ["os.exit that closes the state"] = "os.exit(0, true)",
    ["os.exit that does not"] = "os.exit(0, false)",
    ["the end of the script"] = "",
    ["os.exit inside a task"] = "fleet.run(function() io.stdout:flush() os.exit(0, true) end)",
    ["the client closed before"] = "client:close() os.exit(0, true)",
    ["everything collected before"] = "client, car, tasks = nil collectgarbage() collectgarbage()",
  }
  for name, text in pairs(ends) do
    it("does no harm: " .. name, function()
      good(busy .. [[
        local tasks = in_flight()
        local key, pages = fleet.loop.watch(0, "r", function() end), client:vehicles()
        print "good" ]] .. text)
    end)
  end

  it("by an error leaves its message and status", function()
    local printed, status = run(busy .. [[ in_flight() error("the host's own", 0) ]])
    assert.matches("the host's own", printed)
    assert.equal(1, status)
  end)

  it("can be prepared: what was cancelled and forgotten is released", function()
    good(busy .. [[
      local core = require "fleet.core"
      fleet.loop.fd()
      collectgarbage() collectgarbage()
      local before = core.live()
      for round = 1, 3 do
        local tasks = in_flight(20)
        assert(core.live() > before)
        for _, task in ipairs(tasks) do task:cancel() end
        for _, task in ipairs(tasks) do assert(select(3, task:wait()) == "cancelled") end
        tasks = nil
        collectgarbage() collectgarbage()
        assert(core.live() == before, "still alive: " .. core.live() - before)
      end
      print "good" ]])
  end)
end)

describe("fork in mid-flight", function()
  it("leaves the parent's connections alone, and the child with a clear error and its own new clients", function()
    good(busy .. [[
      local fork = require "probe_fork"
      local fine = fleet.new { token = "t0ken", base_url = URL .. "/ok", timeout = 30 }:vehicle "5YJ3E1EA7KF000001"
      assert(select(3, fine:info()) == "protocol") -- a kept connection
      local tasks = in_flight()
      local status = fork(function()
        local value, err, kind = car:honk_horn()
        assert(value == nil and kind == "closed", tostring(err))
        assert(err.outcome == "not_sent" and tostring(err):find "before fork", tostring(err))
        local mine = fleet.new { token = "t0ken", base_url = URL .. "/ok", timeout = 30 }
        assert(select(3, mine:vehicle "5YJ3E1EA7KF000001":info()) == "protocol")
        assert(select(3, car:info()) == "closed")
        client:close()
        mine:close()
        client, car, tasks, fine = nil
        collectgarbage() collectgarbage()
      end)
      assert(status == 0, status)
      assert(select(3, fine:info()) == "protocol")
      for _, task in ipairs(tasks) do assert(tostring(task) == "fleet.task (running)") end
      for _, task in ipairs(tasks) do task:cancel() end
      for _, task in ipairs(tasks) do
        local _, err, kind = task:wait()
        assert(kind == "cancelled" and err.outcome == "unknown")
      end
      print "good" ]])
  end)

  it("may end the child at once, or by closing its state", function()
    good(busy .. [[
      local fork = require "probe_fork"
      local tasks = in_flight()
      assert(fork(function() end) == 0)
      assert(fork(function() os.exit(3, true) end) == 3)
      assert(fork(function() os.exit(4, false) end) == 4)
      local fine = fleet.new { token = "t0ken", base_url = URL .. "/ok", timeout = 30 }:vehicle "5YJ3E1EA7KF000001"
      assert(select(3, fine:info()) == "protocol")
      print "good" ]], "ASAN_OPTIONS=detect_leaks=0") -- libcurl's own memory: its clean-up would speak on the parent's connections
  end)

  it("before anything was opened changes nothing", function()
    good [[
      local fleet, fork = require "fleet", require "probe_fork"
      local function ask()
        return select(3, fleet.new { token = "t0ken", base_url = URL .. "/ok", timeout = 30 }:vehicle "5YJ3E1EA7KF000001":info())
      end
      assert(fork(function() assert(ask() == "protocol") end) == 0)
      assert(ask() == "protocol")
      print "good" ]]
  end)
end)

describe("several states in one process", function()
  it("do not see each other", function()
    good(busy .. [[
      local open = require "probe_state"
      local states = {}
      in_flight()
      for i = 1, 5 do
        states[i] = open()
        states[i]:run("URL = '" .. URL .. "' fleet = require 'fleet' core = require 'fleet.core'")
        assert(states[i]:run "fleet.marker = (fleet.marker or 0) + 1 return fleet.marker" == "1")
      end
      for i, state in ipairs(states) do
        assert(state:run("return select(3, fleet.new { token = 't0ken', base_url = URL .. '/ok', timeout = 30 }"
          .. ":vehicle '5YJ3E1EA7KF000001':info())") == "protocol")
        if i % 2 == 0 then state:close() end
      end
      assert(states[1]:run "return fleet.marker" == "1")
      assert(fleet.marker == nil)
      print "good" ]])
  end)

  it("leave the libraries loaded when they close", function()
    good [[
      local state = require "probe_state"()
      state:run "require 'fleet'.new { token = 't0ken' }"
      state:close()
      local maps = io.open "/proc/self/maps":read "*a"
      assert(maps:find("fleet/core.so", 1, true), "unloaded")
      print "good" ]]
  end)

  it("open and close by the hundred in 8 threads", function()
    process.execute("make -s -C " .. process.quote(process.root) .. " threads " .. process.build_words)
    local pipe = io.popen("cd " .. process.quote(process.root) .. " && " .. process.quote(process.build .. "/threads")
      .. " spec/support/harness/threads.lua 8 " .. (os.getenv "VALGRIND" and 2 or 40) .. " 2>&1")
    assert.equal("8 threads, 0 failures\n", pipe:read("a"))
    assert.is_true(pipe:close())
  end)
end)
