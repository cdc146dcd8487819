-- Writing a file of the user's: whole or not at all, and readable by nobody else.

local core = require "fleet.core"

local M = {}

--- The directory of a path, and the name in it.
function M.parts(path)
  local directory, name = string.match(path, "^(.*)/([^/]+)$")
  return directory == "" and "/" or directory or ".", name or path
end

--- Writes text to path, whose directory exists. Returns true, or nil, err, "store".
function M.write(path, text)
  local draft, err, kind = core.file_draft(M.parts(path))
  if not draft then return nil, err, kind end
  local done
  done, err, kind = draft:write(text, true)
  if done then done, err, kind = draft:keep(true) end
  draft:close()
  return done, err, kind
end

return M
