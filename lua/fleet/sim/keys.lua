-- Public keys in all their forms: 130 hex digits, PEM, or the base64 of a JWS issuer. They are compared as hex of the uncompressed point.
local text = require("fleet.sim.text")

local M = {}

local function hex_of(bytes)
  return (bytes:gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

-- hex(written) → 130 hex digits in lower case, or nil when it is not an uncompressed P-256 point.
function M.hex(written)
  local body = written:match("%-%-%-%-%-BEGIN PUBLIC KEY%-%-%-%-%-(.-)%-%-%-%-%-END")
  if body then
    local der = text.unbase64((body:gsub("%s", "")))
    -- A SubjectPublicKeyInfo ends with the point (RFC 5480 section 2).
    if not der or #der ~= 91 then return nil end
    written = hex_of(der:sub(-65))
  end
  local hex = written:lower()
  if #hex == 130 and hex:match("^04%x+$") then return hex end
  return nil
end

-- The same from standard base64 of the 65 bytes.
function M.hex_of_base64(written)
  local bytes = text.unbase64(written)
  return bytes and M.hex(hex_of(bytes)) or nil
end

function M.hex_of_bytes(bytes)
  return M.hex(hex_of(bytes))
end

return M
