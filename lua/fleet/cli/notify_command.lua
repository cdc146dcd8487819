-- A shell command for each notification of `fleet run`: what it is about stands in the environment of the command, never in its text.

local M = {}

local names = {
  FLEET_TEXT = "text", FLEET_SEVERITY = "severity", FLEET_KEY = "key", FLEET_AUTOMATION = "automation", FLEET_SUBJECT = "subject",
}

local function quote(text)
  return "'" .. string.gsub(tostring(text), "'", "'\\''") .. "'"
end

--- The line for /bin/sh. It does not wait for the command.
function M.line(command, event)
  local parts = {}
  for name, member in pairs(names) do parts[#parts + 1] = name .. "=" .. quote((string.gsub(tostring(event[member]), "%c", " "))) end
  table.sort(parts)
  return "env " .. table.concat(parts, " ") .. " /bin/sh -c " .. quote(command) .. " </dev/null >/dev/null 2>&1 &"
end

function M.start(command, event)
  os.execute(M.line(command, event))
end

return M
