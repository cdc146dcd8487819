-- Look at the vehicles, set a charge limit, look at the energy sites. sign_in.lua beside it signs a person in.
local fleet = require "fleet"

local client = assert(fleet.from_config()) -- the variables FLEET_…, else ~/.config/fleet/config.json

for car, record in client:vehicles() do
  print(record.vin, record.display_name, record.state)
  local result, err = car:set_charge_limit({ percent = 80 }, { wake = true })
  print("  charge limit 80 %: " .. (result and (result.changed and "set" or "already so") or tostring(err)))
end

for _, product in ipairs(assert(client:products())) do
  if product.energy_site_id then
    local live = assert(client:energy_site(product.energy_site_id):live_status())
    print(product.site_name, "solar " .. live.solar_power .. " W", "battery " .. live.battery_power .. " W")
  end
end

client:close()
