-- Which way a command travels and what follows a failure: the decisions alone, without a vehicle.

local core = require "fleet.core"
local fleet = require "fleet"
local rows = require "fleet.call.rows"
local status_cache = require "fleet.call.vehicle_status_cache"

local function request_of(name, ...)
  local car = fleet.new({ token = "x" }):vehicle("5YJ3E1EA7KF000001")
  return core.plan(rows.by_name[name].pointer, car, ...)
end

describe("the way of a command", function()
  local function rule(name, commands, has_key)
    return core.transport_rule(rows.by_name[name].pointer, commands, has_key)
  end

  for _, case in ipairs {
    { "honk_horn", "auto", true, { transport = "signed", by_value = false, recall = true } },
    { "honk_horn", "signed", true, { transport = "signed", by_value = false, recall = false } },
    { "honk_horn", "plain", true, { transport = "plain", by_value = false, recall = false } },
    { "honk_horn", "proxy", true, { transport = "proxy", by_value = false, recall = false } },
    { "honk_horn", "auto", false, { transport = "plain", by_value = false, recall = false } },
    { "honk_horn", "signed", false, { by_value = false, recall = false, why = 'commands = "signed" needs a key' } },
    { "sun_roof_control", "auto", true, { transport = "signed", by_value = true, recall = true } },
    { "sun_roof_control", "proxy", true, { transport = "plain", by_value = false, recall = false } },
  } do
    it(("of %s with commands = '%s' and %s"):format(case[1], case[2], case[3] and "a key" or "no key"), function()
      assert.same(case[4], rule(case[1], case[2], case[3]))
    end)
  end

  it("does not ask what is known of the vehicle where the command exists in signed form only, or is the service's own", function()
    local seen = {}
    for _, row in ipairs(rows.all()) do
      if row.flags.needs_protocol and row.message then
        assert.is_false(rule(row.name, "auto", true).recall, row.name)
        seen.needs_protocol = true
      elseif row.flags.plain_first then
        assert.equal("plain", rule(row.name, "auto", true).transport, row.name)
        seen.plain_first = true
      end
    end
    assert.same({ needs_protocol = true, plain_first = true }, seen)
  end)

  it("is one of four options", function()
    assert.error(function() rule("honk_horn", "telepathy", true) end)
  end)
end)

describe("after a refusal", function()
  local function follows(name, facts, ...)
    return core.other_transport(request_of(name, ...), facts)
  end

  local function plain(more)
    local facts = { sent = "plain", trait = "sign", commands = "auto", has_key = true }
    for k, v in pairs(more or {}) do facts[k] = v end
    return facts
  end

  local function signed(more)
    local facts = { sent = "signed", trait = "plain", commands = "auto", has_key = true }
    for k, v in pairs(more or {}) do facts[k] = v end
    return facts
  end

  it("of the plain form the signed one follows, where the vehicle wants it and the client may", function()
    assert.equal("signed", follows("honk_horn", plain()))
    assert.is_nil((follows("honk_horn", plain { trait = "by_state" })))
    assert.is_nil((follows("honk_horn", plain { sent = "proxy" })))
  end)

  it("is recognised without writing a message: a value of the plain form only is refused unchanged", function()
    local volume = { volume = 10.5 } -- the signed form ends at 10
    assert.is_nil((follows("adjust_volume", plain { trait = "by_state" }, volume)))
    assert.equal("advice", (follows("adjust_volume", plain { has_key = false }, volume)))
  end)

  it("advice follows where it may not", function()
    local function advice(...) return { select(2, follows("honk_horn", plain(...))) } end
    assert.same({ "key_not_paired", "set a key, which the owner adds at the address of client:pairing_url" }, advice { has_key = false })
    assert.same({ "key_not_paired", 'commands = "plain" forbids that; use "auto"' }, advice { commands = "plain" })
    assert.equal("unsupported", advice({ commands = "proxy" })[1])
  end)

  it("of the plain form the proxy follows, where the client has one and the command is published in plain form only", function()
    local vent = { state = "vent" }
    local function by_proxy(more)
      local facts = plain { commands = "proxy", has_key = false }
      for k, v in pairs(more or {}) do facts[k] = v end
      return (follows("sun_roof_control", facts, vent))
    end
    assert.equal("proxy", by_proxy())
    assert.is_nil(by_proxy { trait = "by_state" })
    local again = { sent = "proxy", plain_refused = true, outcome = "refused", trait = false }
    local function refused_by_it(more)
      for k, v in pairs(again) do if more[k] == nil then more[k] = v end end
      return by_proxy(more)
    end
    for _, kind in ipairs { "invalid", "not_found", "unsupported" } do
      assert.equal("neither", refused_by_it { kind = kind })
      assert.is_nil(refused_by_it { kind = kind, outcome = "unknown" })
      assert.is_nil(refused_by_it { kind = kind, outcome_unknown = true })
    end
    assert.equal("neither", refused_by_it { kind = "forbidden", trait = "sign" })
    assert.is_nil(refused_by_it { kind = "refused" })
    assert.is_nil(refused_by_it { kind = "invalid", plain_refused = false })
  end)

  it("of the signed form the plain one follows, where it certainly did nothing", function()
    assert.equal("plain", follows("honk_horn", signed()))
    assert.is_nil((follows("honk_horn", signed { outcome_unknown = true })))
    assert.equal("plain", follows("honk_horn", signed { outcome_unknown = true, idempotent = true }))
    assert.is_nil((follows("honk_horn", signed { commands = "signed" })))
    assert.equal("plain", follows("sun_roof_control", signed { commands = "signed" }, { state = "vent" }))
  end)

  it("of a fault the plain form follows for what is published in it, and where the vehicle does not know the command", function()
    local function fault(name, number, outcome, ...)
      return (follows(name, signed { trait = false, fault = number, outcome = outcome }, ...))
    end
    assert.equal("plain", fault("sun_roof_control", 9, "refused", { state = "vent" }))
    assert.is_nil(fault("sun_roof_control", 9, "unknown", { state = "vent" }))
    assert.is_nil(fault("sun_roof_control", 7, "refused", { state = "vent" }))
    assert.is_nil(fault("honk_horn", 9, "refused"))
  end)

  it("shows the form that the vehicle takes, where it is one for its next command, too", function()
    local function shown(...) return (select(4, follows(...))) end
    assert.equal("signed", shown("honk_horn", plain()))
    assert.is_nil(shown("honk_horn", plain { trait = "by_state" }))
    assert.is_nil(shown("honk_horn", plain { has_key = false }))
    local place = { type = "share_ext_content_raw", value = { ["android.intent.extra.TEXT"] = "Berlin" }, locale = "en-US",
      timestamp_ms = "1700000000000" }
    assert.equal("signed", (follows("navigation_request", plain(), place)))
    assert.is_nil(shown("navigation_request", plain(), place))
    assert.equal("plain", shown("honk_horn", signed()))
    assert.equal("plain", shown("honk_horn", signed { outcome_unknown = true }))
    assert.is_nil(shown("honk_horn", signed { plain_refused = true }))
    assert.is_nil(shown("honk_horn", signed { commands = "signed" }))
    assert.is_nil(shown("sun_roof_control", signed { trait = false, fault = 9, outcome = "refused" }, { state = "vent" }))
  end)

  it("neither form is tried a second time, but for a vehicle that was taken for one without the protocol", function()
    assert.equal("neither", follows("honk_horn", signed { plain_refused = true }))
    assert.equal("neither", follows("sun_roof_control", plain { signed_refused = true }, { state = "vent" }))
    assert.equal("signed", follows("honk_horn", plain { signed_refused = true }))
  end)
end)

