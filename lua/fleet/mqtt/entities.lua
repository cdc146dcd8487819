-- The entities, as rows: what a host shows of a car, a site and the account, and what it may change.
--
--   name, component, label   its topic, its kind at the host, how it is called
--   from                     where its value stands: section and field of what was read; a number, text or yes and no
--   values                   what the host is told for a value; a word that is not there is not known. Without them the value itself
--   unit, class, state       unit, device class, state class
--   calls                    payload -> { call, parameters }           for what is chosen
--   call, param, with        the call that takes the payload as a parameter, and its other parameters   for numbers and lists
--   becomes                  payload -> value that follows it, where they differ
--   least, most, step        limits; most_from: where the true upper one stands
--   options                  of a list, in order
--   force                    payload -> true where the call needs the option force
--   icon, precision, hidden  how a host shows it; hidden = true: not by itself, until a person enables it
--   instead                  payload -> { call, parameters, when = state } for a car that does not support the first call; when: the
--                            state that the entity must show
--   once                     true: the client does not repeat the call after an unknown outcome
--   plain                    true: a topic that takes commands and is offered to no host
--   steady                   true: a sum that only grows until it begins anew; a small step back is not one
--   needs                    where it must be true that there is such a thing; option: the bridge's option that it needs
--   topic                    of a climate entity: which of its topics this row is
--   category, doc
-- What the columns mean is done by lua/fleet/mqtt/values.lua and discovery.lua; doc/manual/mqtt.md shows them as a table.

local M = { car = {}, site = {}, account = {} }

