-- Rule R1 for signed commands: whatever happens between here and the vehicle, and whatever the client does about it, a trunk
-- moves at most once per call, and the result says no more than what is known. The vehicle's side counts.

local fleet = require "fleet"
local rows = require "fleet.call.rows"
local signed_world = require "spec.support.fixtures.signed_world"

-- ---- what may go wrong: fault, options; each to the handshake and to the command ----

local http_faults = {
  { "rate_limit" }, { "region" }, { "unregistered" }, { "error_500" }, { "error_502" }, { "error_504" }, { "error_540" },
  { "drop_before" }, { "revoked" }, { "executed_503" }, { "drop_after" }, { "slow", { seconds = 20 } }, { "truncated" },
  { "truncated", { cut = true } }, { "wrong_type" }, { "asleep" }, { "offline" },
}
local protocol_faults = {
  { "clock_step" }, { "clock_step", { seconds = -600 } }, { "corrupted_tag" }, { "corrupted_tag", { of = "request" } },
  { "counter_lowered" }, { "duplicated" }, { "duplicated", { of = "request" } },
  { "duplicated", { of = "request", answer = "second" } }, { "epoch_change" }, { "epoch_change", { seconds = 0 } }, { "lost" },
  { "lost", { of = "request" } }, { "no_protocol" }, { "reordered" }, { "unpaired" }, { "vehicle_key_change" },
}

