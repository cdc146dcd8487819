-- `fleet sim` as a process that ends with the spec, and `fleet` as a process.

local core = require "fleet.core"
local process = require "spec.support.harness.process"

local M = { fleet = process.quote(process.root .. "/lua/fleet/cli/fleet") }
if _VERSION ~= "Lua 5.4" then M.fleet = process.lua .. " " .. M.fleet end -- its first line names 5.4

local function first_lines(path, count)
  local lines = {}
  local pipe = assert(io.open(path, "r")) -- a named pipe: waits until somebody writes
  for i = 1, count do lines[i] = pipe:read("l") end
  pipe:close()
  return lines
end

--- Starts the simulator with further arguments. Returns { base_url =, …, pid =, directory =, env = text of shell assignments,
--- stop = function() → exit status of the process as text }.
function M.start(arguments)
  local directory = process.temporary("sim")
  local announce, ended = directory .. "/announce", directory .. "/ended"
  process.execute("mkfifo " .. process.quote(announce))
  -- The shell reads its input to its end, which comes when the spec stops or dies.
  local script = string.format(
    "exec 2>/dev/null; %s sim --port 0 %s >%s 2>%s & pid=$!; echo $pid >%s; read x; kill -TERM $pid; wait $pid; echo $? >%s",
    M.fleet, arguments or "", process.quote(directory .. "/out"), process.quote(directory .. "/err"), process.quote(announce),
    process.quote(ended))
  local pipe = assert(io.popen(script, "w"))
  local pid = first_lines(announce, 1)[1]
  local line
  for _ = 1, 2400 do
    local file = io.open(directory .. "/out", "r")
    line = file and file:read("l")
    if file then file:close() end
    if line then break end
    core.pause(0.025)
  end
  local sim = core.json_decode(assert(line, "the simulator did not start; see " .. directory))
  sim.pid, sim.directory = pid, directory
  sim.env = string.format("FLEET_BASE_URL=%s FLEET_AUTH_URL=%s FLEET_TOKEN_URL=%s FLEET_STORE=%s XDG_CONFIG_HOME=%s ", sim.base_url,
    sim.auth_url, sim.token_url, process.quote(directory .. "/store"), process.quote(directory .. "/config"))
  function sim.stop()
    if not pipe then return end
    pipe:close()
    pipe = nil
    local file = assert(io.open(ended, "r"))
    local status = file:read("l")
    file:close()
    process.execute("rm -rf " .. process.quote(directory))
    return status
  end
  return sim
end

--- Runs a shell line; returns its output and its status.
function M.shell(line)
  local pipe = assert(io.popen(line .. "\necho \"status $?\""))
  local text = pipe:read("a")
  pipe:close()
  local out, status = string.match(text, "^(.-)status (%d+)\n$")
  return out, tonumber(status)
end

return M
