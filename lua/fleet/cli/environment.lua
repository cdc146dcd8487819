-- What the command uses of its process: streams, variables, terminal, and how a client is made. Specs replace parts of it.

local tables = require "fleet.util.tables"

local M = {}

local function is_terminal(descriptor)
  local status = os.execute(string.format("[ -t %d ]", descriptor))
  return status == true or status == 0 -- Lua 5.1 returns the number
end

-- The width of the terminal in columns, or nil when the output is not a terminal.
local function terminal_columns()
  if not is_terminal(1) then return nil end
  local pipe = io.popen("stty size 2>/dev/null </dev/tty")
  local size = pipe and pipe:read("*l")
  if pipe then pipe:close() end
  return tonumber(size and string.match(size, "^%d+ (%d+)$"))
end

-- The shell switches the echo off, and on again on every exit; the answer comes through a pipe.
local ask_script = [[
[ -t 0 ] || exit 1
old=$(stty -g) || exit 1
trap 'stty "$old"' EXIT
trap 'exit 1' INT TERM HUP
stty -echo
printf '%s: ' "$label" >&2
IFS= read -r answer
printf '\n' >&2
printf '%s' "$answer"
]]

-- Asks at the terminal without echo; nil when there is no terminal. label: one of our names, letters and _ only.
local function ask(label)
  local pipe = io.popen("label='" .. string.gsub(label, "[^%w_%- ]", "") .. "'\n" .. ask_script, "r")
  local answer = pipe and pipe:read("*a")
  if pipe then pipe:close() end
  return answer ~= "" and answer or nil
end

--- The environment of this process. given replaces parts: getenv, stdin, stdout, stderr, terminal(descriptor), columns() of the terminal,
--- ask(label) without echo, line(label) with echo, new(options). colours() says whether output may be coloured.
function M.new(given)
  local environment = {
    getenv = os.getenv, stdin = io.stdin,
    stdout = io.stdout, stderr = io.stderr, terminal = is_terminal, ask = ask, columns = terminal_columns,
    new = function(options) return require("fleet").new(options) end,
  }
  function environment.line(label)
    environment.stderr:write(label, ": ")
    environment.stderr:flush()
    return environment.stdin:read("*l")
  end
  function environment.colours()
    return (environment.getenv("NO_COLOR") or "") == "" and environment.getenv("TERM") ~= "dumb" and environment.terminal(1)
  end
  return tables.add(environment, given)
end

return M
