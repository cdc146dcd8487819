-- Values from `@file` and `-` in place of the command line, and results that are written to a file.

local errors = require "fleet.util.errors"
local usage_error = require "fleet.cli.usage_error"

local M = {}

-- The content of a file. label: the name of the value, put before the message, or nil.
local function content_of(path, label)
  local prefix = label and string.format("'%s': ", label) or ""
  local file, why = io.open(path, "rb")
  if not file then usage_error.raise(prefix .. "cannot read " .. why) end
  local content
  content, why = file:read("*a")
  file:close()
  if not content then usage_error.raise(string.format("%scannot read %s: %s", prefix, path, why or "it is no file")) end
  return content
end

--- The bytes of `@file` or `-` (standard input), or nil when the text is neither.
function M.bytes(environment, label, text)
  if text == "-" then
    if environment.stdin_taken then usage_error.raise(string.format("'%s': standard input is taken already", label)) end
    environment.stdin_taken = true
    return environment.stdin:read("*a") or ""
  end
  local path = string.match(text, "^@(.+)$")
  return path and content_of(path, label)
end

--- The text of a file that is named with or without "@", or of standard input for "-".
function M.read_file(environment, word)
  if word == "-" then return M.bytes(environment, "FILE", word) end
  return content_of((string.gsub(word, "^@", "")))
end

--- The same as text, without the line end that editors and `echo` add.
function M.read(environment, label, text)
  local content = M.bytes(environment, label, text)
  return content and (string.gsub(content, "\r?\n$", ""))
end

--- Writes a result to a file. Returns { path = }, or nil, err, "store".
function M.write(path, text)
  local file, why = io.open(path, "wb")
  local written = file and file:write(text) and file:close()
  if written then return { path = path } end
  return errors.failure("store", why or path .. ": it could not be written")
end

return M
