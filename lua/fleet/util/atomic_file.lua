-- Writes a file atomically, readable and writable by its owner only.

local core = require "fleet.core"

local M = {}

--- The directory of a path, and the name in it.
function M.parts(path)
  local directory, name = string.match(path, "^(.*)/([^/]+)$")
  return directory == "" and "/" or directory or ".", name or path
end

local function write(path, text, new)
  local draft, err, kind = core.file_draft(M.parts(path))
  if not draft then return nil, err, kind end
  local done
  done, err, kind = draft:write(text, true)
  if done then done, err, kind = draft:keep(true, new) end
  draft:close()
  return done, err, kind
end

--- Writes text to path, whose directory exists. Returns true, or nil, err, "store".
function M.write(path, text)
  return write(path, text, false)
end

--- Creates a file with this text; nil, err, "conflict" when the file exists.
function M.create(path, text)
  return write(path, text, true)
end

return M
