-- Many cars that stream, in this process: real TLS connections with a certificate each, and what each of them was answered.
--
--   local crowd = require("spec.support.servers.stream_crowd").new { cars =, port =, server_ca =, certificate = function(vin, i), loop =,
--     resends = }
--   crowd:turn()            whatever is possible without waiting; with `loop` the loop does it
--   crowd:send(i, times)    messages of a car; crowd.cars[i].acknowledged, .sent, .ended, .answered[number]
--   crowd:bring_back()      connects those again that have ended; with `resends` they send what is not acknowledged once more

local core = require "fleet.core"
local stream = require "fleet.stream"

local Crowd = {}
Crowd.__index = Crowd

local MASK = "\17\34\51\68"
local UPGRADE = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Version: 13\r\n\r\n"

local payload = stream.data_payload { at = 1773136800, signals = {
  { field = "Soc", value = 71.5 }, { field = "VehicleSpeed", value = 30 }, { field = "Odometer", value = 12345.6 },
  { field = "Location", value = { latitude = 52.5, longitude = 13.4 } }, { field = "Gear", value = "D" },
} }

local M = {}

function M.vin(i) return string.format("5YJ3FLEE9RF%06d", i) end

local turn

-- With a loop: it turns the car when its connection is ready.
local function watch(self, car)
  if not self.loop then return end
  local fd, mode
  if not car.ended then fd, mode = car.client:fd() end
  if car.watching and car.mode == mode then return end
  if car.watching then car.watching:close() end
  car.mode, car.watching = mode, mode and self.loop.watch(fd, mode, function() turn(self, car) end) or nil
end

local function frame_of(car, number)
  return stream.frame(2, stream.stream_message { topic = "V", txid = car.vin .. "-" .. number, created_at = 1773136800,
    sender_id = "vehicle_device." .. car.vin, device_type = "vehicle_device", device_id = car.vin, payload = payload }, MASK)
end

local function connect(self, car)
  car.client = assert(stream.client { address = "127.0.0.1", name = "localhost", port = self.port, server_ca = self.server_ca,
    certificate = car.mine.certificate, certificate_key = car.mine.key })
  car.client:send(UPGRADE)
  car.buffer, car.open, car.ended = "", false, nil
  for number = 1, self.resends and car.sent or 0 do
    if not car.answered[number] then car.client:send(frame_of(car, number)) end
  end
  watch(self, car)
end

function M.new(given)
  local self = setmetatable({ cars = {}, port = given.port, server_ca = given.server_ca, open = 0, loop = given.loop,
    resends = given.resends }, Crowd)
  for i = 1, given.cars do
    local vin = M.vin(i)
    local car = { vin = vin, mine = given.certificate(vin, i), sent = 0, acknowledged = 0, wrong = 0, answered = {} }
    self.cars[i] = car
    connect(self, car)
    if self.loop and i % 16 == 0 then self.loop.step() end -- the first ones must not wait until the last one is there
  end
  return self
end

-- Counts the acknowledgements, which come in the order of the messages, and once each where nothing is sent again.
local function take_answers(self, car)
  while #car.buffer >= 2 do
    local size, at = string.byte(car.buffer, 2), 3
    if size == 126 then
      if #car.buffer < 4 then return end
      local high, low = string.byte(car.buffer, 3, 4)
      size, at = high * 256 + low, 5
    end
    if #car.buffer < at + size - 1 then return end
    local answer = stream.envelope(string.sub(car.buffer, at, at + size - 1))
    car.buffer = string.sub(car.buffer, at + size)
    local vin, digits = string.match(answer and answer.type == 5 and answer.txid or "", "^(.-)%-(%d+)$")
    local number = tonumber(digits)
    if vin == car.vin and (self.resends or number == car.acknowledged + 1) then
      if not car.answered[number] then car.acknowledged = car.acknowledged + 1 end
      car.answered[number] = true
    else
      car.wrong = car.wrong + 1
    end
  end
end

function turn(self, car)
  if car.ended then return end
  local good, err = car.client:step()
  if car.deaf and car.open then return end
  car.buffer = car.buffer .. car.client:take()
  if not car.open then
    local rest = string.match(car.buffer, "^HTTP/1.1 101.-\r\n\r\n(.*)$")
    if rest then
      car.open, car.buffer = true, rest
      self.open = self.open + 1
    end
  end
  if car.open then take_answers(self, car) end
  if not good then
    car.ended = tostring(err)
    if car.open then self.open = self.open - 1 end
    car.open = false
  end
  watch(self, car)
end

function Crowd:turn()
  for _, car in ipairs(self.cars) do turn(self, car) end
end

function Crowd:send(i, times)
  local car, frames = self.cars[i], {}
  for k = 1, times or 1 do
    car.sent = car.sent + 1
    frames[k] = frame_of(car, car.sent)
  end
  if car.ended then return end
  car.client:send(table.concat(frames))
  if self.loop then turn(self, car) end
end

--- Returns how many cars have messages that are not acknowledged.
function Crowd:bring_back()
  local waiting, now, begun = 0, core.clock(), 0
  for _, car in ipairs(self.cars) do
    if car.acknowledged < car.sent then waiting = waiting + 1 end
    if car.ended and now >= (car.again_at or 0) then
      car.again_at = now + 0.1
      car.client:close()
      connect(self, car)
      self.returned, begun = (self.returned or 0) + 1, begun + 1
      if self.loop and begun % 16 == 0 then self.loop.step() end
    end
  end
  return waiting
end

--- Ends a car's connection without a word and begins another.
function Crowd:reconnect(i)
  local car = self.cars[i]
  if car.open then self.open = self.open - 1 end
  if car.watching then car.watching:close() end
  car.watching = nil
  car.client:close()
  connect(self, car)
end

function Crowd:close()
  for _, car in ipairs(self.cars) do
    if car.watching then car.watching:close() end
    car.client:close()
  end
end

return M
