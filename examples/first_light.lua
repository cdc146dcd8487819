-- Sign in, look at the vehicles, set a charge limit, look at an energy site. The addresses and the application come from
-- the environment (FLEET_BASE_URL, FLEET_AUTH_URL, FLEET_TOKEN_URL, FLEET_CLIENT_ID, FLEET_CLIENT_SECRET,
-- FLEET_REDIRECT_URI) or from `fleet setup`; the callback address is read from standard input.
local fleet = require "fleet"

local client = fleet.from_env()

local address, pending = client:authorize_url()
print("Open this address, consent, and paste where the browser went:")
print(address)
assert(client:authorize(assert(io.read("l")), pending))

for car, record in client:vehicles() do
  print(record.vin, record.display_name, record.state)
  local result, err = car:set_charge_limit({ percent = 80 }, { wake = true })
  if result then print("  charge limit 80 %", result.changed and "set" or "was set already") else print("  not set:", err) end
end

for _, product in ipairs(assert(client:products())) do
  if product.energy_site_id then
    local live = assert(client:energy_site(product.energy_site_id):live_status())
    print(product.site_name, "solar " .. live.solar_power .. " W", "battery " .. live.battery_power .. " W")
  end
end

client:close()
