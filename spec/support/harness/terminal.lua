-- A person at a terminal: runs a command on a pseudo-terminal and answers what it asks, as a person reads and types.
--
--   local text, status = require("spec.support.harness.terminal").run(command, {
--     { "client id", "app" }, { "sign in: (http%S+)", function(address) return … end }, … })
--
-- Each rule is a pattern and the line to type when it shows after what was answered last; a function gets the captures. The
-- text is all that the terminal showed, typed lines included unless the echo was off. Fails when a prompt does not come.

local core = require "fleet.core"
local process = require "spec.support.harness.process"

local M = {}

local looks, pause = 1200, 0.025 -- half a minute for each prompt

--- Whether there are pseudo-terminals here: a bare root without /dev/pts has none.
function M.available()
  if M.found == nil then
    M.found = os.execute("env -u LD_PRELOAD script -qec true /dev/null </dev/null >/dev/null 2>&1") == true
  end
  return M.found
end


local function content(path)
  local file = io.open(path, "rb")
  if not file then return "" end
  local text = file:read("a")
  file:close()
  return text
end

-- What the rule's pattern captures after `from`, and where it ends.
local function await(path, from, pattern)
  for _ = 1, looks do
    local found = table.pack(string.find(content(path), pattern, from))
    if found[1] then return found[2] + 1, table.unpack(found, 3, found.n) end
    core.pause(pause)
  end
  error("the terminal did not show '" .. pattern .. "' but:\n" .. content(path), 0)
end

local function answer_all(pipe, path, rules)
  local from = 1
  for _, rule in ipairs(rules) do
    local captures = table.pack(await(path, from, rule[1]))
    from = captures[1]
    local line = rule[2]
    if type(line) == "function" then line = line(table.unpack(captures, 2, captures.n)) end
    pipe:write(line, "\n")
    pipe:flush()
  end
end

--- Runs the command and answers it. Returns what was shown, and the command's exit status.
function M.run(command, rules)
  local directory = process.temporary("terminal")
  local path, ended = directory .. "/shown", directory .. "/status"
  local whole = command .. "; echo $? >" .. process.quote(ended)
  local line = "env -u LD_PRELOAD script -qfc " .. process.quote(whole) .. " " .. process.quote(path) .. " >/dev/null 2>&1"
  local pipe = assert(io.popen(line, "w"))
  local ok, err = pcall(answer_all, pipe, path, rules)
  pipe:close()
  local text, status = content(path), tonumber(content(ended))
  process.execute("rm -rf " .. process.quote(directory))
  if not ok then error(err, 0) end
  return text, status
end

return M
