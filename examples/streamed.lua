-- For `fleet run examples/streamed.lua`: an automation that reads the car's stream. The files are those of `fleet telemetry certificate`.
local fleet = require "fleet"

local simulator = os.getenv "FLEET_SIM_DIRECTORY"
local folder = "@" .. (simulator or os.getenv "HOME" .. "/.config/fleet") .. "/telemetry/"

return function(client)
  assert(client:telemetry {
    port = 8443, certificate = folder .. "chain.pem", certificate_key = folder .. "key.pem",
    client_ca = simulator and "@" .. os.getenv "FLEET_VEHICLE_CA" or folder .. "vehicle-ca.pem",
  })
  return fleet.automation.keep_limit { car = client:vehicle("5YJ3FLEE9RF000001"), level = 80 }
end