describe("another message for a command", function()
  local function recovery(kind, outcome, more)
    local facts = { repeats = 0, left = 30, other_keys = false }
    for k, v in pairs(more or {}) do facts[k] = v end
    local action, seconds = core.recovery(kind, outcome, facts)
    return action and action .. " " .. seconds or "none"
  end

  for _, case in ipairs {
    { "sign 0", "protocol", "refused", { resynced = true } },
    { "none", "protocol", "refused", { resynced = true, signed_again = true } },
    { "none", "protocol", "unknown", { resynced = true } },
    { "repeat 0", "protocol", "unknown", { resynced = true, idempotent = true } },
    { "repeat 1", "timeout", "unknown", { idempotent = true } },
    { "none", "timeout", "unknown" },
    { "none", "protocol", "unknown", { idempotent = true, final = true } },
    { "repeat 0", "timeout", "not_sent", { expired = true } },
    { "repeat 1", "conflict", "not_sent" },
    { "repeat 1", "busy", "not_sent", { fault = 1 } },
    { "none", "busy", "not_sent" },
    { "repeat 1", "key_not_paired", "refused", { idempotent = true, fault = 3, other_keys = true } },
    { "none", "key_not_paired", "refused", { idempotent = true, fault = 3 } },
    { "repeat 3", "busy", "refused", { idempotent = true, retry_after = 3 } },
    { "none", "busy", "refused", { idempotent = true, retry_after = 6 } },
    { "none", "busy", "refused", { idempotent = true, retry_after = 3, left = 3 } },
    { "repeat 1", "conflict", "not_sent", { repeats = 1 } },
    { "none", "conflict", "not_sent", { repeats = 2 } },
  } do
    local named = {}
    for name, value in pairs(case[4] or {}) do named[#named + 1] = name .. " = " .. tostring(value) end
    table.sort(named)
    it(("after %s, %s { %s }: %s"):format(case[2], case[3], table.concat(named, ", "), case[1]), function()
      assert.equal(case[1], (recovery(case[2], case[3], case[4]):gsub("%.0$", "")))
    end)
  end
end)

describe("a deprecated command", function()
  local row = rows.by_name.set_scheduled_charging

  local function objection(version)
    local text = version and '{"firmware_version":"' .. version .. '"}'
    return status_cache.objection({ store = { get = function() return text end } }, row, "5YJ3E1EA7KF000001")
  end

  it("is sent to vehicles that are known to have older firmware", function()
    assert.is_nil((objection("2024.20.9")))
    assert.is_nil((objection("2024.3")))
  end)

  it("is objected to for any other, with what to use instead", function()
    local use = ". Use add_charge_schedule, or force = true"
    local from = "from firmware 2024.26 on it adds a schedule with every call; "
    assert.equal(from .. "the vehicle has 2024.26" .. use, objection("2024.26"))
    assert.equal(from .. "the vehicle has Unknown" .. use, objection("Unknown"))
    assert.equal(from .. "its firmware is not known here: call fleet_status first" .. use, objection(nil))
  end)
end)
