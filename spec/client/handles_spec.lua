-- What a handle says of itself: what it stands for, whether another stands for the same, its name and text.

local fleet = require "fleet"
local core = require "fleet.core"
local seam = require "spec.support.fixtures.host_http"

describe("a handle", function()
  local client = seam.client { seam.done }
  local car, site = client:vehicle(seam.vin), client:energy_site(12345)

  it("prints what it is", function()
    assert.equal(seam.vin, car.vin)
    assert.equal("12345", site.id)
    assert.equal("1492931337145", client:vehicle("1492931337145").vin)
  end)

  it("says it through a throwing view, too", function()
    local view = fleet.throwing(client)
    assert.equal(seam.vin, view:vehicle(seam.vin).vin)
    assert.equal("12345", view:energy_site("12345").id)
  end)

  it("has nothing else under those words", function()
    assert.is_nil(car.id)
    assert.is_nil(site.vin)
    assert.is_nil(client.vin)
    assert.is_nil(client.user.id)
    assert.is_nil(client.vehicle_of)
    assert.is_nil(car[1])
    assert.has_error(function() car.vin = "5YJ3E1EA7KF000002" end)
  end)

  it("is equal to another one of the same client for the same thing, and to nothing else", function()
    assert.is_true(car == client:vehicle(seam.vin))
    assert.is_true(site == client:energy_site("12345"))
    assert.is_true(client.user == client.user)
    assert.is_false(car == client:vehicle("5YJ3E1EA7KF000002"))
    assert.is_false(site == client:energy_site(12346))
    assert.is_false(client.user == client.partner)
    assert.is_false(client:vehicle("12345") == site)
    local other = seam.client { seam.done }
    assert.is_false(car == other:vehicle(seam.vin))
    assert.is_false(client == other)
    assert.is_true(client == client)
  end)

  it("is equal through throwing views, too", function()
    local view = fleet.throwing(client)
    assert.is_true(view:vehicle(seam.vin) == view:vehicle(seam.vin))
    assert.is_false(view:vehicle(seam.vin) == view:vehicle("5YJ3E1EA7KF000002"))
  end)

  it("has the name of its kind, and a text that does not hold the whole VIN", function()
    local kinds = { vehicle = car, site = site, partner = client.partner, user = client.user, charging = client.charging,
      client = client }
    for kind, handle in pairs(kinds) do
      assert.equal("fleet." .. kind, getmetatable(handle).__name)
      assert.matches("^fleet%." .. kind, tostring(handle))
    end
    assert.equal("fleet.vehicle (...0001)", tostring(car))
    assert.is_nil(string.find(tostring(client), "a-token", 1, true))
  end)

  it("distinguishes the results of a map", function()
    local cars = { car, client:vehicle("5YJ3E1EA7KF000002") }
    local seen = {}
    for i, result in ipairs(fleet.map(cars, function(one) return one:honk_horn() end)) do
      assert.is_true(result.ok)
      seen[i] = result.item.vin
    end
    assert.same({ seam.vin, "5YJ3E1EA7KF000002" }, seen)
  end)

  it("has metamethods that refuse foreign values", function()
    local metatable = getmetatable(car)
    for _, value in ipairs { 5, "x", {}, io.stdout, core.null, client } do
      assert.is_false(metatable.__eq(car, value))
      assert.is_false(metatable.__eq(value, car))
      assert.is_nil((metatable.__index(value, "id")))
      assert.is_false(pcall(metatable.__tostring, value))
    end
  end)
end)

describe("the spelling of a VIN", function()
  it("is decided in one place", function()
    for _, good in ipairs { seam.vin, "LRW3F7EK4NC716336", "0123456789ABCDEFG" } do assert.is_true(core.is_vin(good)) end
    for _, bad in ipairs { "5YJ3E1EA7KF00000", seam.vin .. "1", "5yj3e1ea7kf000001", "5YJ3E1EA7KF00000I", "5YJ3E1EA7KF00000O",
      "5YJ3E1EA7KF00000Q", "", 5, {} } do
      assert.is_false(core.is_vin(bad))
    end
  end)

  it("is refused alike by everything that takes one", function()
    local client = seam.client({}, { domain = "app.example.com" })
    local key = fleet.key.generate()
    local bad = "5YJ3E1EA7KF00000O"
    local takers = {
      function(vin) client:vehicle(vin) end,
      function(vin) client:pairing_url { vin = vin } end,
      function(vin) assert(key:jws({}, { vin = vin })) end,
      function(vin) fleet.session { key = key, vin = vin, domain = "infotainment" } end,
    }
    for i, take in ipairs(takers) do
      take(seam.vin)
      local ok, message = pcall(take, bad)
      assert.is_false(ok, "taker " .. i)
      assert.matches("VIN: 17 capital letters and digits, without I, O and Q$", message)
    end
  end)
end)
