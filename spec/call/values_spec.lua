-- A 2xx is a success only when it brings what its row promises; anything else is `protocol`, never a success and never a
-- raised Lua error.

local core = require "fleet.core"
local fleet = require "fleet"
local replies = require "spec.support.fixtures.replies"
local rows = require "fleet.call.rows"
local seam = require "spec.support.fixtures.host_http"

require "spec.support.harness.quick"(fleet)
teardown(function() fleet.drain() end) -- which keeps what is in doubt until it is asked

-- Makes the row's call with its example; every request gets the same answer.
local function call(row, body, options)
  local client = seam.client(body, { client_id = "app", client_secret = "secret" })
  local args = load("return { " .. row.example .. " }")()
  local handle = row.handle == "vehicle" and client:vehicle(seam.vin) or row.handle == "site" and client:energy_site("12345")
    or row.handle == "client" and client or client[row.handle]
  for _, argument in ipairs(args) do
    if type(argument) == "table" then argument.to = nil end -- the bytes, not a file
  end
  args[#args + 1] = options
  local value, err, kind = handle[row.method](handle, table.unpack(args))
  if row.paging ~= "no" then value, err, kind = value:collect() end
  client:close()
  return value, err, kind
end

-- A call that reads first, or that another row carries: force leaves that out.
local function options_of(row)
  if row.flags.deprecated or row.flags.setting or row.name:find("^create_fleet_telemetry_config") then return { force = true } end
end

describe("a reply", function()
  local promised = 0

  for _, row in ipairs(rows.all()) do
    if not row.flags.needs_protocol then
      it("to " .. row.name .. " is taken when it is what the row promises, and only then", function()
        local value, err = call(row, replies.fitting(row), options_of(row))
        assert.is_nil(err, tostring(err))
        assert.is_truthy(value)
        for _, body in ipairs(replies.wrong(row)) do
          local none, wrong, kind = call(row, body, options_of(row))
          assert.is_nil(none, row.name .. " " .. body)
          assert.are.equal("protocol", kind, row.name .. " " .. body)
          assert.are.equal(row.write and "unknown" or nil, wrong.outcome, row.name .. " " .. body)
          promised = promised + 1
        end
      end)
    end
  end

  it("was refused often enough for this to be a check", function() assert.is_true(promised > 20 * 100) end)

  it("of bare words is a success of a write only when it says yes", function()
    local row = rows.by_name.revoke_invitation
    assert.are.equal(true, call(row, '{"response":true}'))
    assert.are.equal("ok", call(row, '{"response":"ok"}'))
    for _, body in ipairs { '{"response":false}', '{"response":"false"}' } do
      local _, err, kind = call(row, body)
      assert.are.same({ "refused", "refused" }, { kind, err.outcome })
      _, err, kind = call(rows.by_name.backup, body)
      assert.are.same({ "refused", "refused" }, { kind, err.outcome })
    end
  end)

  it("says what it holds and what was promised", function()
    local function message(name, body)
      local _, err = call(rows.by_name[name], body)
      return err.message
    end
    assert.matches("info: the reply holds nothing instead of an object", message("info", '{"response":null}'), 1, true)
    assert.matches("info: the reply holds a list instead of an object", message("info", '{"response":[]}'), 1, true)
    assert.matches("info: the reply holds a number instead of an object", message("info", '{"response":5}'), 1, true)
    assert.matches("vehicles: the reply holds an object instead of a list", message("vehicles", '{"response":{}}'), 1, true)
    assert.matches("elements that are no records", message("products", '{"response":[{"new":1}]}'), 1, true)
  end)

  it("with nulls among its records is taken without them", function()
    assert.are.same({ { vin = "V" } }, (call(rows.by_name.products, '{"response":[null,{"vin":"V"},null]}')))
    assert.are.same({ { id = "1" } }, (call(rows.by_name.vehicles, '{"response":[null,{"id":1},null]}')))
  end)

  it("with a bare list, or nothing, is the row's member", function()
    local names = { fleet_telemetry_errors = "fleet_telemetry_errors", ["partner.fleet_telemetry_errors"] = "fleet_telemetry_errors",
      recent_alerts = "recent_alerts", release_notes = "release_notes", options = "codes",
      subscriptions_eligibility = "eligible", upgrades_eligibility = "eligible" }
    for name, member in pairs(names) do
      local row = rows.by_name[name]
      for _, format in ipairs { '{"response":%s}', "%s" } do
        assert.same({ [member] = { { name = "x" } } }, (assert(call(row, format:format '[{"name":"x"}]'))), name)
        assert.same({ [member] = {} }, (assert(call(row, format:format "[]"))), name)
      end
      assert.same({ [member] = {} }, (assert(call(row, '{"response":null}'))), name)
      assert.same({ [member] = { 1 } }, (assert(call(row, '{"response":{"' .. member .. '":[1]}}'))), name)
      assert.equal("protocol", (select(3, call(row, '{"response":5}'))))
      assert.equal("protocol", (select(3, call(row, '{"response":[5]}'))))
    end
    assert.same({}, (assert(call(rows.by_name["partner.fleet_telemetry_error_vins"], '{"response":null}'))))
    assert.same({}, (assert(call(rows.by_name["user.orders"], '{"response":null}'))))
  end)

  it("with a repeated member uses the last one", function()
    local _, _, kind = call(rows.by_name.info, '{"response":{"state":"online"},"response":null}')
    assert.are.equal("protocol", kind)
    assert.are.same({}, (call(rows.by_name.info, '{"response":[],"response":{}}')))
    _, _, kind = call(rows.by_name.info, '{"response":{},"response":[]}')
    assert.are.equal("protocol", kind)
  end)
end)

describe("what is made of several calls", function()
  local wrong = { "null", "5", '[1,"a"]', "[[]]", '{"response":null}', '{"response":5}', '{"response":[1,"a"]}',
    '{"response":[[]]}', '{"response":true}', '{"response":"x"}' }
  local uses = {
    wake = function(car) return car:wake { timeout = 1 } end,
    ["honk_horn with wake"] = function(car) return car:honk_horn { wake = true } end,
    wait_telemetry_synced = function(car) return car:wait_telemetry_synced { timeout = 1 } end,
    ["energy_history by day"] = function(_, site)
      return site:energy_history { day = "2026-03-29", time_zone = "Europe/Berlin" }
    end,
    time_of_use_settings = function(_, site)
      return site:time_of_use_settings(load("return " .. rows.by_name.time_of_use_settings.example)())
    end,
    ["operation read back"] = function(_, site)
      return site:operation({ default_real_mode = "autonomous" }, { read_back = true, timeout = 1 })
    end,
    ["vehicles in a loop"] = function(_, _, client)
      local ran, err = pcall(function()
        for car in client:vehicles() do car:close() end
      end)
      return nil, err, not ran and err.kind
    end,
    settle = function(car)
      local err = core.err { kind = "timeout", message = "m", outcome = "unknown" }
      require("fleet.call.failure").facts(err, { row = rows.by_name.door_lock, id = seam.vin })
      return car:settle(err)
    end,
  }
  for name, use in pairs(uses) do
    it("returns an error for a reply of a wrong kind: " .. name, function()
      for _, body in ipairs(name == "energy_history by day" and replies.wrong(rows.by_name.energy_history) or wrong) do
        local client = seam.client(body)
        local value, err, kind = use(client:vehicle(seam.vin), client:energy_site("12345"), client)
        assert.is_nil(value, body)
        assert.are.equal("fleet.err", (getmetatable(err) or {}).__name, body .. " " .. tostring(err))
        assert.are.equal("protocol", kind, body)
        client:close()
      end
    end)
  end
end)
