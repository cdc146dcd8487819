-- `fleet run` as a process against a simulator in another, signed in.
--
--   local runs = require("spec.support.servers.run_process").begin()    the simulator, a sign-in, a directory
--   local run = runs.start(text, options)   runs the automations of a file with this text
--   run.says(text)    waits until it has printed that; run.signal(name); run.ended() → its status
--   runs.kill()       what a failed case has left running; runs.stop()

local core = require "fleet.core"
local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"

local quote = process.quote

local M = {}

local function sign_in(runs)
  local input = runs.directory .. "/in"
  process.execute("mkfifo " .. quote(input))
  local pipe = assert(io.popen(runs.env .. sims.fleet .. " login <" .. quote(input) .. " 2>&1", "r"))
  local writer = assert(io.open(input, "w"))
  pipe:read("l")
  local url = string.match(pipe:read("l"), "(http%S+)$")
  writer:write((sims.shell("env -u LD_PRELOAD curl -s -m 20 -o /dev/null -w '%{redirect_url}' " .. quote(url) .. "; echo")))
  writer:close()
  pipe:read("a")
  pipe:close()
end

local function wait(path, wanted)
  for _ = 1, 2400 do
    local found = files.find(path)
    if found and string.find(found, wanted, 1, true) then return found end
    core.pause(0.025)
  end
  error(wanted .. " did not come: " .. tostring(files.find(path)))
end

-- Starts it. Returns { file =, says(text): waits for that text, signal(name), ended() → status }.
local function start(runs, text, options)
  local own = { file = runs.directory .. "/auto.lua" }
  local out, status, pid = runs.directory .. "/out", runs.directory .. "/status", runs.directory .. "/pid"
  process.execute("rm -f " .. quote(status) .. " " .. quote(pid))
  files.write(own.file, text)
  process.execute(string.format("(%s %s run --explain %s %s >%s 2>&1 & p=$!; echo $p >%s; wait $p; echo $? >%s) >/dev/null 2>&1 &",
    runs.env, sims.fleet, options or "", quote(own.file), quote(out), quote(pid), quote(status)))
  runs.running = string.match(wait(pid, "\n"), "%d+")
  function own.says(wanted) return wait(out, wanted) end
  function own.signal(name) process.execute("kill -" .. name .. " " .. runs.running) end
  function own.ended()
    local code = wait(status, "\n")
    runs.running = nil
    return code
  end
  return own
end

function M.begin()
  local sim = sims.start()
  local runs = { sim = sim, directory = process.temporary("run") }
  runs.env = sim.env .. "FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=canary-secret-4711 FLEET_REDIRECT_URI=https://app.example.com/back "
  sign_in(runs)
  files.write(runs.directory .. "/out", "")
  function runs.start(text, options) return start(runs, text, options) end
  -- What a failed case has left running would keep the simulator's input open.
  function runs.kill()
    if runs.running then process.execute("kill -KILL " .. runs.running .. " 2>/dev/null || true") end
    runs.running = nil
  end
  function runs.stop()
    runs.kill()
    sim.stop()
    process.execute("rm -rf " .. quote(runs.directory))
  end
  return runs
end

return M
