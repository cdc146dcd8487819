-- Vehicles that verify and obey signed commands and nothing else, 50 ms away: the other side of the budget `many-vehicles`.
-- The whole simulator would be busier than the client that is measured. Prints its address, and its CPU time at the end
-- of standard input. Arguments: public key of the client in hex, seconds of latency.
local core = require "fleet.core"
local fleet = require "fleet"

local client_key = string.gsub(arg[1], "%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
local latency = tonumber(arg[2])
local vehicle_key = core.key.generate()
local receivers = {}

local function receiver_of(vin)
  local receiver = receivers[vin]
  if not receiver then
    receiver = assert(core.receiver { key = vehicle_key, vin = vin, domain = "infotainment", keys = { client_key } })
    receivers[vin] = receiver
  end
  return receiver
end

local json = { ["Content-Type"] = "application/json" }
local manner = { delay = latency }

local server = assert(require("fleet.server").new {
  loop = fleet.loop, host = "127.0.0.1", port = 0, max_connections = 2000, timeout = 60,
  on_request = function(request)
    local vin = string.match(request.path, "/vehicles/(%w+)/signed_command$")
    local message = core.unbase64(string.match(request.body, "\"routable_message\":\"([^\"]+)\""))
    local reply = receiver_of(vin):handle(message)
    request:respond(200, json, "{\"response\":\"" .. core.base64(reply) .. "\"}", manner)
  end,
})

io.write("http://127.0.0.1:", server:port(), "\n")
io.flush()

local done = false
fleet.loop.watch(0, "r", function()
  local line = io.read("l")
  if line == "cpu" then
    io.write(os.clock(), "\n")
    io.flush()
  elseif not line then
    done = true
  end
end)
while not done do
  fleet.loop.wait(fleet.loop.timeout())
  fleet.loop.step()
end
server:close()
