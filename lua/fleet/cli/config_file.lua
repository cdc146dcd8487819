-- Writes the configuration file: the options of fleet.new as JSON, readable by its owner only, and replaced atomically.

local core = require "fleet.core"
local atomic_file = require "fleet.util.atomic_file"

local M = {}

-- One member per line, in order, because people read and edit the file.
local function text_of(members)
  local names, lines = {}, {}
  for name in pairs(members) do names[#names + 1] = name end
  table.sort(names)
  for i, name in ipairs(names) do
    lines[i] = "  " .. core.json_encode(name) .. ": " .. core.json_encode(members[name], "scopes hosts")
  end
  return "{\n" .. table.concat(lines, ",\n") .. "\n}\n"
end

--- Writes the members to path. Returns "written", or "kept" when the file has the same content; or nil, err, "store".
function M.save(path, members)
  local text = text_of(members)
  local before, facts = core.file_read(path, 1e6)
  if before == text and facts.mode % 64 == 0 then return "kept" end
  local made, err, kind = core.directory_make((atomic_file.parts(path)))
  if made then made, err, kind = atomic_file.write(path, text) end
  if not made then return nil, err, kind end
  return "written"
end

return M
