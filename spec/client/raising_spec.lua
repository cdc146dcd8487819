local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

local gone = { status = 404, headers = {}, body = '{"error":"not_found"}' }

local function raises(kind, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.equal(kind, err.kind)
  return err
end

describe("a throwing view", function()
  it("returns what the call returns, and raises its err", function()
    local client = fleet.throwing((seam.client { seam.done, gone }))
    local car = client:vehicle(seam.vin)
    assert.is_true(car:honk_horn().changed)
    local err = raises("not_found", car.honk_horn, car)
    assert.equal("refused", err.outcome)
    assert.matches("not_found", tostring(err))
  end)

  it("reaches everything that the client does", function()
    local client = fleet.throwing((seam.client { gone }))
    raises("not_found", client.products, client)
    raises("not_found", client.user.me, client.user)
    raises("not_found", client.charging.invoice, client.charging, "1")
    raises("not_found", client.energy_site(client, 12345).live_status, client:energy_site(12345))
    raises("not_found", client.call, client, "user.me")
  end)

  it("raises from walks too, and gives views of the cars", function()
    local client = fleet.throwing((seam.client(function(request)
      if request.path:find("?page=1", 1, true) then
        return seam.answer '{"response":[{"vin":"5YJ3E1EA7KF000001"},{"vin":"5YJ3E1EA7KF000002"}],"pagination":{"current":1,"next":2}}'
      end
      return gone
    end)))
    local seen = {}
    local err = raises("not_found", function()
      for car, record in client:vehicles() do
        seen[#seen + 1] = record.vin
        raises("not_found", car.info, car)
      end
    end)
    assert.equal("GET /api/1/vehicles", err.request)
    assert.same({ "5YJ3E1EA7KF000001", "5YJ3E1EA7KF000002" }, seen)
    local list = client:vehicles()
    raises("not_found", list.collect, list)
    assert.matches("fleet.pages", tostring(list))
  end)

  it("walks the inner of two loops over one list from the start", function()
    local client = fleet.throwing((seam.client '{"response":[{"vin":"5YJ3E1EA7KF000001"},{"vin":"5YJ3E1EA7KF000002"}]}'))
    local list, n = client:vehicles(), 0
    for _ in list do
      for _ in list do n = n + 1 end
    end
    assert.equal(4, n)
  end)

  it("of one handle leaves its client as it is", function()
    local plain = seam.client { gone }
    local car = plain:vehicle(seam.vin)
    raises("not_found", fleet.throwing(car).info, fleet.throwing(car))
    assert.equal("not_found", select(3, car:info()))
  end)

  it("passes the caller's mistakes on", function()
    local car = fleet.throwing((seam.car(seam.done)))
    assert.error_matches(function() car:set_charge_limit { precent = 80 } end, "did you mean 'percent'?")
  end)

  it("distinguishes false and several results from failures", function()
    local car = fleet.throwing((seam.car(function(request)
      if request.method == "POST" then return { status = 503 } end
      return seam.answer '{"response":{"vehicle_state":{"locked":true}}}'
    end)))
    local err = raises("service", car.door_unlock, car)
    assert.is_false(car:settle(err))
    fleet.drain()
  end)

  it("prints, closes and has the fields of what it shows", function()
    local plain = seam.client(seam.done)
    local client = fleet.throwing(plain)
    assert.equal("fleet.client", tostring(client))
    assert.equal("fleet.vehicle (...0001)", tostring(client:vehicle(seam.vin)))
    assert.is_nil(client.nothing)
    assert.equal(client, fleet.throwing(client))
    client:close()
    assert.equal("fleet.client (closed)", tostring(plain))
    client:close()
  end)

  it("is closed at the end of its block", function()
    if _VERSION < "Lua 5.4" then return pending "to-be-closed variables begin with 5.4" end
    local plain = seam.client(seam.done)
    do
      local _ <close> = fleet.throwing(plain)
    end
    assert.equal("fleet.client (closed)", tostring(plain))
  end)

  it("is of a client or handle only", function()
    for _, value in ipairs { 5, "x", {}, print, io.stdout } do
      assert.error_matches(function() fleet.throwing(value) end, "throwing: a client or a handle is needed, got " .. type(value))
    end
    assert.has_error(function() fleet.throwing() end)
  end)
end)
