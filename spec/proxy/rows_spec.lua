-- Every row through the proxy, against the vectors written by hand: commands leave signed, telemetry configurations as tokens,
-- everything else as it came.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local rows = require "fleet.call.rows"
local services = require "fleet.proxy.service"
local signed_world = require "spec.support.fixtures.signed_world"
local vectors = require "spec.support.fixtures.vectors"

local VIN = "5YJ3E1EA7KF000001"

-- Published as REST only: a signed form exists, but is not tried first.
local function goes_plain(row)
  return not row.message or row.flags.plain_first
end

-- The vector has the loudest that the plain form takes; a signed one ends below it.
local function loud_enough(vector)
  return { method = vector.method, path = vector.path, body = '{"volume":5}' }
end

-- The words of a query, sorted; each decoded.
local function fields(query)
  local list = {}
  for field in (query or ""):gmatch("[^&]+") do
    list[#list + 1] = field:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  table.sort(list)
  return list
end

describe("through the proxy", function()
  local sent, service, opened, world

  -- A service that takes everything, and a vehicle behind it.
  local function serve()
    local signed = world:http()
    local function http(request)
      local own = request.body ~= '{"routable_message":"AAAA"}' and request.url:find("/signed_command", 1, true)
      if own or request.url:find("/command/", 1, true) then return signed(request) end
      sent[#sent + 1] = request
      return { status = 200, headers = { ["content-type"] = "application/json", ["x-txid"] = "t1" }, body = '{"response":{"said":1}}' }
    end
    opened = clients.new(world:client { http = http })
    return services.new { clients = opened, timeout = 30 }
  end

  local function ask(vector, vin)
    local path = vector.path:gsub(VIN, vin or VIN)
    local query = (vector.query or ""):gsub("[^%w=&]", function(c) return ("%%%02X"):format(c:byte()) end)
    return fleet.run(function()
      local status, headers, body = service:handle(callers.new({}).default_caller, {
        method = vector.method, path = path, query = query, headers = {}, body = vector.body or "",
      })
      return { status = status, headers = headers, body = body }
    end)
  end

  before_each(function()
    sent, world = {}, signed_world.new { vehicle = { vin = VIN } }
    service = serve()
  end)

  after_each(function()
    opened:close()
    service, opened = nil, nil
    world:close()
  end)

  local commands, forwarded = 0, 0
  for _, vector in ipairs(vectors.interface()) do
    local row = rows.by_name[vector.word] or rows.by_name[vector.handle .. "." .. vector.word]
    if row and row.flags.command then
      commands = commands + 1
      it(vector.word .. " is a command", function()
        local reply = ask(vector.word == "adjust_volume" and loud_enough(vector) or vector)
        assert.equal(1, world:sent(goes_plain(row) and "plain" or "command"), reply.body)
        assert.same({}, sent)
        assert.is_true(reply.status == 200 or reply.status == 403, reply.status .. reply.body)
      end)
    elseif row and row.name ~= "create_fleet_telemetry_config" and row.name ~= "signed_command" then
      forwarded = forwarded + 1
      it(vector.name .. " is forwarded", function()
        local reply = ask(vector)
        assert.same({ 200, '{"response":{"said":1}}', "t1" }, { reply.status, reply.body, reply.headers["X-Txid"] })
        assert.equal(1, #sent)
        local path, query = sent[1].url:match("^https://base([^?]*)%??(.*)$")
        assert.same({ vector.method, vector.path, fields(vector.query) }, { sent[1].method, path, fields(query) })
        assert.equal(vector.body, sent[1].body)
        assert.equal("Bearer " .. world.token, sent[1].headers.authorization)
      end)
    end
  end

  for _, name in ipairs { "set_managed_charge_current_request", "set_managed_charger_location", "set_managed_scheduled_charging_time" } do
    it(name .. ", whose parameters are not published, goes with the body that came, once, and in turn", function()
      local path = "/api/1/vehicles/" .. VIN .. "/command/" .. name
      local seen
      local handle = world.service.handle
      world.service.handle = function(self, request)
        if request.path == path then
          seen = request.body
          return 200, {}, '{"response":{"result":true,"reason":""}}'
        end
        return handle(self, request)
      end
      local reply = ask { method = "POST", path = path, body = '{"any":[1,2]}' }
      assert.same({ 200, '{"any":[1,2]}', '{"response":{"result":true,"reason":""}}' }, { reply.status, seen, reply.body })
      assert.equal(0, world:sent("handshake"))
      assert.is_nil(next(service.queue.places))
    end)
  end

  it("there are all rows", function()
    local expected, endpoints = 0, 0
    for _, row in ipairs(rows.all()) do
      local published = not row.flags.unpublished
      if published and row.flags.command then expected = expected + 1 elseif published then endpoints = endpoints + 1 end
    end
    assert.is_true(commands >= 67)
    assert.equal(expected, commands)
    assert.equal(endpoints - 2, forwarded)
  end)

  it("a telemetry configuration with iss, aud and an unknown member leaves signed, with the signature's own two", function()
    local directory = process.temporary("proxy-telemetry")
    nginx.certificates(directory)
    local config = {
      hostname = "telemetry.example.com", port = 443, ca = files.read(directory .. "/ca.pem"),
      fields = { Soc = { interval_seconds = 60 } }, iss = "me", aud = "you", a_new_member = 1,
    }
    local reply = ask {
      method = "POST", path = "/api/1/vehicles/fleet_telemetry_config", body = core.json_encode { vins = { VIN }, config = config },
    }
    assert.equal(200, reply.status, reply.body)
    local claims = assert(core.jws_verify(core.json_decode(sent[1].body).token, world.keys[1]:public_bytes()))
    assert.equal(1, claims.a_new_member)
    assert.is_not.equal("me", claims.iss)
    assert.is_not.equal("you", claims.aud)
  end)

  it("a telemetry configuration leaves as a signed token", function()
    local directory = process.temporary("proxy-telemetry")
    nginx.certificates(directory)
    local config = { hostname = "telemetry.example.com", port = 443, ca = files.read(directory .. "/ca.pem"),
      fields = { Soc = { interval_seconds = 60 } } }
    local reply = ask { method = "POST", path = "/api/1/vehicles/fleet_telemetry_config",
      body = core.json_encode { vins = { VIN }, config = config } }
    assert.equal(200, reply.status, reply.body)
    assert.matches("/api/1/vehicles/fleet_telemetry_config_jws$", sent[1].url)
    local body = core.json_decode(sent[1].body)
    assert.same({ VIN }, body.vins)
    local claims = assert(core.jws_verify(body.token, world.keys[1]:public_bytes()))
    assert.same({ config.hostname, config.port, config.fields }, { claims.hostname, claims.port, claims.fields })
  end)

  it("a message that the caller has signed himself is forwarded", function()
    local reply = ask { method = "POST", path = "/api/1/vehicles/" .. VIN .. "/signed_command", body = '{"routable_message":"AAAA"}' }
    assert.equal(200, reply.status)
    assert.equal('{"routable_message":"AAAA"}', sent[1].body)
  end)

  it("nothing of the caller's own bytes reaches the request line", function()
    local function status(query)
      return fleet.run(function()
        local asked = { method = "GET", path = "/api/1/vehicles", query = query, headers = {}, body = "" }
        return (service:handle(callers.new({}).default_caller, asked))
      end)
    end
    assert.equal(400, status("page=%0d%0aX:%20y"))
    assert.equal(400, status("page=%zz"))
    assert.equal(400, status("page=%2"))
    assert.same({}, sent)
    assert.equal(200, status("a=b c&&d=%41%2f+'&e"))
    assert.matches("%?a=b%%20c&d=A%%2F%%20%%27&e$", sent[1].url)
  end)
end)
