-- A vehicle that streams to a receiver of fleet.telemetry: TLS, upgrade, messages; what is acknowledged is noted.
--
--   local car = streams.connect { pki =, port =, vin =, issuer =, oid =, interface =, version =, server_ca = }
--   car:step()                      does what is possible now
--   car.upgraded, car.ended, car.head, car.acknowledged (txids), car.refused (txids)
--   car:send { topic = "V", txid =, at =, resend =, values = { Soc = 71.5, … }, payload = bytes }
-- A value: text, boolean, number; false is invalid; { latitude =, longitude = }; { enum = field's name, number }.

local core = require "fleet.core"
local protobuf = require "spec.support.fixtures.protobuf"
local stream = require "fleet.stream"

local M = {}

local mask = "\17\34\51\68"

-- ---- protobuf ----

local varint, bytes_field, number_field = protobuf.varint, protobuf.bytes, protobuf.number

-- The eight bytes of a double, little endian, on every Lua.
local function double(value)
  if value == 0 then return string.rep("\0", 8) end
  if value ~= value then return "\0\0\0\0\0\0\248\127" end
  if math.abs(value) == math.huge then return "\0\0\0\0\0\0\240" .. string.char(value < 0 and 255 or 127) end
  local sign = value < 0 and 128 or 0
  local mantissa, exponent = math.abs(value), 0
  while mantissa >= 1 do mantissa, exponent = mantissa / 2, exponent + 1 end
  while mantissa < 0.5 do mantissa, exponent = mantissa * 2, exponent - 1 end
  local bits, biased = (mantissa * 2 - 1) * 2 ^ 52, exponent + 1022
  local out = ""
  for _ = 1, 6 do
    out = out .. string.char(bits % 256)
    bits = math.floor(bits / 256)
  end
  return out .. string.char(bits % 16 + biased % 16 * 16) .. string.char(sign + math.floor(biased / 16))
end

local rows = core.telemetry_fields()

local function value_of(value)
  if value == false then return number_field(10, 1) end
  if value == true then return number_field(6, 1) end
  if type(value) == "string" then return bytes_field(1, value) end
  if type(value) == "number" then return varint(5 * 8 + 1) .. double(value) end
  if value.latitude then
    return bytes_field(7, varint(1 * 8 + 1) .. double(value.latitude) .. varint(2 * 8 + 1) .. double(value.longitude))
  end
  return number_field(value.member or 9, value[1])
end

--- A payload of topic V.
function M.payload(given)
  local out = ""
  for name, value in pairs(given.values or {}) do
    local number = rows[name] and rows[name].number or tonumber(name)
    out = out .. bytes_field(1, number_field(1, number) .. bytes_field(2, value_of(value)))
  end
  if given.at then out = out .. bytes_field(2, number_field(1, math.floor(given.at))) end
  return out .. (given.resend and number_field(4, 1) or "")
end

-- ---- a vehicle ----

local Car = {}
Car.__index = Car

local count = 0

local request = "GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
  .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\nSec-WebSocket-Version: 13\r\nVersion: %s\r\nX-Network-Interface: %s\r\n\r\n"

local known = {} -- certificates by pki, VIN, issuer and OID: making one takes a while

local function identity(given)
  if given.certificate then return given end
  local mine = known[given.pki] or {}
  known[given.pki] = mine
  local key = table.concat({ given.vin, given.issuer or "", given.oid or "" }, " ")
  mine[key] = mine[key] or given.pki.vehicle(given.vin, { issuer = given.issuer, oid = given.oid })
  return mine[key]
end

function M.connect(given)
  local who = identity(given)
  local client = assert(stream.client { address = "127.0.0.1", name = "localhost", port = given.port,
    server_ca = given.server_ca or given.pki.server_ca, certificate = who.certificate, certificate_key = who.key })
  client:send((given.prefix or "") .. string.format(request, given.version or "1.3.0", given.interface or "wifi"))
  return setmetatable({ client = client, vin = given.vin, bytes = "", head = "", acknowledged = {}, refused = {}, upgraded = false }, Car)
end

local function take_frames(self)
  while #self.bytes >= 2 do
    local first, size = string.byte(self.bytes, 1, 2)
    local at = 3
    if size == 126 then
      if #self.bytes < 4 then return end
      size, at = string.byte(self.bytes, 3) * 256 + string.byte(self.bytes, 4), 5
    end
    if #self.bytes < at + size - 1 then return end
    local body = string.sub(self.bytes, at, at + size - 1)
    self.bytes = string.sub(self.bytes, at + size)
    if first % 16 == 8 then
      self.close_code = size >= 2 and string.byte(body, 1) * 256 + string.byte(body, 2) or 1005
    elseif first % 16 == 2 then
      local envelope = assert(stream.envelope(body))
      local list = envelope.type == 5 and self.acknowledged or self.refused
      list[#list + 1] = envelope.txid
    end
  end
end

function Car:step()
  if self.closed then return end
  local good, err = self.client:step()
  self.bytes = self.bytes .. self.client:take()
  if not good then self.ended = self.ended or err end
  if not self.upgraded then
    local _, last = string.find(self.bytes, "\r\n\r\n", 1, true)
    self.head = self.bytes
    if not last or not string.find(self.bytes, "^HTTP/1.1 101") then return end
    self.upgraded, self.head, self.bytes = true, string.sub(self.bytes, 1, last), string.sub(self.bytes, last + 1)
  end
  take_frames(self)
end

function Car:send(given)
  count = count + 1
  local _, wall = core.clock()
  self.client:send(stream.frame(2, stream.stream_message {
    topic = given.topic or "V", txid = given.txid or "tx-" .. count, created_at = math.floor(wall),
    sender_id = "vehicle_device." .. self.vin, device_type = "vehicle_device", device_id = self.vin,
    payload = given.payload or M.payload(given),
  }, mask))
end

--- Ends the connection as a vehicle that leaves.
function Car:close()
  if self.closed then return end
  self.closed = true
  self.client:close()
end

--- Runs the loop and the cars until done() returns a value, which it returns; raises with why() when that does not happen.
function M.run_until(cars, done, why)
  local loop = require("fleet").loop
  for _ = 1, 20000 do
    local value = done()
    if value then return value end
    for _, car in ipairs(cars) do car:step() end
    loop.step()
    core.pause(0.0005)
  end
  error("it did not come to that: " .. why())
end

return M
