-- The main job, narrated: a simulated service in a process of its own, and a script that signs in, commands a vehicle and
-- looks after an energy site. `make demo` runs it.
local core = require "fleet.core"
local fleet = require "fleet"
local visitor = require "fleet.sim.test_browser"

local function say(text, ...)
  print(string.format(text, ...))
end

local function step(text)
  print()
  print("== " .. text)
end

-- ---- the simulator ----

local function temporary(text)
  local path = os.tmpname()
  local file = assert(io.open(path, "w"))
  file:write(text)
  file:close()
  return path
end

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

-- Two vehicles: one takes signed commands only and knows our key, the other is older and takes plain ones.
local function garage(key)
  return core.json_encode {
    vehicles = {
      { vin = "5YJ3FLEE9RF000001", display_name = "Pearl", keys = { hex(key:public_bytes()) },
        charge_state = { battery_level = 42, charge_limit_soc = 70, conn_charge_cable = "IEC", charging_state = "Stopped" } },
      { vin = "5YJSFLEE9KF000002", display_name = "Ruby", vehicle_command_protocol_required = false,
        charge_state = { charge_limit_soc = 70, battery_level = 31 }, vehicle_config = { utc_offset = 0 } },
    },
    energy_sites = { { energy_site_id = 1000001, site_name = "Maple Street" } },
  }
end

local function start(key)
  local path = temporary(garage(key))
  local pipe = assert(io.popen("echo $$; exec lua5.4 lua/fleet/cli/fleet sim --port 0 --garage " .. path, "r"))
  local pid = pipe:read("l")
  local addresses = assert(core.json_decode(pipe:read("l") or ""), "the simulator did not start")
  return addresses, function()
    os.execute("kill " .. pid .. " 2>/dev/null")
    pipe:close()
    os.remove(path)
  end
end

-- ---- the steps ----

local function sign_in(client)
  local address, pending = client:authorize_url { locale = "en-US" }
  say("the browser is sent to  %s...", string.sub(address, 1, 70))
  local callback = assert(visitor.consent(address))
  say("and comes back to       %s...", string.sub(callback, 1, 50))
  assert(client:authorize(callback, pending))
  local info = assert(client:token_info()).user
  say("token received: expires in %d h, to be refreshed before %s", math.floor(info.expires_in / 3600 + 0.5),
    os.date("!%Y-%m-%d", math.floor(info.refresh_by)))
end

local function outcome(result, err)
  if not result then return string.format("failed: %s [%s, %s]", err.message, err.kind, tostring(err.outcome)) end
  local how = result.via .. (result.authenticated and ", answer authenticated" or "")
  return (result.changed and "done" or "nothing to do: " .. result.reason) .. " (" .. how .. ")"
end

