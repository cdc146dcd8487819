-- Rate limits (doc/protocol.md#rate-limits), if the garage enables them: per vehicle and minute, by billing class.
local reply = require("fleet.sim.reply")

local M = {}
M.__index = M

local PER_MINUTE = { data = 60, command = 30, wake = 3 }

function M.new(service)
  return setmetatable({ on = service.garage.limits == true, windows = {} }, M)
end

-- Raises a refusal when the call exceeds the limit.
function M:check(context)
  local class = context.row.billing
  local most = self.on and context.vehicle and PER_MINUTE[class]
  if not most then return end
  local minute = math.floor(context.now / 60)
  local calls = context.vehicle.calls
  local window = calls[class]
  if not window or window.minute ~= minute then
    window = { minute = minute, count = 0 }
    calls[class] = window
  end
  window.count = window.count + 1
  if window.count <= most then return end
  reply.limit(math.ceil((minute + 1) * 60 - context.now), most)
end

return M
