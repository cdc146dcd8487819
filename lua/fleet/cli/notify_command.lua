-- Builds the shell command for each notification of `fleet run`. The event is passed in environment variables, never in the command's text,
-- so that no text of the service is run as shell code.

local M = {}

local names = {
  FLEET_TEXT = "text", FLEET_SEVERITY = "severity", FLEET_KEY = "key", FLEET_AUTOMATION = "automation", FLEET_SUBJECT = "subject",
}

local function quote(text)
  return "'" .. string.gsub(tostring(text), "'", "'\\''") .. "'"
end

--- The line for /bin/sh. It starts the command in the background.
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
