-- Sign in, look at the vehicles, set a charge limit, look at the energy sites. The addresses and the application come from
-- the environment; the callback address is read from standard input.
local fleet = require "fleet"

local client = fleet.new {
  base_url = os.getenv "FLEET_BASE_URL", auth_url = os.getenv "FLEET_AUTH_URL", token_url = os.getenv "FLEET_TOKEN_URL",
  client_id = os.getenv "FLEET_CLIENT_ID", client_secret = os.getenv "FLEET_CLIENT_SECRET",
  redirect_uri = os.getenv "FLEET_REDIRECT_URI",
  scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "energy_device_data" },
}

local address, pending = client:authorize_url()
print("Open this address, consent, and paste where the browser went:")
print(address)
assert(client:authorize(assert(io.read("l")), pending))

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
