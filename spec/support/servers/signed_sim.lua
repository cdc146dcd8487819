-- The simulator in this process and in fleet's own loop, signed in to and with a paired key, for what stands in front of it: and
-- clients that say exactly what they are told, while that loop turns.
--
--   local sim = signed_sim.start(garage)     sim:client(options)  a client with key and tokens     sim:token()  its access token
--   sim:fault(name, times, options)  sim:clear()  sim:close()     sim.ran  names of the commands that were carried out
--   sim:expire()  all access tokens                               sim.on_run(vin, name)  is called for each of them
--   signed_sim.raw(proxy, lines, body)       one request, outside of tasks → { status, headers, body } or nil
--   signed_sim.raw_in_task(proxy, lines, body)
--   signed_sim.on_connection(proxy, act)     act(connection, ask) on one connection that is kept
--   signed_sim.curl(arguments)               → status as text, body
--   signed_sim.wait(condition, seconds)      turns the loop until it holds

local core = require "fleet.core"
local cqueues = require "cqueues"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local miniclient = require "spec.support.harness.miniclient"
local process = require "spec.support.harness.process"
local sims = require "fleet.sim"

local M = { VIN = "5YJ3FLEE9RF000001" }

local methods = {}
methods.__index = methods

-- ---- the simulator ----

local function public_hex(key)
  return (key:public_bytes():gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local function count_what_runs(self)
  local obey = self.sim.service.obey
  function self.sim.service.obey(service, vehicle, name, ...)
    local reason = obey(service, vehicle, name, ...)
    if not reason then self.ran[#self.ran + 1] = name end
    if not reason and self.on_run then self.on_run(vehicle.vin, name) end
    return reason
  end
end

local function sign_in(self)
  local client = self:client { key = false }
  local url, pending = client:authorize_url()
  local _, headers = self.sim.service.oauth:authorize(require("fleet.sim.text").form(url:match("%?(.*)$")), false)
  assert(client:authorize(headers.Location, pending))
  client:close()
end

--- vehicles: a list of further VINs, or nil; place: of the store, as fleet.store.open takes it, or nil for one in memory.
function M.start(vehicles, place)
  local store = fleet.store.open(place or "memory")
  local self = setmetatable({ key = core.key.generate(), store = store, ran = {} }, methods)
  local list = {}
  for i, vin in ipairs { M.VIN, table.unpack(vehicles or {}) } do
    list[i] = { vin = vin, keys = { public_hex(self.key) }, charge_state = { charging_state = "Disconnected" } }
  end
  self.sim = assert(sims.new { garage = { vehicles = list } })
  count_what_runs(self)
  sign_in(self)
  return self
end

--- options: over the usual ones of fleet.new; key = false: none.
function methods:client(options)
  local all = {
    base_url = self.sim.base_url, auth_url = self.sim.auth_url, token_url = self.sim.token_url, client_id = "c", client_secret = "s",
    redirect_uri = "http://localhost/cb", store = self.store, key = self.key,
    scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "vehicle_charging_cmds" },
  }
  for name, value in pairs(options or {}) do all[name] = value end
  all.key = all.key or nil
  return fleet.new(all)
end

function methods:token()
  return core.json_decode((self.store:get("token/default/user"))).access_token
end

function methods:fault(...) self.sim:fault(...) end
function methods:clear() self.sim.service.faults:clear() end

function methods:expire()
  for _, token in pairs(self.sim.service.oauth.access) do token.expires_at = 0 end
end

function methods:close()
  self.sim:close()
  self.store:close()
  self.key:close()
end

-- ---- clients ----

local function turn_loop()
  fleet.loop.wait(0.002)
  fleet.loop.step()
end

local function bytes_of(lines, body)
  local text = table.concat(lines, "\r\n")
  if body then text = text .. "\r\nContent-Length: " .. #body end
  return text .. "\r\n\r\n" .. (body or "")
end

-- act(connection) as a coroutine of cqueues; turn() lets everything else happen.
local function connected(proxy, act, turn)
  local where = { path = proxy.place.unix, port = not proxy.place.unix and proxy.server:port() or nil }
  local controller, done, result = cqueues.new(), false, nil
  controller:wrap(function()
    local ran, connection = pcall(miniclient.connect, where)
    if ran then
      connection:onerror(function(_, _, code) return code end)
      result = act(connection)
      connection:close()
    end
    done = true
  end)
  while not done do
    assert(controller:step(0))
    turn()
  end
  return result
end

local function exchange(proxy, bytes, turn)
  return connected(proxy, function(connection) return miniclient.exchange(connection, bytes) end, turn)
end

function M.raw(proxy, lines, body)
  return exchange(proxy, bytes_of(lines, body), turn_loop)
end

function M.raw_in_task(proxy, lines, body)
  return exchange(proxy, bytes_of(lines, body), function() fleet.sleep(0.002) end)
end

--- Bytes as they are: what is answered, or nil. leaves: go away without waiting; seconds: or after so many.
function M.say(proxy, bytes, leaves, seconds)
  return connected(proxy, function(connection)
    if seconds then connection:settimeout(seconds) end
    if not leaves then return miniclient.exchange(connection, bytes) end
    connection:write(bytes)
    connection:flush()
    cqueues.sleep(0.05)
  end, turn_loop)
end

--- Bytes that hold so many requests: the answers in their order.
function M.pipeline(proxy, bytes, count)
  return connected(proxy, function(connection)
    local replies = { miniclient.exchange(connection, bytes) }
    for i = 2, count do replies[i] = miniclient.exchange(connection, "") end
    return replies
  end, turn_loop)
end

--- act(connection, ask) on one connection that is kept: ask(lines, body) → { status, headers, body }. What act returns.
function M.on_connection(proxy, act)
  return connected(proxy, function(connection)
    return act(connection, function(lines, body) return miniclient.exchange(connection, bytes_of(lines, body)) end)
  end, turn_loop)
end

function M.wait(condition, seconds)
  local ends = cqueues.monotime() + (seconds or 30)
  while not condition() do
    assert(cqueues.monotime() < ends, "it does not become true")
    turn_loop()
  end
end

function M.curl(arguments)
  local directory = process.temporary("curl")
  process.execute(("(cd %s; curl -s -o body -w '%%{http_code}' --max-time 20 %s >code 2>error; mv code done) &")
    :format(process.quote(directory), arguments))
  M.wait(function() return files.find(directory .. "/done") ~= nil end)
  local status, body = files.read(directory .. "/done"), files.find(directory .. "/body") or ""
  process.execute("rm -rf " .. process.quote(directory))
  return status, body
end

return M
