-- The budgets of the receiver: `stream-cpu`, its CPU time for a message over that of a C program that does TLS, frame, envelope and
-- acknowledgement; `stream-memory`, kilobytes of a connected car; `stream-turn`, milliseconds of the longest turn of the loop while all
-- connect at once and send. Cars are a process of their own; each has its own certificate and sends a message a second. FLEET_CARS: how
-- many, 1000 when left out.

local authority = require "fleet.sim.telemetry.authority"
local files = require "spec.support.harness.files"
local other_side = require "spec.bench.other_side"
local process = require "spec.support.harness.process"
local stream = require "fleet.stream"
local stream_crowd = require "spec.support.servers.stream_crowd"

local cars, seconds = tonumber(os.getenv "FLEET_CARS") or 1000, 10
local directory = process.temporary "stream"

local vehicles = authority.new(stream)
local root, root_key = assert(stream.issue { subject = "Receiver Root CA", authority = true, days = 2 })
local leaf, leaf_key = assert(stream.issue { subject = "localhost", host = "localhost", days = 2, issuer = root, issuer_key = root_key })
for name, text in pairs { ["ca.pem"] = root, ["leaf.pem"] = leaf, ["leaf-key.pem"] = leaf_key, ["vehicle-ca.pem"] = vehicles.pem } do
  files.write(directory .. "/" .. name, text)
end
for i = 1, cars do
  local car = vehicles:car(stream_crowd.vin(i), i)
  files.write(string.format("%s/car-%d.pem", directory, i), car.certificate .. car.key)
end

-- What a server spends for a message, and what ask says of it afterwards.
local function measured(command, look)
  local port, server = other_side.start(command)
  local before = look and server.ask "resident"
  local _, load = other_side.start(string.format("lua5.4 spec/bench/stream_load.lua %d %d %s", port, cars, directory))
  load.ask "1"
  local resident, cpu = look and server.ask "resident", server.ask "cpu"
  local messages = load.ask(seconds)
  local spent = (server.ask "cpu" - cpu) / messages
  local turn = look and server.ask "turn"
  load.stop()
  server.stop()
  return spent, look and (resident - before) / cars, turn
end

local function verdict(figure, budget) return figure <= budget and "ok" or "over" end

local c = measured(string.format("%s/bench/stream %s/leaf.pem %s/leaf-key.pem %s/vehicle-ca.pem", process.build, directory, directory,
  directory))
local ours, memory, turn = measured(string.format("lua5.4 spec/bench/stream_receiver.lua %s", directory), true)
process.execute("rm -rf " .. process.quote(directory))

print(string.format("stream: %d cars, %.1f us of CPU for a message; the C program %.1f us", cars, ours * 1e6, c * 1e6))
print(string.format("stream-memory %.1f 24 %s", memory, verdict(memory, 24)))
print(string.format("stream-cpu %.2f 2 %s", ours / c, verdict(ours / c, 2)))
print(string.format("stream-turn %.1f 10 %s", turn * 1e3, verdict(turn * 1e3, 10)))
