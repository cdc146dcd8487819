-- What to do when a command fails: the outcome says whether it may have happened, and settle looks.
local fleet = require "fleet"

local client = assert(fleet.from_config()) -- the variables FLEET_…, else ~/.config/fleet/config.json
local car = client:vehicle(os.getenv "FLEET_VIN" or "5YJ3FLEE9RF000001") -- Blue of the simulator

local result, err = car:charge_port_door_open()
if result then
  print("the door is open", result.changed and "now" or "and was before")
elseif err.outcome == "unknown" then
  local done, why = car:settle(err)
  print("unclear at first (" .. err.kind .. "); looking says: " .. tostring(done), why or "")
else
  print("certainly not done: " .. tostring(err))
end
client:close()
