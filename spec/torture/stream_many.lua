-- Many cars that stream to one receiver: stream_many.lua [CARS] [SECONDS]. All connect at once; each sends a message a second; all leave
-- and come back at once; they send again. It fails where something is lost, where a car costs more memory than its budget, or where one
-- processor would not be enough; the longest turn of the receiver's loop is printed. The cars are this process, the receiver one of its
-- own. Where the machine does not allow so many, fewer come and it says so.

local authority = require "fleet.sim.telemetry.authority"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local other_side = require "spec.bench.other_side"
local process = require "spec.support.harness.process"
local stream = require "fleet.stream"
local stream_crowd = require "spec.support.servers.stream_crowd"

local M = {}

local memory_budget = 24 -- KB a car, as in spec/bench/stream.lua
local other_descriptors, car_kilobytes = 200, 100 -- of both ends

local function read_number(command)
  local pipe = io.popen(command)
  local text = pipe:read "a"
  pipe:close()
  return tonumber(string.match(text, "%d+")) or math.huge
end

--- How many cars this machine takes of those that are wanted, and why not all.
function M.possible(wanted)
  local descriptors, memory = read_number "ulimit -n", read_number "awk '/MemAvailable/ { print $2 }' /proc/meminfo"
  if descriptors - other_descriptors < wanted then
    return descriptors - other_descriptors, string.format("ulimit -n is %d: raise it to %d", descriptors, wanted + other_descriptors)
  end
  if memory / car_kilobytes < wanted then
    return math.floor(memory / car_kilobytes), string.format("%d MB of memory are free, and %d cars need %d MB", memory / 1024, wanted,
      wanted * car_kilobytes / 1024)
  end
  return wanted
end

local function write_certificates(directory, vehicles)
  local root, root_key = assert(stream.issue { subject = "Receiver Root CA", authority = true, days = 2 })
  local leaf, leaf_key = assert(stream.issue { subject = "localhost", host = "localhost", days = 2, issuer = root, issuer_key = root_key })
  for name, text in pairs { ["leaf.pem"] = leaf, ["leaf-key.pem"] = leaf_key, ["vehicle-ca.pem"] = vehicles.pem } do
    files.write(directory .. "/" .. name, text)
  end
  return root
end

--- options: cars, seconds (of sending, twice). Returns { cars, sent, acknowledged, received, wrong, ended, returned = handshakes that were
--- tried again, connect = seconds, again = seconds, memory = KB a car, cpu = microseconds a message, turn = seconds }.
function M.run(options)
  local directory = process.temporary "stream_many"
  local vehicles, cars = authority.new(stream), options.cars
  local root = write_certificates(directory, vehicles)
  local port, receiver = other_side.start(string.format("%s spec/bench/stream_receiver.lua %s", process.bare_lua, directory))
  local before = receiver.ask "resident"
  for i = 1, cars do vehicles:car(stream_crowd.vin(i), i) end
  local began = core.clock()
  local crowd = stream_crowd.new { cars = cars, port = tonumber(port), server_ca = root, loop = fleet.loop,
    certificate = function(vin, i) return vehicles:car(vin, i) end }

  local function until_(done, what, seconds)
    local from = core.clock()
    while not done() do
      fleet.loop.wait(0.01)
      fleet.loop.step()
      if core.clock() - from > seconds then error(what .. " did not come within " .. seconds .. " s") end
    end
    return core.clock() - from
  end
  local looked = 0
  local function all_open() -- a car whose handshake took too long tries again, as vehicles do
    if core.clock() - looked > 0.2 then
      looked = core.clock()
      crowd:bring_back()
    end
    return crowd.open == cars
  end
  local sent = 0
  local function acknowledged()
    local sum = 0
    for _, car in ipairs(crowd.cars) do sum = sum + car.acknowledged end
    return sum
  end
  local function send_for(seconds)
    local from, first, count = core.clock(), sent, 0
    while count < seconds * cars do
      local due = math.min(seconds * cars, math.floor((core.clock() - from) * cars))
      while count < due do
        count = count + 1
        crowd:send((count - 1) % cars + 1)
      end
      fleet.loop.wait(0.002)
      fleet.loop.step()
    end
    sent = first + count
    until_(function() return acknowledged() >= sent end, "the last acknowledgement", 120)
  end

  local figures = { cars = cars }
  until_(all_open, "all connections", 60 + cars / 50)
  figures.connect = core.clock() - began
  figures.memory = (receiver.ask "resident" - before) / cars
  local cpu = receiver.ask "cpu"
  send_for(options.seconds)
  figures.cpu = (receiver.ask "cpu" - cpu) / sent * 1e6
  local left = core.clock()
  for i = 1, cars do
    crowd:reconnect(i)
    if i % 16 == 0 then fleet.loop.step() end
  end
  until_(all_open, "the cars that come back", 60 + cars / 50)
  figures.again, figures.returned = core.clock() - left, crowd.returned or 0
  send_for(options.seconds)
  for _ = 1, 100 do -- a message may be acknowledged before the function has got its record
    figures.received = receiver.ask "records"
    if figures.received >= sent then break end
    core.pause(0.1)
  end
  figures.turn, figures.sent, figures.acknowledged = receiver.ask "turn", sent, acknowledged()
  figures.wrong, figures.ended = 0, 0
  for _, car in ipairs(crowd.cars) do
    figures.wrong = figures.wrong + car.wrong
    figures.ended = figures.ended + (car.ended and 1 or 0)
  end
  crowd:close()
  receiver.stop()
  process.execute("rm -rf " .. process.quote(directory))
  return figures
end

--- Raises where something was lost.
function M.check(figures)
  assert(figures.received == figures.sent, figures.sent - figures.received .. " messages did not arrive")
  assert(figures.acknowledged == figures.sent, figures.sent - figures.acknowledged .. " messages were not acknowledged")
  assert(figures.wrong == 0, figures.wrong .. " answers were not what they should be")
  assert(figures.ended == 0, figures.ended .. " connections were dropped")
end

--- Raises where a budget was exceeded. Only many cars show it: what a receiver needs once is shared by them.
function M.check_budgets(figures)
  assert(figures.memory <= memory_budget, string.format("a car takes %.1f KB, and its budget is %d", figures.memory, memory_budget))
  local load = figures.cpu * figures.cars / 1e6
  assert(load < 1, string.format("a message a second of each car takes %.2f seconds of CPU in a second", load))
end

if arg and arg[0] and string.find(arg[0], "torture/stream_many.lua", 1, true) then
  local wanted = tonumber(arg[1]) or 10000
  local cars, why = M.possible(wanted)
  if why then print(string.format("%d cars in place of %d: %s", cars, wanted, why)) end
  local figures = M.run { cars = cars, seconds = (tonumber(arg[2]) or 600) / 2 }
  print(string.format("%d cars: connected in %.1f s, came back in %.1f s, %d handshakes were tried again", cars, figures.connect,
    figures.again, figures.returned))
  print(string.format("%d messages, %d received, %d acknowledged", figures.sent, figures.received, figures.acknowledged))
  print(string.format("%.1f KB a car, %.1f us of CPU a message, longest turn %.1f ms", figures.memory, figures.cpu, figures.turn * 1e3))
  M.check(figures)
  M.check_budgets(figures)
end

return M
