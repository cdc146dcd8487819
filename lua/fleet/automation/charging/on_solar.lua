-- Solar charging by the car and its gateway themselves (charge_on_solar). Automations stay out of it while it is active.

local M = {}

-- Members of charge_on_solar_state while the car or its gateway decides.
local at_work = { no_charge_recommended = true, charging_on_excess_solar = true, charging_on_anything = true, waiting_for_server = true }

--- Whether it is active, according to a charge_state.
function M.at_work(charge)
  local managed = type(charge) == "table" and charge.managed_charging_state
  local state = type(managed) == "table" and managed.charge_on_solar_state
  if type(state) == "string" then return at_work[state] == true end
  for name in pairs(type(state) == "table" and state or {}) do
    if at_work[name] then return true end
  end
  return false
end

return M
