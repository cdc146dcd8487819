-- What the specs of the signing pillar share: the vectors, hexadecimal, and a source of chosen "random" bytes.
local cjson = require("cjson").new()

local M = {}

function M.vectors(name)
  local file = assert(io.open("spec/vectors/" .. name .. ".json"))
  local text = file:read("a")
  file:close()
  return cjson.decode(text)
end

function M.unhex(text)
  return (text:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end))
end

function M.hex(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

--- A random function that gives these strings, in order, and then fails.
function M.draws(list)
  local at = 0
  return function(n)
    at = at + 1
    local bytes = list[at] or error("nothing left to draw")
    assert(#bytes == n, "asked for " .. n .. " bytes, have " .. #bytes)
    return bytes
  end
end

--- cjson reads every number as a float.
function M.whole(number)
  return math.tointeger(number)
end

function M.by_name(list, name)
  for _, entry in ipairs(list) do
    if entry.name == name then return entry end
  end
  error("no vector named " .. name)
end

--- A deterministic generator: properties that fail must fail again.
function M.generator(seed)
  local state = seed
  return function(n)
    state = (state * 1103515245 + 12345) % 2147483648
    return state // 65536 % n + 1
  end
end

return M
