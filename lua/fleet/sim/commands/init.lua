-- All commands: name → function(vehicle, params, context), which changes the vehicle and returns nil, or returns the reason for its
-- refusal. context: now, random(n), charging_site(vehicle, id).
local M = {}

for _, part in ipairs({ "charging", "climate", "access", "media" }) do
  for name, run in pairs(require("fleet.sim.commands." .. part)) do M[name] = run end
end

return M
