-- The bridge with many vehicles: mqtt.lua [VEHICLES]. The service answers in this process, the broker is a Mosquitto on loopback.
-- Prints how long it takes until everything is said, how many messages a second that is, the memory of a vehicle, and the
-- longest turn of the loop in CPU time, which is how long a host would wait. Ends with an error when something is missing at the broker.

local fleet = require "fleet"
local core = require "fleet.core"
local links = require "fleet.mqtt.link"
local mosquitto = require "spec.support.servers.mosquitto"
local mqtt = require "fleet.mqtt"
local service = require "fleet.sim.rehearsal.service"
local services = require "fleet.sim.service"

local count = tonumber(arg[1]) or 1000
local per_vehicle = 40 -- states that every vehicle must have told at least

local function vin_of(i) return string.format("5YJSFLEE9KF%06d", i) end

local function garage()
  local vehicles = {}
  for i = 1, count do
    vehicles[i] = {
      vin = vin_of(i), vehicle_command_protocol_required = false, sleep_after = 1e9, charge_state = { battery_level = 1 + i % 99 },
    }
  end
  return { vehicles = vehicles, energy_sites = {} }
end

local world = { calls = {}, commands = {}, refused = {}, to = math.huge }
world.service = services.new {
  garage = garage(), endpoints = core.endpoints(), commands = core.commands(), base_url = "http://127.0.0.1:1",
  auth_url = "http://127.0.0.1:2", token_url = "http://127.0.0.1:3", clock = core.clock, core = core,
}
-- What the service takes is not the bridge's.
local inside = 0
local function serve(request)
  local began = os.clock()
  local answer, err, sent = service.serve(world, request)
  inside = inside + os.clock() - began
  return answer, err, sent
end
local client = service.client(world, { http = serve })
local broker = mosquitto.start()

-- ---- what a host would notice ----

local longest = 0
local wait = fleet.loop.wait
local resumed = os.clock()
fleet.loop.wait = function(seconds)
  longest = math.max(longest, os.clock() - resumed - inside)
  wait(seconds)
  resumed, inside = os.clock(), 0
end

local function memory()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count"
end

local function count_states(heard)
  local found = 0
  for topic in pairs(heard) do
    if string.find(topic, "^fleet/5YJ") and not string.find(topic, "/attributes/", 1, true) then found = found + 1 end
  end
  return found
end

-- ---- the run ----

local function listen()
  local heard = {}
  local listener = links.new {
    library = links.library(), broker = { host = "127.0.0.1", port = broker.port }, on_state = function() end,
    on_message = function(topic, payload) heard[topic] = payload end,
  }
  listener:listen { "fleet/#" }
  fleet.spawn(function() listener:run() end)
  return listener, heard
end

fleet.run(function()
  local before, began = memory(), core.clock()
  local bridge = assert(mqtt.new { client = client, broker = "mqtt://127.0.0.1:" .. broker.port })
  local task = fleet.spawn(function() assert(bridge:run {}) end)
  repeat
    fleet.sleep(0.1)
    local session = bridge.session
    local looked = 0
    for _, thing in pairs(session and session.things or {}) do
      if thing.data_at then looked = looked + 1 end
    end
  until looked == count and session.link:waiting() == 0 or core.clock() - began > 300
  local took, sent = core.clock() - began, bridge.session.link.sent
  local listener, heard = listen()
  repeat fleet.sleep(0.1) until count_states(heard) >= count * per_vehicle or core.clock() - began > 400
  local states = count_states(heard)
  local busiest = longest
  listener:stop()
  heard = nil -- luacheck: ignore
  local used = memory() - before
  print(string.format("mqtt %d vehicles: %d messages in %.1f s, %.0f a second; %d states at the broker; %.1f KB a vehicle; "
    .. "longest turn %.0f ms", count, sent, took, sent / took, states, used / count, busiest * 1000))
  fleet.sleep(0.1)
  longest = 0
  fleet.sleep(5)
  print(string.format("mqtt at rest: longest turn %.1f ms in 5 s", longest * 1000))
  bridge:stop()
  task:wait()
  broker.stop()
  if states < count * per_vehicle then error "states are missing at the broker" end
end)
