-- Writes a reply's body into a file: first into a temporary file in the same directory, which is renamed when it is complete. An
-- existing file is kept unless the caller gives `overwrite`. The caller chooses the name, never the server. The body is in memory,
-- bounded by max_response, so that a body of the wrong type, such as a page in place of a PDF, is never written.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local calls = require "fleet.call"
local atomic_file = require "fleet.util.atomic_file"

local M = {}

local function exists(path)
  local file = io.open(path, "rb")
  if file then file:close() end
  return file ~= nil
end

local function refuse(path)
  return errors.failure("store", string.format("'%s' exists already: choose another name, or set overwrite = true", path))
end

--- Performs the planned request and writes the body to path. Returns path, or nil, err, kind; a failure leaves no file.
function M.to_file(row, request, handle, path, overwrite)
  if not overwrite and exists(path) then return refuse(path) end
  local draft, err, kind = core.file_draft(atomic_file.parts(path)) -- first: a request is not worth sending when the file cannot be written
  if not draft then return nil, err, kind end
  local body, _
  body, err, kind = calls.perform(row, handle, request)
  if not err then _, err, kind = draft:write(body, false) end
  if not err then _, err, kind = draft:keep(false) end
  draft:close()
  if err then return nil, err, kind end
  return path
end

return M
