-- All endpoints: name of the row → function(context) → the value of `response`, and further members of the reply. context: service, row,
-- token, account, args, query, body, vehicle, role, hidden, site, now, fail(status, error, description).
local M = {}

local PARTS = { "vehicles", "users", "sharing", "partner", "telemetry", "energy", "charging" }

for _, part in ipairs(PARTS) do
  for name, handler in pairs(require("fleet.sim.api." .. part).handlers) do M[name] = handler end
end

for name, handler in pairs(require("fleet.sim.signed").handlers) do M[name] = handler end

return M