local points = {}
for _, list in ipairs { http_faults, protocol_faults } do
  for _, fault in ipairs(list) do
    for _, message in ipairs { "handshake", "command" } do
      local options, detail = { message = message }, ""
      for name, value in pairs(fault[2] or {}) do
        options[name], detail = value, detail .. " " .. name .. "=" .. tostring(value)
      end
      points[#points + 1] = { name = fault[1] .. detail .. " at the " .. message, fault = fault[1], options = options }
    end
  end
end

-- ---- what the client brings along: it decides which recovery follows ----

local states = {}

function states.cold(world)
  return (world:car())
end

function states.warm(world)
  local car = world:car()
  assert(car:flash_lights())
  assert(car:door_lock())
  return car
end

-- A session of an earlier process whose counters went on without it.
function states.stale(world)
  local store = fleet.store.memory()
  local key = "session/" .. world.keys[1]:fingerprint() .. "/" .. signed_world.VIN .. "/"
  local first, client = world:car { store = store }
  assert(first:flash_lights())
  assert(first:door_lock())
  local old = { store:get(key .. "infotainment"), (store:get(key .. "vehicle_security")) }
  assert(first:flash_lights())
  assert(first:door_lock())
  client:close()
  store:put(key .. "infotainment", old[1])
  store:put(key .. "vehicle_security", old[#old])
  return (world:car { store = store })
end

-- Another machine with the same key used counters a moment ago.
function states.overtaken(world)
  local car, other = states.warm(world), world:car()
  for _ = 1, 3 do
    assert(other:flash_lights())
    assert(other:door_lock())
  end
  return car
end

-- The same, known by now and some time ago: a handshake comes first.
function states.shared(world)
  local car = states.overtaken(world)
  assert(car:set_charge_limit { percent = 60 })
  assert(car:door_lock())
  fleet.sleep(10)
  return car
end

function states.two_keys(world)
  return (world:car { key = { fleet.key.generate(), world.keys[1] } })
end

-- ---- what is asked ----

local never = 0
local calls = {
  trunk = { name = "actuate_trunk", most = 1, fn = function(car, o) return car:actuate_trunk({ which_trunk = "rear" }, o) end },
  horn = { name = "honk_horn", most = 1, fn = function(car, o) return car:honk_horn(o) end },
  lock = { name = "door_lock", most = 6, fn = function(car, o) return car:door_lock(o) end },
  limit = { name = "set_charge_limit", most = 6, fn = function(car, o) return car:set_charge_limit({ percent = 64 }, o) end },
}

-- The call of any row with the arguments of its example.
local function with_example(row)
  return function(car, options)
    local arguments = { assert(load("return " .. row.example, "=" .. row.name, "t", {}))() }
    if row.flags.idempotent_with_id then arguments[1].id = nil end
    arguments[#arguments + 1] = options
    return car[row.name](car, table.unpack(arguments))
  end
end

local function count(list, name)
  local n = 0
  for _, each in ipairs(list) do
    if each == name then n = n + 1 end
  end
  return n
end

-- What the result may say when the vehicle did it n times.
local function truth(result, err, n)
  if result then return n >= 1 or not result.changed end
  if err.outcome == "unknown" then return true end
  return n == never and (err.outcome == "refused" or err.outcome == "not_sent")
end

local function try(call, state, faults, options)
  local world = signed_world.new()
  local ran, failure = pcall(function()
    local car = states[state](world)
    world:forget()
    for _, point in ipairs(faults) do world:fault(point.fault, 1, point.options) end
    local result, err = call.fn(car, options)
    local n = count(world.ran, call.name)
    local said = result and "done" or err.kind .. ", " .. tostring(err.outcome) .. ": " .. err.message
    assert(n <= call.most, "done " .. n .. " times; the client says " .. said)
    assert(truth(result, err, n), "done " .. n .. " times; the client says " .. said)
    world.service.faults:clear()
    local again, why = car:media_toggle_playback()
    if not again then again, why = car:media_toggle_playback() end -- an answer may still be under way
    assert(again, "it never recovers: " .. tostring(why))
  end)
  world:close()
  if not ran then error(tostring(failure), 0) end
end

-- Which of many combinations run: with FLEET_ALL (`make torture`) every one, else every so many-th. The turns go on from one
-- list to the next, so that each row, fault and pair of neighbours meets some of the others.
local turn = 0
local function chosen(of)
  turn = turn + 1
  return os.getenv "FLEET_ALL" ~= nil or turn % of == 0
end

describe("a signed command", function()
  for state in pairs(states) do
    for name, call in pairs(calls) do
      it(("(%s, session %s) tells the truth after any one fault, and recovers"):format(name, state), function()
        for _, point in ipairs(points) do
          local ok, failure = pcall(try, call, state, { point })
          assert(ok, point.name .. ": " .. tostring(failure))
        end
      end)
    end
  end

  -- Which message the first fault meets, by state, and which the second one may meet. A warm session sees a handshake only
  -- while it recovers.
  local pairs_of = {
    { "trunk", "warm", "command", { handshake = true, command = true } },
    { "trunk", "cold", "handshake", { handshake = true, command = true } },
    { "trunk", "stale", "command", { command = true } },
    { "limit", "warm", "command", { command = true } },
  }
  for _, case in ipairs(pairs_of) do
    local name, state, message, others = table.unpack(case)
    it(("(%s, session %s) tells the truth after any two faults"):format(name, state), function()
      for _, first in ipairs(points) do
        for _, second in ipairs(points) do
          if first.options.message == message and others[second.options.message] and chosen(10) then
            local ok, failure = pcall(try, calls[name], state, { first, second })
            assert(ok, first.name .. ", then " .. second.name .. ": " .. tostring(failure))
          end
        end
      end
    end)
  end

  for _, row in ipairs(rows.all()) do
    if row.message and row.write and not row.flags.idempotent then
      it(("(%s, session warm) is carried out at most once whatever happens to its message"):format(row.name), function()
        local call = { name = row.name, most = 1, fn = with_example(row) }
        for _, point in ipairs(points) do
          if point.options.message == "command" and chosen(8) then
            local ok, failure = pcall(try, call, "warm", { point })
            assert(ok, point.name .. ": " .. tostring(failure))
          end
        end
      end)
    end
  end

  it("(trunk, session warm) that may wake the vehicle is carried out at most once", function()
    for _, first in ipairs(points) do
      for _, second in ipairs { { fault = "asleep", options = { message = "command" } }, { fault = "offline", options = {} } } do
        for _, list in ipairs { { first, second }, { second, first } } do
          local ok, failure = pcall(try, calls.trunk, "warm", list, { wake = true })
          assert(ok, first.name .. " and " .. second.fault .. ": " .. tostring(failure))
        end
      end
    end
  end)

  it("that may be repeated by the caller's word is done three times at most", function()
    local free = { name = "honk_horn", most = 3, fn = calls.horn.fn }
    for _, point in ipairs(points) do
      local ok, failure = pcall(try, free, "warm", { point, point, point, point }, { idempotent = true })
      assert(ok, point.name .. ": " .. tostring(failure))
    end
  end)
end)
