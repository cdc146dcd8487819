-- Whole files, for specs.
local M = {}

--- The contents of a file; raises where there is none.
function M.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

--- The contents of a file, or nil.
function M.find(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  file:close()
  return M.read(path)
end

function M.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  return path
end

return M
