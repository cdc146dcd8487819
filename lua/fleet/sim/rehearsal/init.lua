-- A rehearsal: automations over weeks of simulated time, in seconds, without a network.
--
-- The simulator's service runs in this process and the client reaches it through its `http` option, so that everything
-- between is what runs against the real service. The loop's clock is virtual: it passes when everybody waits. The people
-- of the house (habits) plug in, leave and interfere by the local clock.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local calendar = require "fleet.automation.local_time"
local cost = require "fleet.automation.cost"
local members = require "fleet.util.tables"
local check_options = require "fleet.util.check_options"
local tasks = require "fleet.async.task"

local M = {}

local sample_every = 300
local base, auth_host, token_host = "http://127.0.0.1:1", "http://127.0.0.1:2", "http://127.0.0.1:3"
local vin = "5YJSFLEE9KF000002"
M.vin, M.site = vin, "1000001"

-- ---- time ----

local function install_clock(start)
  local loop = tasks.loop
  local clock, wait, passed = loop.clock, loop.wait, 0
  loop.clock = function() return 1000 + passed, start + passed end
  loop.wait = function(seconds)
    if not seconds then return wait(0.02) end
    if seconds > 0 then passed = passed + seconds end
  end
  return function() loop.clock, loop.wait = clock, wait end
end

local function now()
  local _, wall = tasks.loop.clock()
  return wall
end

-- ---- the service in this process ----

local function zone_offsets()
  return function(name, at)
    return assert(calendar.zone(name)):offset(at)
  end
end

local function garage_of(given)
  local car = {
    vin = vin, vehicle_command_protocol_required = false, sleep_after = 900, display_name = "Rehearsal",
    charge_state = { battery_level = 60, charge_limit_soc = 80, charge_current_request = 16, charge_current_request_max = 16 },
  }
  members.add(car, given.vehicle)
  local site = { energy_site_id = 1000001, installation_time_zone = given.zone, components = { battery = false } }
  members.add(site, given.energy_site)
  return { vehicles = { car }, energy_sites = { site } }
end

local function new_service(given)
  return require("fleet.sim.service").new {
    garage = garage_of(given), endpoints = core.endpoints(), commands = core.commands(), base_url = base, auth_url = auth_host,
    token_url = token_host, clock = function() return tasks.loop.clock() end, zone = zone_offsets(), core = core,
  }
end

local hosts = { [base] = "base", [auth_host] = "auth", [token_host] = "token" }

