-- Walking over pages: the three ways in which the service numbers them, where a walk ends, and what keeps it
-- from going on for ever (doc/protocol.md#paging).

local cjson = require "cjson"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local server, client

setup(function() server = recorder.start() end)
before_each(function() client = fleet.new { base_url = server.url, token = "t0ken" } end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

-- ---- the service's side: pages of records ----

local function record(i)
  return { id = i, vin = string.format("5YJ3E1EA7KF%06d", i), sessionId = i }
end

local function range(first, last)
  local list = {}
  for i = first, last do list[#list + 1] = record(i) end
  return list
end

local function list_json(list)
  return #list == 0 and "[]" or cjson.encode(list)
end

local function paged(list, number, pages)
  local following = number < pages and tostring(number + 1) or "null"
  local form = '{"response":%s,"count":9,"pagination":' ..
    '{"previous":null,"next":%s,"current":%d,"per_page":2,"count":9,"pages":%d}}'
  return { body = string.format(form, list_json(list), following, number, pages) }
end

local function wrapped(list) return { body = '{"response":' .. list_json(list) .. "}" } end
local function data(list) return { body = '{"data":' .. list_json(list) .. "}" } end
local function wrapped_data(list) return { body = '{"response":{"data":' .. list_json(list) .. "}}" } end

local function queries()
  local list = {}
  for i, request in ipairs(server:records()) do list[i] = request.query end
  return list
end

local function ids(list)
  local found = {}
  for i, item in ipairs(list) do found[i] = tonumber(item.id) end
  return found
end

local function numbers(first, last)
  local list = {}
  for i = first, last do list[#list + 1] = i end
  return list
end

-- ---- three ways ----

describe("pages", function()
  it("shorter than was asked for go on while totalResults says that there are more", function()
    local function counted(list) return { body = '{"data":' .. list_json(list) .. ',"totalResults":5}' } end
    server:script { counted(range(1, 2)), counted(range(3, 4)), counted(range(5, 5)), { times = 0, status = 500, body = "{}" } }
    assert.equal(5, #assert(client.charging:history { page_size = 10 }:collect()))
    assert.are.same({ "pageNo=1&pageSize=10", "pageNo=2&pageSize=10", "pageNo=3&pageSize=10" }, queries())
    server:script { counted(range(1, 3)), counted(range(4, 5)), { times = 0, status = 500, body = "{}" } }
    assert.equal(5, #assert(client.charging:sessions { page_size = 10 }:collect()))
    assert.are.same({ "offset=0&limit=10", "offset=3&limit=10" }, queries())
    server:script { counted(range(5, 5)), { times = 0, status = 500, body = "{}" } }
    assert.equal(1, #assert(client.charging:history { page_size = 2, pageNo = 3 }:collect()))
    server:script { counted(range(1, 2)), counted {}, { times = 0, status = 500, body = "{}" } }
    assert.equal(2, #assert(client.charging:history { page_size = 10 }:collect()))
  end)

  it("of vehicles are numbered from 1, with per_page, until next is null", function()
    server:script { paged(range(1, 2), 1, 3), paged(range(3, 4), 2, 3), paged(range(5, 5), 3, 3) }
    assert.are.same(numbers(1, 5), ids(assert(client:vehicles { page_size = 2 }:collect())))
    assert.are.same({ "page=1&per_page=2", "page=2&per_page=2", "page=3&per_page=2" }, queries())
  end)

  it("of vehicles come by the hundred, of invitations by the twenty-five, which is the most", function()
    server:script { { times = 0, body = '{"response":[]}' } }
    assert(client:vehicles():collect())
    assert(client:vehicle(vin):invitations():collect())
    assert(client:vehicle(vin):invitations { page_size = 5 }:collect())
    assert.are.same({ "page=1&per_page=100", "page=1&per_page=25", "page=1&per_page=5" }, queries())
    assert.has_error(function() client:vehicle(vin):invitations { page_size = 26 } end)
    assert.has_error(function() client:vehicles { page_size = 0 } end)
    assert.has_error(function() client:vehicles { page_size = 1.5 } end)
  end)

  it("of the charging history are numbered from 1, with pageSize, beside the filter, until one is short",
    function()
    for _, shape in ipairs { data, wrapped_data, wrapped } do
      server:script { shape(range(1, 3)), shape(range(4, 6)), shape(range(7, 7)) }
      assert.are.same(numbers(1, 7),
        ids(assert(client.charging:history { vin = vin, page_size = 3 }:collect())))
      assert.are.same({ "vin=" .. vin .. "&pageNo=1&pageSize=3", "vin=" .. vin .. "&pageNo=2&pageSize=3",
        "vin=" .. vin .. "&pageNo=3&pageSize=3" }, queries())
    end
  end)

  it("of charging sessions are offsets counted in records", function()
    for _, shape in ipairs { data, wrapped_data } do
      server:script { shape(range(1, 2)), shape(range(3, 4)), shape {} }
      assert.are.same(numbers(1, 4), ids(assert(client.charging:sessions { page_size = 2 }:collect())))
      assert.are.same({ "offset=0&limit=2", "offset=2&limit=2", "offset=4&limit=2" }, queries())
    end
  end)

  it("begin where the caller says", function()
    server:script { wrapped {} , data {}, data {} }
    assert(client:vehicles { page = 3, per_page = 7 }:collect())
    assert(client.charging:history { pageNo = 2, pageSize = 9 }:collect())
    assert(client.charging:sessions { offset = 40, limit = 20 }:collect())
    assert.are.same({ "page=3&per_page=7", "pageNo=2&pageSize=9", "offset=40&limit=20" }, queries())
  end)
end)

-- ---- the end ----

describe("a walk ends", function()
  local function walked(rules, options)
    server:script(rules)
    local list, err = client:vehicles(options or { page_size = 2 }):collect()
    return list and ids(list) or err, #server:records()
  end

  it("at an empty page, and at a short one when nothing else says where the end is", function()
    local list, count = walked { wrapped {} }
    assert.are.same({ {}, 1 }, { list, count })
    list, count = walked { wrapped(range(1, 2)), wrapped {} }
    assert.are.same({ { 1, 2 }, 2 }, { list, count })
    list, count = walked { wrapped(range(1, 2)), wrapped(range(3, 3)) }
    assert.are.same({ { 1, 2, 3 }, 2 }, { list, count })
  end)

  it("not at a short page, while the service says that more follow", function()
    local list, count = walked { paged(range(1, 1), 1, 2), paged(range(2, 3), 2, 2) }
    assert.are.same({ { 1, 2, 3 }, 2 }, { list, count })
  end)

  it("at the page that the service calls the last, full or not", function()
    local list, count = walked { paged(range(1, 2), 1, 1) }
    assert.are.same({ { 1, 2 }, 1 }, { list, count })
  end)

  it("where next is a text as well as a number, and where it is missing", function()
    local function said(following, list)
      return { body = '{"response":' .. list_json(list) .. ',"pagination":{"current":1,"next":' ..
        following .. "}}" }
    end
    local list, count = walked { said('"2"', range(1, 2)), said("null", range(3, 4)) }
    assert.are.same({ { 1, 2, 3, 4 }, 2 }, { list, count })
    list, count = walked { { body = '{"response":' .. list_json(range(1, 2)) ..
      ',"pagination":{"current":1}}' } }
    assert.are.same({ { 1, 2 }, 1 }, { list, count })
  end)

  it("at a page that brings nothing new: some servers do not look at the number", function()
    local same = wrapped(range(1, 2))
    same.times = 0
    local list, count = walked { same }
    assert.are.same({ { 1, 2 }, 2 }, { list, count })
    server:script { { times = 0, body = '{"data":' .. list_json(range(1, 2)) .. "}" } }
    assert.are.same({ 1, 2 }, ids(assert(client.charging:history { page_size = 2 }:collect())))
    assert.are.same({ 1, 2 }, ids(assert(client.charging:sessions { page_size = 2 }:collect())))
  end)

  it("and gives every record once, though pages overlap when the list grows meanwhile", function()
    local list, count = walked { paged(range(1, 2), 1, 3), paged(range(2, 3), 2, 3),
      paged(range(4, 4), 3, 3) }
    assert.are.same({ { 1, 2, 3, 4 }, 3 }, { list, count })
  end)

  it("at the thousandth page at the latest, with an error and not as if it were whole", function()
    local rules = {}
    for i = 1, 1001 do rules[i] = wrapped { record(i) } end
    server:script(rules)
    local list, err, kind = client:vehicles { page_size = 1 }:collect()
    assert.are.same({ nil, "protocol" }, { list and #list, kind })
    assert.is_truthy(string.find(err.message, "page_size", 1, true))
    assert.are.equal(1000, #server:records())
  end)

  it("with an error where no list comes, and leaves nulls out", function()
    for _, body in ipairs { '{"response":"none"}', '"none"', "5", '{"response":{"result":true}}' } do
      local err = walked { { body = body } }
      assert.are.equal("protocol", err.kind, body)
    end
    local list = walked { { body = '{"response":[null,{"id":1},null],"count":3}' }, wrapped {} }
    assert.are.same({ 1 }, list)
  end)

  it("not at a page that is full but for its nulls, nor later than the short one behind it", function()
    local list, count = walked { { body = '{"response":[{"id":1},null]}' }, { body = '{"response":[null,{"id":2}]}' },
      { body = '{"response":[{"id":3}]}' } }
    assert.are.same({ { 1, 2, 3 }, 3 }, { list, count })
  end)
end)

-- ---- how a program walks ----

describe("an iterable", function()
  local function script()
    server:script { paged(range(1, 2), 1, 2), paged(range(3, 3), 2, 2) }
  end

  it("asks for the first page when the walk begins, and for the next when it is needed", function()
    script()
    local list = client:vehicles { page_size = 2 }
    assert.are.equal(0, #server:records())
    for _, found in list do
      assert.are.equal(tonumber(found.id) < 3 and 1 or 2, #server:records())
    end
  end)

  it("gives a handle and the record of every vehicle, which remembers its state", function()
    server:script { { body = '{"response":[{"vin":"' .. vin ..
      '","id":1,"state":"asleep"},{"id_s":"77","id":77}]}' },
      { body = '{"response":{}}' }, { body = '{"response":{}}' } }
    local cars = {}
    for car, found in client:vehicles() do
      cars[#cars + 1] = car
      assert.is_truthy(found.id)
    end
    assert(cars[1]:info())
    assert(cars[2]:info())
    local requests = server:records()
    assert.are.equal("/api/1/vehicles/" .. vin, requests[2].path)
    assert.are.equal("/api/1/vehicles/77", requests[3].path)
  end)

  it("can be walked again, left in the middle, and walked inside itself", function()
    script()
    local list, seen = client:vehicles { page_size = 2 }, {}
    for _, found in list do
      seen[#seen + 1] = tonumber(found.id)
      if #seen == 2 then break end
    end
    server:script { paged(range(1, 2), 1, 2), paged(range(3, 3), 2, 2) }
    for _, found in list do seen[#seen + 1] = tonumber(found.id) end
    assert.are.same({ 1, 2, 1, 2, 3 }, seen)
    local full, inner = paged(range(1, 2), 1, 1), 0
    full.times = 0
    server:script { full }
    for _ in list do
      for _ in list do inner = inner + 1 end
    end
    assert.are.equal(4, inner)
  end)

  it("can be walked by page, and through a view that raises", function()
    script()
    local sizes = {}
    for records in client:vehicles { page_size = 2 }:pages() do sizes[#sizes + 1] = #records end
    assert.are.same({ 2, 1 }, sizes)
    script()
    local count = 0
    for _, found in fleet.throwing(client):vehicles { page_size = 2 } do
      count = count + (found and 1 or 0)
    end
    assert.are.equal(3, count)
  end)

  it("raises what the world refuses, and collect returns it", function()
    server:script { paged(range(1, 2), 1, 2), { status = 403, body = '{"error":"forbidden"}', times = 0 } }
    local ok, err = pcall(function()
      for _ in client:vehicles { page_size = 2 } do end
    end)
    assert.is_false(ok)
    assert.are.equal("forbidden", err.kind)
    server:script { { status = 403, body = "", times = 0 } }
    local list, collected, kind = client:vehicles():collect()
    assert.is_nil(list)
    assert.are.same({ "forbidden", "forbidden" }, { collected.kind, kind })
  end)

  it("repeats a page that broke", function()
    server:script { { drop = true }, paged(range(1, 2), 1, 2), { status = 503, body = "" },
      paged(range(3, 3), 2, 2) }
    assert.are.same({ 1, 2, 3 }, ids(assert(client:vehicles { page_size = 2 }:collect())))
    assert.are.same({ "page=1&per_page=2", "page=1&per_page=2", "page=2&per_page=2", "page=2&per_page=2" },
      queries())
  end)

  it("raises the caller's mistake where it is made", function()
    server:script {}
    assert.has_error(function() client:vehicles { pagesize = 5 } end)
    assert.has_error(function() client.charging:history { sortOrder = "up" } end)
    assert.are.equal(0, #server:records())
  end)
end)
