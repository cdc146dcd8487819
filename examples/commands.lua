-- One vehicle takes signed commands only, the other plain ones: the same script for both, and what it does when an answer
-- is lost. The simulator plays the vehicles.
local pearl, ruby = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"
local sim = assert(require("fleet.sim").new { garage = { vehicles = {
  { vin = pearl }, { vin = ruby, vehicle_command_protocol_required = false },
} } })
local client = assert(sim:client())

local function print_result(what, done, err)
  if done then
    print(what, done.via, done.changed and "done" or "already so")
  elseif err.outcome == "unknown" then
    local settled, why = client:vehicle(err.vin):settle(err)
    print(what, "unknown", "but looking says " .. (settled == nil and why.kind or settled and "done" or "not done"))
  else
    print(what, err.outcome, err.kind)
  end
end

for _, vin in ipairs { pearl, ruby } do
  local car = client:vehicle(vin)
  print_result("limit", car:set_charge_limit { percent = 85 })
  print_result("limit again", car:set_charge_limit { percent = 85 })
end

local car = client:vehicle(pearl)
sim:fault("lost", 1, { message = "command" })
print_result("unlock", car:door_unlock())
sim:fault("epoch_change", 1) -- the vehicle restarts: the command is signed again, once
print_result("lock", car:door_lock())
print("charge", assert(car:signed_data { "charge" }).charge_state.battery_level .. " %")

client:close()
sim:close()
