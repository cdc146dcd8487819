-- Automations in the bridge's process. Each is an entity of its car or site: a switch, its reason as a sensor, and its plan as attributes.
-- An automation that was switched off stays off after a restart.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local things = require "fleet.mqtt.things"

local M = {}

local check_every = 30 -- seconds between checks of an automation's state

local function key(bridge)
  return "mqtt/" .. bridge.context.config.account .. "/automations"
end

-- The ids that a person switched off. When they cannot be read, no automation runs.
local function switched_off(bridge)
  local text, err, kind = bridge.context.store:get(key(bridge))
  if text == nil and kind then error(err, 0) end
  local set = text and core.json_decode(text)
  return type(set) == "table" and set or {}
end

local function keep(bridge)
  local off = {}
  for _, one in ipairs(bridge.automations) do
    if not one.on then off[one.name] = true end
  end
  local done, err = bridge.context.store:put(key(bridge), core.json_encode(off), {})
  if not done then bridge.log("automations: " .. err.message) end
end

-- ---- their states ----

local function iso(at)
  return type(at) == "number" and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(at)) or nil
end

-- The planned periods of an automation that has a plan.
local function plan_of(state)
  local plan = state.memory and state.memory.plan
  if type(plan) ~= "table" or type(plan[1]) ~= "table" then return nil end
  local list = {}
  for i, slot in ipairs(plan) do list[i] = { from = iso(slot.from), to = iso(slot.to) } end
  return list
end

local function attributes_of(one)
  local automation = one.automation
  local state = automation.state or {}
  local cost = automation:cost()
  return {
    kind = automation.kind, text = one.on and automation:explain() or nil, next_decision = iso(state.again_at),
    commands_today = state.day and state.day.commands or nil, cost = cost and cost.text, plan = plan_of(state),
  }
end

local function publish(bridge, one)
  local thing = bridge.things[one.id]
  if not thing then return end
  local data = { on = one.on, why = one.on and one.automation:explain() or "switched off" }
  local text = core.json_encode(tables.copy(attributes_of(one), data))
  if text == one.published then return end
  one.published = text
  things.learn(bridge, thing, one.section, data, bridge.now(), attributes_of(one))
end

-- ---- running ----

local function run(bridge, one)
  one.running = true
  local ran, done, err = compat.pcall(one.automation.run, one.automation, {
    progress = function() publish(bridge, one) end, notify = function(event) bridge.log(one.name .. ": " .. event.text) end,
  })
  one.running = false
  if not ran and bridge.stopped then return end
  if not ran then done, err = nil, { message = tostring(done) } end -- its error must not end the bridge
  if not done and err then bridge.log(one.name .. ": " .. err.message) end
  if not done and one.on then tasks.sleep(check_every) end -- it runs elsewhere, or the store fails
  publish(bridge, one)
end

local function keep_running(bridge, one)
  while not bridge.stopped do
    if one.on then run(bridge, one) else publish(bridge, one) end
    if not one.on then bridge.rest("automation " .. one.name, check_every) end
  end
end

local function switch(bridge, one, value)
  if value ~= "ON" and value ~= "OFF" then return nil, "'" .. tostring(value) .. "' is none of OFF, ON" end
  one.on = value == "ON"
  if not one.on and one.running then one.automation:stop() end
  bridge.spawn(function() keep(bridge) end)
  bridge.rouse("automation " .. one.name)
  publish(bridge, one)
  return true
end

-- ---- their rows ----

local function rows_of(bridge, one)
  return {
    { name = one.section, component = "switch", label = "Automation " .. one.name, from = one.section .. ".on",
      act = function(value) return switch(bridge, one, value) end },
    { name = one.section .. "_why", component = "sensor", label = "Why " .. one.name, from = one.section .. ".why" },
  }
end

--- The automations of the bridge as { automation =, id =, name =, section =, on = }; raises for a value that is none.
function M.read(given, is)
  local list, seen = {}, {}
  for _, automation in ipairs(given) do
    if not is(automation) then errors.usage("fleet.mqtt.new: option 'automations' holds something that is no automation") end
    local name = automation.config.name
    local id = name .. "/" .. automation.id
    if seen[id] then errors.usage("fleet.mqtt.new: two automations are called '%s': give one another 'name'", name) end
    seen[id] = true
    list[#list + 1] = {
      automation = automation, id = automation.id, name = name, section = "automation_" .. string.gsub(name, "[^%w]", "_"), on = true,
    }
  end
  return list
end

--- Gives a new car or site the rows of its automations.
function M.join(bridge, thing)
  thing.more = thing.more or {}
  for _, one in ipairs(bridge.automations) do
    if one.id == thing.id then
      for _, row in ipairs(rows_of(bridge, one)) do thing.more[#thing.more + 1] = row end
      one.published = nil
    end
  end
end

--- Runs them until the bridge ends.
function M.start(bridge)
  local off = switched_off(bridge)
  for _, one in ipairs(bridge.automations) do
    one.on = not off[one.name]
    bridge.spawn(function() keep_running(bridge, one) end)
  end
  while not bridge.stopped do
    for _, one in ipairs(bridge.automations) do publish(bridge, one) end
    bridge.rest("automations", check_every)
  end
end

function M.stop(bridge)
  for _, one in ipairs(bridge.automations) do
    if one.running then one.automation:stop() end
  end
end

return M
