-- A receiver of vehicles' telemetry and a pretended vehicle, which sends what a real one sends: lua5.4 examples/telemetry.lua
-- The certificates are made on the spot by the command openssl, and are gone at the end.

local fleet = require "fleet"
local stream = require "fleet.stream" -- the vehicle's end

local vin = "5YJ3FLEE9RF000001"

-- ---- throw-away certificates: an authority for vehicles, a vehicle's below it, and the receiver's own ----

local pipe = assert(io.popen "mktemp -d")
local folder = pipe:read "*l"
pipe:close()

local function run(command)
  local done = os.execute("cd " .. folder .. " && " .. command .. " >>log 2>&1")
  assert(done == true or done == 0, command)
end

local function read(name)
  local file = assert(io.open(folder .. "/" .. name))
  local text = file:read "*a"
  file:close()
  return text
end

local function authority(name, subject)
  run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj '/CN=" .. subject .. "' -keyout " .. name
    .. ".key -out " .. name .. ".pem")
end

local function issue(name, subject, issuer, extension)
  run("{ printf '" .. extension .. "\\n' >" .. name .. ".ext; }")
  run("openssl ecparam -name prime256v1 -genkey -noout -out " .. name .. ".key")
  run("openssl req -new -key " .. name .. ".key -subj '/CN=" .. subject .. "' -out " .. name .. ".csr")
  run("openssl x509 -req -days 2 -in " .. name .. ".csr -CA " .. issuer .. ".pem -CAkey " .. issuer .. ".key -CAcreateserial -extfile "
    .. name .. ".ext -out " .. name .. ".pem")
end

run "umask 077"
authority("vehicles", "Tesla Motors Product Issuing CA")
authority("home", "My own authority")
issue("vehicle", vin, "vehicles", "extendedKeyUsage=clientAuth,1.3.6.1.4.1.49279.2.5.1")
issue("chain", "localhost", "home", "subjectAltName=DNS:localhost")
run "chmod 600 chain.key"

-- ---- the receiver ----

local receiver = assert(require("fleet.telemetry").new {
  host = "127.0.0.1", port = 0, vehicles = { vin },
  certificate = "@" .. folder .. "/chain.pem", certificate_key = "@" .. folder .. "/chain.key",
  client_ca = "@" .. folder .. "/vehicles.pem",
  on_record = function(record) print("record", record.topic, record.values.Soc .. " %") end,
  on_connection = function(event) print(event.type, event.vin, event.interface) end,
  on_notice = print,
})

-- ---- the vehicle: TLS, an upgrade to WebSocket, one message ----

local vehicle = assert(stream.client {
  address = "127.0.0.1", name = "localhost", port = receiver.port, server_ca = read "home.pem",
  certificate = read "vehicle.pem", certificate_key = read "vehicle.key",
})
vehicle:send("GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
  .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nVersion: 1.3.0\r\nX-Network-Interface: wifi\r\n\r\n")
vehicle:send(stream.frame(2, stream.stream_message {
  topic = "V", txid = "example-000000001", created_at = os.time(), sender_id = "vehicle_device." .. vin,
  payload = "\10\13\8\8\18\9\41\0\0\0\0\0\224\81\64", -- Soc is 71.5
}, "\1\2\3\4"))
local turning = fleet.spawn(function()
  while vehicle:step() do fleet.sleep(0.02) end
end)

fleet.run(function()
  print("Soc has become", (assert(receiver:wait(vin, "Soc", 71.5, { timeout = 20 }))))
  local car = receiver:vehicle(vin)
  print("connected", car.online, "known since", car:age "Soc" < 60 and "less than a minute" or "long")
  fleet.sleep(0.2)
  vehicle:close()
  turning:cancel()
  receiver:close()
end)
run("rm -r " .. folder)
