-- A client whose vehicles verify what it signs: the simulated service behind the client's `http`, in the same process, with
-- a clock that moves only when somebody waits. What the vehicle really did is counted on its side.
--
--   local world = signed_world.new(options)      options.vehicle: members of the vehicle; options.keys: how many are paired
--   local client = world:client(options)         options of fleet.new over the usual ones
--   world.ran                                    names of the commands that the vehicle carried out, in order
--   world.messages                               kinds of the requests: "handshake", "command", "plain", ...
--   world.before, world.after                    function(number, kind) around the service, or nil; may sleep
local core = require "fleet.core"
local fleet = require "fleet"
local signed = require "fleet.sim.signed"
local simulated = require "spec.support.simulated"
local virtual = require "spec.support.virtual"

local M = {}
M.__index = M

M.VIN = simulated.CAR

function M.hex(key)
  return (key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function kind_of(service, request)
  if request.url:find("/command/", 1, true) then return "plain" end
  if not request.url:find("/signed_command", 1, true) then return request.url:match("[^/?]+%f[?\0]") end
  return signed.kind_of {
    service = service, body = core.json_decode(request.body), fail = function() error("unreadable", 0) end,
  }
end

local function count_what_runs(self)
  local obey = self.service.obey
  function self.service.obey(service, vehicle, name, ...)
    local reason = obey(service, vehicle, name, ...)
    if not reason then self.ran[#self.ran + 1] = name end
    return reason
  end
end

function M.new(options)
  options = options or {}
  local self = setmetatable({ time = virtual.install(simulated.START), keys = {}, ran = {}, messages = {}, logs = {} }, M)
  local paired = {}
  for i = 1, options.keys or 1 do
    self.keys[i] = core.key.generate()
    paired[i] = M.hex(self.keys[i])
  end
  local vehicle = { vin = M.VIN, keys = paired, sleep_after = nil }
  for name, value in pairs(options.vehicle or {}) do vehicle[name] = value end
  self.sim = simulated.new({ vehicles = { vehicle } }, { core = core, clock = function() return fleet.loop.clock() end })
  self.service, self.token = self.sim.service, self.sim:own_token()
  count_what_runs(self)
  return self
end

local function answer(self, request)
  local path, query = request.url:match("^https?://[^/]+([^?]*)%??(.*)$")
  local status, headers, body, manner = self.service:handle {
    method = request.method, path = path, query = query, headers = request.headers, body = request.body or "",
  }
  if manner and manner.delay then fleet.sleep(manner.delay) end
  if manner and (manner.drop or manner.cut) then return nil, "the connection was closed" end
  return { status = status, headers = headers, body = body }
end

function M:http()
  return function(request)
    local number, kind = #self.messages + 1, kind_of(self.service, request)
    self.messages[number] = kind
    if self.before then self.before(number, kind) end
    local reply, err, sent = answer(self, request)
    if self.after then self.after(number, kind) end
    return reply, err, sent
  end
end

function M:client(options)
  local all = {
    base_url = "https://base", token = self.token, key = self.keys[1], http = self:http(), timeout = 60,
    log = function(event) self.logs[#self.logs + 1] = event end,
  }
  for name, value in pairs(options or {}) do all[name] = value end
  return fleet.new(all)
end

function M:car(options)
  local client = self:client(options)
  return client:vehicle(M.VIN), client
end

function M:fault(name, times, options)
  self.service.faults:add(name, times, options)
end

function M:forget()
  self.ran, self.messages, self.logs = {}, {}, {}
end

-- How many messages of this kind were sent.
function M:sent(kind)
  local count = 0
  for _, each in ipairs(self.messages) do
    if each == kind then count = count + 1 end
  end
  return count
end

function M:close()
  self.time.restore()
end

return M
