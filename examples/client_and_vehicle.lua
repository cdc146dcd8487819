-- Both ends of the signing protocol in one process: a client that knows no network, and a vehicle that knows no client.
local fleet = require "fleet"

local vin = "5YJ30123456789ABC"
local key, vehicle_key = fleet.key.generate(), fleet.key.generate()

-- Without `clock` both take the system's; here time passes when this program says so.
local now = 0
local function clock() return now end

local session = fleet.session { key = key, vin = vin, domain = "infotainment", clock = clock }
local vehicle = fleet.receiver { key = vehicle_key, vin = vin, domain = "infotainment", clock = clock,
  keys = { { public_key = key:public_bytes(), role = "DRIVER" } } }

-- The handshake: the client asks, the vehicle answers with its epoch, clock and counter, authenticated for this request.
local question = assert(session:handshake())
local answer = assert(vehicle:handle(question))
assert(session:accept(answer))

-- A command there, an answer back. The function is what the vehicle does with the command.
local command = assert(fleet.command("set_charge_limit", { percent = 80 }))
local message, id = assert(session:sign(command.payload))
local reply = assert(vehicle:handle(message, function(payload)
  local name, params = fleet.decode_command("infotainment", payload)
  print("the vehicle received:", name, params.percent)
end))
local _, answered, authenticated = assert(session:open(reply))
print("the client knows that it was done:", answered == id and authenticated)

-- The same bytes again are refused: no command runs twice.
local _, ran, fault = vehicle:handle(message)
print("the same message again:", ran, fault)

-- After a restart of the vehicle the old epoch is refused. The new one began before the message was signed, so no copy of it can have
-- been taken: the session takes the new epoch and the command is signed again.
vehicle:restart()
now = now + 60
local refusal = assert(vehicle:handle((assert(session:sign(command.payload)))))
local _, err = session:open(refusal)
print("after a restart:", err.fault, err.resynced, err.outcome)
local again = assert(session:sign(command.payload))
print("signed again:", select(2, vehicle:handle(again)) == command.payload)
