-- Cars that stream, on a bad day: stream.lua [CARS] [MESSAGES of each]. All connect at once; one of them reads nothing; the receiver's
-- certificate is renewed while they send; some leave and come back. Nothing is lost, nothing is answered twice, and the car that does not
-- read holds up no other.

local authority = require "fleet.sim.telemetry.authority"
local fleet = require "fleet"
local stream = require "fleet.stream"
local stream_crowd = require "spec.support.servers.stream_crowd"

local M = {}

local DEAF_MESSAGES = 20000

local function chain_of()
  local root, root_key = assert(stream.issue { subject = "Receiver Root CA", authority = true, days = 30 })
  local function leaf()
    local certificate, key = stream.issue { subject = "localhost", host = "localhost", days = 30, issuer = root, issuer_key = root_key }
    return { certificate = certificate, certificate_key = key }
  end
  return root, leaf
end

--- options: cars, messages. Returns { received, lost, doubled, wrong, ended, deaf = messages taken of the car that reads nothing,
--- resident = kB before and after it }. Raises when it does not come to an end.
function M.run(options)
  local cars, messages = options.cars, options.messages
  local vehicles = authority.new(stream)
  local root, leaf = chain_of()
  local first = leaf()
  local counts, figures = {}, { received = 0, lost = 0, doubled = 0, wrong = 0, ended = 0 }
  local receiver = assert(require("fleet.telemetry").new {
    host = "127.0.0.1", port = 0, certificate = first.certificate, certificate_key = first.certificate_key, client_ca = vehicles.pem,
    vehicles = function() return true end, on_notice = function() end, limits = { per_minute = 1000000 },
    on_record = function(record)
      local number = tonumber(string.match(record.txid, "%-(%d+)$"))
      local seen = counts[record.vin] or {}
      counts[record.vin] = seen
      if seen[number] then figures.doubled = figures.doubled + 1 end
      seen[number] = true
      figures.received = figures.received + 1
    end,
  })
  local crowd = stream_crowd.new { cars = cars, port = receiver.port, server_ca = root,
    certificate = function(vin, i) return vehicles:car(vin, i) end }
  local deaf = crowd.cars[cars]
  local function turn()
    crowd:turn()
    fleet.loop.step()
  end
  local function until_(done, what)
    for _ = 1, 200000 do
      if done() then return end
      turn()
    end
    error("it has not come: " .. what)
  end
  until_(function() return crowd.open == cars end, "connections")

  deaf.deaf = true
  crowd:send(cars, DEAF_MESSAGES)
  for round = 1, messages do
    for i = 1, cars - 1 do crowd:send(i) end
    if round == math.ceil(messages / 2) then -- renewed under load; a tenth come back and meet the new one
      assert(receiver.raw:renew { certificate = leaf().certificate, certificate_key = first.certificate_key,
        client_ca = vehicles.pem } == nil, "a key of another certificate must be refused")
      local renewed = leaf()
      assert(receiver.raw:renew { certificate = renewed.certificate, certificate_key = renewed.certificate_key, client_ca = vehicles.pem })
    end
    turn()
  end
  until_(function()
    for i = 1, cars - 1 do
      if crowd.cars[i].acknowledged < messages then return false end
    end
    return true
  end, "acknowledgements")
  for i = 1, math.floor(cars / 10) do crowd:reconnect(i) end
  until_(function() return crowd.open == cars end, "those that came back")
  for i = 1, cars - 1 do
    local car = crowd.cars[i]
    figures.wrong = figures.wrong + car.wrong
    if car.ended then figures.ended = figures.ended + 1 end
    for number = 1, messages do
      if not (counts[car.vin] and counts[car.vin][number]) then figures.lost = figures.lost + 1 end
    end
  end
  figures.deaf = 0
  for _ in pairs(counts[deaf.vin] or {}) do figures.deaf = figures.deaf + 1 end
  figures.stats = receiver:stats()
  crowd:close()
  receiver:close()
  return figures
end

--- Raises where something was lost.
function M.check(figures, options)
  local wanted = (options.cars - 1) * options.messages
  assert(figures.lost == 0, figures.lost .. " messages were lost")
  assert(figures.doubled == 0, figures.doubled .. " messages came twice")
  assert(figures.wrong == 0, figures.wrong .. " answers were not what they should be")
  assert(figures.ended == 0, figures.ended .. " connections were dropped")
  assert(figures.received - figures.deaf == wanted, "not all were received")
  assert(figures.deaf < DEAF_MESSAGES, "the answers of a car that does not read are kept without an end")
end

if arg and arg[0] and string.find(arg[0], "torture/stream.lua", 1, true) then
  local options = { cars = tonumber(arg[1]) or 400, messages = tonumber(arg[2]) or 50 }
  local figures = M.run(options)
  print(string.format("%d cars, %d messages received, %d of the car that reads nothing, %d handshakes failed", options.cars,
    figures.received, figures.deaf, figures.stats.handshakes_failed))
  M.check(figures, options)
end

return M
