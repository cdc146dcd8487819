-- A rehearsal runs automations over weeks of simulated time in a few seconds, without a network.
--
-- The simulator's service runs in this process, and the client reaches it through its `http` option: all code between them is the code that
-- talks to the real service. The loop's clock is virtual: it advances when all tasks wait. The people of the house (habits) plug in, leave
-- and give commands at local times.

local core = require "fleet.core"
local calendar = require "fleet.automation.local_time"
local check_options = require "fleet.util.check_options"
local clock = require "fleet.sim.rehearsal.clock"
local cost = require "fleet.automation.cost"
local errors = require "fleet.util.errors"
local habits = require "fleet.sim.rehearsal.habits"
local measure = require "fleet.sim.rehearsal.measure"
local tables = require "fleet.util.tables"
local service = require "fleet.sim.rehearsal.service"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = { vin = service.vin, site = service.site, serve = service.serve }

local sample_every, idle_every = 300, 900 -- seconds; the shortest period of a published price is a quarter hour

local function act(stage, entry)
  if entry.habit == "ready" then return measure.ready(stage) end
  habits.act(stage, entry)
  if stage.stream then stage.stream:tick() end
end

-- Seconds until the next sample: a car that does not charge, and will not start by itself, needs fewer samples.
local function until_sample(stage)
  local passed = clock.now() - stage.from
  local idle = idle_every - passed % idle_every
  return measure.is_idle(stage, idle) and idle or sample_every - passed % sample_every
end

-- The task of the habits: sleeps from one action to the next, and takes samples in between.
local function live(stage, list)
  for _, entry in ipairs(list) do
    while clock.now() < entry.at do
      clock.sleep(math.max(0.001, math.min(entry.at - clock.now(), until_sample(stage))))
      measure.energy(stage)
    end
    act(stage, entry)
  end
end

-- ---- the rehearsal ----

local known = {
  "automation", "from", "days", "zone", "vehicle", "energy_site", "habits", "tariff", "ready_by", "store", "http",
  "start", "stream",
}

local function check(given)
  check_options.names("rehearse", "option", given, known)
  if type(given.automation) ~= "function" then errors.usage("rehearse: 'automation' must be a function(car, site, client)") end
  local tariff = given.tariff
  if type(tariff) == "table" and not tariff:time_zone() then errors.usage("rehearse: 'tariff' needs a time_zone") end
  if tasks.current() then errors.usage("rehearse: it brings its own time, call it outside of tasks") end
end

local function new_stage(given)
  local zone = assert(calendar.zone(given.zone))
  local from = given.start or zone:day(given.from)
  local stage = {
    zone = zone, from = from, calls = {}, commands = {}, samples = {}, ready = {}, notes = {}, refused = {},
    looks = {},
    kwh = 0, sun_kwh = 0,
    charged = 0, measured = from, tariff = given.tariff,
  }
  local last = core.days_date(core.date_days(calendar.date(zone, from)) + given.days)
  stage.to = zone:day(last)
  return stage
end

local function fill(stage, given)
  stage.service = service.new(given)
  stage.car, stage.site = stage.service.vehicles[1], stage.service.sites[1]
  stage.car.sections.vehicle_config.utc_offset = stage.zone:offset(math.floor(stage.from))
  function stage.event(name, more)
    require("fleet.sim.control").event(stage.service, name, stage.car.vin, more)
  end
end

