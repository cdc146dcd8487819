-- Every list: what the service holds is what the client returns, in any size of pages, however much its records share.

local rows = require "fleet.call.rows"
local seam = require "spec.support.fixtures.host_http"
local simulated = require "spec.support.fixtures.simulated"

local vin, other = simulated.CAR, simulated.OLD
local sim, client

local function garage()
  local drivers, sessions = {}, {}
  for i = 1, 4 do drivers[i] = { email = "driver" .. i .. "@x" } end
  for i = 1, 11 do sessions[i] = { vin = i % 3 == 0 and other or vin } end
  local orders = { { vin = vin, referenceNumber = "RN1" }, { vin = vin, referenceNumber = "RN2" } }
  local accounts = { { email = "owner@x", business = true, orders = orders } }
  for i, driver in ipairs(drivers) do accounts[i + 1] = { email = driver.email } end
  return {
    accounts = accounts, charging_history = sessions, vehicles = { { vin = vin, drivers = drivers }, { vin = other } },
    energy_sites = { { id = 1 }, { id = 2 }, { id = 3 } },
  }
end

-- The simulated service as a host's own HTTP.
local function transport(request)
  local reply = sim:call(request.method, request.path, request.body)
  return { status = reply.status, headers = reply.headers, body = reply.body }
end

setup(function()
  sim = simulated.new(garage())
  client = seam.client(transport)
  for _ = 1, 8 do sim:call("POST", "/api/1/vehicles/" .. vin .. "/invitations") end
end)
teardown(function() client:close() end)

-- Row -> what the service holds, and the member by which its records are compared here.
local held = {
  vehicles = function() return sim.service.vehicles, "vin" end,
  invitations = function() return sim.service.by_vin[vin].invitations, "id" end,
  drivers = function() return sim:get("/api/1/vehicles/" .. vin .. "/drivers").response, "user_id" end,
  products = function() return sim:get("/api/1/products").response end,
  ["user.orders"] = function() return sim:get("/api/1/users/orders").response, "referenceNumber" end,
  ["charging.history"] = function() return sim.service.charging, "sessionId" end,
  ["charging.sessions"] = function() return sim.service.charging, "sessionId", "id" end,
}

local function id_text(value)
  return type(value) == "number" and ("%d"):format(value) or value
end

local function sorted(records, name)
  local list = {}
  for i, record in ipairs(records) do list[i] = id_text(record[name]) end
  table.sort(list)
  return list
end

local function read(row, params)
  local handle = row.handle == "vehicle" and client:vehicle(vin) or row.handle == "client" and client or client[row.handle]
  if row.paging == "no" then return assert(handle[row.method](handle)) end
  return assert(handle[row.method](handle, params):collect())
end

describe("the list", function()
  for _, row in ipairs(rows.all()) do
    if row.value.list and not row.value.object then
      it("of " .. row.name .. " is returned as the service holds it", function()
        local records, name, shown = assert(held[row.name], "what the service holds of this list must be told above")()
        assert.is_true(#records >= 2)
        for _, size in ipairs(row.paging ~= "no" and { 1, 3, 8, 25 } or { false }) do
          local found = read(row, { page_size = size or nil })
          assert.equal(#records, #found)
          if name then assert.same(sorted(records, name), sorted(found, shown or name)) end
        end
        assert.equal(#records, #read(row))
      end)
    end
  end

  it("has records of one car that are several: a check that cannot be passed by one of each", function()
    assert.equal(8, #sim.service.by_vin[vin].invitations)
    local of_one = 0
    for _, entry in ipairs(sim.service.charging) do of_one = of_one + (entry.vin == vin and 1 or 0) end
    assert.is_true(of_one >= 5)
  end)
end)
