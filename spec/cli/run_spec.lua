-- `fleet run` as a process: how it ends, how it reads its file again, and how it tells a mistake in the file.

local cli = require "spec.support.harness.cli"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local run_process = require "spec.support.servers.run_process"
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
  local runs, env, directory, start

  setup(function()
    runs = run_process.begin()
    env, directory, start = runs.env, runs.directory, runs.start
  end)
  after_each(function() runs.kill() end)
  teardown(function() runs.stop() end)

  for _, name in ipairs { "TERM", "INT" } do
    it("ends by SIG" .. name .. " with status 0", function()
      local run = start(string.format(automation, name))
      run.says(name .. ": all settings are as wanted")
      run.signal(name)
      assert.equal("0\n", run.ended())
    end)
  end

  it("reads its file again by SIGHUP, and keeps what runs when the file is wrong", function()
    local run = start(string.format(automation, "first"))
    run.says "first: all settings are as wanted"
    files.write(run.file, "return 7")
    run.signal "HUP"
    run.says "kept what runs"
    run.says "must return a function(client)"
    files.write(run.file, string.format(automation, "second"))
    run.signal "HUP"
    run.says "read again"
    run.says "second: all settings are as wanted"
    run.signal "TERM"
    assert.equal("0\n", run.ended())
  end)

  it("--dry-run names the vehicle, and says why an unknown one cannot be looked at", function()
    local path = files.write(directory .. "/dry.lua", string.format(automation, "one"))
    local out, status = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.equal(0, status)
    assert.matches("one of vehicle " .. car .. "\n  nothing to send: all settings are as wanted\n", out, 1, true)
    files.write(path, (string.gsub(string.format(automation, "one"), car, "5YJ3E1EA7KF000009")))
    out, status = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.equal(16, status)
    assert.matches("one of vehicle 5YJ3E1EA7KF000009: info: not_found", out, 1, true)
  end)

  it("--dry-run does not say in one breath that all is as declared and that it is not", function()
    local changed = string.gsub(string.format(automation, "one"), "on = false", "on = true")
    local path = files.write(directory .. "/dry.lua", changed)
    local out = sims.shell(env .. sims.fleet .. " run --dry-run " .. quote(path) .. " 2>&1")
    assert.matches("would send set_sentry_mode: sentry mode is not as wanted", out, 1, true)
    assert.is_nil(string.find(out, "all settings are as wanted", 1, true), out)
  end)

  it("shows the time of a line in the automation's zone, and in UTC where it has none", function()
    local path = files.write(directory .. "/clock.lua", string.format(automation, "one"))
    local function line()
      return (sims.shell(env .. sims.fleet .. " run --once --explain --state " .. quote(process.temporary "clock") .. " "
        .. quote(path) .. " 2>&1"))
    end
    assert.matches("^%d+%-%d%d%-%d%d %d%d:%d%d:%d%dZ one: ", line())
    files.write(path, (string.gsub(string.format(automation, "one"), "car = car,", 'car = car, zone = "Asia/Tokyo",')))
    assert.matches("^%d+%-%d%d%-%d%d %d%d:%d%d:%d%d JST one: ", line())
  end)

  it("--once does what is due, ends, and does nothing before it is due again", function()
    local path = files.write(directory .. "/cron.lua", string.format((string.gsub(automation, "on = false", "on = true")), "cron"))
    local function once(more)
      return sims.shell(env .. sims.fleet .. " run --once " .. (more or "") .. quote(path) .. " 2>&1")
    end
    local out, status = once()
    assert.equal(0, status)
    assert.matches("cron: sent set_sentry_mode", out)
    out, status = once()
    assert.same({ "", 0 }, { out, status })
    out, status = once("--explain --state " .. quote(directory .. "/apart") .. " ") -- which remembers nothing
    assert.equal(0, status)
    assert.matches("cron: all settings are as wanted", out)
    out, status = once("--listen ")
    assert.equal(2, status)
    assert.matches("ends at once", out)
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
    { "in an option of what is returned at once", "return function(client)\n\n  return require('fleet').automation.ensure { cra = 1 }\nend",
      ":1: fleet.automation.ensure: unknown option 'cra'" },
    { "in an option", "return function(client)\n  local a = require('fleet').automation.ensure { cra = 1 }\n  return a\nend",
      ":2: fleet.automation.ensure: unknown option 'cra'" },
  } do
    it(case[1] .. " is a usage error, reported with its line and without a trace", function()
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
