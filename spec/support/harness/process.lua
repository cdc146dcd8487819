-- Processes that a spec starts and that end with it, even when it is killed: their standard input ends.
-- A process says that it is ready, and on which ports it listens, by one line into a named pipe.

local M = {}

M.build = assert(os.getenv("FLEET_BUILD"), "run the specs through make")
M.root = M.build:gsub("/build/[^/]*$", "")
M.directory = M.build .. "/run"

--- The Lua of the specs, as it is, and for the programs that they start.
M.bare_lua = jit and "luajit" or "lua" .. string.match(_VERSION, "%d%.%d") -- luacheck: ignore
M.lua = M.bare_lua
if _VERSION < "Lua 5.3" then M.lua = M.lua .. " -l spec.support.harness.dialect" end

--- The words that make the build of the specs by `make`.
local other, variant = string.match(M.build, "/lua([^/-]+)%-?([^/]*)$")
M.build_words = other and string.format("LUA_VERSION=%s VARIANT=%s", other, variant == "" and "plain" or variant)
  or "VARIANT=" .. string.match(M.build, "[^/]+$")

--- The command runs on 5.4: why what needs it cannot run here, or nil.
M.no_command = M.bare_lua ~= "lua5.4" and "the command runs on Lua 5.4" or nil

function M.quote(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- A sanitizer that is loaded before the specs has no business in other programs.
local clean = "unset LD_PRELOAD; "

function M.execute(command)
  assert(os.execute(clean .. command), "failed: " .. command)
end

-- A fresh directory below build/.
function M.temporary(name)
  M.execute("mkdir -p " .. M.quote(M.directory))
  local pipe = io.popen(clean .. "mktemp -d " .. M.quote(M.directory .. "/" .. name .. ".XXXXXX"))
  local path = pipe:read("l")
  pipe:close()
  return assert(path, "no temporary directory")
end

-- Runs `command <announce> [argument]`; returns { line = what it announced, stop = function() }. When a process
-- ends early the pipe is opened for it, so that nobody waits for its line. It lives in a session of its own: what ends
-- the specs with a signal must not end the shell that puts things away when its input ends.
function M.start(command, argument)
  local directory = M.temporary("process")
  local announce = directory .. "/announce"
  M.execute("mkfifo " .. M.quote(announce))
  local line = command .. " " .. M.quote(announce) .. (argument and " " .. M.quote(argument) or "")
  local pipe = assert(io.popen(clean .. "exec setsid sh -c " .. M.quote(line .. "; : 1<>" .. M.quote(announce)), "w"))
  local reader = assert(io.open(announce))
  local announced = reader:read("l")
  reader:close()
  assert(announced, "the process did not start: " .. command)
  local function stop()
    if pipe then pipe:close() end
    pipe = nil
    M.execute("rm -rf " .. M.quote(directory))
  end
  return { line = announced, stop = stop }
end

return M