local function add(list, name, component, label, row)
  row.name, row.component, row.label = name, component, label
  list[#list + 1] = row
end

local function yes_no(call, param)
  return { ON = { call, { [param or "on"] = true } }, OFF = { call, { [param or "on"] = false } } }
end

local function keeper(mode)
  return { "set_climate_keeper_mode", { climate_keeper_mode = mode } }
end

local function of_car(...) add(M.car, ...) end

local last_command = { from = "command.text", category = "diagnostic", icon = "mdi:message-reply-text",
  doc = "the last command and what became of it; reason and message are attributes" }
local command_event = { form = "event", icon = "mdi:message-alert", doc = "done, refused, not_sent, unknown, not_done, each as it comes" }
local seen = { from = "seen.at", class = "timestamp", category = "diagnostic", doc = "when it was last read" }

local function copy(row)
  local out = {}
  for name, value in pairs(row) do out[name] = value end
  return out
end

-- ---- a car ----

local plugged = { Disconnected = "OFF" }
local charging_switch = { Charging = "ON", Starting = "ON" }
for _, word in ipairs { "NoPower", "Starting", "Charging", "Complete", "Stopped", "Calibrating" } do
  plugged[word] = "ON"
end
for _, word in ipairs { "Disconnected", "NoPower", "Complete", "Stopped", "Calibrating" } do charging_switch[word] = "OFF" end

of_car("state", "sensor", "State", { from = "info.state", class = "enum", options = { "online", "asleep", "offline" },
  doc = "from the record; reading it does not wake the car" })
of_car("wake", "button", "Wake", { icon = "mdi:alarm", calls = { PRESS = { "wake_up" } }, doc = "priced as a wake" })

of_car("battery", "sensor", "Battery", { from = "charge_state.battery_level", unit = "%", class = "battery", state = "measurement" })
of_car("range", "sensor", "Range", { from = "charge_state.battery_range", unit = "mi", class = "distance", state = "measurement" })
of_car("charge_limit", "number", "Charge limit", { from = "charge_state.charge_limit_soc", unit = "%", call = "set_charge_limit",
  param = "percent", least = 50, most = 100, step = 1 })
of_car("charging_amps", "number", "Charging current", { from = "charge_state.charge_current_request", unit = "A", class = "current",
  call = "set_charging_amps", param = "charging_amps", least = 0, most = 80, step = 1,
  most_from = "charge_state.charge_current_request_max" })
of_car("charging", "switch", "Charging", { from = "charge_state.charging_state", values = charging_switch,
  calls = { ON = { "charge_start" }, OFF = { "charge_stop" } } })
of_car("charging_state", "sensor", "Charging state", { from = "charge_state.charging_state", class = "enum", icon = "mdi:ev-station",
  options = { "Disconnected", "NoPower", "Starting", "Charging", "Complete", "Stopped", "Calibrating" } })
of_car("charger_power", "sensor", "Charging power", { from = "charge_state.charger_power", unit = "kW", class = "power",
  state = "measurement" })
of_car("energy_added", "sensor", "Energy added", { from = "charge_state.charge_energy_added", unit = "kWh", class = "energy",
  state = "total_increasing", steady = true })
of_car("time_to_full", "sensor", "Time to full", { from = "charge_state.minutes_to_full_charge", unit = "min", class = "duration",
  state = "measurement" })
of_car("plug", "binary_sensor", "Plug", { from = "charge_state.charging_state", values = plugged, class = "plug" })
local open_shut = { ["true"] = "open", ["false"] = "closed" }
local opened = { OPEN = "open", CLOSE = "closed" }
of_car("charge_port", "cover", "Charge port", { from = "charge_state.charge_port_door_open", class = "door", icon = "mdi:ev-plug-tesla",
  values = open_shut, calls = { OPEN = { "charge_port_door_open" }, CLOSE = { "charge_port_door_close" } }, becomes = opened })
of_car("charge_port_open", "button", "Open charge port", { plain = true, calls = { PRESS = { "charge_port_door_open" } } })
of_car("charge_port_close", "button", "Close charge port", { plain = true, calls = { PRESS = { "charge_port_door_close" } } })

of_car("climate", "climate", "Climate", { topic = "mode", from = "climate_state.is_climate_on",
  values = { ["true"] = "auto", ["false"] = "off" }, options = { "off", "auto" },
  calls = { auto = { "auto_conditioning_start" }, off = { "auto_conditioning_stop" } } })
of_car("climate", "climate", "Climate", { topic = "temperature", from = "climate_state.driver_temp_setting", unit = "°C",
  call = "set_temps", param = "driver_temp", also = "passenger_temp", least = 15, most = 28, step = 0.5,
  doc = "sets both sides" })
of_car("climate", "climate", "Climate", { topic = "current_temperature", from = "climate_state.inside_temp", unit = "°C" })
of_car("climate", "climate", "Climate", { topic = "preset_mode", from = "climate_state.climate_keeper_mode",
  values = { off = "none", on = "keep", keep = "keep", dog = "dog", camp = "camp" }, options = { "keep", "dog", "camp" },
  calls = { none = keeper "off", keep = keeper "keep", dog = keeper "dog", camp = keeper "camp" } })
of_car("outside_temperature", "sensor", "Outside temperature", { from = "climate_state.outside_temp", unit = "°C",
  class = "temperature", state = "measurement" })

local levels = { ["0"] = "off", ["1"] = "low", ["2"] = "medium", ["3"] = "high" }
local seats = {
  { "left", "front_left", "Seat heater left" }, { "right", "front_right", "Seat heater right" },
  { "rear_left", "rear_left", "Seat heater rear left" }, { "rear_center", "rear_center", "Seat heater rear center" },
  { "rear_right", "rear_right", "Seat heater rear right" },
}
for _, seat in ipairs(seats) do
  of_car("seat_heater_" .. seat[1], "select", seat[3], { from = "climate_state.seat_heater_" .. seat[1], values = levels,
    options = { "off", "low", "medium", "high" }, call = "remote_seat_heater_request", param = "level",
    with = { seat_position = seat[2] }, needs = "climate_state.seat_heater_" .. seat[1], icon = "mdi:car-seat-heater" })
end
of_car("wheel_heater", "select", "Steering wheel heater", { from = "climate_state.steering_wheel_heat_level",
  values = { ["0"] = "off", ["1"] = "low", ["3"] = "high" }, options = { "off", "low", "high" },
  call = "remote_steering_wheel_heat_level_request", param = "level", needs = "climate_state.steering_wheel_heat_level",
  icon = "mdi:steering" })
of_car("defrost", "switch", "Defrost", { from = "climate_state.defrost_mode", values = { ["0"] = "OFF", ["1"] = "ON", ["2"] = "ON" },
  icon = "mdi:car-defrost-front", calls = yes_no "set_preconditioning_max" })

of_car("lock", "lock", "Lock", { from = "vehicle_state.locked", values = { ["true"] = "LOCKED", ["false"] = "UNLOCKED" },
  calls = { LOCK = { "door_lock" }, UNLOCK = { "door_unlock" } }, becomes = { LOCK = "LOCKED", UNLOCK = "UNLOCKED" } })
local openings = {
  { "door_driver_front", "df", "Door driver front" }, { "door_driver_rear", "dr", "Door driver rear" },
  { "door_passenger_front", "pf", "Door passenger front" }, { "door_passenger_rear", "pr", "Door passenger rear" },
  { "window_driver_front", "fd_window", "Window driver front" }, { "window_driver_rear", "rd_window", "Window driver rear" },
  { "window_passenger_front", "fp_window", "Window passenger front" }, { "window_passenger_rear", "rp_window", "Window passenger rear" },
}
for _, one in ipairs(openings) do
  of_car(one[1], "binary_sensor", one[3], { from = "vehicle_state." .. one[2], class = string.match(one[1], "^%a+") })
end
of_car("windows", "cover", "Windows", { from = "vehicle_state.fd_window", form = "windows", class = "window", becomes = opened,
  calls = { OPEN = { "window_control", { command = "vent" } }, CLOSE = { "window_control", { command = "close" } } },
  doc = "open where one is; opening vents them" })
of_car("windows_vent", "button", "Vent windows", { plain = true, calls = { PRESS = { "window_control", { command = "vent" } } } })
local function move(which) return { "actuate_trunk", { which_trunk = which } } end
local function toggle(which, shown) return { "actuate_trunk", { which_trunk = which }, when = shown } end
of_car("trunk", "cover", "Trunk", { from = "vehicle_state.rt", class = "door", icon = "mdi:car-back", form = "lid", becomes = opened,
  calls = { OPEN = { "open_trunk", { which_trunk = "rear" } }, CLOSE = { "close_trunk", { which_trunk = "rear" } }, PRESS = move "rear" },
  instead = { OPEN = toggle("rear", "closed"), CLOSE = toggle("rear", "open") }, once = true,
  doc = "a car that takes no signed commands has only a toggle: it is sent only when the trunk is known to be in the other state" })
of_car("frunk", "cover", "Front trunk", { from = "vehicle_state.ft", class = "door", icon = "mdi:car", form = "lid", becomes = opened,
  calls = { OPEN = { "open_trunk", { which_trunk = "front" } }, PRESS = move "front" },
  instead = { OPEN = toggle("front", "closed") }, once = true, doc = "close it by hand" })
of_car("horn", "button", "Horn", { icon = "mdi:bullhorn", calls = { PRESS = { "honk_horn" } } })
of_car("lights", "button", "Flash lights", { icon = "mdi:car-light-high", calls = { PRESS = { "flash_lights" } } })
of_car("sentry", "switch", "Sentry mode", { from = "vehicle_state.sentry_mode", icon = "mdi:shield-car", calls = yes_no "set_sentry_mode" })
of_car("valet", "binary_sensor", "Valet mode", { from = "vehicle_state.valet_mode", icon = "mdi:account-tie-hat",
  doc = "switching it on needs a PIN: the command set_valet_mode takes it" })
of_car("user_present", "binary_sensor", "User present", { from = "vehicle_state.is_user_present", class = "occupancy" })
of_car("odometer", "sensor", "Odometer", { from = "vehicle_state.odometer", unit = "mi", class = "distance", state = "total_increasing",
  steady = true })
for _, wheel in ipairs { { "fl", "front left" }, { "fr", "front right" }, { "rl", "rear left" }, { "rr", "rear right" } } do
  of_car("tyre_" .. wheel[1], "sensor", "Tyre pressure " .. wheel[2], { from = "vehicle_state.tpms_pressure_" .. wheel[1], unit = "bar",
    class = "pressure", state = "measurement", category = "diagnostic", hidden = true })
end
of_car("update", "update", "Software", { from = "vehicle_state.software_update", form = "software", class = "firmware",
  calls = { INSTALL = { "schedule_software_update", { offset_sec = 0 } } } })
of_car("location", "device_tracker", "Location", { from = "location", form = "location", option = "location",
  doc = "only if the option location is set: reading it shows an icon in the car" })
of_car("event", "event", "Command", copy(command_event))
of_car("last_command", "sensor", "Last command", copy(last_command))
of_car("seen", "sensor", "Seen", copy(seen))

-- ---- a site ----

local function of_site(...) add(M.site, ...) end

of_site("solar_power", "sensor", "Solar power", { from = "live_status.solar_power", unit = "W", class = "power", state = "measurement",
  needs = "components.solar" })
of_site("battery_power", "sensor", "Battery power", { from = "live_status.battery_power", unit = "W", class = "power",
  state = "measurement", needs = "components.battery", doc = "above 0 it discharges" })
of_site("grid_power", "sensor", "Grid power", { from = "live_status.grid_power", unit = "W", class = "power", state = "measurement",
  doc = "above 0 it imports" })
of_site("load_power", "sensor", "Load", { from = "live_status.load_power", unit = "W", class = "power", state = "measurement" })
of_site("charge", "sensor", "Charge", { from = "live_status.percentage_charged", unit = "%", class = "battery", state = "measurement",
  needs = "components.battery" })
of_site("grid", "binary_sensor", "Grid", { from = "live_status.island_status",
  values = { on_grid = "ON", off_grid = "OFF", off_grid_intentional = "OFF", off_grid_unintentional = "OFF" },
  class = "connectivity" })
of_site("reserve", "number", "Backup reserve", { from = "site_info.backup_reserve_percent", unit = "%", call = "backup",
  param = "backup_reserve_percent", least = 0, most = 100, step = 1, needs = "components.battery", icon = "mdi:battery-lock" })
of_site("off_grid_reserve", "number", "Off-grid reserve", { from = "site_info.off_grid_vehicle_charging_reserve_percent", unit = "%",
  call = "off_grid_vehicle_charging_reserve", param = "off_grid_vehicle_charging_reserve_percent", least = 0, most = 100, step = 1,
  needs = "components.off_grid_vehicle_charging_reserve_supported", icon = "mdi:battery-alert",
  doc = "what charging a car leaves in the battery while the grid is away" })
of_site("mode", "select", "Operation mode", { from = "site_info.default_real_mode", icon = "mdi:home-battery",
  values = { self_consumption = "self_consumption", autonomous = "autonomous", backup = "backup" },
  options = { "self_consumption", "autonomous", "backup" }, call = "operation", param = "default_real_mode", force = { backup = true },
  needs = "components.battery", doc = "backup is sent with force: the service does not document it" })
of_site("grid_charging", "switch", "Charging from the grid", { icon = "mdi:transmission-tower-import", category = "config",
  from = "site_info.components.disallow_charge_from_grid_with_solar_installed", values = { ["true"] = "OFF", ["false"] = "ON" },
  calls = { ON = { "grid_import_export", { disallow_charge_from_grid_with_solar_installed = false } },
    OFF = { "grid_import_export", { disallow_charge_from_grid_with_solar_installed = true } } },
  needs = "components.battery" })
of_site("export_rule", "select", "Energy exports", { from = "site_info.components.customer_preferred_export_rule", category = "config",
  values = { battery_ok = "battery_ok", pv_only = "pv_only", never = "never" }, options = { "battery_ok", "pv_only", "never" },
  call = "grid_import_export", param = "customer_preferred_export_rule", icon = "mdi:transmission-tower-export",
  needs = "components.customer_preferred_export_rule" })
of_site("storm", "switch", "Storm mode", { from = "site_info.user_settings.storm_mode_enabled", calls = yes_no("storm_mode", "enabled"),
  needs = "components.battery" })
of_site("tariff", "sensor", "Tariff now", { from = "tariff.label", needs = "tariff" })
of_site("price_buy", "sensor", "Price of buying", { from = "tariff.buy", unit = "$/kWh", state = "measurement", needs = "tariff" })
of_site("price_sell", "sensor", "Price of selling", { from = "tariff.sell", unit = "$/kWh", state = "measurement", needs = "tariff.sell" })

for _, one in ipairs {
  { "energy_solar", "Solar energy", "components.solar" }, { "energy_from_grid", "Energy from the grid" },
  { "energy_to_grid", "Energy to the grid" }, { "energy_battery_in", "Energy into the battery", "components.battery" },
  { "energy_battery_out", "Energy from the battery", "components.battery" }, { "energy_home", "Energy of the home" },
} do
  of_site(one[1], "sensor", one[2], { from = "energy." .. string.sub(one[1], 8), unit = "kWh", class = "energy", precision = 2,
    state = "total_increasing", steady = true, needs = one[3], doc = "since midnight at the site; from energy_history, which is free" })
end
of_site("event", "event", "Command", copy(command_event))
of_site("last_command", "sensor", "Last command", copy(last_command))
of_site("seen", "sensor", "Seen", copy(seen))

--- The rows of a wall connector of a site. din: its number.
function M.wall_connector(din)
  local name = "wall_connector_" .. string.gsub(din, "[^%w]", "_")
  local label = "Wall connector " .. string.sub(din, -6)
  return {
    { name = name .. "_power", component = "sensor", label = label .. " power", from = "live_status.wall_connectors", form = "connector",
      din = din, field = "wall_connector_power", unit = "W", class = "power", state = "measurement", precision = 0 },
    { name = name .. "_vehicle", component = "sensor", label = label .. " vehicle", from = "live_status.wall_connectors",
      form = "connector", din = din, field = "vin", icon = "mdi:car-electric", category = "diagnostic" },
    { name = name .. "_state", component = "sensor", label = label .. " state", from = "live_status.wall_connectors", form = "connector",
      din = din, field = "wall_connector_state", icon = "mdi:ev-station", category = "diagnostic", hidden = true },
  }
end

-- ---- the account ----

local function of_account(...) add(M.account, ...) end

of_account("cost_month", "sensor", "Cost of the month", { from = "account.cost", unit = "USD", class = "monetary", state = "total",
  category = "diagnostic", doc = "of billed calls since the first of the month, UTC" })
of_account("budget_left", "sensor", "Budget left", { from = "account.budget_left", unit = "USD", class = "monetary",
  category = "diagnostic", needs = "account.budget_left", doc = "the least that a budget of dollars leaves; all budgets are attributes" })
of_account("token_age", "sensor", "Age of the token", { from = "account.token_age", unit = "d", class = "duration", state = "measurement",
  category = "diagnostic", hidden = true, doc = "days since the pair was refreshed" })
of_account("schedule", "sensor", "Schedule", { from = "account.schedule", category = "diagnostic", icon = "mdi:calendar-clock",
  doc = "its cost in a few words; the whole sentence is an attribute" })
of_account("schedule_cost", "sensor", "Cost of the schedule", { from = "account.schedule_cost", unit = "USD", class = "monetary",
  category = "diagnostic", doc = "of a month, as printed at the start" })

return M
