-- Every line of spec/vectors/interface.tsv through the real client, over real HTTP, to a recording server;
-- then the shapes in which replies come back (doc/protocol.md#requests-and-replies). The lines were written by hand from the
-- documents.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"
local replies = require "spec.support.fixtures.replies"
local vectors = require "spec.support.fixtures.vectors"

local vin, site_id = "5YJ3E1EA7KF000001", "2252147638651"
local server

setup(function() server = recorder.start() end)
teardown(function() server:stop() end)

local row_of = {}
for _, rows in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(rows) do row_of[row.handle .. ":" .. row.method] = row end
end

-- ---- a client that holds a token in each slot ----

local function stored_token(store, slot)
  local _, wall = core.clock()
  store:put("token/default/" .. slot, cjson.encode {
    access_token = slot .. "-token", saved_at = wall, refreshed_at = wall, expires_at = wall + 3600,
  })
end

local function new_client(slots, more)
  local options = more or {}
  options.base_url, options.store = server.url, fleet.store.memory()
  options.client_id, options.client_secret = "app", "app secret"
  for _, slot in ipairs(slots or { "user", "partner", "business" }) do stored_token(options.store, slot) end
  return fleet.new(options)
end

local function handles_of(client)
  return {
    client = client, partner = client.partner, user = client.user, charging = client.charging,
    vehicle = client:vehicle(vin), site = client:energy_site(site_id),
  }
end

local protocol_only = {
  set_pin_to_drive = true, reset_pin_to_drive_pin = true, set_vehicle_name = true, set_low_power_mode = true,
  keep_accessory_power_mode = true,
}
local superseded = { set_scheduled_charging = true, set_scheduled_departure = true,
  create_fleet_telemetry_config = true }

-- ---- one call, as the vector says ----

local function call(handles, vector)
  local row, handle = row_of[vector.name], handles[vector.handle]
  local method = assert(handle[vector.word], vector.name .. " is no method")
  local arguments = vectors.arguments(vector)
  if superseded[vector.word] then
    arguments[arguments.n + 1], arguments.n = { force = true }, arguments.n + 1
  end
  local value, err = method(handle, table.unpack(arguments, 1, arguments.n))
  if row.paging ~= "no" then value, err = value:collect() end
  return value, err
end

local function decoded(query)
  local parts = {}
  for part in string.gmatch(query or "", "[^&]+") do
    parts[#parts + 1] = string.gsub(part, "%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  end
  table.sort(parts)
  return parts
end

local function check_headers(vector, headers)
  local row = row_of[vector.name]
  local wanted = { accept = "*/*", ["accept-encoding"] = headers["accept-encoding"],
    ["user-agent"] = headers["user-agent"],
    host = string.match(server.url, "//(.+)"), authorization = "Bearer " .. vector.token .. "-token",
    ["content-type"] = row.verb ~= "GET" and "application/json" or nil, ["content-length"] = row.verb == "POST" and
      headers["content-length"] or nil }
  assert.are.same(wanted, headers, vector.name)
  assert.is_truthy(headers["user-agent"], vector.name)
  assert.are.equal(row.verb == "POST", headers["content-length"] ~= nil, vector.name)
end

local function check(vector, request)
  assert.are.equal(vector.method, request.method, vector.name)
  assert.are.equal(vector.path, request.path, vector.name)
  assert.are.same(decoded(vector.query), decoded(request.query), vector.name)
  assert.is_nil(string.find(request.query, "[^%w%-%._~%%=&]"), vector.name .. ": the query is not encoded")
  check_headers(vector, request.headers)
  if vector.body then
    assert.are.same(cjson.decode(vector.body), cjson.decode(request.body), vector.name)
  else
    assert.are.equal("", request.body, vector.name)
  end
end

local function walk(handles, vector, how)
  local row = assert(row_of[vector.name], vector.name .. " has no row")
  server:script { { body = replies.empty(row), times = 0 } }
  local value, err = (how or call)(handles, vector)
  local requests = server:records()
  if protocol_only[vector.word] then
    assert.are.equal("unsupported", err and err.kind, vector.name)
    assert.are.equal("not_sent", err.outcome, vector.name)
    return assert.are.equal(0, #requests, vector.name)
  end
  assert.is_truthy(value, vector.name .. ": " .. tostring(err))
  -- The tariff in force is read first: one that would change nothing is not sent.
  assert.are.equal(vector.word == "time_of_use_settings" and 2 or 1, #requests, vector.name)
  check(vector, requests[#requests])
end

-- The same call by the name of its row, with every argument by name.
local function call_by_name(handles, vector)
  local row, arguments = row_of[vector.name], vectors.arguments(vector)
  local last = arguments[arguments.n]
  local args, i = { vin = vector.handle == "vehicle" and vin or nil,
    energy_site_id = vector.handle == "site" and site_id or nil }, 0
  for _, param in ipairs(row.params) do
    if param.place == "path" and args[param.name] == nil then
      i = i + 1
      args[param.name] = arguments[i]
    elseif param.whole and (type(last) ~= "table" or last[param.name] == nil) then
      args[param.name], last = last, nil
    end
  end
  for name, value in pairs(type(last) == "table" and last or {}) do args[name] = value end
  local value, err = handles.client:call(row.name, args, superseded[vector.word] and { force = true } or nil)
  if row.paging ~= "no" then value, err = value:collect() end
  return value, err
end

-- ---- what leaves ----

describe("every call of the interface", function()
  it("puts on the wire what its line says: method, path, query, token, headers and body", function()
    local client <close> = new_client()
    local handles, count = handles_of(client), 0
    for _, vector in ipairs(vectors.interface()) do
      walk(handles, vector)
      count = count + 1
    end
    assert.are.equal(51 + 83, count)
  end)

  it("does the same by its name, and through a client that raises", function()
    local client <close> = new_client()
    local handles, throwing = handles_of(client), { client = fleet.throwing(client) }
    for _, vector in ipairs(vectors.interface()) do
      walk(handles, vector, call_by_name)
      if not protocol_only[vector.word] then walk(throwing, vector, call_by_name) end
    end
  end)

  it("is missed when its row is gone, and noticed when it differs", function()
    local client <close> = new_client()
    local handles = handles_of(client)
    local function broken(name, change)
      for _, vector in ipairs(vectors.interface()) do
        if vector.name == name then
          change(vector)
          return function() walk(handles, vector) end
        end
      end
    end
    assert.has_error(broken("vehicle:honk_horn", function(vector) vector.name, vector.word = "vehicle:honk",
      "honk" end))
    assert.has_error(broken("vehicle:honk_horn", function(vector) vector.method = "GET" end))
    assert.has_error(broken("vehicle:info", function(vector) vector.path = vector.path .. "/" end))
    assert.has_error(broken("vehicle:vehicle_data",
      function(vector) vector.query = "endpoints=charge_state" end))
    assert.has_error(broken("vehicle:set_charge_limit", function(vector) vector.body = '{"percent":81}' end))
    assert.has_error(broken("vehicle:specs", function(vector) vector.token = "user" end))
  end)

  it("takes the next token of its row when the first is not held, and the one that the caller names",
    function()
    local client <close> = new_client { "user" }
    server:script { { body = '{"data":[]}' } }
    assert(client.charging:sessions():collect())
    assert(client:vehicle(vin):info())
    local both <close> = new_client()
    assert(both:vehicle(vin):info { auth = "business" })
    assert(both:vehicle(vin):delete_fleet_telemetry_config { auth = "partner" })
    local seen = {}
    for _, request in ipairs(server:records()) do seen[#seen + 1] = request.headers.authorization end
    assert.are.same({ "Bearer user-token", "Bearer user-token", "Bearer business-token",
      "Bearer partner-token" }, seen)
  end)

  it("refuses a token that its row does not take, and sends nothing", function()
    local client <close> = new_client()
    server:script {}
    local calls = {
      function() return client.user:me { auth = "business" } end,
      function() return client.partner:register({ domain = "app.example.com" }, { auth = "user" }) end,
      function() return client:vehicle(vin):honk_horn { auth = "partner" } end,
    }
    for _, one in ipairs(calls) do
      local value, err, kind = one()
      assert.is_nil(value)
      assert.are.equal("unsupported", kind)
      assert.is_truthy(err.outcome == nil or err.outcome == "not_sent")
    end
    assert.are.equal(0, #server:records())
  end)

  it("is refused to an open-source app where a partner token is needed, and nothing is sent", function()
    local store = fleet.store.memory()
    stored_token(store, "user")
    local client <close> = fleet.new { base_url = server.url, store = store, client_id = "app" }
    server:script {}
    for _, one in ipairs { function() return client:vehicle(vin):specs() end,
      function() return client.partner:register { domain = "app.example.com" } end,
      function() return client:pricing { model = "m3" } end } do
      local _, _, kind = one()
      assert.are.equal("unsupported", kind)
    end
    assert.are.equal(0, #server:records())
  end)

  it("refuses commands that newer firmware piles up, until fleet_status of the day says that it is older",
    function()
    local client <close> = new_client()
    local car = client:vehicle(vin)
    local function status(version)
      return { on = "POST /api/1/vehicles/fleet_status",
        body = string.format('{"response":{"vehicle_info":{"%s":{"firmware_version":"%s"}}}}', vin, version) }
    end
    server:script {
      status("2024.26"), status("2024.20.9"),
      { times = 0, body = '{"response":{"result":true,"reason":""}}' },
    }
    local function try()
      local _, err, kind = car:set_scheduled_charging { enable = true, time = 60 }
      if kind then
        assert.are.equal("not_sent", err.outcome)
        assert.is_truthy(string.find(err.message, "add_charge_schedule", 1, true))
      end
      return kind
    end
    assert.are.equal("unsupported", try())
    assert(client:fleet_status { vin })
    assert.are.equal("unsupported", try())
    assert(client:fleet_status { vin })
    assert.is_nil(try())
    assert.are.equal(3, #server:records())
  end)

  it("encodes what goes into a path, and refuses what cannot be an id", function()
    local client <close> = new_client()
    server:script {}
    for _, bad in ipairs { "", "5YJ/../me", "5YJ3E1EA7KF000001?x=1", "5YJ3E1EA7KF00000\r\nX: 1", "..",
      "5YJ3E1EA7KF00000\0" } do
      assert.has_error(function() client:vehicle(bad) end)
      assert.has_error(function() client:energy_site(bad) end)
    end
    assert.has_error(function() client.charging:invoice("a\nb") end)
    local ok = pcall(function() return client.charging:invoice("../../users/me?x#y") end)
    local requests = server:records()
    if ok then
      assert.are.equal("/api/1/dx/charging/invoice/..%2F..%2Fusers%2Fme%3Fx%23y", requests[1].path)
    end
    assert.are.equal(ok and 1 or 0, #requests)
  end)

  it("goes to the client's address, whatever proxy the environment names", function()
    local process = require "spec.support.harness.process"
    server:script {}
    local nowhere = recorder.unused()
    local form = "http_proxy=%s HTTP_PROXY=%s https_proxy=%s all_proxy=%s ALL_PROXY=%s no_proxy= "
    local environment = string.format(form, nowhere, nowhere, nowhere, nowhere, nowhere)
    local preload = os.getenv "LD_PRELOAD" -- a sanitizer's
    if preload then environment = environment .. "LD_PRELOAD=" .. process.quote(preload) .. " " end
    local script = string.format([[
      local client = require("fleet").new { base_url = "%s", token = "t0ken" }
      assert(client.user:me())]], server.url)
    process.execute(environment .. process.lua .. " -e " .. process.quote(script))
    assert.are.equal(1, #server:records())
  end)

  it("splits a long fleet_status into requests of a hundred and joins the answers", function()
    local client <close> = new_client()
    local vins = {}
    for i = 1, 250 do vins[i] = string.format("5YJ3E1EA7KF%06d", i) end
    server:script {
      { body = '{"response":{"key_paired_vins":["a"],"unpaired_vins":[],' ..
        '"vehicle_info":{"a":{"total_number_of_keys":1}}}}' },
      { body = '{"response":{"key_paired_vins":["b"],"unpaired_vins":["x"],"vehicle_info":{"b":{}}}}' },
      { body = '{"response":{"key_paired_vins":["c"],"vehicle_info":{"c":{}}}}' },
    }
    local status = assert(client:fleet_status(vins))
    local sizes = {}
    for i, request in ipairs(server:records()) do sizes[i] = #cjson.decode(request.body).vins end
    assert.are.same({ 100, 100, 50 }, sizes)
    assert.are.same({ "a", "b", "c" }, status.key_paired_vins)
    assert.are.same({ "x" }, status.unpaired_vins)
    assert.are.same({ a = { total_number_of_keys = 1 }, b = {}, c = {} }, status.vehicle_info)
  end)

  it("sends the code of an invitation out of the whole link", function()
    local client <close> = new_client()
    server:script {}
    for _, given in ipairs { "c0de", "https://www.tesla.com/_rs/1/c0de",
      "https://www.tesla.com/_rs/1/c0de?x=1",
      "https://www.tesla.com/_rs/1/c0de/" } do
      assert(client:redeem_invitation { code = given })
    end
    for _, request in ipairs(server:records()) do
      assert.are.same({ code = "c0de" }, cjson.decode(request.body))
    end
  end)
end)

-- ---- what comes back ----

local function reply(row, body, ...)
  local client = new_client()
  server:script { { body = body, times = 0 } }
  local handle, word = string.match(row, "^(.-):(.+)$")
  local target = handles_of(client)[handle]
  return target[word](target, ...)
end

describe("replies", function()
  local shapes = {
    -- doc/protocol.md#envelope: bare values under response, ids beyond 2^53, nulls, integral numbers, unknown
    -- members
    { "vehicle:info", '{"response":{"id":9007199254740993,"id_s":"9","vehicle_id":200002,"state":"asleep",' ..
      '"color":null,"api_version":8.5e1,"new":[1,null]}}',
      { id = "9007199254740993", id_s = "9", vehicle_id = "200002", state = "asleep", api_version = 85,
        new = { 1, fleet.null } } },
    { "vehicle:remove_driver", '{"response":"ok"}', "ok", { share_user_id = 1 } },
    { "vehicle:revoke_invitation", '{"response":true}', true, 7 },
    { "vehicle:revoke_invitation", '{"response":"true"}', "true", 7 },
    { "vehicle:service_data", '{"response":{}}', {} },
    { "vehicle:service_data", '{"response":{"service_status":"in_service","status_id":8}}',
      { service_status = "in_service", status_id = 8 } },
    { "vehicle:drivers", '{"response":[{"user_id":8000000000000001,"my_tesla_unique_id":5}],"count":1}',
      { { user_id = "8000000000000001", my_tesla_unique_id = "5" } } },
    { "vehicle:specs", '{"response":{}}', {} },
    { "vehicle:specs",
      '{"response":{"vin":"V","batterySoH":null,"batteryCapacityKwh":74.5,"totalPrice":"50000 USD"}}',
      { vin = "V", batteryCapacityKwh = 74.5, totalPrice = "50000 USD" } },
    -- 4.1: mobile_enabled comes in three shapes
    { "vehicle:mobile_enabled", '{"response":{"reason":"","result":true}}', { reason = "", result = true } },
    { "vehicle:mobile_enabled", '{"response":"true"}', { reason = "", result = true } },
    { "vehicle:mobile_enabled", '{"response":true}', { reason = "", result = true } },
    { "vehicle:mobile_enabled", '{"response":"false"}', { reason = "", result = false } },
    { "vehicle:mobile_enabled", '{"response":false}', { reason = "", result = false } },
    { "vehicle:fleet_telemetry_config",
      '{"response":{"synced":true,"config":null,"limit_reached":false,"key_paired":true}}',
      { synced = true, limit_reached = false, key_paired = true } },
    { "vehicle:delete_fleet_telemetry_config", '{"response":{"updated_vehicles":1}}',
      { updated_vehicles = 1 } },
    { "vehicle:fleet_telemetry_errors", '{"response":{"fleet_telemetry_errors":[{"name":"n","txID":"t"}]}}',
      { fleet_telemetry_errors = { { name = "n", txID = "t" } } } },
    { "client:fleet_status", '{"response":{"vehicle_info":{"V":{"fleet_telemetry_version":"unknown",' ..
      '"total_number_of_keys":null}}}}',
      { vehicle_info = { V = { fleet_telemetry_version = "unknown" } } }, { vin } },
    { "client:products",
      '{"response":[{"vin":"V","device_type":"vehicle"},{"energy_site_id":2252147638651}],"count":7}',
      { { vin = "V", device_type = "vehicle" }, { energy_site_id = "2252147638651" } } },
    { "client:redeem_invitation", '{"response":{"vehicle_id_s":"12","vin":"V"}}',
      { vehicle_id_s = "12", vin = "V" }, { code = "c" } },
    { "vehicle:signed_command", '{"response":"AAECfw=="}', "\0\1\2\127", "\50\2\8\2" },
    -- 4.4, 4.5
    { "partner:public_key", '{"response":{"public_key":"04ab"}}', { public_key = "04ab" },
      { domain = "d.example" } },
    { "partner:fleet_telemetry_error_vins", '{"response":{"fleet_telemetry_error_vins":["V1"]}}', { "V1" } },
    { "partner:fleet_telemetry_error_vins", '{"response":["V1"]}', { "V1" } },
    { "partner:fleet_telemetry_error_vins", '["V1"]', { "V1" } },
    { "user:region", '{"response":{"region":"eu","fleet_api_base_url":"https://e"}}',
      { region = "eu", fleet_api_base_url = "https://e" } },
    { "user:orders", '{"response":[{"referenceNumber":"RN1","isB2b":false}],"count":1}',
      { { referenceNumber = "RN1", isB2b = false } } },
    -- 4.6: not wrapped in one copy, wrapped in another
    { "vehicle:subscriptions_eligibility", '{"vin":"V","country":"DE","eligible":[]}',
      { vin = "V", country = "DE", eligible = {} } },
    { "vehicle:subscriptions_eligibility", '{"response":{"vin":"V","eligible":[]}}',
      { vin = "V", eligible = {} } },
    { "vehicle:upgrades_eligibility", '{"vin":"V","type":"t","eligible":[{"optionCode":"O"}]}',
      { vin = "V", type = "t", eligible = { { optionCode = "O" } } } },
    { "vehicle:options", '{"codes":[{"code":"C","isActive":true,"colorCode":null}]}',
      { codes = { { code = "C", isActive = true } } } },
    { "vehicle:warranty", '{"activeWarranty":[],"upcomingWarranty":[],"expiredWarranty":[]}',
      { activeWarranty = {}, upcomingWarranty = {}, expiredWarranty = {} } },
    { "client:pricing", '[{"price":1.5}]', { { price = 1.5 } }, { model = "m3" } },
    -- 5: null is nothing
    { "site:energy_history", '{"response":null}', { time_series = {} }, { start_date = "2026-03-01T00:00:00Z" } },
    { "site:backup_history", '{"response":{"events":[{"duration":3600}],"total_events":1}}',
      { events = { { duration = 3600 } }, total_events = 1 }, { start_date = "2026-03-01T00:00:00Z" } },
    { "site:charge_history", '{"response":{"charge_history":[{"energy_added_wh":12.0}]}}',
      { charge_history = { { energy_added_wh = 12 } } }, { start_date = "2026-03-01T00:00:00Z" } },
    { "site:charge_history", '{"response":{"time_series":[]}}', { time_series = {} },
      { start_date = "2026-03-01T00:00:00Z" } },
    { "site:live_status", '{"response":{"solar_power":0,"battery_power":-2.5,"grid_status":null}}',
      { solar_power = 0, battery_power = -2.5 } },
  }

  it("come back as the member response, or as the whole body without it", function()
    for _, shape in ipairs(shapes) do
      local value, err = reply(shape[1], shape[2], shape[4])
      assert.is_nil(err, shape[1])
      assert.are.same(shape[3], value, shape[1] .. " " .. shape[2])
    end
  end)

  it("have whole numbers as integers, and ids as text", function()
    local value = reply("vehicle:info",
      '{"response":{"id":100001,"api_version":85.0,"odometer":1e15,"n":123456789012345678}}')
    assert.are.equal("integer", math.type(value.api_version))
    assert.are.equal("100001", value.id)
    assert.are.equal("float", math.type(value.odometer))
    assert.are.equal("123456789012345678", value.n)
  end)

  it("name every skipped vehicle with its reason and advice, in both published shapes", function()
    local given = { vins = { vin }, config = { hostname = "t.example.com", ca = "pem", fields = {} } }
    local function answer(skipped)
      return '{"response":{"updated_vehicles":1,"skipped_vehicles":' .. skipped .. "}}"
    end
    local object = answer '{"missing_key":["V2","V1"],"unsupported_hardware":[],"max_configs":["V3"]}'
    local list = answer('[{"vin":"V1","reason":"missing_key"},{"vin":"V2","reason":"missing_key"},' ..
      '{"vin":"V3","reason":"max_configs"}]')
    local by_vin = answer '{"V1":"missing_key","V2":"missing_key","V3":"max_configs"}'
    for _, body in ipairs { object, list, by_vin } do
      local value = reply("client:create_fleet_telemetry_config", body, given, { force = true })
      local seen = {}
      for _, skipped in ipairs(value.skipped_vehicles) do
        seen[#seen + 1] = skipped.vin .. " " .. skipped.reason
        assert.is_truthy(skipped.advice)
      end
      assert.are.same({ "V1 missing_key", "V2 missing_key", "V3 max_configs" }, seen)
      assert.are.equal(1, value.updated_vehicles)
    end
    local jws = reply("client:create_fleet_telemetry_config_jws", object, { vins = { vin }, token = "a.b.c" })
    assert.are.equal(3, #jws.skipped_vehicles)
    local new = reply("client:create_fleet_telemetry_config",
      '{"response":{"skipped_vehicles":{"brand_new":["V"]}}}', given, { force = true })
    assert.are.same({ { vin = "V", reason = "brand_new" } }, new.skipped_vehicles)
  end)

  it("say when the location was asked for and withheld", function()
    local with = { endpoints = { "drive_state", "location_data" } }
    local hidden = '{"response":{"state":"online","granular_access":{"hide_private":true},' ..
      '"drive_state":{"power":0}}}'
    local shown = '{"response":{"state":"online","drive_state":{"latitude":52.5,"longitude":13.25}}}'
    assert.is_true(reply("vehicle:vehicle_data", hidden, with).location_hidden)
    assert.is_nil(reply("vehicle:vehicle_data", shown, with).location_hidden)
    assert.is_nil(reply("vehicle:vehicle_data", hidden, { endpoints = { "drive_state" } }).location_hidden)
    assert.is_nil(reply("vehicle:vehicle_data", hidden).location_hidden)
  end)

  it("of energy settings are done in every published shape, unless they say otherwise", function()
    local done = {
      ['{"response":{"code":201,"message":"Updated"}}'] = { changed = true, code = 201, message = "Updated" },
      ['{"response":{"code":204}}'] = { changed = true, code = 204 },
      ['{"response":{"result":true,"reason":""}}'] = { changed = true, result = true, reason = "" },
      ['{"response":{"Code":200,"Message":"Updated"}}'] = { changed = true, code = 200, message = "Updated",
        Code = 200, Message = "Updated" },
      ['{"response":{"result":false,"reason":"already_set"}}'] = { changed = false, result = false,
        reason = "already_set" },
    }
    for body, wanted in pairs(done) do
      assert.are.same(wanted, (reply("site:backup", body, { backup_reserve_percent = 20 })), body)
    end
    local refused = '{"response":{"result":false,"reason":"no battery"}}'
    local value, err = reply("site:backup", refused, { backup_reserve_percent = 20 })
    assert.is_nil(value)
    assert.are.same({ "refused", "refused", "no battery" }, { err.kind, err.outcome, err.reason })
  end)

  it("of commands say what changed, by which way, and keep the other members", function()
    local value = reply("vehicle:charge_start", '{"response":{"result":true,"reason":"","queued":true}}')
    assert.are.same({ changed = true, reason = "", via = "plain", authenticated = false, queued = true },
      value)
    value = reply("vehicle:charge_start", '{"response":{"result":false,"reason":"is_charging"}}')
    assert.are.same({ changed = false, reason = "is_charging", via = "plain", authenticated = false }, value)
    local none, err = reply("vehicle:charge_start", '{"response":{"result":false,"reason":"is_charging"}}',
      { strict = true })
    assert.is_nil(none)
    assert.are.same({ "refused", "refused", "is_charging" }, { err.kind, err.outcome, err.reason })
  end)

  it("are bytes where the service sends a document, and where the caller asks for them", function()
    local pdf = "%PDF-1.4\n\0\255\254 not JSON"
    assert.are.equal(pdf, (reply("charging:invoice", pdf, "c0ffee")))
    local text = '{"response" : {"state":"online"} }'
    assert.are.equal(text, (reply("vehicle:info", text, { raw = true })))
  end)

  it("are no document when they do not begin as one: nothing is written", function()
    local path = require("spec.support.harness.process").temporary("invoice") .. "/a.pdf"
    for body, shown in pairs { [""] = "is empty", ["<html><body>maintenance</body></html>"] = "<html><body>maintenance",
      ['{"data":null,"error":"INVOICE_NOT_FOUND"}'] = '{"data":null', ["%PD"] = "%PD" } do
      for _, params in ipairs { false, { to = path } } do
        local value, err, kind = reply("charging:invoice", body, "c0ffee", params or nil)
        assert.same({ nil, "protocol" }, { value, kind }, body)
        assert.matches(shown, tostring(err), 1, true)
        assert.is_nil(io.open(path))
      end
    end
  end)

  it("become a file that the caller names, whole or not at all", function()
    local process = require "spec.support.harness.process"
    local directory = process.temporary("invoice")
    local path, pdf = directory .. "/a.pdf", "%PDF-1.4\n\0" .. string.rep("x", 100000)
    assert.are.equal(path, assert(reply("charging:invoice", pdf, "c0ffee", { to = path })))
    local file = assert(io.open(path, "rb"))
    assert.are.equal(pdf, file:read("a"))
    file:close()
    local _, err, kind = reply("charging:invoice", pdf, "c0ffee", { to = path })
    assert.are.equal("store", kind)
    assert.is_truthy(string.find(tostring(err), "overwrite", 1, true))
    assert(reply("charging:invoice", "%PDF-new", "c0ffee", { to = path, overwrite = true }))
    local client = new_client()
    server:script { { body = pdf, cut = 10, times = 0 } }
    local none, _, cut = client.charging:invoice("c0ffee", { to = directory .. "/b.pdf" })
    assert.is_nil(none)
    assert.are.equal("protocol", cut)
    server:script { { status = 404, body = '{"error":"not_found"}' } }
    local _, _, missing = client.charging:invoice("c0ffee", { to = directory .. "/c.pdf" })
    assert.are.equal("not_found", missing)
    local listing = io.popen("ls -A " .. process.quote(directory))
    assert.are.equal("a.pdf\n", listing:read("a"))
    listing:close()
    process.execute("rm -r " .. process.quote(directory))
  end)
end)
