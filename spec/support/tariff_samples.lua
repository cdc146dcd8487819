-- The sample tariffs of spec/vectors/tariffs, and tables made from them.

local core = require "fleet.core"

local M = {}

local folder = "spec/vectors/tariffs/"

function M.text(name)
  local file = assert(io.open(folder .. name, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

--- The decoded sample of that file name.
function M.read(name)
  return (assert(core.json_decode(M.text(name))))
end

--- { [file name] = { valid =, problems =, normalisations = }, … }
function M.expected()
  return M.read("expect.json")
end

function M.two_seasons()
  return M.read("02-two-season-tou.json")
end

--- The entries of one kind.
function M.of_kind(list, kind)
  local out = {}
  for _, entry in ipairs(list) do
    if entry.kind == kind then out[#out + 1] = entry end
  end
  return out
end

return M