local function vehicles(client)
  local cars = {}
  for car, record in client:vehicles() do
    cars[#cars + 1] = car
    say("VIN %s  %-6s %s", record.vin, record.display_name, record.state)
  end
  return cars
end

local function plain(car)
  say("charge limit 80 %%:     %s", outcome(car:set_charge_limit { percent = 80 }))
  say("charge limit 80 %%:     %s", outcome(car:set_charge_limit { percent = 80 }))
  say("horn:                  %s", outcome(car:honk_horn()))
  local ok, mistake = pcall(function() return car:set_charge_limit { percnt = 80 } end)
  say("a misspelt parameter: %s", ok and "not noticed!" or string.gsub(mistake, "^.-: ", ""))
end

local function signed(car, unsigned)
  say("unsigned horn:         %s", outcome(unsigned:honk_horn()))
  local result, err = car:honk_horn()
  say("signed horn:           %s", outcome(result, err))
  local limit = assert(car:set_charge_limit { percent = 80 })
  say("signed charge limit:   %s", outcome(limit))
end

-- A program that can sign nothing, here curl, before a proxy that can.
local function proxied(client)
  local socket, answer, path = os.tmpname(), temporary "", "/api/1/vehicles/5YJ3FLEE9RF000001/command/honk_horn"
  os.remove(socket)
  local proxy = assert(require("fleet.proxy").new { client = client, listen = "unix:" .. socket })
  os.execute("curl -s --unix-socket " .. socket .. " -X POST http://localhost" .. path .. " >" .. answer .. " &")
  repeat
    fleet.sleep(0.02)
    local text = io.lines(answer)()
  until text
  say("curl, POST %s\nis answered %s", path, io.lines(answer)())
  proxy:close()
  os.remove(answer)
end

local function energy(client)
  local site = client:energy_site(1000001)
  local live = assert(site:live_status())
  say("energy now: solar %.0f W, load %.0f W, battery %.0f W, grid %.0f W, charged %.0f %%", live.solar_power, live.load_power,
    live.battery_power, live.grid_power, live.percentage_charged)
  say("backup reserve 30 %%:   %s", assert(site:backup({ backup_reserve_percent = 30 }, { read_back = true })).message)
end

local function period(first, last)
  return { periods = { { fromDayOfWeek = 0, toDayOfWeek = 6, fromHour = first, fromMinute = 0, toHour = last, toMinute = 0 } } }
end

local function tariffs()
  local year = { fromMonth = 1, fromDay = 1, toMonth = 12, toDay = 31 }
  year.tou_periods = { ON_PEAK = period(16, 21), OFF_PEAK = period(21, 15) }
  local t = {
    utility = "Maple Power", name = "Evening peak", currency = "EUR", seasons = { Year = year },
    energy_charges = { Year = { rates = { ON_PEAK = 0.41, OFF_PEAK = 0.22 } } }, demand_charges = {},
  }
  local found = fleet.tariff.check(t)
  say("%s", (string.gsub(fleet.tariff.explain(found), "%s+$", "")))
  say("nothing is sent. The off-peak period ends an hour early; the corrected tariff:")
  year.tou_periods.OFF_PEAK = period(21, 16)
  local mended = assert(fleet.tariff.new(t))
  print((mended:text()))
end

-- A night and a day of the simulated world, hour by hour: it is evening, the car is plugged in, a schedule waits for the cheap hours.
local function charging_day(client, addresses)
  local vin = "5YJSFLEE9KF000002"
  local car = client:vehicle(vin)
  local tariff = assert(fleet.tariff.from_rows { name = "Night", utility = "Maple Power", currency = "EUR", prices = {
    0.18, 0.18, 0.18, 0.18, 0.18, 0.18, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.31, 0.42, 0.42, 0.42, 0.42,
    0.42, 0.31, 0.31 } })
  local function control(order) return assert(visitor.control(addresses, order)) end
  local function local_time(seconds) return os.date("!*t", math.floor(seconds)) end

  local world = control { event = "plug", vin = vin, start = false }
  local bill = world.billing.usd
  world = control { advance = (17.5 * 3600 - world.now) % 86400 }
  assert(car:add_charge_schedule { id = 1, days_of_week = { "all" }, enabled = true, start_enabled = true, start_time = 30,
    end_enabled = true, end_time = 6 * 60, lat = 52.5, lon = 13.4 })
  say("17:30: plugged in. The car's own schedule charges it to 80 %% from 00:30, when energy is cheap")
  local cost, added, shown = 0.0, 0.0, nil
  for _ = 1, 24 do
    local charge = assert(car:vehicle_data { endpoints = { "charge_state" } }).charge_state
    local price = tariff:price(local_time(world.now - 1800)).buy.price
    local kwh = math.max(0.0, charge.charge_energy_added - added)
    cost, added = cost + kwh * price, charge.charge_energy_added
    if charge.charging_state ~= shown or kwh > 0 then
      say("%s  level %2d %%  %-9s %5.1f kWh at %.2f  so far %5.2f EUR", os.date("!%H:%M", math.floor(world.now)), charge.battery_level,
        charge.charging_state, kwh, price, cost)
    end
    shown = charge.charging_state
    world = control { advance = 3600 }
  end
  say("a day later: %.1f kWh for %.2f EUR instead of %.2f in the evening; the calls would have cost %.3f USD", added, cost,
    added * tariff:price { year = 2026, month = 1, day = 1, hour = 18 }.buy.price, world.billing.usd - bill)
end

-- Two days in virtual time, against the simulator in this process: how the car charges by itself, and with charge_by.
local function two_days(tariff, make)
  return fleet.automation.rehearse {
    from = "2026-11-19", days = 2, zone = "Europe/Berlin", tariff = tariff, ready_by = "07:00",
    vehicle = { charge_state = { battery_level = 45, charge_limit_soc = 80, charge_current_request_max = 16 } },
    habits = { { "18:00", "plug", date = "2026-11-19" } }, automation = make,
  }
end

local function automation()
  local tariff = assert(fleet.tariff.from_rows { currency = "EUR", name = "Three prices", time_zone = "Europe/Berlin", rows = {
    { from = "22:00", to = "06:00", price = 0.21 }, { from = "06:00", to = "17:00", price = 0.33 },
    { from = "17:00", to = "22:00", price = 0.42 } } })
  local month = two_days(tariff, function(car)
    return fleet.automation.charge_by { car = car, ready_by = "07:00", level = 80, tariff = tariff, wake = true }
  end)
  say("it is 18:00; the car is plugged in with 45 %%. The commands that are sent, and why:")
  for _, note in ipairs(month.notes) do
    local command, why = string.match(note.text, "^sent ([%w_]+): (.+)$")
    -- What follows the semicolon is about this command; the plan before it is the same in each. Berlin is one hour ahead of UTC.
    if command then
      say("%s  %-20s %s", os.date("!%a %H:%M", math.floor(note.at) + 3600), command, string.match(why, "; (.+)$") or why)
    end
  end
  local at_once = two_days(tariff, function() return {} end)
  local at_seven = assert(month.ready[2], "two days have two mornings").level
  say("by 07:00 the car has %d %%: %.1f kWh for %.2f EUR; charged at once they would have cost %.2f EUR",
    math.floor(at_seven + 0.01), month.kwh, month.price, at_once.price)
end

local function main(addresses, key)
  local function client_with(more)
    local options = {
      base_url = addresses.base_url, auth_url = addresses.auth_url, token_url = addresses.token_url, client_id = "demo",
      client_secret = "demo-secret", redirect_uri = "http://localhost:8000/callback",
      scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "energy_device_data", "energy_cmds" },
    }
    for name, value in pairs(more) do options[name] = value end
    return fleet.new(options)
  end
  local store = fleet.store.memory()
  local client = client_with { key = key, store = store }
  local without_key = client_with { store = store }

  step "Signing in, with a page that a browser would show"
  sign_in(client)
  step "The vehicles of the account"
  local cars = vehicles(client)
  step "Plain commands to a vehicle that takes them"
  plain(client:vehicle("5YJSFLEE9KF000002"))
  step "Signed commands to a vehicle that accepts no others"
  signed(cars[1], without_key:vehicle("5YJ3FLEE9RF000001"))
  step "A command sent by curl, through a signing proxy"
  proxied(client)
  step "An energy site"
  energy(client)
  step "A tariff with a gap, and without"
  tariffs()
  step "A day of charging, in virtual time"
  charging_day(client, addresses)
  client:close()
  without_key:close()
end

local key = fleet.key.generate()
step "Starting a simulator of the service, with a garage of two vehicles"
local addresses, stop = start(key)
say("it listens at %s", addresses.base_url)
local ok, failure = pcall(main, addresses, key)
stop()
if ok then
  step "An automation: ready by 07:00 in the cheapest hours, two days in virtual time"
  ok, failure = pcall(automation)
end
if not ok then
  io.stderr:write("the demonstration failed: ", tostring(failure), "\n")
  os.exit(1, true)
end
print()
print [[Done. The simulator has been stopped; nothing was left behind.
To try it yourself, in this folder:  eval "$(make -s env)"; eval "$(fleet sim --env)"; fleet status]]
