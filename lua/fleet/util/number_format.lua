-- Numbers as text with a point, whatever locale the host has set: string.format writes its decimal sign, which may be any run of
-- bytes. Half-way between two texts every Lua takes the even digit, LuaJIT's own functions the larger one.
--
-- fixed(0.5, 2) is "0.50"; short(0.5, 2) is "0.5", short(3, 2) is "3": without trailing zeros.

local core = require "fleet.core"

return { fixed = core.fixed, short = core.shortened }
