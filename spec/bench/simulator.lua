-- The other side of the budget `sim-reads`: the simulator, or the same server with a reply that is always the same. Prints its
-- address and a token.
--
--   lua5.4 spec/bench/simulator.lua vehicles <how many> <public key of the client in hex>
--   lua5.4 spec/bench/simulator.lua constant <bytes of the reply>
local fleet = require "fleet"
local other_side = require "spec.bench.other_side"

local subjects = {}

function subjects.constant(size)
  local server = require "fleet.server"
  local headers, body = { ["Content-Type"] = "application/json; charset=utf-8" }, string.rep("x", tonumber(size))
  local one = assert(server.new {
    loop = fleet.loop, host = "127.0.0.1", max_connections = 2000,
    on_request = function(request) request:respond(200, headers, body) end,
  })
  return one, string.format("http://127.0.0.1:%d none", one:port())
end

local scopes = { openid = true, vehicle_device_data = true, vehicle_cmds = true, vehicle_charging_cmds = true, vehicle_location = true }

function subjects.vehicles(count, key)
  local garage = { vehicles = {} }
  for i = 1, tonumber(count) do
    garage.vehicles[i] = { vin = string.format("5YJ3FLEE9RF000%03d", i - 1), keys = { key } }
  end
  local one = assert(require("fleet.sim").new { garage = garage })
  local service = one.service
  local token = service.oauth:issue_access { kind = "user", client_id = "app", account = service.garage.accounts[1], scopes = scopes }
  return one, one.base_url .. " " .. token
end

local subject, line = subjects[arg[1]](arg[2], arg[3])
other_side.serve(line)
subject:close()
