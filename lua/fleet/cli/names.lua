-- The names of vehicles for the Tab key: `fleet vehicles` writes them to a file, and the shell reads it.

local core = require "fleet.core"
local atomic_file = require "fleet.util.atomic_file"

local M = {}

local end_of_vin = 6

-- A name that needs no quoting in a shell: the vehicle's name, else the end of its VIN.
local function shell_name(record)
  local name = record.display_name
  if type(name) == "string" and string.find(name, "^[%w_][%w_.-]*$") then return name end
  return core.is_vin(record.vin) and string.sub(record.vin, -end_of_vin) or nil
end

local function path_in(environment)
  local cache, home = environment.getenv("XDG_CACHE_HOME"), environment.getenv("HOME")
  if cache and string.sub(cache, 1, 1) == "/" then return cache .. "/fleet" end
  return home and string.sub(home, 1, 1) == "/" and home .. "/.cache/fleet" or nil
end

--- Writes the names of vehicles for the Tab key. They are a convenience: write errors are ignored.
function M.remember(environment, records)
  local directory, words = path_in(environment), {}
  for _, record in ipairs(records) do words[#words + 1] = type(record) == "table" and shell_name(record) or nil end
  if not directory or not core.directory_make(directory) then return end
  atomic_file.write(directory .. "/names", table.concat(words, "\n") .. "\n")
end

return M
