-- A run over many vehicles that is killed with -9 in the middle, and one that goes on: no command twice, none forgotten.

local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"

local count, answered = 12, 5

describe("a run over many vehicles", function()
  local directory, server, seen, held, handle

  -- Answers so many and keeps the rest waiting, or answers all.
  local function serve(limit)
    held = {}
    return function(request)
      local vin = request.path:match("vehicles/(%w+)/command/honk_horn")
      seen[#seen + 1] = vin
      if #seen > limit then
        held[#held + 1] = request
        return
      end
      request:respond(200, { ["Content-Type"] = "application/json" }, '{"response":{"result":true,"reason":""}}')
    end
  end

  local function start(words)
    local line = string.format("cd %s && FLEET_TOKEN=t FLEET_BASE_URL=http://127.0.0.1:%d XDG_CONFIG_HOME=/nowhere "
      .. "sh -c 'echo $$ >pid; exec %s honk_horn --vins vins --resume record --concurrency 2 %s' >out 2>&1; echo $? >status",
      process.quote(directory), server:port(), sims.fleet, words or "")
    os.execute("rm -f " .. directory .. "/status; (" .. line .. ") &")
  end

  -- Serves until the condition holds.
  local function until_holds(condition)
    fleet.run(function()
      for _ = 1, 3000 do
        if condition() then return end
        fleet.sleep(0.01)
      end
      error("nothing more happens:\n" .. tostring(files.find(directory .. "/out")))
    end)
  end

  local function has_ended()
    local status = files.find(directory .. "/status")
    return status ~= nil and status:find("%d") ~= nil
  end

  -- Begins a run over all and ends it by a signal while two calls have no answer.
  local function stopped_by(signal, words)
    directory, seen = process.temporary("bulk"), {}
    local vins = {}
    for i = 1, count do vins[i] = string.format("5YJ3E1EA7KF%06d", i) end
    files.write(directory .. "/vins", table.concat(vins, "\n") .. "\n")
    handle = serve(answered)
    server = assert(require("fleet.server").new { loop = fleet.loop, on_request = function(request) handle(request) end })
    start(words)
    until_holds(function() return #held == 2 end)
    process.execute("kill -" .. signal .. " " .. files.read(directory .. "/pid"):match("%d+"))
    until_holds(has_ended)
    assert.equal(answered + 2, #seen)
    return #seen
  end

  after_each(function() process.execute("rm -rf " .. process.quote(directory)) end)

  it("prints what it did when it is interrupted from the keyboard, and ends with 130", function()
    stopped_by "INT"
    server:close()
    local out = files.read(directory .. "/out")
    local _, printed = out:gsub("\n5YJ3E1EA7KF%d+  done", "")
    assert.equal(answered, printed, out)
    assert.equal("130\n", files.read(directory .. "/status"))
  end)

  it("is resumed after kill -9: what was started is unknown and not repeated, the rest is done", function()
    local first = stopped_by("KILL", "--json")
    handle = serve(count)
    start "--json"
    until_holds(has_ended)
    server:close()

    local times, outcomes = {}, { done = 0, unknown = 0 }
    for _, vin in ipairs(seen) do
      assert.is_nil(times[vin], vin .. " got the command twice")
      times[vin] = true
    end
    assert.equal(count, #seen)
    for line in files.read(directory .. "/out"):gmatch("[^\n]+") do
      local entry = core.json_decode(line)
      if entry.vin then outcomes[entry.outcome] = outcomes[entry.outcome] + 1 end
    end
    assert.same({ done = count - first, unknown = 2 }, outcomes)
    assert.is_true(tonumber(files.read(directory .. "/status")) > 2)
  end)
end)
