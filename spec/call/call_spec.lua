-- What a call takes and gives back: its arguments, its options, what raises, what returns nil, err, kind.

local fleet = require "fleet"
local core = require "fleet.core"
local rows = require "fleet.call.rows"
local replies = require "spec.support.fixtures.replies"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

local unpack = table.unpack

local function handle_of(row, client)
  if row.handle == "client" then return client end
  if row.handle == "vehicle" then return client:vehicle(seam.vin) end
  if row.handle == "site" then return client:energy_site("1234567890") end
  return client[row.handle]
end

-- The arguments of a row's example, as a list; no file is written.
local function example(row)
  local list = table.pack(assert(load("return " .. row.example))())
  if row.name == "charging.invoice" then list[2] = {} end
  return list
end

-- How many arguments stand before the options.
local function before_options(row)
  local count, has_params = 0, row.flags.body_as_given
  for _, param in ipairs(row.params) do
    local implied = (row.handle == "vehicle" and param.type == "vin") or param.name == "energy_site_id"
    if param.place == "path" and not implied then count = count + 1 end
    if param.place ~= "path" and not implied then has_params = true end
  end
  return count + (has_params and 1 or 0)
end

local function finish(value, ...)
  if type(value) == "table" and (getmetatable(value) or {}).__name == "fleet.pages" then return value:collect() end
  return value, ...
end

-- Calls the row's method with its example and then more arguments, filled up to where the options stand.
local function call(row, client, ...)
  local list, more = example(row), table.pack(...)
  local n = before_options(row)
  for i = 1, more.n do list[n + i] = more[i] end
  local handle = handle_of(row, client)
  return finish(handle[row.method](handle, unpack(list, 1, n + more.n)))
end

local function refused_here(row)
  return row.flags.needs_protocol
end

