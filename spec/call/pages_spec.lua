local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

-- A service with so many vehicles, in pages. how: "pagination" says which page is next, "count" leaves that out.
local function service(total, how)
  return function(request)
    local page = tonumber(request.path:match("[?&]page=(%d+)"))
    local size = tonumber(request.path:match("per_page=(%d+)"))
    local records = {}
    for i = (page - 1) * size + 1, math.min(page * size, total) do
      records[#records + 1] = ('{"vin":"5YJ3E1EA7KF%06d","id":%d,"state":"online"}'):format(i, i)
    end
    local more = page * size < total and tostring(page + 1) or "null"
    local pagination = how == "pagination" and ('"pagination":{"current":%d,"next":%s},'):format(page, more) or ""
    return seam.answer(('{"response":[%s],%s"count":%d}'):format(table.concat(records, ","), pagination, #records))
  end
end

local function vins(list)
  local found = {}
  for i, record in ipairs(list) do found[i] = record.vin end
  return found
end

describe("a walk", function()
  for _, how in ipairs { "pagination", "count" } do
    it("sees every record of every page once: " .. how, function()
      for _, total in ipairs { 0, 1, 9, 10, 11, 20, 25, 101 } do
        local client = seam.client(service(total, how))
        local seen = {}
        for car, record in client:vehicles { page_size = 10 } do
          assert.equal("fleet.vehicle", tostring(car):match("^%S+"))
          seen[#seen + 1] = record.vin
        end
        assert.equal(total, #seen)
        assert.equal(total > 0 and ("5YJ3E1EA7KF%06d"):format(total) or nil, seen[total])
        assert.same(seen, vins(assert(client:vehicles({ page_size = 10 }):collect())))
      end
    end)
  end

  it("asks for no page more than the service says there is", function()
    local client, requests = seam.client(service(20, "pagination"))
    client:vehicles({ page_size = 10 }):collect()
    assert.equal(2, #requests)
    client, requests = seam.client(service(20, "count"))
    client:vehicles({ page_size = 10 }):collect()
    assert.equal(3, #requests)
    client, requests = seam.client(service(15, "count"))
    client:vehicles({ page_size = 10 }):collect()
    assert.equal(2, #requests)
  end)

  it("asks 100 at a time, from where the caller says", function()
    local client, requests = seam.client(service(5, "count"))
    client:vehicles():collect()
    client:vehicles({ per_page = 7, page = 3 }):collect()
    assert.equal("/api/1/vehicles?page=1&per_page=100", requests[1].path)
    assert.equal("/api/1/vehicles?page=3&per_page=7", requests[2].path)
  end)

  it("ends at a server that ignores the page number", function()
    local client, requests = seam.client('{"response":[{"vin":"5YJ3E1EA7KF000001","id":1},{"vin":"5YJ3E1EA7KF000002","id":2}]}')
    assert.equal(2, #client:vehicles({ page_size = 2 }):collect())
    assert.equal(2, #requests)
    client = seam.client '{"response":[{"id":1}],"pagination":{"current":1,"next":2}}'
    assert.equal(1, #client:vehicles({ page_size = 1 }):collect())
  end)

  it("ends at a server that invents new records for every page, and says so", function()
    local count = 0
    local client = seam.client(function()
      count = count + 1
      if count > 1001 then error "asked too often" end
      return seam.answer(('{"response":[{"id":%d}]}'):format(count))
    end)
    local list, err, kind = client:vehicles({ page_size = 1 }):collect()
    assert.same({ nil, "protocol" }, { list, kind })
    assert.matches("more than 1000 pages", err.message)
    assert.equal(1000, count)
  end)

  it("does not start before it is used, and restarts each time", function()
    local client, requests = seam.client(service(3, "count"))
    local list = client:vehicles()
    assert.equal(0, #requests)
    assert.equal(3, #list:collect())
    assert.equal(3, #list:collect())
    for _ = 1, 2 do
      local n = 0
      for _ in list do n = n + 1 end
      assert.equal(3, n)
    end
    assert.equal(4, #requests)
  end)

  it("leaves out a record that names no vehicle, and reports it", function()
    local logged, odd = {}, {
      '{"vin":"5yj3e1ea7kf000001","id_s":"1"}', '{"vin":"a/b"}', '{"vin":true}', '{"vin":{},"id":5}',
      '{"vin":null,"id_s":"x","id":1.5}',
    }
    local good = { '{"vin":"5YJ3E1EA7KF000002","state":7}', '{"vin":null,"id_s":"12"}', '{"id_s":{},"id":13}' }
    local records = table.concat(odd, ",") .. "," .. table.concat(good, ",")
    local client = seam.client('{"response":[' .. records .. "]}", { log = function(event) logged[#logged + 1] = event.message end })
    local seen = {}
    for car in client:vehicles() do seen[#seen + 1] = car.vin or car.id end
    assert.equal(3, #seen)
    assert.same({ 5, 5 }, { #odd, #logged }, table.concat(logged, '\n'))
    assert.matches("left out: its 'vin' is none: \"5yj3e1ea7kf000001\"", logged[1], 1, true)
  end)

  it("may be nested in another over the same list", function()
    local list = seam.client(service(3, "count")):vehicles { page_size = 2 }
    local pairs_seen = {}
    for _, a in list do
      for _, b in list do pairs_seen[#pairs_seen + 1] = a.id .. b.id end
    end
    assert.same({ "11", "12", "13", "21", "22", "23", "31", "32", "33" }, pairs_seen)
  end)

  it("goes on by calls without arguments, to its end and no further", function()
    local client, requests = seam.client(service(25, "pagination"))
    local next_car, seen = client:vehicles { page_size = 10 }, {}
    local car, record = next_car()
    while car do
      seen[#seen + 1] = record.vin
      next_car(nil, nil) -- as a loop begins, which is a walk of its own
      car, record = next_car()
    end
    assert.equal(25, #seen)
    assert.equal("5YJ3E1EA7KF000025", seen[25])
    assert.equal(3 + 25, #requests)
    assert.is_nil(next_car())
    assert.equal(3 + 25, #requests)
    local view = fleet.throwing(client):vehicles { page_size = 10 }
    assert.equal("5YJ3E1EA7KF000001", view().vin)
    assert.equal("5YJ3E1EA7KF000002", view().vin)
    local walk = fleet.run(function() return client:vehicles { page_size = 10 }() end)
    assert.equal("5YJ3E1EA7KF000001", walk.vin)
  end)

  it("is no list: what takes one names the ways to walk", function()
    local client, requests = seam.client(service(25, "pagination"))
    for _, cars in ipairs { client:vehicles(), fleet.throwing(client):vehicles() } do
      for name, use in pairs {
        length = function() return #cars end, first = function() return cars[1] end,
        ipairs = function() ipairs(cars)(cars, 0) end,
        map = function() return fleet.map(cars, function() end) end,
      } do
        local skipped = name == "length" and _VERSION == "Lua 5.1" or name == "ipairs" and _VERSION == "Lua 5.1"
        if not skipped then assert.error_matches(use, "collect%(%)", name) end
      end
    end
    assert.equal(0, #requests)
    assert.equal(25, #fleet.map(assert(client:vehicles():collect()), function() return true end))
  end)

  it("reads the numbers of a page as text: an empty next is the end", function()
    local function page(first, next_page)
      return '{"response":[{"id":' .. first .. ',"vin":"5YJ3E1EA7KF00000' .. first .. '"}],"pagination":{"previous":"","next":"' ..
        next_page .. '","current":"' .. first .. '","per_page":"1","count":"2","pages":"2"},"count":1}'
    end
    local client, requests = seam.client { page(1, "2"), page(2, "") }
    assert.equal(2, #assert(client:vehicles():collect()))
    assert.equal(2, #requests)
  end)

  it("names a vehicle that has no VIN yet by its id, and passes over one without either", function()
    local client = seam.client('{"response":[{"vin":"","id_s":"77"},{"vin":""},{"vin":"","id":78},{"vin":"5YJ3E1EA7KF000001"}]}')
    local named = {}
    for car in client:vehicles() do named[#named + 1] = car.vin end
    assert.same({ "77", "78", "5YJ3E1EA7KF000001" }, named)
  end)

  it("goes page by page, too", function()
    local sizes = {}
    for records in seam.client(service(5, "count")):vehicles({ page_size = 2 }):pages() do sizes[#sizes + 1] = #records end
    assert.same({ 2, 2, 1 }, sizes)
  end)

  it("yields inside a task and blocks outside", function()
    fleet.run(function()
      local n = 0
      for _ in seam.client(service(5, "count")):vehicles { page_size = 2 } do n = n + 1 end
      assert.equal(5, n)
    end)
  end)

  it("remembers the states that it saw", function()
    local client = seam.client(function(request)
      if request.path:find("%?page") then return seam.answer '{"response":[{"vin":"5YJ3E1EA7KF000001","state":"asleep"}]}' end
      return { status = 408, body = "vehicle unavailable" }
    end)
    for car in client:vehicles() do
      local _, _, kind = car:vehicle_data()
      assert.equal("asleep", kind)
    end
  end)
end)

describe("a walk that fails", function()
  local function broken(at)
    local good = service(30, "count")
    return function(request, number)
      if number == at then return { status = 404, body = '{"error":"not_found"}' } end
      return good(request)
    end
  end

  it("raises err in a loop and in pages", function()
    local n = 0
    local ok, err = pcall(function()
      for _ in seam.client(broken(2)):vehicles { page_size = 10 } do n = n + 1 end
    end)
    assert.is_false(ok)
    assert.equal("not_found", err.kind)
    assert.equal(10, n)
    ok, err = pcall(function()
      for _ in seam.client(broken(1)):vehicles({ page_size = 10 }):pages() do n = n + 1 end
    end)
    assert.is_false(ok)
    assert.equal("not_found", err.kind)
  end)

  it("returns nil, err, kind from collect", function()
    local all, err, kind = seam.client(broken(2)):vehicles({ page_size = 10 }):collect()
    assert.is_nil(all)
    assert.equal("not_found", kind)
    assert.equal("GET /api/1/vehicles", err.request)
  end)

  it("has no list where one is promised", function()
    for _, body in ipairs { '{"response":"x"}', "1", '"x"', "true" } do
      local _, err, kind = seam.client(body):vehicles():collect()
      assert.equal("protocol", kind)
      assert.matches("instead of a list", err.message)
    end
  end)

  it("raises the caller's mistakes before anything is asked", function()
    local car, requests, client = seam.car("{}")
    assert.error_matches(function() car:invitations { page_size = 26 } end, "'page_size' must be 1 to 25")
    assert.error_matches(function() car:invitations { per_page = 26 } end, "'per_page' must be 1 to 25")
    assert.error_matches(function() client:vehicles { page_size = 0 } end, "'page_size' must be")
    assert.error_matches(function() client:vehicles { page_size = 2.5 } end, "whole number")
    assert.error_matches(function() client:vehicles { pagesize = 2 } end, "did you mean 'page_size'?")
    assert.error_matches(function() client:vehicles({}, { timeout = "x" }) end, "timeout")
    assert.equal(0, #requests)
  end)
end)

describe("the three ways to count pages", function()
  it("are page and per_page, with ids as text", function()
    local car, requests = seam.car('{"response":[{"id":12,"state":"pending"}],"pagination":{"current":1,"next":null}}')
    assert.same({ { id = "12", state = "pending" } }, car:invitations():collect())
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations?page=1&per_page=25", requests[1].path)
  end)

  it("are pageNo and pageSize with the list under data", function()
    local client, requests = seam.client(function(request)
      local page = tonumber(request.path:match("pageNo=(%d+)"))
      return seam.answer(page < 3 and ('{"data":[{"sessionId":%d}],"totalResults":2}'):format(page) or '{"data":[]}')
    end)
    local seen = {}
    for record in client.charging:history { page_size = 1, sortOrder = "desc" } do seen[#seen + 1] = record.sessionId end
    assert.same({ "1", "2" }, seen)
    assert.equal("/api/1/dx/charging/history?sortOrder=DESC&pageNo=1&pageSize=1", requests[1].path)
  end)

  it("are offset and limit", function()
    local client, requests = seam.client(function(request)
      local offset = tonumber(request.path:match("offset=(%d+)"))
      return seam.answer(offset < 4 and ('{"data":[{"id":%d},{"id":%d}]}'):format(offset, offset + 1) or '{"data":[]}')
    end)
    local all = assert(client.charging:sessions({ page_size = 2 }):collect())
    assert.equal(4, #all)
    assert.equal("3", all[4].id)
    local paths = {}
    for i, request in ipairs(requests) do paths[i] = request.path:match("%?(.*)") end
    assert.same({ "offset=0&limit=2", "offset=2&limit=2", "offset=4&limit=2" }, paths)
  end)
end)

describe("records that look alike", function()
  it("are distinguished by their identity", function()
    local client = seam.client(function(request)
      if request.path:find("pageNo=1") then
        return seam.answer '{"data":[{"sessionId":7,"chargeStartDateTime":"a"},{"sessionId":7,"chargeStartDateTime":"b"}]}'
      end
      return seam.answer '{"data":[]}'
    end)
    assert.equal(2, #client.charging:history({ page_size = 2 }):collect())
  end)

  it("are kept however much else they share: the car of an invitation or of a session is not what it is", function()
    local records = {}
    for i = 1, 8 do records[i] = ('{"id":%d,"sessionId":%d,"vin":"%s","state":"pending"}'):format(i, i, seam.vin) end
    local text = "[" .. table.concat(records, ",") .. "]"
    local car = seam.car('{"response":' .. text .. ',"pagination":{"current":1,"next":null}}')
    assert.equal(8, #car:invitations():collect())
    local client = seam.client('{"data":' .. text .. "}")
    assert.equal(8, #client.charging:history():collect())
    assert.equal(8, #client.charging:sessions():collect())
  end)

  it("are no records without an identity", function()
    local _, err, kind = seam.client('{"response":[{"x":1},{"x":1}]}'):vehicles():collect()
    assert.equal("protocol", kind)
    assert.matches("no records", err.message)
    assert.equal(1, #seam.client('{"response":[null,{"vin":"5YJ3E1EA7KF000001"}]}'):vehicles():collect())
  end)
end)
