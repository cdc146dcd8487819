-- Text of others as UTF-8 (RFC 3629): what is none becomes U+FFFD, byte by byte.

local core = require "fleet.core"

local M = { repaired = core.utf8_repaired }

--- Whether a text is UTF-8.
function M.valid(text)
  return M.repaired(text) == text
end

return M
