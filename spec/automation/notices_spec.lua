-- Notifications: each hook reports an event to a person once, and a dry run reports nothing.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local notify_command = require "fleet.cli.notify_command"

-- Days in which nobody sees the car come; events of every run of the automation.
local function notified(options, run_options, runs)
  local events = {}
  local automation
  local habits = { { "07:30", "leave", miles = 70 }, { "17:45", "plug", start = false } }
  local outages = { { "17:30", "service_down" }, { "18:30", "service_up" } }
  local vehicle = { charge_state = { battery_level = 40, charge_limit_soc = 80 } }
  months.of { days = 3, habits = habits, also = outages, vehicle = vehicle, automation = function(car)
    local given = { car = car, ready_by = "07:00", level = 80, tariff = months.tariff, schedules = false, look_every = 7200,
      notify = function(event) events[#events + 1] = event end }
    for name, value in pairs(options or {}) do given[name] = value end
    automation = fleet.automation.charge_by(given)
    fleet.spawn(function()
      for _ = 1, runs or 1 do
        fleet.spawn(function()
          fleet.sleep(30 * 3600 / (runs or 1))
          automation:stop()
        end)
        assert(automation:run(run_options))
      end
    end)
    return {}
  end }
  return events
end

describe("a notification", function()
  it("has a sentence, a severity and a key, and says what it is about", function()
    local event
    for _, one in ipairs(notified()) do event = event or string.find(one.key, "^unseen") and one end
    assert.matches("^it is not known whether the car is plugged in", event.text)
    assert.equal("warning", event.severity)
    assert.equal("unseen 2026-03-02", event.key)
    assert.equal("charge_by", event.automation)
    assert.equal("5YJSFLEE9KF000002", event.subject)
    assert.is_number(event.at)
  end)

  it("is sent once per key, also when the automation is stopped and run again", function()
    local seen = {}
    for _, event in ipairs(notified(nil, nil, 3)) do
      assert.is_nil(seen[event.key], event.key)
      seen[event.key] = true
    end
    assert.is_true(seen["unseen 2026-03-02"])
  end)

  it("goes to the hook of run as well, and a hook that raises ends nothing", function()
    local count = 0
    local events = notified({ notify = function() error("no mail today") end }, { notify = function() count = count + 1 end })
    assert.same({}, events)
    assert.is_true(count > 0)
  end)

  it("is none in a dry run", function()
    assert.same({}, notified({ dry_run = true }))
  end)
end)

describe("the shell command for a notification", function()
  local event = { text = "it's $(touch here)\n`x`", severity = "warning", key = "k", automation = "a", subject = "s" }

  it("gets the text in its environment, where it is no code", function()
    local line = string.gsub(notify_command.line("printf %s \"$FLEET_TEXT|$FLEET_SEVERITY\"", event), " </dev/null.*$", "")
    local pipe = assert(io.popen(line))
    assert.equal("it's $(touch here) `x`|warning", pipe:read("a"))
    pipe:close()
  end)

  it("is not waited for", function()
    assert.matches("&$", notify_command.line("sleep 100", event))
  end)
end)

describe("what was decided", function()
  it("is known after a restart, with the next read, and is reported again", function()
    local before, after, said = nil, nil, {}
    months.of { days = 1, habits = { { "00:10", "plug" } }, automation = function(car)
      local given = { car = car, ready_by = "07:00", tariff = months.tariff, schedules = false }
      local first, second = fleet.automation.charge_by(given), fleet.automation.charge_by(given)
      fleet.spawn(function()
        fleet.sleep(3600)
        assert(first:run { once = true })
        before, after = first:status(), second:status()
        fleet.spawn(function()
          fleet.sleep(1)
          second:stop()
        end)
        assert(second:run { progress = function(text) said[#said + 1] = text end })
      end)
      return {}
    end }
    assert.is_string(before.why)
    assert.is_number(before.next_look)
    for _, name in ipairs { "why", "why_at", "next_look", "why_text", "next_text" } do assert.equal(before[name], after[name]) end
    assert.same({ before.why }, said)
  end)
end)

describe("a run that happens once", function()
  it("does what is due and ends, and the next one goes on where it stood", function()
    local ended = {}
    local report = months.of { days = 1, habits = { { "00:10", "plug" } }, start = fleet.time("2026-03-02T00:00:00+01:00"),
      vehicle = { charge_state = { battery_level = 60, charge_limit_soc = 80, charge_current_request_max = 16 } },
      automation = function(car)
        local own = fleet.automation.charge_by { car = car, ready_by = "07:00", tariff = months.tariff, schedules = false }
        fleet.spawn(function()
          for i = 1, 3 do
            fleet.sleep(1200)
            ended[i] = own:run { once = true }
          end
        end)
        return {}
      end }
    assert.same({ true, true, true }, ended)
    assert.is_true(report.calls.data <= 4, tostring(report.calls.data))
  end)
end)

it("what an earlier version has notified is not notified again", function()
  local states = require "fleet.automation.state"
  assert.equal(5, states.with_own_memory({ told = { storm = 5 } }).notified.storm)
  assert.is_nil(states.with_own_memory({ told = { storm = 5 }, notified = {} }).notified.storm)
end)