local function add_ready(stage, given, list)
  if not given.ready_by then return list end
  local at = stage.from
  while true do
    at = calendar.next(stage.zone, at, calendar.minutes(given.ready_by))
    if at >= stage.to then break end
    list[#list + 1] = { at = at, habit = "ready", order = 0 } -- before the actions of that minute
  end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
  return list
end

-- Starts the stream of the cars to the client's receiver. What they send counts as signals.
local function start_stream(stage, given)
  if not given.stream then return nil end
  local config = given.stream
  if type(config) == "string" then config = require("fleet.telemetry.templates").config(config) end
  stage.stream = require("fleet.sim.rehearsal.stream").of_client(stage.service, stage.client, config)
  tasks.spawn(function() stage.stream:run() end)
end

local function run_all(stage, given, automations)
  local running = {}
  local list = add_ready(stage, given, habits.agenda(stage, given))
  list[#list + 1] = { at = stage.to, habit = { "00:00", function() end } }
  for i, automation in ipairs(automations) do
    running[i] = tasks.spawn(function()
      assert(automation:run {
        progress = function(text) stage.notes[#stage.notes + 1] = { at = clock.now(), by = automation.config.name, text = text } end,
      })
    end)
  end
  local ok, failure = pcall(live, stage, list)
  for _, automation in ipairs(automations) do automation:stop() end
  if stage.stream then stage.stream:close() end
  for _, task in ipairs(running) do task:wait() end
  if not ok then error(failure, 0) end
end

local function report_of(stage)
  if stage.stream then stage.calls.signal = stage.stream.signals end
  return setmetatable({
    zone = stage.zone, from = stage.from, to = stage.to, kwh = stage.kwh, sun_kwh = stage.sun_kwh,
    grid_kwh = stage.kwh - stage.sun_kwh,
    price = stage.price, currency = stage.currency, calls = stage.calls, usd = cost.usd(stage.calls), refused = stage.refused,
    commands = stage.commands, ready = stage.ready, looks = stage.looks,
    samples = stage.samples, notes = stage.notes,
  }, require("fleet.sim.rehearsal.report"))
end

--- The car, the site and the clock of a rehearsal without automations, for callers from another process. stage.reach(at) advances time
--- until then; stage.finish() advances it to the end and returns the report. given: as for run.
function M.stage(given)
  local options = tables.add({ days = 31, zone = "Europe/Berlin", habits = {} }, given)
  local stage, loop = new_stage(options), tasks.loop
  local real, at = loop.clock, stage.from
  loop.clock = function() return 1000 + at - stage.from, at end
  fill(stage, options)
  local list, following = add_ready(stage, options, habits.agenda(stage, options)), 1
  local function pass(to)
    while at < to do
      at = math.min(to, at + sample_every - (at - stage.from) % sample_every)
      measure.energy(stage)
    end
  end
  function stage.reach(to)
    while list[following] and list[following].at <= to do
      local entry = list[following]
      following = following + 1
      pass(entry.at)
      act(stage, entry)
    end
    pass(to)
  end
  function stage.finish()
    stage.reach(stage.to)
    loop.clock = real
    return report_of(stage)
  end
  return stage
end

--- Rehearses automations. Returns a report, see lua/fleet/sim/rehearsal/report.lua. Raises the first error. given:
---   automation = function(car, site, client) that returns one or a list of them; an empty list shows the car without automations
---   from = "2026-03-01", days = 31, zone
---   habits = list of { "17:45", action, days = "mon-fri", date =, miles = }
---   vehicle, energy_site: members of the simulator's garage
---   tariff: prices of energy from the grid
---   ready_by: the time of day at which the level is recorded
---   stream: the name of a template, or the telemetry configuration by which the car streams
--- is_automation(value) distinguishes one automation from a list.
function M.run(given, is_automation)
  check(given)
  local options = tables.add({ days = 31, zone = "Europe/Berlin", habits = {} }, given)
  local stage = new_stage(options)
  local restore = clock.install(stage.from)
  local ok, failure = pcall(function()
    fill(stage, options)
    tasks.run(function()
      local client = service.client(stage, options)
      stage.client = client
      local made = options.automation(client:vehicle(M.vin), client:energy_site(M.site), client)
      start_stream(stage, options)
      run_all(stage, options, is_automation(made) and { made } or made)
      client:close()
    end)
  end)
  restore()
  if not ok then error(failure, 0) end
  return report_of(stage)
end

return M
