-- The source of tokens, codes and ids: the core's secure random source, because a web page in a browser on this machine must not guess the
-- control token; or the caller's, so that a spec can be repeated.
local core = require("fleet.core")
local text = require("fleet.sim.text")

local M = {}

local function system_bytes(count)
  return text.unbase64(assert(core.random_text(count)))
end

-- random(n) → hexadecimal text of n bytes. bytes(n) replaces the secure source.
function M.new(bytes)
  bytes = bytes or system_bytes
  return function(count)
    return (bytes(count):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
  end
end

-- A UUID as text, RFC 9562 version 4.
function M.uuid(random)
  local hex = random(16)
  local variant = ("%x"):format(8 + tonumber(hex:sub(17, 17), 16) % 4)
  return ("%s-%s-4%s-%s%s-%s"):format(
    hex:sub(1, 8), hex:sub(9, 12), hex:sub(14, 16), variant, hex:sub(18, 20), hex:sub(21, 32))
end

return M
