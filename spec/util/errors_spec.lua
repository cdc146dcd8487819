-- What the caller got wrong is raised with the line of the caller's own code, through however many functions of this library.

local fleet = require "fleet"
local core = require "fleet.core"
local check_options = require "fleet.util.check_options"
local errors = require "fleet.util.errors"
local seam = require "spec.support.fixtures.host_http"
local garbage = require "spec.support.harness.garbage"

-- The text of a raise, without the place, which must be the line after the one that calls here.
local function raised(line, fn)
  local ok, message = pcall(fn)
  assert.is_false(ok)
  local place = "spec/util/errors_spec.lua:" .. line + 1 .. ": "
  assert.equal(place, string.sub(tostring(message), 1, #place))
  return string.sub(tostring(message), #place + 1), message
end

local function here()
  return debug.getinfo(2, "l").currentline
end

describe("a caller's mistake", function()
  local client, car, site

  before_each(function()
    client = seam.client { seam.done }
    car, site = client:vehicle(seam.vin), client:energy_site(12345)
  end)

  it("names the caller's line: a read, a command, a setting, a method of several requests", function()
    assert.matches("^vehicle_data: unknown parameter 'endpoint'", (raised(here(), function()
      car:vehicle_data { endpoint = {} } end)))
    assert.matches("^actuate_trunk: 'which_trunk' cannot be 'boot'", (raised(here(), function()
      car:actuate_trunk { which_trunk = "boot" } end)))
    assert.matches("^storm_mode: 'enabled' is missing", (raised(here(), function()
      site:storm_mode {} end)))
    assert.matches("^wait_telemetry_synced: unknown option 'time'", (raised(here(), function()
      car:wait_telemetry_synced { time = 3 } end)))
    assert.matches("^create_fleet_telemetry_config: ", (raised(here(), function()
      client:create_fleet_telemetry_config { vin = 3 } end)))
    assert.matches("^time_of_use_settings: a tariff is needed", (raised(here(), function()
      site:time_of_use_settings() end)))
    assert.matches("^energy_history: ", (raised(here(), function()
      site:energy_history { day = 3 } end)))
  end)

  it("names the caller's line: what makes clients, handles and other objects", function()
    assert.matches("^fleet.new: unknown option 'regoin', did you mean 'region'%?", (raised(here(), function()
      fleet.new { regoin = "eu" } end)))
    assert.matches("^vehicle: 'vin' is not a VIN", (raised(here(), function()
      client:vehicle("5YJ") end)))
    assert.matches("^call: unknown name 'honk'", (raised(here(), function()
      client:call("honk", {}) end)))
    assert.matches("^fleet.tariff.flat: 'price' must be", (raised(here(), function()
      fleet.tariff.flat { price = "x" } end)))
    assert.matches("^fleet.automation.charge_by: option 'car' is missing", (raised(here(), function()
      fleet.automation.charge_by { ready_by = "07:00" } end)))
    assert.matches("^fleet.automation: unknown automation 'charge_bye', did you mean 'charge_by'", (raised(here(), function()
      fleet.automation.charge_bye {} end)))
    assert.matches("^unknown command 'honk_hron', did you mean 'honk_horn'", (raised(here(), function()
      fleet.command("honk_hron") end)))
    assert.matches("^map: a function is needed", (raised(here(), function()
      fleet.map({}, 5) end)))
  end)

  it("names the caller's line through a throwing view and in a task", function()
    local view = fleet.throwing(client):vehicle(seam.vin)
    assert.matches("^honk_horn: unknown option 'timeuot'", (raised(here(), function()
      view:honk_horn { timeuot = 5 } end)))
    local line, message
    fleet.run(function()
      line = here() + 1
      local _, text = pcall(function() car:honk_horn { timeuot = 5 } end)
      message = text
    end)
    assert.matches("^spec/util/errors_spec%.lua:" .. line .. ": honk_horn", message)
  end)

  it("names no place when none of the caller's code is on the stack", function()
    local ok, message = coroutine.resume(coroutine.create(errors.usage), "alone")
    assert.is_false(ok)
    assert.equal("alone", message)
  end)
end)

describe("what a raise leaves behind", function()
  local function left_by(fn)
    garbage.collect()
    local before = core.live()
    for _ = 1, 10 do assert.is_false(pcall(fn)) end
    garbage.collect()
    return core.live() - before
  end

  it("is nothing, also after the server's library made boxes of the same name", function()
    local client = seam.client {}
    local function mistake() client:vehicle("5YJ") end
    assert.equal(0, left_by(mistake))
    local server = require "fleet.server"
    assert.is_false(pcall(server.new, { prot = 1 }))
    assert.equal(0, left_by(mistake))
  end)
end)

describe("an err that is raised", function()
  it("carries the caller's line, and shows it when it is not caught", function()
    local client = fleet.throwing((seam.client { { status = 404, headers = {}, body = '{"error":"not_found"}' } }))
    local text, err = raised(here(), function()
      client:vehicle(seam.vin):info() end)
    assert.equal("not_found", err.kind)
    assert.equal(err.message, text)
  end)

  it("shows its message alone when it was returned", function()
    local err = errors.new("invalid", "a text", { status = 400 })
    assert.equal("a text", tostring(err))
    assert.equal(400, err.status)
    assert.equal(nil, err.where)
  end)

  it("is returned with its kind", function()
    local value, err, kind = errors.failure("busy", "later", { outcome = "not_sent" })
    assert.equal(nil, value)
    assert.same({ "busy", "later", "not_sent", "busy" }, { err.kind, err.message, err.outcome, kind })
  end)
end)

describe("an unknown name", function()
  local many = { "alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india" }

  it("comes with what was meant", function()
    assert.equal("unknown option 'carlie', did you mean 'charlie'?", errors.unknown("option", "carlie", many))
    assert.equal("unknown option 'fox', did you mean 'foxtrot'?", errors.unknown("option", "fox", many))
  end)

  it("takes the names that a table has as keys, sorted, and names alone", function()
    assert.equal("unknown option 'x', it is one of 'a', 'b', 'c'", core.unknown("option", "x", { c = 1, a = true, b = {} }))
    assert.equal(core.unknown("option", "x", {}), core.unknown("option", "x", { nil }))
    assert.error_matches(function() core.unknown("option", "x", { [core] = true }) end, "names expected")
  end)

  it("seconds are a finite number above 0, or the default", function()
    for _, wrong in ipairs { 0, -1, 0 / 0, math.huge, "5", true } do
      assert.error_matches(function() check_options.seconds("wake", "timeout", wrong, 9) end,
        "wake: option 'timeout' must be seconds above 0")
    end
    assert.equal(0.5, check_options.seconds("wake", "timeout", 0.5, 9))
    assert.equal(9, check_options.seconds("wake", "timeout", nil, 9))
    assert.is_nil(check_options.seconds("wake", "timeout"))
  end)

  it("comes with what there is, where that is little", function()
    assert.equal("unknown option 'x', it is one of 'a', 'bc'", errors.unknown("option", "x", { bc = true, a = true }))
    assert.equal("unknown option 'bd', did you mean 'bc'?", errors.unknown("option", "bd", { "bc" })) -- the only one is named once
    assert.equal("unknown option 'bd', did you mean 'bc'? (one of 'a', 'bc')", errors.unknown("option", "bd", { "a", "bc" }))
    assert.equal("unknown option 'x': it takes none", errors.unknown("option", "x", {}))
  end)

  it("comes alone where nothing is near and there is much", function()
    assert.equal("unknown option 'zzzzzzzz'", errors.unknown("option", "zzzzzzzz", many))
    assert.equal("unknown option '" .. string.rep("x", 300) .. "'", errors.unknown("option", string.rep("x", 300), many))
  end)

  it("is none for a choice: all choices are listed", function()
    assert.equal("'trunk' cannot be 'boot', it is one of 'front', 'rear'", core.unknown_choice("trunk", "boot", { "front", "rear" }))
    assert.matches("it is one of 'alpha', .*'india'$", core.unknown_choice("letter", "zzzzzzzz", many))
    assert.equal("'letter' cannot be 'ehco', did you mean 'echo'?", core.unknown_choice("letter", "ehco", many))
  end)
end)

describe("an err in a text", function()
  it("is its message, on either side of ..", function()
    local err = core.err { kind = "timeout", message = "no answer" }
    assert.equal("failed: no answer", "failed: " .. err)
    assert.equal("no answer, twice", err .. ", twice")
    assert.equal("no answer5", err .. 5)
    assert.equal("no answerno answer", err .. err)
    local _, raised_err = pcall(errors.raise, core.err { kind = "timeout", message = "no answer" })
    assert.equal("failed: " .. tostring(raised_err), "failed: " .. raised_err)
  end)
end)
