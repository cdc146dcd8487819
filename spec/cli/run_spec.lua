-- `fleet run` as a process: how it ends, how it reads its file again, and how it tells a mistake in the file.

local core = require "fleet.core"
local cli = require "spec.support.harness.cli"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"

local quote = process.quote
local car = "5YJSFLEE9KF000002"
local automation = [[
return function(client)
  local car, settings = client:vehicle("]] .. car .. [["), { set_sentry_mode = { on = false } }
  return require("fleet").automation.ensure { name = "%s", car = car, settings = settings }
end
]]

describe("fleet run", function()
  local sim, env, directory

  setup(function()
    sim = sims.start()
    directory = process.temporary("run")
    env = sim.env .. "FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=canary-secret-4711 FLEET_REDIRECT_URI=https://app.example.com/back "
    local input, output = directory .. "/in", directory .. "/out"
    process.execute("mkfifo " .. quote(input))
    local pipe = assert(io.popen(env .. sims.fleet .. " login <" .. quote(input) .. " 2>&1", "r"))
    local writer = assert(io.open(input, "w"))
    pipe:read("l")
    local url = string.match(pipe:read("l"), "(http%S+)$")
    writer:write((sims.shell("env -u LD_PRELOAD curl -s -m 20 -o /dev/null -w '%{redirect_url}' " .. quote(url) .. "; echo")))
    writer:close()
    pipe:read("a")
    pipe:close()
    files.write(output, "")
  end)
  -- What a failed case has left running would keep the simulator's input open.
  local running
  after_each(function()
    if running then process.execute("kill -KILL " .. running .. " 2>/dev/null") end
    running = nil
  end)
  teardown(function()
    sim.stop()
    process.execute("rm -rf " .. quote(directory))
  end)

  -- Starts it. Returns { file =, says(text): waits for that text, signal(name), ended() → status }.
  local function start(text)
    local own = { file = directory .. "/auto.lua" }
    local out, status, pid = directory .. "/out", directory .. "/status", directory .. "/pid"
    process.execute("rm -f " .. quote(status) .. " " .. quote(pid))
    files.write(own.file, text)
    process.execute(string.format("(%s %s run --explain %s >%s 2>&1 & p=$!; echo $p >%s; wait $p; echo $? >%s) >/dev/null 2>&1 &", env,
      sims.fleet, quote(own.file), quote(out), quote(pid), quote(status)))
    local function wait(path, wanted)
      for _ = 1, 800 do
        local found = files.find(path)
        if found and string.find(found, wanted, 1, true) then return found end
        core.pause(0.025)
      end
      error(wanted .. " did not come: " .. tostring(files.find(path)))
    end
    running = string.match(wait(pid, "\n"), "%d+")
    function own.says(wanted) return wait(out, wanted) end
    function own.signal(name) process.execute("kill -" .. name .. " " .. running) end
    function own.ended()
      local code = wait(status, "\n")
      running = nil
      return code
    end
    return own
  end

  for _, name in ipairs { "TERM", "INT" } do
    it("ends by SIG" .. name .. " with status 0", function()
      local run = start(string.format(automation, name))
      run.says(name .. ": everything is as declared")
      run.signal(name)
      assert.equal("0\n", run.ended())
    end)
  end

  it("reads its file again by SIGHUP, and keeps what runs when the file is wrong", function()
    local run = start(string.format(automation, "first"))
    run.says "first: everything is as declared"
    files.write(run.file, "return 7")
    run.signal "HUP"
    run.says "kept what runs"
    run.says "must return a function(client)"
    files.write(run.file, string.format(automation, "second"))
    run.signal "HUP"
    run.says "read again"
    run.says "second: everything is as declared"
    run.signal "TERM"
    assert.equal("0\n", run.ended())
  end)

  it("--dry-run names the vehicle, and says why an unknown one cannot be looked at", function()
    local path = files.write(directory .. "/dry.lua", string.format(automation, "one"))
    local out, status = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.equal(0, status)
    assert.matches("one of vehicle " .. car .. "\n  nothing to send: everything is as declared\n", out, 1, true)
    files.write(path, (string.gsub(string.format(automation, "one"), car, "5YJ3E1EA7KF000009")))
    out, status = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.equal(16, status)
    assert.matches("one of vehicle 5YJ3E1EA7KF000009: info: not_found", out, 1, true)
  end)

  it("--dry-run does not say in one breath that all is as declared and that it is not", function()
    local changed = string.gsub(string.format(automation, "one"), "on = false", "on = true")
    local path = files.write(directory .. "/dry.lua", changed)
    local out = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.matches("would send set_sentry_mode: set_sentry_mode is not as declared", out, 1, true)
    assert.is_nil(string.find(out, "everything is as declared", 1, true), out)
  end)
end)

describe("a mistake in the file of fleet run", function()
  local function run(text)
    local path = files.write(os.tmpname(), text)
    local result = cli.run({ "run", path }, { env = { FLEET_TOKEN = "x" } })
    os.remove(path)
    return result, path
  end

  for _, case in ipairs {
    { "raised by Lua", "return function()\n  local x\n  return x.y\nend", ":3: attempt to index" },
    { "raised while it is read", "\nerror 'no'", ":2: no" },
    { "of syntax", "return function(", "expected" },
    { "in an option", "return function(client)\n  local a = require('fleet').automation.ensure { cra = 1 }\n  return a\nend",
      ":2: fleet.automation.ensure: unknown option 'cra'" },
  } do
    it(case[1] .. " is the caller's, told with its line and without a trace", function()
      local result, path = run(case[2])
      assert.equal(2, result.status, result.err)
      assert.matches("'run': " .. (case[1] == "of syntax" and "" or path), result.err, 1, true)
      assert.matches(case[3], result.err, 1, true)
      assert.is_nil(string.find(result.err, "traceback", 1, true))
    end)
  end

  it("that is a failure of a call keeps its kind", function()
    local result = run "return function() error(require('fleet.core').err { kind = 'store', message = 'full' }, 0) end"
    assert.equal(29, result.status)
    assert.matches("^fleet: full\n", result.err)
  end)
end)
