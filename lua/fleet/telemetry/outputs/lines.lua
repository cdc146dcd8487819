-- Records as lines of JSON, to a file or a function.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local kept = { "vin", "topic", "txid", "at", "arrived", "resend", "values", "invalid", "texts", "alerts", "errors", "signals" }

--- A record as a line, without the line end.
function M.line(record)
  local line = {}
  for _, name in ipairs(kept) do line[name] = record[name] end
  return core.json_encode(line, "invalid alerts errors")
end

local Lines = { name = "lines" }
Lines.__index = Lines

--- given.write: function(text) → true, or a Lua file (io.stdout); or given.path: a file to append to.
function M.new(given)
  local write = given.write
  if given.path then
    local file, why = io.open(given.path, "a")
    if not file then return errors.failure("store", why) end
    write = file
  end
  if type(write) ~= "function" and not io.type(write) then
    errors.usage "fleet.telemetry: the output lines needs 'path', or 'write': a function or a file"
  end
  return setmetatable({ write = write, file = given.path and write }, Lines)
end

--- Writes a record and flushes it. Returns true, or nil, err, kind.
function Lines:store(record)
  local text = M.line(record) .. "\n"
  if type(self.write) == "function" then
    if self.write(text) then return true end
    return errors.failure("store", "the output lines: the function did not return true")
  end
  if self.broken then text = "\n" .. text end -- a full disk may have cut the last line
  local done, why = self.write:write(text)
  if done then done, why = self.write:flush() end
  self.broken = not done
  if not done then return errors.failure("store", "the output lines: " .. tostring(why)) end
  return true
end

function Lines:close()
  if self.file then self.file:close() end
  self.file = nil
end

return M
