-- Rule R1: a command reaches the vehicle at most once per call. The server of this spec carries every request
-- out and then breaks in every way it can; its records say how often each call arrived.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"
local vectors = require "spec.support.fixtures.vectors"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local fine = '{"response":{"result":true,"reason":"","code":201}}'
local server, client

local function new_client(more)
  local options = more or {}
  options.base_url, options.token = server.url, options.token or not options.client_id and "t0ken" or nil
  return fleet.new(options)
end

setup(function() server = recorder.start() end)
before_each(function() client = new_client() end)
after_each(function() client:close() end)
teardown(function() server:stop() end)

-- The ways to break. kind and outcome are those of a write; tries: how often a call that may be repeated
-- arrives.
local function broken(kind, tries, rule, options, outcome)
  return { kind = kind, tries = tries, rule = rule, options = options, outcome = outcome or "unknown" }
end

local failed_text = '{"response":null,"error":"not_now"}'

local breaks = {
  ["closes without a byte"] = broken("network", 3, { drop = true }),
  ["closes before it read the body"] = broken("network", 3, { reset = true }),
  ["closes within the head"] = broken("protocol", 3, { raw = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n" }),
  ["closes after the head"] = broken("protocol", 3, { body = fine, cut = 0 }),
  ["closes within the body"] = broken("protocol", 3, { body = fine, cut = 10 }),
  ["breaks its own encoding"] = broken("protocol", 3,
    { raw = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" }),
  ["talks no HTTP"] = broken("protocol", 3, { raw = "what?\r\n\r\n" }),
  ["never answers"] = broken("timeout", 1, { silent = true }, { timeout = 0.1 }),
  ["answers too slowly"] = broken("timeout", 1, { trickle = 0.02, body = string.rep(" ", 1000) },
    { timeout = 0.1 }),
  ["names two lengths"] = broken("protocol", 3,
    { raw = "HTTP/1.1 200 OK\r\nContent-Length: 51\r\nContent-Length: 4\r\n\r\n" .. fine }),
  ["sends one header of 200 KB"] = broken("protocol", 1, { headers = { "X-Long: " .. string.rep("x", 200000) }, body = fine }),
  ["resets instead of answering"] = broken("protocol", 1, { status = 205, body = failed_text }),
  ["answers a part"] = broken("protocol", 1, { status = 206, body = failed_text }),
  ["answers nothing"] = broken("protocol", 1, { body = "" }),
  ["answers no JSON"] = broken("protocol", 1, { body = "<html>done</html>" }),
  ["fails with 500"] = broken("service", 3, { status = 500, body = '{"error":"internal server error"}' }),
  ["fails with 502"] = broken("service", 3, { status = 502, body = "<html></html>" }),
  ["fails with 503"] = broken("service", 3, { status = 503, body = '{"error":"vehicle is not available"}' }),
  ["fails with 504 and closes"] = broken("service", 3, { status = 504, body = "", close = true }),
  ["fails with 499"] = broken("service", 3, { status = 499, body = "" }),
  ["fails with 540"] = broken("service", 3, { status = 540, body = "" }),
  ["gives up with 408"] = broken("timeout", 3, { status = 408, body = '{"error":"request timed out"}' }),
  ["says asleep with 500"] = broken("asleep", 1, { status = 500, body = '{"error":"vehicle is asleep"}' }),
  ["redirects"] = broken("service", 3, { status = 307, headers = { "Location: /again" }, body = "" }),
}

local refusals = {
  400, 402, 403, 404, 405, 406, 412, 418, 422, 423, 424, 429, 451,
}

-- On a machine that stands still a time-out may be over before anything is sent. That is told ("not_sent", and nothing arrived), and
-- is not the case that is looked at: it is tried again with more time. Calls f(options) → value, err; returns those and how often
-- it arrived. The options without a time-out are not touched.
local function carried_out(f, options)
  for _, timeout in ipairs(options and options.timeout and { options.timeout, 1, 10 } or { false }) do
    local before = #server:records()
    local value, err = f(timeout and { timeout = timeout } or options)
    local count = #server:records() - before
    local ended_before = timeout and count == 0 and err.kind == "timeout" and err.outcome ~= "unknown"
    if not ended_before then return value, err, count end
  end
  error "never sent"
end

-- Calls f and says: err, how often the path arrived.
local function arrivals(rules, f)
  server:script(rules)
  local value, err = f()
  assert.is_nil(value)
  return err, #server:records()
end

local function twice(rule)
  local copy = { times = 0 }
  for name, value in pairs(rule) do copy[name] = value end
  return copy
end

-- ---- every way to break ----

describe("a server that carries out and then breaks", function()
  local function honk(options) return client:vehicle(vin):honk_horn(options) end
  local function trunk(options)
    return client:vehicle(vin):actuate_trunk({ which_trunk = "rear" }, options)
  end
  local function invite(options) return client:vehicle(vin):create_invitation(options) end
  local function limit(options) return client:vehicle(vin):set_charge_limit({ percent = 80 }, options) end
  local function reserve(options)
    return client:energy_site("1"):backup({ backup_reserve_percent = 20 }, options)
  end
  local function remove(options) return client:vehicle(vin):delete_fleet_telemetry_config(options) end
  local function read(options) return client:vehicle(vin):info(options) end

  for name, case in pairs(breaks) do
    it(name .. ": what may not be done twice arrives once, on a new connection and on a used one", function()
      for _, call in ipairs { honk, trunk, invite } do
        if case.options then client:close() client = new_client() end
        for _, rules in ipairs { { twice(case.rule) }, { { on = "GET", times = 0 }, twice(case.rule) } } do
          server:script(rules)
          if rules[2] then assert(client:vehicle(vin):info()) end
          local value, err, count = carried_out(call, case.options)
          if value == nil then -- an invitation promises no shape: 200 without an error is one
            assert.are.same({ case.kind, case.outcome, 1 }, { err.kind, err.outcome, count }, name)
          end
          assert.are.equal(1, count)
        end
      end
    end)

    it(name .. ": what may be repeated arrives " .. case.tries .. " times", function()
      for _, call in ipairs { limit, reserve, remove, read } do
        server:script { twice(case.rule) }
        local value, err, count = carried_out(call, case.options)
        assert.is_nil(value)
        assert.are.equal(case.kind, err.kind)
        assert.are.equal(call ~= read and case.outcome or nil, err.outcome)
        assert.are.equal(case.tries, count, name)
      end
    end)
  end

  it("is asked again only until it answers", function()
    for failing = 1, 2 do
      server:script { { drop = true, times = failing }, { body = fine } }
      assert(limit())
      assert.are.equal(failing + 1, #server:records())
    end
  end)

  it("is believed when the second answer refuses: the first may still have been carried out", function()
    local err, count = arrivals({ { drop = true },
      { status = 400, body = '{"error":"invalid"}', times = 0 } }, limit)
    assert.are.equal(2, count)
    assert.are.equal("unknown", err.outcome)
  end)

  it("is not asked again when the time is over", function()
    server:script {}
    local value, _, count = carried_out(function(options)
      server:script { { drop = true, delay = options.timeout * 1.2, times = 0 } }
      return limit(options)
    end, { timeout = 0.1 })
    assert.are.same({ nil, 1 }, { value, count })
  end)
end)

-- ---- every row ----

local row_of = {}
for _, set in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(set) do row_of[row.handle .. ":" .. row.method] = row end
end

local function call_row(one, options)
  local handles = { vehicle = client:vehicle(vin), site = client:energy_site("1"), client = client }
  local target, arguments = handles[one.handle] or client[one.handle], vectors.arguments(one)
  arguments[arguments.n + 1] = options
  return target[one.word](target, table.unpack(arguments, 1, arguments.n + 1))
end

describe("every row", function()
  -- Written by hand (doc/protocol.md#outcomes), apart from the flags of the rows; what is not known to set a state counts as a
  -- move.
  local moves = {}
  for word in string.gmatch([[
    actuate_trunk window_control sun_roof_control open_tonneau close_tonneau stop_tonneau door_unlock
    remote_start_drive media_next_fav media_next_track media_prev_fav media_prev_track
    media_toggle_playback media_volume_up media_volume_down honk_horn flash_lights trigger_homelink
    remote_boombox navigation_request navigation_gps_request navigation_sc_request
    navigation_waypoints_request erase_user_data reset_valet_pin clear_pin_to_drive_admin
    speed_limit_clear_pin speed_limit_clear_pin_admin parental_controls_clear_pin_admin
    charge_port_door_open charge_port_door_close set_scheduled_charging set_scheduled_departure
    create_invitation redeem_invitation signed_command wake_up set_managed_charge_current_request
    set_managed_charger_location set_managed_scheduled_charging_time upcoming_calendar_entries
    take_drivenote schedule_software_update cancel_software_update
  ]], "%S+") do moves[word] = true end
  local protocol_only = {
    set_pin_to_drive = true, reset_pin_to_drive_pin = true, set_vehicle_name = true, set_low_power_mode = true,
    keep_accessory_power_mode = true,
  }

  it("arrives once, or at most three times where repeating does no harm", function()
    local checked = 0
    for _, one in ipairs(vectors.interface()) do
      local word = one.word
      if not protocol_only[word] and row_of[one.name].paging == "no" then
        for _, rule in ipairs { { on = one.method, drop = true, times = 0 },
          { on = one.method, status = 503, body = "", times = 0 } } do
          server:script { rule }
          local forced = string.find(word, "^set_scheduled") or word == "time_of_use_settings" or
            word == "create_fleet_telemetry_config"
          local value, err = call_row(one, forced and { force = true } or nil)
          assert.is_nil(value, one.name)
          local write = one.method ~= "GET" and word ~= "fleet_status" and word ~= "pricing"
          local wanted, count = moves[word] and 1 or 3, 0
          for _, request in ipairs(server:records()) do
            count = count + (request.method == one.method and 1 or 0)
          end
          -- libcurl asks again by itself when a kept connection died: a read
          if not write and count == 4 then count = 3 end
          assert.are.equal(wanted, count, one.name)
          assert.are.equal(write and "unknown" or nil, err.outcome, one.name)
        end
        checked = checked + 1
      end
    end
    assert.is_true(checked > 120)
  end)

  it("that adds something is repeated only when the caller numbered it", function()
    for word, params in pairs {
      add_charge_schedule = { days_of_week = "all", enabled = true, start_enabled = true, start_time = 60, end_enabled = false,
        lat = 1, lon = 1 },
      add_precondition_schedule = { days_of_week = "all", enabled = true, lat = 1, lon = 1,
        precondition_time = 60 },
    } do
      local function add() return client:vehicle(vin)[word](client:vehicle(vin), params) end
      local _, count = arrivals({ { drop = true, times = 0 } }, add)
      assert.are.equal(1, count, word)
      params.id = 7
      _, count = arrivals({ { drop = true, times = 0 } }, add)
      assert.are.equal(3, count, word)
    end
  end)

  it("follows the caller's word about repeating", function()
    local car = client:vehicle(vin)
    local _, count = arrivals({ { drop = true, times = 0 } },
      function() return car:honk_horn { idempotent = true } end)
    assert.are.equal(3, count)
    local function limit() return car:set_charge_limit({ percent = 80 }, { idempotent = false }) end
    _, count = arrivals({ { drop = true, times = 0 } }, limit)
    assert.are.equal(1, count)
  end)

  it("is not repeated when it was refused", function()
    for _, status in ipairs(refusals) do
      for _, one in ipairs { { handle = "vehicle", word = "honk_horn" },
        { handle = "vehicle", word = "info" },
        { handle = "vehicle", word = "set_charge_limit", arguments = "{ percent = 80 }" } } do
        local err, count = arrivals({ { status = status, body = '{"error":"no"}', times = 0 } },
          function() return call_row(one) end)
        assert.are.equal(1, count, one.word .. " " .. status)
        assert.are.equal(one.word ~= "info" and "refused" or nil, err.outcome)
      end
    end
    for _, reason in ipairs { "no_power", "could_not_wake_buses", "operation_timedout",
      "upstream internal error" } do
      local body = cjson.encode { response = { result = false, reason = reason } }
      local _, count = arrivals({ { body = body, times = 0 } },
        function() return client:vehicle(vin):honk_horn() end)
      assert.are.equal(1, count, reason)
    end
  end)

  it("may be repeated once when a scope is said to be missing, which certainly did nothing", function()
    local err, count = arrivals({ { status = 403, body = '{"error":"Unauthorized missing scopes"}',
      times = 0 } },
      function() return client:vehicle(vin):honk_horn() end)
    assert.are.same({ "scope", "refused", 2 }, { err.kind, err.outcome, count })
  end)
end)

-- ---- tokens ----

describe("a refused token", function()
  local function signed_in()
    local store = fleet.store.memory()
    local _, wall = core.clock()
    store:put("token/default/user", cjson.encode {
      access_token = "old-access", refresh_token = "old-refresh", saved_at = wall, refreshed_at = wall,
        expires_at = wall + 3600,
    })
    return new_client { store = store, client_id = "app", auth_url = server.url }
  end
  local pair = { on = "POST /oauth2/v3/token",
    body = '{"access_token":"new-access","refresh_token":"new-refresh","expires_in":3600}' }

  local function paths()
    local list = {}
    for _, request in ipairs(server:records()) do
      list[#list + 1] = string.match(request.path, "[^/]+$") .. " " .. tostring(request.headers.authorization)
    end
    return list
  end

  it("is renewed once, and the command repeated once", function()
    local own <close> = signed_in()
    server:script { pair, { status = 401, body = "" }, { body = fine, times = 0 } }
    assert(own:vehicle(vin):honk_horn())
    assert.are.same({ "honk_horn Bearer old-access", "token nil", "honk_horn Bearer new-access" }, paths())
  end)

  it("that stays refused is auth after one renewal", function()
    local own <close> = signed_in()
    server:script { pair, { status = 401, body = "", times = 0 } }
    local _, err, kind = own:vehicle(vin):honk_horn()
    assert.are.same({ "auth", "refused" }, { kind, err.outcome })
    assert.are.equal(3, #paths())
  end)

  it("does not make a command repeat that broke after the renewal", function()
    local own <close> = signed_in()
    server:script { pair, { status = 401, body = "" }, { drop = true, times = 0 } }
    local _, err = own:vehicle(vin):honk_horn()
    assert.are.equal("unknown", err.outcome)
    assert.are.equal(3, #paths())
  end)

  it("that the caller gave is not renewed", function()
    local err, count = arrivals({ { status = 401, body = "", times = 0 } },
      function() return client:vehicle(vin):honk_horn() end)
    assert.are.same({ "auth", "refused", 1 }, { err.kind, err.outcome, count })
  end)
end)

-- ---- waking ----

describe("waking", function()
  local asleep = { on = "POST /api/1/vehicles/" .. vin .. "/command", status = 408,
    body = '{"error":"vehicle unavailable: vehicle is offline or asleep"}' }
  local woken = { on = "POST /api/1/vehicles/" .. vin .. "/wake_up", times = 0,
    body = '{"response":{"state":"asleep"}}' }

  -- The car is looked for in the free list first; what the list does not hold is looked at itself.
  local list = { on = "GET /api/1/products", times = 0, body = '{"response":[],"count":0}' }

  local function look(state, times)
    return { on = "GET /api/1/vehicles/" .. vin, times = times or 0, body = '{"response":{"state":"' ..
      state .. '"}}' }
  end

  local function counted()
    local counts = { honk_horn = 0, wake_up = 0, look = 0 }
    for _, request in ipairs(server:records()) do
      local word = string.match(request.path, "([%l_]+)$") or "look"
      if word ~= "products" then counts[word] = (counts[word] or 0) + 1 end
    end
    return counts
  end

  local function honk(options) return client:vehicle(vin):honk_horn(options) end

  it("is not done unless the call says so", function()
    server:script { twice(asleep), woken, list, look "online" }
    local _, err = honk()
    assert.are.same({ "asleep", "refused" }, { err.kind, err.outcome })
    assert.are.same({ honk_horn = 1, wake_up = 0, look = 0 }, counted())
  end)

  it("ends when the vehicle is online; the refused command is then sent, once", function()
    server:script { asleep, woken, list, look("asleep", 2), look "online", { body = fine, times = 0 } }
    assert(honk { wake = true })
    assert.are.same({ honk_horn = 2, wake_up = 1, look = 3 }, counted())
  end)

  it("does not make a command repeat that broke after it", function()
    server:script { asleep, woken, list, look "online", { drop = true, times = 0 } }
    local _, err = honk { wake = true }
    assert.are.equal("unknown", err.outcome)
    assert.are.same({ honk_horn = 2, wake_up = 1, look = 1 }, counted())
  end)

  it("is tried once for a vehicle that falls asleep again", function()
    server:script { twice(asleep), woken, list, look "online" }
    local _, err = honk { wake = true }
    assert.are.same({ "offline", "refused" }, { err.kind, err.outcome }) -- it was just seen online
    assert.are.same({ honk_horn = 2, wake_up = 1, look = 1 }, counted())
  end)

  it("does not follow a command that may have been done", function()
    for _, rule in ipairs { { status = 500, body = '{"error":"vehicle is asleep"}', times = 0 },
      { status = 408, body = '{"error":"vehicle unavailable: no answer"}', times = 0 } } do
      server:script { look("asleep", 1) }
      assert(client:vehicle(vin):info())
      server:script { woken, list, look "online", rule }
      local _, err = honk { wake = true }
      assert.are.equal("unknown", err.outcome)
      assert.are.same({ honk_horn = 1, wake_up = 0, look = 0 }, counted())
    end
  end)

  it("that fails leaves the command refused, with what stopped it", function()
    for _, rule in ipairs { { on = "POST /api/1/vehicles/" .. vin .. "/wake_up", status = 429, body = "",
      times = 0 },
      { on = "POST /api/1/vehicles/" .. vin .. "/wake_up", status = 403, body = "", times = 0 } } do
      server:script { twice(asleep), rule }
      local _, err = honk { wake = true }
      assert.are.equal("refused", err.outcome)
      assert.are.same({ honk_horn = 1, wake_up = 1, look = 0 }, counted())
    end
  end)

  it("by itself is one call, and breaks like one", function()
    local _, count = arrivals({ { drop = true, times = 0 } },
      function() return client:vehicle(vin):wake_up() end)
    assert.are.equal(1, count)
  end)

  it("waits until the vehicle is online, or says which state it was in last", function()
    server:script { woken, list, look("asleep", 3), look("offline", 1), look "online" }
    assert.is_true(client:vehicle(vin):wake { timeout = 1e5 })
    assert.are.same({ honk_horn = 0, wake_up = 1, look = 5 }, counted())
    server:script { woken, list, look "offline" }
    local value, err, kind = client:vehicle(vin):wake { timeout = 20 }
    assert.is_nil(value)
    assert.are.same({ "offline", "offline" }, { kind, err.state })
    server:script { woken, list, look "asleep" }
    value, err, kind = client:vehicle(vin):wake { timeout = 20 }
    assert.is_nil(value)
    assert.are.same({ "asleep", "asleep" }, { kind, err.state })
  end)

  it("is one wake for all who wait", function()
    server:script { woken, list, look("asleep", 2), look "online" }
    local results = fleet.run(function()
      return fleet.map({ 1, 2, 3, 4 }, function() return client:vehicle(vin):wake { timeout = 1e5 } end)
    end)
    for _, result in ipairs(results) do assert.is_true(result.ok) end
    assert.are.equal(1, counted().wake_up)
  end)
end)

-- ---- cancelling ----

describe("what a server says unasked", function()
  local refused = '{"response":{"result":false,"reason":"not_now"}}'
  local unasked = "HTTP/1.1 200 OK\r\nContent-Length: " .. #fine .. "\r\n\r\n" .. fine

  local function wait(turns)
    server:wait_unasked(1, turns and fleet.loop.step or function() end)
    for _ = 1, turns and 8 or 0 do fleet.loop.step() end
  end

  for _, turns in ipairs { false, true } do
    it("is not taken for the next command's answer" .. (turns and ", with turns of the loop" or ""), function()
      server:script { { on = "GET", unasked = unasked }, { on = "POST", body = refused } }
      client:vehicle(vin):info()
      wait(turns)
      local result, err = client:vehicle(vin):honk_horn()
      assert.is_nil(result)
      assert.are.equal("refused", err.outcome)
      assert.are.equal(2, #server:records())
    end)
  end

  it("costs no single-use token pair", function()
    local late = "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    for _, turns in ipairs { false, true } do
      local store = assert(require("fleet.store").memory())
      local _, wall = core.clock()
      assert(store:put("token/default/user", core.json_encode {
        access_token = "a0", refresh_token = "r0", saved_at = wall, refreshed_at = wall, expires_at = wall + 9000,
      }))
      local account = new_client { client_id = "app", store = store, auth_url = server.url, token_url = server.url }
      server:script {
        { on = "GET", unasked = late },
        { on = "POST", body = '{"access_token":"a1","refresh_token":"r1","expires_in":28800}' },
        { on = "POST", status = 401, body = '{"error":"login_required"}', times = 0 },
      }
      account:vehicle(vin):info()
      wait(turns)
      assert.is_true(account:refresh())
      assert.are.equal(2, #server:records())
      account:close()
    end
  end)
end)

describe("a cancelled task", function()
  it("whose command is on the wire ends as cancelled, outcome unknown, sent once", function()
    server:script { { on = "POST", silent = true, times = 0 } }
    local err, kind
    fleet.run(function()
      local task = fleet.spawn(function()
        local _
        _, err, kind = client:vehicle(vin):honk_horn()
      end)
      repeat fleet.sleep(0.01) until #server:records() == 1
      task:cancel()
      pcall(task.wait, task)
    end)
    assert.are.same({ "cancelled", "unknown" }, { kind, err.outcome })
    assert.are.equal(1, #server:records())
  end)
end)

describe("drain", function()
  it("reports what stayed unknown", function()
    fleet.drain()
    server:script { { drop = true, times = 0 } }
    client:vehicle(vin):honk_horn()
    client:vehicle(vin):info()
    local unknown = assert(fleet.drain())
    assert.are.equal(1, #unknown)
    assert.are.equal("unknown", unknown[1].outcome)
    assert.are.equal(0, #fleet.drain())
  end)
end)
