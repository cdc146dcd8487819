-- Signing in: prints the address to open, then reads the address that the browser came back to.
local fleet = require "fleet"

local client = fleet.new {
  base_url = os.getenv "FLEET_BASE_URL", auth_url = os.getenv "FLEET_AUTH_URL", token_url = os.getenv "FLEET_TOKEN_URL",
  client_id = os.getenv "FLEET_CLIENT_ID" or "your-client-id", client_secret = os.getenv "FLEET_CLIENT_SECRET",
  redirect_uri = os.getenv "FLEET_REDIRECT_URI" or "https://app.example/callback",
  scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds" },
  store = os.getenv "FLEET_STORE" or fleet.store.memory(),
}

local url, pending = assert(client:authorize_url())
print("Open this address, sign in, and paste the address you are sent to:\n" .. url)

local callback = io.read("l")
if callback and callback ~= "" then
  assert(client:authorize(callback, pending))
  local tokens = assert(client:token_info())
  print("signed in; refresh by " .. os.date("!%Y-%m-%d", math.floor(tokens.user.refresh_by)))
end
client:close()
