-- What a signed command leaves to the collector: with thousands of vehicles that is a good part of what it costs, and objects with
-- finalisers are what holds everybody up.

local core = require "fleet.core"
local failure = require "fleet.call.failure"
local fleet = require "fleet"

local VIN = "5YJ30123456789ABC"

-- A client of one vehicle in this process, which obeys until service.refuses has a reply. Returns it and a function: bytes of Lua that
-- were taken in the vehicle.
local function new_client(service)
  local key, taken = core.key.generate(), 0
  local receiver = core.receiver { key = core.key.generate(), vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
  local function http(request)
    if service.refuses then return service.refuses end
    local before = collectgarbage("count")
    local message = core.unbase64(string.match(request.body, '"routable_message":"([^"]+)"'))
    local reply = { status = 200, headers = {}, body = '{"response":"' .. core.base64((receiver:handle(message))) .. '"}' }
    taken = taken + (collectgarbage("count") - before) * 1024
    return reply
  end
  return fleet.new { token = "t", key = key, base_url = "https://service.example", commands = "signed", http = http },
    function() return taken end
end

describe("a signed command", function()
  it("leaves little to the collector", function()
    local client, taken_by_vehicle = new_client {}
    local car = client:vehicle(VIN)
    for _ = 1, 20 do assert(car:honk_horn()) end
    collectgarbage()
    collectgarbage("stop")
    local before, aside, times = collectgarbage("count") * 1024, taken_by_vehicle(), 100
    for _ = 1, times do car:honk_horn() end
    local each = (collectgarbage("count") * 1024 - before - (taken_by_vehicle() - aside)) / times
    collectgarbage("restart")
    client:close()
    assert.is_true(each < 7000, each .. " bytes")
  end)

  it("that is refused keeps what it was asked for", function()
    local service = {}
    local client = new_client(service)
    local car = client:vehicle(VIN)
    for percent = 50, 60 do
      service.refuses = nil
      assert.is_true(assert(car:set_charge_limit { percent = percent }).changed)
      service.refuses = { status = 403, headers = {}, body = '{"error":"not with 4321"}' }
      local _, err, kind = car:set_valet_mode { on = true, password = "4321" }
      assert.same({ "forbidden", "refused", "POST /api/1/vehicles/{vin}/command/set_valet_mode" }, { kind, err.outcome, err.request })
      assert.is_nil(string.find(err.raw, "4321", 1, true))
      assert.same({ on = true, password = "4321" }, failure.facts(err).params)
    end
    client:close()
  end)

  it("leaves vehicles and sites to the collector without a finaliser", function()
    local client = new_client {}
    assert.is_nil(getmetatable(client:vehicle(VIN)).__gc)
    assert.is_nil(getmetatable(client:energy_site("123")).__gc)
    assert.is_function(getmetatable(client).__gc)
    client:close()
  end)
end)
