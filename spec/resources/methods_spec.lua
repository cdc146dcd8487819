-- Methods that do more than one request, or read several published shapes.

local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

describe("vehicles that were skipped", function()
  local missing = "5YJ3E1EA7KF000002"
  local shapes = {
    ["an object from reason to vehicles"] = '{"missing_key":["5YJ3E1EA7KF000002"],"unsupported_firmware":[],"other":["5YJ3E1EA7KF000003"]}',
    ["a list"] = '[{"vin":"5YJ3E1EA7KF000003","reason":"other"},{"vin":"5YJ3E1EA7KF000002","reason":"missing_key"}]',
    ["an object from vehicle to reason"] = '{"5YJ3E1EA7KF000002":"missing_key","5YJ3E1EA7KF000003":"other"}',
  }
  for name, shape in pairs(shapes) do
    it("are one list, whatever the shape: " .. name, function()
      local client = seam.client('{"response":{"updated_vehicles":1,"skipped_vehicles":' .. shape .. "}}")
      for method, params in pairs {
        create_fleet_telemetry_config = { vins = { seam.vin }, config = {} },
        create_fleet_telemetry_config_jws = { vins = { seam.vin }, token = "e30.e30.c2ln" },
      } do
        local value = assert(client[method](client, params, { force = true }))
        assert.equal(1, value.updated_vehicles)
        assert.equal(2, #value.skipped_vehicles)
        assert.equal(missing, value.skipped_vehicles[1].vin)
        assert.equal("missing_key", value.skipped_vehicles[1].reason)
        assert.matches("pair it first", value.skipped_vehicles[1].advice)
        assert.same({ vin = "5YJ3E1EA7KF000003", reason = "other" }, value.skipped_vehicles[2])
      end
    end)
  end

  local function created(client)
    return client:create_fleet_telemetry_config({ vins = { seam.vin }, config = {} }, { force = true })
  end

  it("may be none at all", function()
    for _, body in ipairs { '{"response":{"updated_vehicles":1}}', '{"response":{"skipped_vehicles":null}}' } do
      assert.is_nil(created(seam.client(body)).skipped_vehicles)
    end
    local empty = created(seam.client '{"response":{"skipped_vehicles":{}}}')
    assert.same({}, empty.skipped_vehicles)
  end)

  it("are read when the request succeeded only", function()
    local _, _, kind = created(seam.client { { status = 412, body = "x" } })
    assert.equal("unsupported", kind)
  end)
end)

describe("mobile_enabled", function()
  local cases = {
    { '{"response":{"result":true,"reason":""}}', true }, { '{"response":{"result":false,"reason":"x"}}', false },
    { '{"response":"true"}', true }, { '{"response":"false"}', false }, { '{"response":true}', true }, { '{"response":false}', false },
    { "true", true }, { '"false"', false },
  }
  for _, case in ipairs(cases) do
    it("reads " .. case[1], function()
      assert.equal(case[2], seam.car(case[1]):mobile_enabled().result)
    end)
  end
end)

describe("fleet_status", function()
  local function service(request)
    local info, paired = {}, {}
    for vin in request.body:gmatch('"(5Y%w+)"') do
      info[vin] = { firmware_version = "2026.1" }
      paired[#paired + 1] = vin
    end
    local status = { vehicle_info = info, key_paired_vins = paired, unpaired_vins = {} }
    return seam.answer(core.json_encode({ response = status }, "unpaired_vins"))
  end

  local function vins(n)
    local list = {}
    for i = 1, n do list[i] = ("5YJ3E1EA7KF%06d"):format(i) end
    return list
  end

  for _, total in ipairs { 1, 100, 101, 250 } do
    it(("asks for %d vehicles, 100 at a time, and joins"):format(total), function()
      local client, requests = seam.client(service)
      local value = assert(client:fleet_status(vins(total)))
      assert.equal(math.ceil(total / 100), #requests)
      assert.same(vins(total), value.key_paired_vins)
      local n = 0
      for _ in pairs(value.vehicle_info) do n = n + 1 end
      assert.equal(total, n)
      assert.same(value, client:fleet_status { vins = vins(total) })
    end)
  end

  it("fails whole when one piece fails", function()
    local client, requests = seam.client(function(request, n)
      if n == 2 then return { status = 404, body = "" } end
      return service(request)
    end)
    local value, err, kind = client:fleet_status(vins(250))
    assert.is_nil(value)
    assert.equal("not_found", kind)
    assert.equal("not_found", err.kind)
    assert.equal(2, #requests)
  end)

  it("refuses what it does not know", function()
    local client, requests = seam.client(service)
    assert.error_matches(function() client:fleet_status { vins = vins(1), vns = 1 } end, "unknown parameter 'vns', did you mean 'vins'?")
    assert.error_matches(function() client:fleet_status {} end, "'vins' is missing")
    assert.error_matches(function() client:fleet_status { vins = {} } end, "at least one element")
    assert.error_matches(function() client:fleet_status(seam.vin) end, "must be a list")
    assert.error_matches(function() client:fleet_status(vins(101), { raw = true }) end, "raw")
    assert.equal(0, #requests)
    assert.matches("vehicle_info", client:fleet_status(vins(2), { raw = true }))
  end)
end)

describe("a redeemed invitation", function()
  local cases = {
    { "abc-DEF_1", "abc-DEF_1" }, { "https://www.example.com/_rs/1/abc-DEF_1", "abc-DEF_1" },
    { "https://www.example.com/_rs/1/abc-DEF_1/", "abc-DEF_1" }, { "https://www.example.com/_rs/1/abc?x=/y/z#f/g", "abc" },
    { "http://www.example.com/abc", "abc" }, { "abc?x=1", "abc" }, { "www.example.com/_rs/1/abc", "abc" },
  }
  for _, case in ipairs(cases) do
    it("is known by its code or the link: " .. case[1], function()
      local client, requests = seam.client('{"response":{"vehicle_id_s":"88","vin":"x"}}')
      local params = { code = case[1] }
      assert.equal("88", client:redeem_invitation(params).vehicle_id_s)
      assert.equal('{"code":"' .. case[2] .. '"}', requests[1].body)
      assert.equal(case[1], params.code)
    end)
  end

  it("needs a code", function()
    assert.error_matches(function() seam.client("{}"):redeem_invitation {} end, "'code' is missing")
    assert.error_matches(function() seam.client("{}"):redeem_invitation { code = 5 } end, "must be a string")
  end)
end)

describe("a location that was asked for", function()
  local function data(body, endpoints)
    return assert(seam.car(body):vehicle_data { endpoints = endpoints })
  end

  it("and withheld is called hidden", function()
    for _, body in ipairs { '{"response":{"drive_state":{"speed":null}}}', '{"response":{}}', '{"response":{"location_data":{}}}',
        '{"response":{"location_data":null,"drive_state":{"latitude":null}}}' } do
      assert.is_true(data(body, { "location_data", "drive_state" }).location_hidden)
    end
  end)

  it("and given is not", function()
    for _, body in ipairs { '{"response":{"location_data":{"latitude":0,"longitude":0}}}',
        '{"response":{"drive_state":{"latitude":52.5}}}' } do
      assert.is_nil(data(body, { "location_data" }).location_hidden)
    end
  end)

  it("is not called hidden when it was not asked for", function()
    assert.is_nil(data('{"response":{"drive_state":{}}}', { "drive_state" }).location_hidden)
    assert.is_nil(assert(seam.car('{"response":{}}'):vehicle_data()).location_hidden)
  end)
end)

describe("an invoice", function()
  local directory
  before_each(function() directory = process.temporary("invoice") end)
  after_each(function() process.execute("rm -rf " .. process.quote(directory)) end)

  local read = require("spec.support.harness.files").find

  local function entries()
    local pipe = io.popen("ls -A " .. process.quote(directory))
    local text = pipe:read("a")
    pipe:close()
    return text
  end

  local pdf = "%PDF-1.7\n\0\255" .. ("x"):rep(5000)

  it("is bytes, or a file that is whole or not there", function()
    local client, requests = seam.client(pdf)
    assert.equal(pdf, client.charging:invoice("7f2c4a10-5b1e"))
    local path = directory .. "/invoice.pdf"
    assert.equal(path, client.charging:invoice("7f2c4a10-5b1e", { to = path }))
    assert.equal(pdf, read(path))
    assert.equal("invoice.pdf\n", entries())
    assert.equal("/api/1/dx/charging/invoice/7f2c4a10-5b1e", requests[2].path)
  end)

  it("replaces no file unless overwrite is set", function()
    local path = directory .. "/invoice.pdf"
    local file = io.open(path, "w")
    file:write("precious")
    file:close()
    local client, requests = seam.client(pdf)
    local value, err, kind = client.charging:invoice("1", { to = path })
    assert.is_nil(value)
    assert.equal("store", kind)
    assert.matches("overwrite = true", err.message)
    assert.equal("precious", read(path))
    assert.equal(0, #requests)
    assert(client.charging:invoice("1", { to = path, overwrite = true }))
    assert.equal(pdf, read(path))
  end)

  it("that cannot be had leaves no file", function()
    local client = seam.client { { status = 404, body = "no such invoice" } }
    local _, _, kind = client.charging:invoice("1", { to = directory .. "/invoice.pdf" })
    assert.equal("not_found", kind)
    assert.equal("", entries())
  end)

  it("that cannot be written is not asked for", function()
    local client, requests = seam.client(pdf)
    local _, _, kind = client.charging:invoice("1", { to = directory .. "/nowhere/invoice.pdf" })
    assert.equal("store", kind)
    assert.equal(0, #requests)
    assert.error_matches(function() client.charging:invoice("1", { to = 5 }) end, "'to' must be a string")
    assert.error_matches(function() client.charging:invoice("1", { too = "x" }) end, "did you mean 'to'?")
  end)
end)

describe("energy history by local days", function()
  local function asked(method, params, zone)
    local site, requests = seam.site(function(request)
      if request.path:find("site_info") then
        return seam.answer('{"response":{"installation_time_zone":' .. (zone and '"' .. zone .. '"' or "null") .. "}}")
      end
      local start = request.path:match("start_date=([^&]*)") or ""
      return seam.answer('{"response":{"period":"day","time_series":[{"timestamp":"' .. start .. '"}]}}')
    end)
    local value, err, kind = site[method](site, params)
    local ranges = {}
    for _, request in ipairs(requests) do
      local function field(name)
        return (request.path:match(name .. "=([^&]*)") or ""):gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
      end
      if not request.path:find("site_info") then ranges[#ranges + 1] = field("start_date") .. " " .. field("end_date") end
    end
    return ranges, value, err, kind, requests
  end

  local berlin = "Europe/Berlin"
  local days = {
    ["2026-03-28"] = "2026-03-28T00:00:00+01:00 2026-03-28T23:59:59+01:00",
    ["2026-03-29"] = "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00", -- 23 hours
    ["2026-10-25"] = "2026-10-25T00:00:00+02:00 2026-10-25T23:59:59+01:00", -- 25 hours
    ["2024-02-29"] = "2024-02-29T00:00:00+01:00 2024-02-29T23:59:59+01:00",
  }
  for day, range in pairs(days) do
    it("asks for the whole of " .. day, function()
      assert.same({ range }, (asked("energy_history", { day = day, time_zone = berlin, period = "day" })))
    end)
  end

  it("splits what reaches further than a reply, and joins in order", function()
    local params = { start_date = "2026-03-28", end_date = "2026-03-31", period = "day", time_zone = berlin }
    local ranges, value = asked("energy_history", params)
    assert.same({
      "2026-03-28T00:00:00+01:00 2026-03-28T23:59:59+01:00", "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00",
      "2026-03-30T00:00:00+02:00 2026-03-30T23:59:59+02:00",
    }, ranges)
    assert.equal(3, #value.time_series)
    assert.equal("day", value.period)
  end)

  it("sends times as they were given, in one request", function()
    local params = { start_date = "2026-03-01T00:00:00+01:00", end_date = "2026-04-01T00:00:00+02:00", time_zone = berlin }
    assert.same({ "2026-03-01T00:00:00+01:00 2026-04-01T00:00:00+02:00" }, (asked("backup_history", params)))
  end)

  it("asks the site for its zone once, when none is given", function()
    local ranges, _, _, _, requests = asked("charge_history", { start_date = "2026-03-29", end_date = "2026-03-30" }, berlin)
    assert.same({ "2026-03-29T00:00:00+01:00 2026-03-29T23:59:59+02:00" }, ranges)
    assert.matches("site_info", requests[1].path)
    assert.matches("time_zone=Europe%%2FBerlin", requests[2].path)
  end)

  it("says so when there is no zone, or none of that name", function()
    local _, _, err, kind = asked("energy_history", { day = "2026-03-29" }, nil)
    assert.equal("invalid", kind)
    assert.matches("time_zone", err.message)
    local _, value, _, unknown = asked("energy_history", { day = "2026-03-29", time_zone = "Europe/Nowhere" })
    assert.is_nil(value)
    assert.equal("string", type(unknown))
  end)

  it("raises for the caller's mistakes before anything is asked", function()
    local site, requests = seam.site("{}")
    for _, params in ipairs { { day = "2026-02-30" }, { day = "2026-03-29", start_date = "2026-03-01" }, { dya = "2026-03-29" },
        { start_date = "2026-03-30", end_date = "2026-03-29" } } do
      params.time_zone = berlin
      assert.has_error(function() site:energy_history(params) end)
    end
    assert.equal(0, #requests)
  end)

  it("of a range in which nothing is known is empty", function()
    local site = seam.site('{"response":null}')
    assert.same({ time_series = {} }, site:energy_history { day = "2026-03-29", time_zone = berlin })
  end)
end)

describe("waking", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  -- Awake after so many looks; wake_up itself answers with status. unlisted: the body of a list that has not got the car.
  local function sleeper(looks, status, unlisted)
    local seen = 0
    return function(request)
      if request.path:find("wake_up") then return { status = status or 200, headers = {}, body = '{"response":{"state":"asleep"}}' } end
      if unlisted and request.path:find("products") then return seam.answer(unlisted) end
      seen = seen + 1
      local record = '{"vin":"' .. seam.vin .. '","state":"' .. (seen >= looks and "online" or "asleep") .. '"}'
      return seam.answer('{"response":' .. (request.path:find("products") and "[" .. record .. "]" or record) .. "}")
    end
  end

  local function count(requests, what)
    local found = 0
    for _, request in ipairs(requests) do found = found + (request.path:find(what, 1, true) and 1 or 0) end
    return found
  end

  it("ends when the vehicle is online", function()
    local car, requests = seam.car(sleeper(3))
    assert.is_true(car:wake())
    assert.equal(4, #requests)
    assert.equal(1014, time.now()) -- 2, 4 and 8 seconds
  end)

  it("looks into the list of products, which is free, and at the record only where the car is not in it", function()
    local car, requests = seam.car(sleeper(3))
    assert.is_true(car:wake())
    assert.same({ 3, 1 }, { count(requests, "/products"), count(requests, "/vehicles/") })
    for _, list in ipairs { '{"response":[]}', '{"response":[{"vin":"5YJSFLEE9KF000009","state":"online"}]}', '{"response":null}' } do
      car, requests = seam.car(sleeper(3, nil, list))
      assert.is_true(car:wake())
      assert.same({ 1, 4 }, { count(requests, "/products"), count(requests, "/vehicles/") })
    end
  end)

  it("of many cars looks for all of them in one list", function()
    local vins, began = {}, {}
    for i = 1, 20 do vins[i] = string.format("5YJSFLEE9KF0001%02d", i) end
    local _, requests, client = seam.car(function(request)
      local woken = request.path:match("/vehicles/(%w+)/wake_up")
      if woken then began[woken] = true end
      if woken then return seam.answer '{"response":{"state":"asleep"}}' end
      local list = {}
      for i, vin in ipairs(vins) do list[i] = string.format('{"vin":"%s","state":"%s"}', vin, began[vin] and "online" or "asleep") end
      return seam.answer('{"response":[' .. table.concat(list, ",") .. "]}")
    end)
    for _, result in ipairs(fleet.map(vins, function(vin) return client:vehicle(vin):wake() end, { concurrency = 20 })) do
      assert.is_true(result.value)
    end
    assert.same({ 1, 20 }, { count(requests, "/products"), count(requests, "/vehicles/") })
  end)

  it("looks first where it seems to be online", function()
    local car, requests = seam.car(sleeper(1))
    car:info()
    assert.is_true(car:wake())
    assert.equal(2, #requests)
    assert.is_true(car:wake { force = true })
    assert.matches("wake_up", requests[3].path)
  end)

  it("ends in time with the last state", function()
    local car, requests = seam.car(sleeper(1e9))
    local value, err, kind = car:wake { timeout = 30 }
    assert.is_nil(value)
    assert.equal("asleep", kind)
    assert.equal("asleep", err.state)
    assert.equal(seam.vin, err.vin)
    assert.matches("still asleep after 30 s", err.message)
    assert.equal(1030, time.now())
    assert.equal(1, count(requests, "wake_up"))
  end)

  it("continues when wake_up itself finds the vehicle asleep", function()
    assert.is_true(seam.car(sleeper(2, 408)):wake())
  end)

  it("ends at once for what time will not mend", function()
    for status, kind in pairs { [403] = "forbidden", [404] = "not_found", [429] = "rate_limited" } do
      local _, _, got = seam.car({ { status = status, body = "" } }):wake()
      assert.equal(kind, got)
      assert.equal(1000, time.now())
    end
  end)

  it("is shared by all who wait for the same vehicle, each with the own limit of time", function()
    local car, requests, client = seam.car(sleeper(6))
    local results = fleet.map({ 5, 100, 90, 80 }, function(timeout) return client:vehicle(seam.vin):wake { timeout = timeout } end)
    assert.equal("asleep", results[1].err.kind)
    for i = 2, 4 do assert.is_true(results[i].value) end
    assert.equal(1, count(requests, "wake_up"))
    assert.is_true(car:wake())
  end)

  it("that was given up is not remembered as done", function()
    local car, requests = seam.car(sleeper(4))
    local task = fleet.spawn(function() return car:wake() end)
    for _ = 1, 3 do fleet.loop.step() end
    task:cancel()
    pcall(task.wait, task)
    fleet.run(function() end)
    local before = #requests
    assert.is_true(car:wake { force = true })
    assert.is_true(#requests > before)
  end)

  it("checks its options", function()
    local car = seam.car("{}")
    assert.error_matches(function() car:wake { timeot = 5 } end, "did you mean 'timeout'?")
    assert.error_matches(function() car:wake { timeout = 0 } end, "seconds above 0")
    assert.error_matches(function() car:wake(5) end, "must be a table")
  end)
end)

describe("wait_telemetry_synced", function()
  it("looks until the vehicle has taken the configuration over, or the time is over", function()
    local time = virtual.install()
    local looks = 0
    local function service(at)
      return function()
        looks = looks + 1
        return seam.answer('{"response":{"synced":' .. tostring(looks >= at) .. ',"config":{"port":443}}}')
      end
    end
    assert.is_true(seam.car(service(4)):wait_telemetry_synced().synced)
    assert.equal(1035, time.now())
    looks = 0
    local _, err, kind = seam.car(service(1e9)):wait_telemetry_synced { timeout = 60.5 }
    assert.equal("timeout", kind)
    assert.matches("60.5 s", err.message)
    time.restore()
  end)

  -- members of the reply; what the first look says
  local config = '"config":{"hostname":"t.example.com","fields":{"Soc":{"interval_seconds":60}}}'
  local ends = {
    { '"synced":true,"config":null,"limit_reached":false,"key_paired":true', "refused" },
    { '"synced":true,"config":{},"key_paired":true', "refused" }, { '"synced":false', "refused" },
    { '"synced":true,"config":null,"limit_reached":true', "limit_exceeded" },
    { '"synced":false,"limit_reached":true,' .. config, "limit_exceeded" },
    { '"synced":true,"config":{"port":443,"exp":1000}', "refused" },
    { '"synced":true,"limit_reached":false,"key_paired":false,' .. config, "done" },
    { '"synced":true,"limit_reached":true,' .. config, "done" },
    { '"synced":true,"config":{"port":443,"exp":4102444800}', "done" },
  }
  for _, case in ipairs(ends) do
    it("ends after one look: " .. case[1], function()
      local car, requests = seam.car('{"response":{' .. case[1] .. "}}")
      local value, err, kind = car:wait_telemetry_synced { timeout = 1800 }
      assert.equal(case[2], value and "done" or kind)
      assert.equal(1, #requests)
      if err then
        assert.equal(seam.vin, err.vin)
        assert.is_nil(err.outcome)
        assert.matches("create it again", err.message, 1, true)
      end
    end)
  end

  it("continues while only the key is missing", function()
    local time = virtual.install()
    local car, requests = seam.car { '{"response":{"synced":false,"key_paired":false,' .. config .. "}}",
      '{"response":{"synced":true,"key_paired":false,' .. config .. "}}" }
    assert.is_true(assert(car:wait_telemetry_synced()).synced)
    assert.equal(2, #requests)
    time.restore()
  end)
end)
