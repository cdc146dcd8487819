-- Vehicles that verify and obey signed commands and nothing else, 50 ms away: the other side of the budget `many-vehicles`.
-- The whole simulator would be busier than the client that is measured. Prints its address. Arguments: public key of the client in
-- hex, seconds of latency, and for TLS a directory with chain.pem and key.pem.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local other_side = require "spec.bench.other_side"

local client_key = string.gsub(arg[1], "%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
local latency, certificates = tonumber(arg[2]), arg[3]
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

-- All of ten thousand receivers collected at once would hold up replies, and be measured as if the client were late.
pcall(collectgarbage, "incremental", 100, 1)

local json = { ["Content-Type"] = "application/json" }
local manner = { delay = latency }

local server = assert(require("fleet.server").new {
  loop = fleet.loop, host = "127.0.0.1", port = 0, max_connections = 2000, timeout = 60,
  certificate = certificates and files.read(certificates .. "/chain.pem"),
  certificate_key = certificates and files.read(certificates .. "/key.pem"),
  on_request = function(request)
    local vin = string.match(request.path, "/vehicles/(%w+)/signed_command$")
    local message = core.unbase64(string.match(request.body, "\"routable_message\":\"([^\"]+)\""))
    local reply = receiver_of(vin):handle(message)
    request:respond(200, json, "{\"response\":\"" .. core.base64(reply) .. "\"}", manner)
  end,
})

other_side.serve((certificates and "https://localhost:" or "http://127.0.0.1:") .. server:port())
server:close()
