-- surplus_charge without a reading of the site that holds: missing values and old ones are not known, and nothing is bought on them.

local damage = require "spec.support.fixtures.damage"
local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local seam = require "spec.support.fixtures.host_http"

local now = fleet.time "2026-06-10T10:00:00Z"

local function names(decision)
  local list = {}
  for _, action in ipairs(decision.actions) do list[#list + 1] = action.call end
  return table.concat(list, " ")
end

-- One decision with these readings of the site; charge: members of the car's.
local function decide(live, charge, options)
  local client = seam.client "{}"
  local given = { car = client:vehicle(seam.vin), site = client:energy_site "1234567890", zone = "UTC", max_amps = 16, min_on = 0,
    min_off = 0, steady = 0 }
  for name, value in pairs(options or {}) do given[name] = value end
  local seen = { charging_state = "Stopped", charge_current_request = 16, charge_current_request_max = 16, battery_level = 50,
    charge_limit_soc = 80 }
  for name, value in pairs(charge or {}) do seen[name] = value end
  live.timestamp = live.timestamp or "2026-06-10T10:00:00Z"
  local decision = fleet.automation.surplus_charge(given):step(now, {
    seen = { info = { state = "online" }, charge_state = seen, live_status = live },
    at = { info = now, charge_state = now, live_status = now },
  })
  client:close()
  return names(decision), decision.why, decision
end

local charging = { charging_state = "Charging" }

describe("a reading of the site", function()
  it("that is whole and new is used", function()
    assert.equal("charge_start", (decide { solar_power = 6000, grid_power = -5000, load_power = 1000, wall_connectors = {} }))
    assert.equal("charge_stop", (decide({ solar_power = 500, load_power = 4500, grid_power = 4000, wall_connectors = {} }, charging)))
    assert.equal("", (decide({ solar_power = 6000, grid_power = 0, wall_connectors = {} }, charging)))
  end)

  for what, case in pairs {
    ["grid_power is missing"] = { { solar_power = 500, load_power = 4500, wall_connectors = {} },
      "no reading of the grid power since Wed 10:00" },
    ["grid_power is text"] = { { solar_power = 500, grid_power = "-9000" }, "no reading of the grid power since Wed 10:00" },
    ["it is of yesterday"] = { { solar_power = 6000, grid_power = -5000, timestamp = "2026-06-09T12:00:00Z" },
      "no reading of the site since Tue 12:00" },
    ["it is five hours old, in another offset"] = { { solar_power = 6000, grid_power = -5000, timestamp = "2026-06-10T07:00:00+02:00" },
      "no reading of the site since Wed 05:00" },
    ["the level of the house's battery is missing"] = { { solar_power = 6000, grid_power = 0, battery_power = -5000 },
      "no reading of the home battery's level since Wed 10:00", { battery_first = 80 } },
    ["the power of the house's battery is missing"] = { { solar_power = 6000, grid_power = -5000, percentage_charged = 30 },
      "no reading of the home battery's power since Wed 10:00" },
  } do
    it("starts nothing, and stops what charges, where " .. what, function()
      local sent, why, decision = decide(case[1], nil, case[3])
      assert.equal("", sent)
      assert.equal("waits: " .. case[2], why)
      assert.equal(1, #decision.notices)
      sent, why = decide(case[1], charging, case[3])
      assert.equal("charge_stop", sent)
      assert.equal("charging stops: " .. case[2], why)
    end)
  end

  it("without the car's own amps is none while it charges, when no connector reports its power", function()
    local fields = { charging_state = "Charging", charge_current_request = "16" }
    local _, why = decide({ solar_power = 6000, grid_power = -500, wall_connectors = {} }, fields)
    assert.matches("^charging stops: no reading of the car's charging power", why)
    local live = { solar_power = 6000, grid_power = -500, wall_connectors = { { vin = seam.vin, wall_connector_power = 3000 } } }
    assert.matches("^charging with", select(2, decide(live, fields)))
  end)

  it("that is minutes old is used, and so is one without a time of its own", function()
    assert.equal("charge_start", (decide { solar_power = 6000, grid_power = -5000, timestamp = "2026-06-10T09:50:00Z" }))
    assert.equal("charge_start", (decide { solar_power = 6000, grid_power = -5000, timestamp = "when" }))
  end)

  it("of the battery counts where it goes first", function()
    local live = { solar_power = 6000, grid_power = 0, battery_power = -5000, percentage_charged = 30 }
    local sent, why = decide(live, nil, { battery_first = 80 })
    assert.equal("", sent)
    assert.matches("it leaves 0 W over", why)
    live.percentage_charged = 90
    assert.equal("charge_start", (decide(live, nil, { battery_first = 80 })))
  end)

  it("is waited for as long as a lack of sun is: steady and min_on hold", function()
    local sent, why = decide({ solar_power = 500 }, charging, { steady = 300 })
    assert.equal("", sent)
    assert.matches("^no reading of the grid power since Wed 10:00; charging stops if that lasts$", why)
  end)
end)

describe("a day on which the site falls silent", function()
  local gone = fleet.time "2026-06-10T12:00:00+02:00"

  -- spoil(body): what the site answers from then on.
  local function day(spoil)
    local notified = {}
    local report = damage.while_spoilt(function(body, path)
      local _, at = fleet.loop.clock()
      if path == "live_status" and at >= gone then return spoil(body) end
    end, function()
      return months.of { from = "2026-06-10", days = 1, habits = { { "06:00", "plug", start = false } }, tariff = false, ready_by = false,
        vehicle = { charge_state = { battery_level = 20, charge_limit_soc = 90, charge_current_request_max = 16 } },
        automation = function(car, site)
          return fleet.automation.surplus_charge { car = car, site = site, zone = "Europe/Berlin", wake = true,
            notify = function(event) notified[#notified + 1] = event.text end }
        end }
    end)
    return report, table.concat(notified, "\n")
  end

  local last
  for what, spoil in pairs {
    ["leaves grid_power out"] = function(body) return damage.named(body, { grid_power = "absent" }) end,
    ["gives null for it"] = function(body) return damage.named(body, { grid_power = damage.null }) end,
    ["repeats its last reading"] = function(body) last = last or body return last end,
    ["fails"] = function() return { status = 503, headers = {}, body = "" } end,
    ["gives no reply that can be read"] = function() return "{}" end,
  } do
    it("stops the car within half an hour and reports it once, when it " .. what, function()
      last = nil
      local report, notified = day(spoil)
      local stopped
      for _, command in ipairs(report.commands) do
        if command.at >= gone then
          stopped = stopped or command
          assert.equal("charge_stop", command.name)
        end
      end
      assert.is_truthy(stopped)
      assert.is_true(stopped.at - gone <= 2400, tostring(stopped.at - gone))
      assert.is_true(notified ~= "")
    end)
  end
end)
