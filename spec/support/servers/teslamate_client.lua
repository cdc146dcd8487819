-- What TeslaMate's streaming client says and hears: a WebSocket of texts, with TLS or without.
--
--   local client = require("spec.support.servers.teslamate_client").connect { port =, server_ca =, headers =, upgrade = }
--   without server_ca: no TLS; upgrade: the whole request in place of its own
--   client:subscribe(tag, token)    client:say(table or text)    client:step()
--   client.heard (decoded messages), client.head (the answer to the upgrade), client.upgraded, client.ended, client.close_code

local core = require "fleet.core"
local stream = require "fleet.stream"

local M = {}

local COLUMNS = "speed,odometer,soc,elevation,est_heading,est_lat,est_lng,power,shift_state,range,est_range,heading"
local MASK = "\17\34\51\68"

local Client = {}
Client.__index = Client

-- The same calls as stream.client, by luasocket.
local function plain(port)
  local socket = require "socket"
  local tcp = assert(socket.connect("127.0.0.1", port))
  tcp:settimeout(0)
  local out, got = "", ""
  return {
    send = function(_, text) out = out .. text end,
    step = function()
      local sent, _, part = tcp:send(out)
      out = string.sub(out, (sent or part or 0) + 1)
      local text, why, rest = tcp:receive(65536)
      got = got .. (text or rest or "")
      if why == "closed" then return nil, "closed" end
      return true
    end,
    take = function()
      local text = got
      got = ""
      return text
    end,
    close = function() tcp:close() end,
  }
end

function M.connect(given)
  local client = given.server_ca and assert(stream.client { address = "127.0.0.1", name = "localhost", port = given.port,
    server_ca = given.server_ca }) or plain(given.port)
  client:send(given.upgrade or "GET /streaming/ HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    .. "Sec-WebSocket-Version: 13\r\n"
    .. "Sec-WebSocket-Key: AQIDBAUGBwgJCgsMDQ4PEA==\r\n" .. (given.headers or "") .. "\r\n")
  return setmetatable({ client = client, bytes = "", head = "", heard = {}, upgraded = false }, Client)
end

function Client:say(message)
  local text = type(message) == "table" and core.json_encode(message) or message
  self.client:send(stream.frame(1, text, MASK))
end

function Client:subscribe(tag, token)
  self:say { msg_type = "data:subscribe_oauth", token = token or "an access token", value = COLUMNS, tag = tag }
end

local function take_frame(self)
  local first, size = string.byte(self.bytes, 1, 2)
  local at = 3
  if size == 126 and #self.bytes >= 4 then size, at = string.byte(self.bytes, 3) * 256 + string.byte(self.bytes, 4), 5 end
  if not size or #self.bytes < at + size - 1 then return false end
  local body = string.sub(self.bytes, at, at + size - 1)
  self.bytes = string.sub(self.bytes, at + size)
  if first % 16 == 1 then self.heard[#self.heard + 1] = core.json_decode(body) end
  if first % 16 == 8 then self.close_code = string.byte(body, 1) * 256 + string.byte(body, 2) end
  return true
end

function Client:step()
  if self.deaf or self.ended then return end
  local good, err = self.client:step()
  self.bytes = self.bytes .. self.client:take()
  if not good then self.ended = err end
  if not self.upgraded then
    self.head = self.bytes
    local _, last = string.find(self.bytes, "\r\n\r\n", 1, true)
    if not last or not string.find(self.bytes, "^HTTP/1.1 101") then return end
    self.upgraded, self.bytes = true, string.sub(self.bytes, last + 1)
  end
  while take_frame(self) do end -- luacheck: ignore
end

function Client:close() self.client:close() end

--- The columns of an update by their names; "" is left out.
function M.columns(message)
  local names, found, i = { "time" }, {}, 0
  for name in string.gmatch(COLUMNS, "[^,]+") do names[#names + 1] = name end
  for text in string.gmatch(message.value .. ",", "([^,]*),") do
    i = i + 1
    if text ~= "" then found[names[i]] = text end
  end
  assert(i == #names)
  return found
end

return M