describe("every call", function()
  for _, row in ipairs(rows.all()) do
    it(row.name .. " takes its arguments, then options", function()
      if row.name == "time_of_use_settings" then return end -- spec of tariffs
      local client, requests = seam.client(replies.empty(row))
      local value, err = call(row, client, { timeout = 5, force = true })
      if refused_here(row) then
        assert.equal("unsupported", err.kind)
        assert.equal(0, #requests)
        return
      end
      assert.is_nil(err)
      assert.is_not_nil(value)
      assert.equal(1, #requests)
      assert.equal(row.verb, requests[1].method)
      assert.is_true(requests[1].timeout <= 5)
      assert.is_nil(requests[1].url:find("[{}]"))
    end)

    it(row.name .. " refuses what is no option", function()
      local client, requests = seam.client(replies.empty(row))
      assert.error_matches(function() call(row, client, { timeot = 5 }) end, "unknown option 'timeot', did you mean 'timeout'?")
      assert.error_matches(function() call(row, client, 5) end, "the options must be a table such as { name = value }, got number")
      assert.error_matches(function() call(row, client, {}, 1) end, "too many arguments")
      assert.equal(0, #requests)
    end)

    it(row.name .. " is reached by its name, too", function()
      if row.name == "time_of_use_settings" then return end
      local client, requests = seam.client(replies.empty(row))
      local given, args = example(row), {}
      for _, param in ipairs(row.params) do
        if param.place == "path" and param.type ~= "vin" and param.name ~= "energy_site_id" then
          args[param.name] = table.remove(given, 1)
        end
        if param.whole and type(given[1]) ~= "table" then args[param.name] = given[1] end
        if param.whole and type(given[1]) == "table" and given[1][1] then args[param.name] = given[1] end
      end
      if next(args) == nil then
        for name, value in pairs(type(given[1]) == "table" and given[1] or {}) do args[name] = value end
      end
      args.vin = row.handle == "vehicle" and seam.vin or args.vin
      args.energy_site_id = row.handle == "site" and "1234567890" or nil
      local _, err = finish(client:call(row.name, args, { force = true }))
      if refused_here(row) then return assert.equal("unsupported", err.kind) end
      assert.is_nil(err)
      assert.equal(row.verb, requests[1].method)
    end)
  end
end)

describe("a call by name", function()
  local client = seam.client("{}")

  it("names the nearest when there is none", function()
    assert.error_matches(function() client:call("honk_hron") end, "unknown name 'honk_hron', did you mean 'honk_horn'?")
    assert.error_matches(function() client:call() end, "unknown name 'nil'")
  end)

  it("misses what it needs by name", function()
    assert.error_matches(function() client:call("honk_horn", {}) end, "honk_horn: 'vin' is missing")
    assert.error_matches(function() client:call("live_status") end, "live_status: 'energy_site_id' is missing")
    assert.error_matches(function() client:call("live_status", "x") end, "must be a table")
    assert.error_matches(function() client:call("honk_horn", { vin = seam.vin, loud = true }) end, "unknown parameter 'loud'")
    assert.error_matches(function() client:call("charging.invoice", {}) end, "'id' is missing")
  end)
end)

describe("the colon", function()
  it("is missed with a sentence", function()
    local client = seam.client("{}")
    local car = client:vehicle(seam.vin)
    assert.error_matches(function() car.honk_horn() end, "honk_horn: call it with a colon, on a vehicle")
    assert.error_matches(function() car.honk_horn(client) end, "on a vehicle")
    assert.error_matches(function() client.products(car) end, "products: call it with a colon, on a client")
  end)
end)

describe("options", function()
  local wrong = {
    { "timeout", "5", "option 'timeout' must be seconds, 0.001 to 4000000$" }, { "timeout", 0, "must be seconds, 0.001 to" },
    { "timeout", -1, "must be seconds, 0.001 to" }, { "timeout", 0 / 0, "must be seconds, 0.001 to" },
    { "timeout", math.huge, "must be seconds, 0.001 to" }, { "timeout", 4000001, "must be seconds, 0.001 to" },
    { "wake", 1, "option 'wake' must be true or false" }, { "idempotent", "yes", "must be true or false" },
    { "strict", 0, "must be true or false" }, { "raw", {}, "must be true or false" }, { "force", "x", "must be true or false" },
    { "read_back", 1, "must be true or false" }, { "auth", "users", "option 'auth' must be" }, { "auth", 1, "option 'auth' must be" },
    { 1, true, "options are given by name, as { timeout = 10 }" },
  }
  for i, case in ipairs(wrong) do
    it(("are checked: %d %s"):format(i, case[1]), function()
      local car, requests = seam.car(seam.done)
      assert.error_matches(function() car:honk_horn { [case[1]] = case[2] } end, case[3])
      assert.equal(0, #requests)
    end)
  end

  it("that would do nothing are refused: reading back what is no setting, the bytes of pages", function()
    local car, requests, client = seam.car(seam.done)
    assert.error_matches(function() car:honk_horn { read_back = true } end, "'read_back' is for energy settings")
    assert.error_matches(function() client:vehicles({}, { raw = true }) end, "'raw' is not for pages")
    assert.equal(0, #requests)
  end)

  -- option -> a call for which it says something, and one for which it would do nothing
  local concerns = {
    strict = {
      function(car, _, options) return car:honk_horn(options) end,
      function(car, _, options) return car:info(options) end, "info: option 'strict' is for commands and energy settings",
    },
    wake = {
      function(car, _, options) return car:honk_horn(options) end,
      function(_, client, options) return client:products(options) end, "products: option 'wake' is for calls that need the vehicle",
    },
    idempotent = {
      function(car, _, options) return car:honk_horn(options) end,
      function(_, client, options) return client:products(options) end, "products: option 'idempotent' is for calls that change",
    },
    read_back = {
      function(_, client, options) return client:energy_site("7"):storm_mode({ enabled = true }, options) end,
      function(car, _, options) return car:honk_horn(options) end, "honk_horn: option 'read_back' is for energy settings",
    },
  }
  for name, case in pairs(concerns) do
    it(name .. " is taken where it says something, and refused where it would do nothing", function()
      finally(virtual.install().restore)
      local car, requests, client = seam.car(seam.done)
      local taken, failure = pcall(case[1], car, client, { [name] = true })
      assert.is_true(taken or type(failure) == "table", failure)
      local before = #requests
      assert.is_true(before > 0)
      assert.error_matches(function() case[2](car, client, { [name] = true }) end, case[3])
      assert.equal(before, #requests)
      if name ~= "idempotent" then assert.is_truthy(pcall(case[2], car, client, { [name] = false })) end
    end)
  end

  it("timeout is what is left for the host's own HTTP", function()
    local began, took = nil, {}
    local car, requests = seam.car(function()
      took[#took + 1] = core.clock() - began
      return seam.answer(seam.done)
    end, { timeout = 40 })
    for i, given in ipairs { { 20, { timeout = 20 } }, { 40 } } do
      began = core.clock()
      car:honk_horn(given[2])
      local left = requests[i].timeout
      assert.is_true(left <= given[1] and left >= given[1] - took[i], left)
    end
  end)

  it("raw returns the body's bytes as they came", function()
    for _, text in ipairs { seam.done, "no JSON", "", '{"response":"true"}' } do
      local car = seam.car(text)
      assert.equal(text, car:honk_horn { raw = true })
      assert.equal(text, car:mobile_enabled { raw = true })
    end
  end)

  it("raw still fails where the status says so", function()
    local car = seam.car { { status = 404, body = "gone" } }
    local value, err, kind = car:info { raw = true }
    assert.is_nil(value)
    assert.equal("not_found", kind)
    assert.equal("gone", err.raw)
  end)

  it("auth chooses among the slots of the row, and is refused without a request where the row has none of it", function()
    local car, requests = seam.car('{"response":{}}')
    assert(car:info { auth = "business" })
    local _, err, kind = car:info { auth = "partner" }
    assert.equal("unsupported", kind)
    assert.matches("cannot be made with the partner token", err.message)
    _, err = car:honk_horn { auth = "partner" }
    assert.equal("not_sent", err.outcome)
    assert.equal(1, #requests)
  end)
end)

describe("an open-source app", function()
  it("makes no partner call", function()
    local client = fleet.new { client_id = "x", http = function() error("asked") end }
    local _, err, kind = client.partner:register { domain = "app.example.com" }
    assert.equal("unsupported", kind)
    assert.equal("not_sent", err.outcome)
    _, _, kind = client:vehicle(seam.vin):specs()
    assert.equal("unsupported", kind)
    _, _, kind = client:pricing {}
    assert.equal("unsupported", kind)
  end)
end)

describe("a command", function()
  it("that was done says so", function()
    local car = seam.car(seam.done)
    assert.same({ changed = true, reason = "", via = "plain", authenticated = false }, car:honk_horn())
  end)

  it("keeps unknown members", function()
    local car = seam.car '{"response":{"result":true,"reason":"","queued":true,"n":3}}'
    local value = car:honk_horn()
    assert.is_true(value.queued)
    assert.equal(3, value.n)
  end)

  local already = {
    "already_set", "already_standard", "already_started", "is_charging", "not_charging", "complete", "requested",
    "already closed", "Remote climate already off", "ALREADY_SET", "car could not execute command: already_set",
  }
  for _, reason in ipairs(already) do
    it("that changed nothing is no failure: " .. reason, function()
      local car = seam.car(seam.refused(reason))
      local value = assert(car:charge_start())
      assert.is_false(value.changed)
      assert.equal((string.gsub(reason, "^car could not execute command: ", "")), value.reason)
    end)

    it("that changed nothing is a failure when strict: " .. reason, function()
      local car = seam.car(seam.refused(reason))
      local value, err, kind = car:charge_start { strict = true }
      assert.is_nil(value)
      assert.equal("refused", kind)
      assert.equal("refused", err.outcome)
      assert.equal((string.gsub(reason, "^car could not execute command: ", "")), err.reason)
    end)
  end

  local refusals = {
    { "disconnected", "refused" }, { "could_not_wake_buses", "busy" }, { "user not found", "forbidden" },
    { "a reason that nobody has seen yet", "refused" }, { "", "refused" }, { "invalid_value", "invalid" },
    { "vehicle rejected request: your public key has not been paired with the vehicle", "key_not_paired" },
  }
  for _, case in ipairs(refusals) do
    it("that was refused says why: " .. case[1], function()
      local car, requests = seam.car(seam.refused(case[1]))
      local value, err, kind = car:charge_start()
      assert.is_nil(value)
      assert.equal(case[2], kind)
      assert.equal(case[2], err.kind)
      assert.equal("refused", err.outcome)
      assert.equal(case[1] ~= "" and case[1] or nil, err.reason)
      assert.equal(200, err.status)
      assert.equal(1, #requests)
    end)
  end

  for _, reason in ipairs { "upstream internal error", "operation_timedout" } do
    it("may have been done all the same: " .. reason, function()
      local _, err = seam.car(seam.refused(reason)):charge_start()
      assert.equal("unknown", err.outcome)
    end)
  end

  local unclear = {
    "", "{}", "null", "[]", "true", '"ok"', '{"response":null}', '{"response":{}}', '{"response":true}', '{"response":"ok"}',
    '{"response":{"result":"true"}}', '{"response":{"result":1}}', '{"response":{"reason":""}}', "<html>ok</html>",
    '{"response":{"result":true', '{"response":[{"result":true}]}', '{"result":true}x',
  }
  for _, body in ipairs(unclear) do
    it("is not done without a positive statement: " .. body, function()
      local car, requests = seam.car(body)
      local value, err, kind = car:honk_horn()
      assert.is_nil(value)
      assert.equal("protocol", kind)
      assert.equal("unknown", err.outcome)
      assert.equal(1, #requests)
    end)
  end

  it("needs the protocol where the interface says so: nothing is sent", function()
    local commands = { set_pin_to_drive = { on = true }, reset_pin_to_drive_pin = false, set_vehicle_name = { vehicle_name = "B" } }
    for name, params in pairs(commands) do
      local car, requests = seam.car(seam.done)
      local value, err, kind = car[name](car, params or nil)
      assert.is_nil(value)
      assert.equal("unsupported", kind)
      assert.equal("not_sent", err.outcome)
      assert.equal(0, #requests)
    end
  end)

  it("that newer firmware piles up is refused, naming the replacement, unless forced", function()
    local car, requests = seam.car(seam.done)
    local _, err, kind = car:set_scheduled_charging { enable = true, time = 60 }
    assert.equal("unsupported", kind)
    assert.matches("add_charge_schedule", err.message)
    assert.matches("fleet_status", err.message)
    assert.equal("not_sent", err.outcome)
    assert.equal(0, #requests)
    assert(car:set_scheduled_charging({ enable = true, time = 60 }, { force = true }))
    assert.equal(1, #requests)
  end)

  local versions = {
    { "2024.14.9", true }, { "2023.44.30.8", true }, { "2024.26", false }, { "2024.26.1", false }, { "2025.2", false },
    { "unknown", false }, { "", false }, { "2024.8", true }, { "2024.25.99 abc123", true },
  }
  for _, case in ipairs(versions) do
    it(("that newer firmware piles up goes by the newest fleet_status: '%s'"):format(case[1]), function()
      local client, requests = seam.client(function(request)
        if not request.path:find("fleet_status") then return seam.answer(seam.done) end
        return seam.answer('{"response":{"vehicle_info":{"' .. seam.vin .. '":{"firmware_version":"' .. case[1] .. '"}}}}')
      end)
      assert(client:fleet_status { seam.vin })
      local value, _, kind = client:vehicle(seam.vin):set_scheduled_departure { enable = false }
      assert.equal(case[2], value ~= nil)
      if not value then assert.equal("unsupported", kind) end
      assert.equal(case[2] and 2 or 1, #requests)
    end)
  end
end)

describe("a command that needs newer firmware", function()
  local schedule = { days_of_week = "All", enabled = true, start_enabled = true, start_time = 60, end_enabled = false, lat = 52.5,
    lon = 13.4 }

  local function with_firmware(version, answer, options)
    local client, requests = seam.client(function(request)
      if not request.path:find("fleet_status") then return seam.answer(answer or seam.done) end
      return seam.answer('{"response":{"vehicle_info":{"' .. seam.vin .. '":{"firmware_version":"' .. version .. '"}}}}')
    end, options)
    assert(client:fleet_status { seam.vin })
    return client:vehicle(seam.vin), requests
  end

  for _, case in ipairs {
    { "add_charge_schedule", "2024.26", "2024.20.1", schedule },
    { "remove_charge_schedule", "2024.26", "2024.8.9", { id = 5 } },
    { "speed_limit_clear_pin_admin", "2023.38", "2023.30" },
    { "clear_pin_to_drive_admin", "2023.44", "2023.38.1" },
  } do
    it(("is not sent to an older one, and says both: %s on %s"):format(case[1], case[3]), function()
      for _, options in ipairs { {}, { commands = "proxy", proxy_url = seam.host } } do
        local car, requests = with_firmware(case[3], nil, options)
        local method = car[case[1]]
        local _, err, kind = method(car, case[4])
        assert.same({ "unsupported", "not_sent", 1 }, { kind, err.outcome, #requests })
        assert.matches(("%s: it needs firmware %s; this vehicle has %s"):format(case[1], case[2], case[3]), err.message, 1, true)
        assert(method(car, case[4] or {}, { force = true }))
        assert.equal(2, #requests)
      end
    end)
  end

  it("is sent where the firmware is new enough, or not known", function()
    for _, version in ipairs { "2024.26", "2024.26.3", "2025.2", "Unknown", "" } do
      local car, requests = with_firmware(version)
      assert(car:add_charge_schedule(schedule))
      assert.equal(2, #requests)
    end
    assert(seam.car(seam.done):add_charge_schedule(schedule))
  end)

  it("says which one where the vehicle refuses it and may be older", function()
    local refused = seam.refused "not_supported"
    local _, err = seam.car(refused):add_charge_schedule(schedule)
    assert.same({ "not_supported", "refused" }, { err.reason, err.outcome })
    assert.matches("add_charge_schedule needs firmware 2024.26", err.message, 1, true)
    _, err = with_firmware("2024.30.1", refused):add_charge_schedule(schedule)
    assert.not_matches("needs firmware", err.message)
    _, err = seam.car(refused):honk_horn()
    assert.not_matches("needs firmware", err.message)
    _, err = seam.car(seam.refused "disconnected"):add_charge_schedule(schedule)
    assert.not_matches("needs firmware", err.message)
  end)
end)

describe("an energy setting", function()
  local cases = {
    { '{"response":{"code":201,"message":"Updated"}}', { changed = true, code = 201, message = "Updated" } },
    { '{"response":{"result":true,"reason":""}}', { changed = true, result = true, reason = "" } },
    { '{"response":{"result":false,"reason":"already_set"}}', { changed = false, result = false, reason = "already_set" } },
  }
  for _, case in ipairs(cases) do
    it("answers " .. case[1], function()
      assert.same(case[2], seam.site(case[1]):backup { backup_reserve_percent = 20 })
    end)
  end

  it("that was refused is refused", function()
    local value, err, kind = seam.site(seam.refused("not_supported")):storm_mode { enabled = true }
    assert.is_nil(value)
    assert.equal("refused", kind)
    assert.equal("1234567890", err.site)
    assert.equal("refused", err.outcome)
  end)

  it("without an answer that says what became of it is unknown", function()
    for _, body in ipairs { "", "<html>", "{", '{"response":"Updated"}', '{"response":true}', '"ok"' } do
      local _, err, kind = seam.site(body):backup { backup_reserve_percent = 20 }
      assert.equal("protocol", kind)
      assert.equal("unknown", err.outcome)
    end
  end)
end)

describe("a read", function()
  it("returns the member response, or the whole body without it", function()
    local cases = {
      { "info", '{"response":{"a":1}}', { a = 1 } }, { "info", '{"a":1}', { a = 1 } },
      { "drivers", '{"response":[{"user_id":1},{"user_id":2}],"count":2}', { { user_id = "1" }, { user_id = "2" } } },
      { "remove_driver", '{"response":"ok"}', "ok" }, { "remove_driver", '{"response":true}', true },
      { "info", '{"response":{"a":null,"b":[null]}}', { b = { core.null } } },
    }
    for _, case in ipairs(cases) do
      local car = seam.car(case[2])
      assert.same(case[3], car[case[1]](car))
    end
  end)

  it("has ids as text and keeps unknown fields", function()
    local record = seam.car('{"response":{"id":100001,"vehicle_id":12345678901234567,"api_version":85,"new_field":{"x":1}}}'):info()
    assert.same({ id = "100001", vehicle_id = "12345678901234567", api_version = 85, new_field = { x = 1 } }, record)
  end)

  it("has no outcome when it fails", function()
    finally(virtual.install().restore)
    local _, err = seam.car({ { status = 500, body = "" } }):drivers()
    assert.equal("service", err.kind)
    assert.is_nil(err.outcome)
    _, err = seam.car("<html>"):drivers()
    assert.equal("protocol", err.kind)
    assert.is_nil(err.outcome)
  end)

  it("whose body contains an error is one, though the status is 200", function()
    local _, err, kind = seam.car('{"response":null,"error":"something new","error_description":"more"}'):drivers()
    assert.equal("service", kind)
    assert.equal("something new", err.reason)
    assert.matches("more", err.message)
  end)
end)

describe("an err", function()
  it("has facts, and a sentence for people", function()
    local car = seam.car {
      { status = 403, headers = {}, body = '{"response":null,"error":"Unauthorized missing scopes","error_description":"vehicle_cmds"}' },
    }
    local value, err, kind = car:honk_horn()
    assert.is_nil(value)
    assert.equal("scope", kind)
    assert.equal("scope", err.kind)
    assert.equal(403, err.status)
    assert.equal("refused", err.outcome)
    assert.equal("vehicle_cmds", err.scope)
    assert.equal("Unauthorized missing scopes", err.reason)
    assert.equal(seam.vin, err.vin)
    assert.is_nil(err.site)
    assert.equal("POST /api/1/vehicles/{vin}/command/honk_horn", err.request)
    assert.matches("Unauthorized missing scopes", err.raw)
    assert.matches("^honk_horn: Unauthorized missing scopes %(HTTP 403%): vehicle_cmds", tostring(err))
    assert.equal(err.message, tostring(err))
    local ok, message = pcall(function() return assert(car:honk_horn()) end)
    assert.is_false(ok)
    assert.matches("^honk_horn: Unauthorized", tostring(message))
  end)

  it("says retry_after in seconds", function()
    local car = seam.car { { status = 429, headers = { ["Retry-After"] = "17" }, body = "" } }
    local _, err = car:info()
    assert.equal("rate_limited", err.kind)
    assert.equal(17, err.retry_after)
    _, err = seam.car({ { status = 429, body = "Retry in 41 seconds" } }):info()
    assert.equal(41, err.retry_after)
  end)

  it("survives every shape of an error body", function()
    local bodies = {
      "", "null", "[]", "1", '"text"', '{"error":{}}', '{"error":null}', '{"error":""}', "<html><body>no</body></html>",
      '{"error_description":"x"}', '{"response":{"reason":1}}', ("x"):rep(100000), "\0\1\2",
      '{"error":"' .. ("\u{20AC}"):rep(1000) .. '"}',
    }
    for _, body in ipairs(bodies) do
      local _, err, kind = seam.car({ { status = 400, body = body } }):honk_horn()
      assert.equal("invalid", kind)
      assert.equal("refused", err.outcome)
      assert.equal(body, err.raw)
      assert.is_truthy(utf8.len(err.message))
      assert.is_truthy(utf8.len(err.reason or ""))
    end
  end)
end)

describe("a closed client", function()
  local function is_closed(outcome, value, err, kind)
    assert.is_nil(value)
    assert.same({ "closed", outcome }, { kind, err.outcome })
    assert.matches("the client was closed: make a new one$", err.message)
  end

  it("ends every call with an error that says so, its handles too", function()
    local car, requests, client = seam.car(seam.done)
    client:close()
    client:close()
    is_closed("not_sent", car:honk_horn())
    is_closed(nil, client:products())
    is_closed(nil, client:vehicle(seam.vin):info())
    is_closed("not_sent", car:wake())
    assert.equal("fleet.client (closed)", tostring(client))
    assert.equal("fleet.vehicle (...0001)", tostring(car))
    assert.equal(0, #requests)
  end)

  it("is what a to-be-closed variable leaves", function()
    if _VERSION < "Lua 5.4" then return pending "to-be-closed variables begin with 5.4" end
    local kept
    do
      local client <close> = seam.client("{}")
      kept = client
    end
    is_closed(nil, kept:products())
  end)
end)

describe("handles", function()
  it("print no secret and no whole VIN", function()
    local client = seam.client("{}")
    local car, site = client:vehicle(seam.vin), client:energy_site(12345678)
    for _, object in ipairs { client, car, site, client.partner, client.user, client.charging } do
      assert.is_nil(tostring(object):find("5YJ3E1EA", 1, true))
      assert.is_nil(tostring(object):find("token", 1, true))
    end
    assert.equal("fleet.vehicle (...0001)", tostring(client:vehicle(seam.vin)))
  end)

  it("know no other names", function()
    local client = seam.client("{}")
    assert.is_nil(client.honk_horn)
    assert.is_nil(client:vehicle(seam.vin).live_status)
    assert.is_nil(client.nothing)
  end)
end)

describe("the tables as data", function()
  it("are fresh: changing them changes nothing else", function()
    local endpoints = fleet.endpoints()
    endpoints[1].verb = "DELETE"
    assert.equal("GET", fleet.endpoints()[1].verb)
    assert.is_true(#fleet.commands() >= 67)
    assert.is_true(#fleet.reasons() > 20)
    assert.matches("^fleet %d", fleet._VERSION)
  end)
end)
