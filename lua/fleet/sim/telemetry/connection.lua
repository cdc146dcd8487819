-- One connection of a simulated car to a receiver: TLS with the car's certificate, the WebSocket upgrade, messages and acknowledgements. It
-- never blocks.

local M = {}
M.__index = M

local MASK = "\17\34\51\68"
local REQUEST = "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: %s\r\n"
  .. "Sec-WebSocket-Version: 13\r\nVersion: %s\r\nX-Network-Interface: %s\r\n\r\n"
local ACKNOWLEDGED, MESSAGE = 5, 4
local MOST_UNREAD = 65536 -- bytes of answers that are buffered while the car does not read

local function ended(self, reason)
  if self.state == "ended" then return end
  self.state = "ended"
  if self.watch then self.watch:close() end
  self.watch = nil
  self.client:close()
  self.given.on_end(self, reason)
end

-- The server's next frame in the buffer: opcode, payload; nil while it is incomplete.
local function next_frame(self)
  local bytes = self.incoming
  if #bytes < 2 then return nil end
  local first, size, at = string.byte(bytes, 1), string.byte(bytes, 2) % 128, 3
  if size == 126 then
    if #bytes < 4 then return nil end
    local high, low = string.byte(bytes, 3, 4)
    size, at = high * 256 + low, 5
  elseif size == 127 then
    return 8, "" -- longer than any answer: treated as a close
  end
  if #bytes < at + size - 1 then return nil end
  self.incoming = string.sub(bytes, at + size)
  return first % 16, string.sub(bytes, at, at + size - 1)
end

local function take_frames(self)
  local opcode, payload = next_frame(self)
  while opcode and self.state == "open" do
    if opcode == 8 then return ended(self, "the receiver closed the connection") end
    if opcode == 9 then self.client:send(self.stream.frame(10, payload, MASK)) end
    local answer = opcode == 2 and self.stream.envelope(payload)
    if answer and answer.type == ACKNOWLEDGED then self.given.on_acknowledged(self, answer.txid) end
    if answer and answer.type == MESSAGE then self.given.on_refused(self, answer.txid, answer.payload) end
    opcode, payload = next_frame(self)
  end
end

local function take_upgrade(self)
  local head, rest = string.match(self.incoming, "^(.-)\r\n\r\n(.*)$")
  if not head then return end
  local status = string.match(head, "^HTTP/1%.1 (%d+)")
  if status ~= "101" then return ended(self, "the receiver answered " .. (status or "no HTTP") .. " to the upgrade") end
  self.state, self.incoming = "open", rest
  self.given.on_open(self)
end

local function look(self)
  if self.state == "ended" then return end
  local fd, mode = self.client:fd()
  if mode == self.mode then return end
  if self.watch then self.watch:close() end
  self.mode = mode
  self.watch = self.given.loop.watch(fd, mode, function() self:pump() end)
end

--- Does what is possible without blocking.
function M:pump()
  if self.state == "ended" or self.deaf and #self.incoming > MOST_UNREAD then return end
  local good, err = self.client:step()
  self.incoming = self.incoming .. self.client:take()
  if self.state == "greets" and self.client:connected() then
    self.state = "upgrades"
    self.client:send(string.format(REQUEST, self.given.hostname, self.given.random_key, self.given.version, self.given.interface))
    good, err = self.client:step()
    self.incoming = self.incoming .. self.client:take()
  end
  if self.state == "upgrades" then take_upgrade(self) end
  if self.state == "open" and not self.deaf then take_frames(self) end
  if not good then return ended(self, err.message) end
  look(self)
end

--- Sends a message as one frame.
function M:send(bytes)
  if self.state ~= "open" then return end
  self.client:send(self.stream.frame(2, bytes, MASK))
  self:pump()
end

--- Ends it without a close frame, as a car that loses its network does.
function M:close()
  if self.state == "ended" then return end
  self.given.on_end = function() end
  ended(self)
end

--- Opens a connection. given: stream (fleet.stream), loop, address, hostname, port, ca, certificate, key, version, interface, random_key,
--- on_open, on_acknowledged(self, id), on_refused(self, id, text), on_end(self, reason). Returns nil, err, kind on failure.
function M.open(given)
  local client, err, kind = given.stream.client {
    address = given.address, name = given.hostname, port = given.port, server_ca = given.ca, certificate = given.certificate,
    certificate_key = given.key,
  }
  if not client then return nil, err, kind end
  local self = setmetatable({ stream = given.stream, given = given, client = client, state = "greets", incoming = "" }, M)
  look(self)
  return self
end

return M