local function record(world, request, status, body)
  local row = request.row
  if not row or status == 401 then return end
  local at, billing = now(), row.billing or "free"
  if cost.billed(status) and billing ~= "free" then world.calls[billing] = (world.calls[billing] or 0) + 1 end
  if at >= world.to then return end
  if status >= 400 then world.refused[#world.refused + 1] = { at = at, name = row.name, status = status } end
  if not row.command and not (request.method == "POST" and world.site and string.find(request.path, "energy_sites", 1, true)) then
    return
  end
  local reply = core.json_decode(body or "")
  local response = type(reply) == "table" and type(reply.response) == "table" and reply.response or {}
  world.commands[#world.commands + 1] = {
    at = at, name = row.name, params = core.json_decode(request.body or "") or {}, status = status,
    result = response.result, reason = response.reason,
  }
end

--- Serves a request { method, url, headers, body } of a client: the `http` option. Returns what that option returns.
function M.serve(world, request)
  if world.down then return nil, "the service is down", false end
  local host, path = string.match(request.url, "^(http://[^/]+)(.*)$")
  local plain, query = string.match(path, "^([^?]*)%??(.*)$")
  local asked = {
    method = request.method, path = plain, query = query, headers = request.headers, body = request.body or "", host = hosts[host],
  }
  local status, headers, body, manner
  if asked.host == "base" then
    status, headers, body, manner = world.service:handle(asked)
    record(world, asked, status, body)
  else
    status, headers, body, manner = require("fleet.sim.auth").handle(world.service, asked)
  end
  if manner and manner.drop then return nil, "the connection was dropped", true end
  local lower = {}
  for name, value in pairs(headers or {}) do lower[string.lower(name)] = value end
  return { status = status, headers = lower, body = body or "" }
end

-- Signs in as a browser would: the page is asked for, consented to, and its way back is taken.
local function sign_in(client, http)
  local address, pending = client:authorize_url()
  local answer = assert(http { method = "GET", url = address, headers = {} })
  assert(answer.headers.location, "the authorize call gave no way back")
  assert(client:authorize(answer.headers.location, pending))
end

local function new_client(world, given)
  local http = given.http or function(request) return M.serve(world, request) end
  local options = {
    base_url = base, auth_url = auth_host, token_url = token_host, client_id = "rehearsal", client_secret = "rehearsal",
    redirect_uri = "http://localhost:1/callback", store = given.store,
    scopes = {
      "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "vehicle_charging_cmds",
      "energy_device_data", "energy_cmds",
    },
    http = http,
  }
  local client = assert(require("fleet.client").new(options))
  if not client:token_info().user then sign_in(client, http) end
  return client
end

-- ---- the people of the house ----

local deeds = {}

function deeds.plug(world, habit)
  world.event("park")
  world.event("plug", { start = habit.start })
end

function deeds.leave(world, habit)
  world.event("unplug")
  world.event("drive", { miles = habit.miles or 0 })
  world.event("park")
end

function deeds.unplug(world) world.event("unplug") end
function deeds.start_by_hand(world) require("fleet.sim.physics").start_charging(world.car) end
function deeds.stop_by_hand(world) require("fleet.sim.physics").stop_charging(world.car) end
function deeds.service_down(world) world.down = true end
function deeds.service_up(world) world.down = false end
function deeds.offline(world) world.event("offline") end
function deeds.online(world) world.event("online") end
function deeds.fault(world, habit) world.service.faults:add(habit.fault, habit.times or 1, habit) end

M.deeds = deeds

local day_sets = {
  all = "0123456", ["mon-fri"] = "12345", ["sat-sun"] = "06",
  sun = "0", mon = "1", tue = "2", wed = "3", thu = "4", fri = "5", sat = "6",
}

-- Sunday is 0.
local function holds_on(habit, date)
  if habit.date then return habit.date == date end
  local weekday = (core.date_days(date) + 4) % 7
  return string.find(day_sets[habit.days or "all"] or "", tostring(weekday), 1, true) ~= nil
end

local function check_habit(i, habit)
  local where = "rehearse: habit " .. i
  if not deeds[habit[2]] and type(habit[2]) ~= "function" then errors.unknown_name(where, "deed", habit[2], deeds) end
  if not calendar.minutes(tostring(habit[1])) then errors.usage(where .. ": the first member is a time such as \"17:30\"") end
  if habit.days and not day_sets[habit.days] then errors.unknown_name(where, "days", habit.days, day_sets) end
end

-- All that will happen, in the order of time: { at =, habit = }.
local function agenda(world, given)
  local list = {}
  for i, habit in ipairs(given.habits) do
    check_habit(i, habit)
    local at = world.from - 1
    while true do
      at = calendar.next(world.zone, at, calendar.minutes(habit[1]))
      if at >= world.to then break end
      if holds_on(habit, calendar.date(world.zone, at)) then list[#list + 1] = { at = at, habit = habit, order = i } end
    end
  end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
  return list
end

-- ---- measuring ----

local function share_of_sun(world, at, watts, seconds)
  if not world.site or watts <= 0 then return 0 end
  local energy = require "fleet.sim.energy"
  local flows = energy.flows(world.site, at, watts, seconds)
  local house = energy.house(world.site, at)
  return math.max(0, math.min(watts, flows.sun_to_load - math.min(house, flows.sun_to_load))) / watts
end

-- The price of a moment: of the tariff that was given, else of the one that the site has.
local function price_at(world, at)
  local tariff = world.tariff
  if type(tariff) == "function" then tariff = tariff(at) end
  if tariff then return tariff:price(math.floor(at)).buy.price end
  local own = world.site and world.site.info.tariff_content_v2
  return own and require("fleet.sim.tariff").price(own, at + world.zone:offset(math.floor(at))) or nil
end

-- What was charged since the last look: by the sun as far as the house left some of it, the rest is bought.
local function measure(world)
  local at = now()
  world.service:catch_up()
  local kwh = (world.car.charged_kwh or 0) - world.charged
  world.charged = world.car.charged_kwh or 0
  local seconds = at - world.measured
  if seconds > 0 then
    local sun = share_of_sun(world, world.measured, kwh * 3.6e6 / seconds, seconds)
    local price = price_at(world, world.measured)
    world.kwh, world.sun_kwh = world.kwh + kwh, world.sun_kwh + kwh * sun
    world.price = world.price + kwh * (1 - sun) * (price or 0)
    local charge = world.car.sections.charge_state
    world.samples[#world.samples + 1] = {
      at = world.measured, to = at, kwh = kwh, sun = sun, level = world.car.energy_percent, price = price,
      plugged = charge.charging_state ~= "Disconnected", limit = charge.charge_limit_soc,
    }
  end
  world.measured = at
end

local function check_ready(world)
  world.ready[#world.ready + 1] = { at = now(), level = world.car.energy_percent, plugged = world.car:cable() ~= nil }
end

local function act(world, entry)
  if entry.habit == "ready" then return check_ready(world) end
  local deed = entry.habit[2]
  if type(deed) == "function" then deed(world, entry.habit) else deeds[deed](world, entry.habit) end
end

-- The people's task: sleeps from one deed to the next, measuring on the way.
local function live(world, list)
  for _, entry in ipairs(list) do
    while now() < entry.at do
      tasks.sleep(math.max(0.001, math.min(entry.at - now(), sample_every - (now() - world.from) % sample_every)))
      measure(world)
    end
    act(world, entry)
  end
end

-- ---- the whole ----

local known = {
  "automation", "from", "days", "zone", "vehicle", "energy_site", "habits", "tariff", "ready_by", "store", "http",
  "start",
}

local function check(given)
  check_options.names("rehearse", "option", given, known)
  if type(given.automation) ~= "function" then errors.usage("rehearse: 'automation' must be a function(car, site, client)") end
  local tariff = given.tariff
  if type(tariff) == "table" and not tariff:time_zone() then errors.usage("rehearse: 'tariff' needs a time_zone") end
  if tasks.current() then errors.usage("rehearse: it brings its own time, call it outside of tasks") end
end

local function new_world(given)
  local zone = assert(calendar.zone(given.zone))
  local from = given.start or zone:day(given.from)
  local world = {
    zone = zone, from = from, calls = {}, commands = {}, samples = {}, ready = {}, notes = {}, refused = {},
    kwh = 0, sun_kwh = 0, price = 0,
    charged = 0, measured = from, tariff = given.tariff,
  }
  local last = core.days_date(core.date_days(calendar.date(zone, from)) + given.days)
  world.to = zone:day(last)
  return world
end

local function fill(world, given)
  world.service = new_service(given)
  world.car, world.site = world.service.vehicles[1], world.service.sites[1]
  function world.event(name, more)
    require("fleet.sim.control").event(world.service, name, world.car.vin, more)
  end
end

local function add_ready(world, given, list)
  if not given.ready_by then return list end
  local at = world.from
  while true do
    at = calendar.next(world.zone, at, calendar.minutes(given.ready_by))
    if at >= world.to then break end
    list[#list + 1] = { at = at, habit = "ready", order = 0 } -- before the deeds of that minute
  end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
  return list
end

local function run_all(world, given, automations)
  local running = {}
  local list = add_ready(world, given, agenda(world, given))
  list[#list + 1] = { at = world.to, habit = { "00:00", function() end } }
  for i, automation in ipairs(automations) do
    running[i] = tasks.spawn(function()
      assert(automation:run {
        progress = function(text) world.notes[#world.notes + 1] = { at = now(), by = automation.config.name, text = text } end,
      })
    end)
  end
  local ok, failure = pcall(live, world, list)
  for _, automation in ipairs(automations) do automation:stop() end
  for _, task in ipairs(running) do task:wait() end
  if not ok then error(failure, 0) end
end

local function month_of(world)
  return setmetatable({
    zone = world.zone, from = world.from, to = world.to, kwh = world.kwh, sun_kwh = world.sun_kwh,
    grid_kwh = world.kwh - world.sun_kwh,
    price = world.price, calls = world.calls, usd = cost.usd(world.calls), refused = world.refused,
    commands = world.commands, ready = world.ready,
    samples = world.samples, notes = world.notes,
  }, require("fleet.sim.rehearsal.report"))
end

--- The world of a rehearsal without the automations: for what reaches it from another process. world.reach(at) lets time
--- pass until then, world.finish() until the end and returns the month. given as for run.
function M.stage(given)
  local options = members.add({ days = 31, zone = "Europe/Berlin", habits = {} }, given)
  local world, loop = new_world(options), tasks.loop
  local clock, at = loop.clock, world.from
  loop.clock = function() return 1000 + at - world.from, at end
  fill(world, options)
  local list, following = add_ready(world, options, agenda(world, options)), 1
  local function pass(to)
    while at < to do
      at = math.min(to, at + sample_every - (at - world.from) % sample_every)
      measure(world)
    end
  end
  function world.reach(to)
    while list[following] and list[following].at <= to do
      local entry = list[following]
      following = following + 1
      pass(entry.at)
      act(world, entry)
    end
    pass(to)
  end
  function world.finish()
    world.reach(world.to)
    loop.clock = clock
    return month_of(world)
  end
  return world
end

--- Rehearses automations. given: automation = function(car, site, client) that returns one or a list of them (an empty
--- one: the car as it is); from = "2026-03-01";
--- days = 31; zone; habits = list of { "17:45", deed, days = "mon-fri", date =, miles = }; vehicle, energy_site: members of
--- the simulator's garage; tariff: what energy from the grid costs; ready_by: when the level is noted each day.
--- is_automation(value) tells one from a list. Returns a month, see lua/fleet/sim/rehearsal/report.lua. Raises what goes wrong.
function M.run(given, is_automation)
  check(given)
  local options = members.add({ days = 31, zone = "Europe/Berlin", habits = {} }, given)
  local world = new_world(options)
  local restore = install_clock(world.from)
  local ok, failure = pcall(function()
    fill(world, options)
    tasks.run(function()
      local client = new_client(world, options)
      world.client = client
      local made = options.automation(client:vehicle(vin), client:energy_site(M.site), client)
      run_all(world, options, is_automation(made) and { made } or made)
      client:close()
    end)
  end)
  restore()
  if not ok then error(failure, 0) end
  return month_of(world)
end

return M
