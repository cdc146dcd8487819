-- The entities as rows: what a host shows of a car, a site and the account, and what it can change.
--
--   name, component, label   its topic, its kind at the host, its name there
--   from                     the section and field of its value: a number, a text or a boolean
--   values                   value -> published text; other values are unknown. Without it the value itself is published
--   unit, class, state       unit, device class, state class
--   calls                    payload -> { call, parameters }, for choices
--   call, param, with        the call that takes the payload as a parameter, and its other parameters, for numbers and lists
--   becomes                  payload -> the value that follows, if they differ
--   least, most, step        limits; most_from: the field with the car's own upper limit
--   options                  of a list, in order
--   force                    payload -> true if the call needs the option force
--   digits                   decimal places that are published (3): fewer changes
--   icon, precision, hidden  how a host shows it; hidden = true: only after a person enables it
--   instead                  payload -> { call, parameters, when = state }, for a car that does not support the first call; when: the
--                            state that the entity must show
--   once                     true: the client does not repeat the call after an unknown outcome
--   plain                    true: a topic for commands that is not offered to hosts
--   steady                   true: a sum that grows until it restarts; a small step back is not a restart
--   needs                    the field that is true if the thing has it; option: the option of the bridge that it needs
--   topic                    of a climate entity: the topic of this row
--   category, doc
-- lua/fleet/mqtt/values.lua and discovery.lua implement the columns; doc/manual/mqtt.md shows them as a table.

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
  icon = "mdi:car-connected",
  doc = "from the record; reading it does not wake the car" })
of_car("wake", "button", "Wake", { icon = "mdi:alarm", calls = { PRESS = { "wake_up" } }, doc = "priced as a wake" })

of_car("battery", "sensor", "Battery", { from = "charge_state.battery_level", unit = "%", class = "battery", state = "measurement" })
of_car("range", "sensor", "Range", { from = "charge_state.battery_range", unit = "mi", class = "distance", state = "measurement" })
of_car("usable_battery", "sensor", "Usable battery", { from = "charge_state.usable_battery_level", unit = "%", class = "battery",
  state = "measurement", hidden = true })
of_car("estimated_range", "sensor", "Estimated range", { from = "charge_state.est_battery_range", unit = "mi", class = "distance",
  state = "measurement", hidden = true, doc = "from the consumption of the last drives" })
of_car("charge_limit", "number", "Charge limit", { from = "charge_state.charge_limit_soc", unit = "%", class = "battery",
  call = "set_charge_limit", param = "percent", least = 50, most = 100, step = 1 })
of_car("charging_amps", "number", "Charging current", { from = "charge_state.charge_current_request", unit = "A", class = "current",
  call = "set_charging_amps", param = "charging_amps", least = 0, most = 80, step = 1,
  most_from = "charge_state.charge_current_request_max" })
of_car("charging", "switch", "Charging", { from = "charge_state.charging_state", values = charging_switch,
  calls = { ON = { "charge_start" }, OFF = { "charge_stop" } }, icon = "mdi:ev-station" })
of_car("charging_state", "sensor", "Charging state", { from = "charge_state.charging_state", class = "enum", icon = "mdi:ev-station",
  options = { "Disconnected", "NoPower", "Starting", "Charging", "Complete", "Stopped", "Calibrating" } })
of_car("charger_power", "sensor", "Charging power", { from = "charge_state.charger_power", unit = "kW", class = "power",
  state = "measurement" })
of_car("charger_voltage", "sensor", "Charger voltage", { from = "charge_state.charger_voltage", unit = "V", class = "voltage",
  state = "measurement", category = "diagnostic" })
of_car("charger_current", "sensor", "Charger current", { from = "charge_state.charger_actual_current", unit = "A", class = "current",
  state = "measurement", category = "diagnostic" })
of_car("charge_rate", "sensor", "Charge rate", { from = "charge_state.charge_rate", unit = "mph", class = "speed", state = "measurement",
  category = "diagnostic", doc = "range gained per hour" })
of_car("energy_added", "sensor", "Energy added", { from = "charge_state.charge_energy_added", unit = "kWh", class = "energy",
  state = "total_increasing", steady = true })
of_car("time_to_full", "sensor", "Time to full", { from = "charge_state.minutes_to_full_charge", unit = "min", class = "duration",
  state = "measurement" })
of_car("plug", "binary_sensor", "Plug", { from = "charge_state.charging_state", values = plugged, class = "plug" })
of_car("charge_cable", "sensor", "Charge cable", { from = "charge_state.conn_charge_cable", category = "diagnostic", hidden = true,
  icon = "mdi:ev-plug-type2" })
of_car("fast_charger", "sensor", "Fast charger", { from = "charge_state.fast_charger_type", category = "diagnostic", hidden = true,
  icon = "mdi:ev-plug-ccs2" })
of_car("charge_port_latch", "sensor", "Charge port latch", { from = "charge_state.charge_port_latch", category = "diagnostic",
  hidden = true, icon = "mdi:ev-plug-tesla" })
of_car("battery_heater", "binary_sensor", "Battery heater", { from = "charge_state.battery_heater_on", class = "heat",
  category = "diagnostic", hidden = true })
of_car("scheduled_charging", "binary_sensor", "Scheduled charging pending", { from = "charge_state.scheduled_charging_pending",
  category = "diagnostic", hidden = true, icon = "mdi:calendar-clock" })
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
of_car("inside_temperature", "sensor", "Inside temperature", { from = "climate_state.inside_temp", unit = "°C", class = "temperature",
  state = "measurement" })
of_car("outside_temperature", "sensor", "Outside temperature", { from = "climate_state.outside_temp", unit = "°C",
  class = "temperature", state = "measurement" })

local levels = { ["0"] = "off", ["1"] = "low", ["2"] = "medium", ["3"] = "high" }
local seats = {
  { "left", "front_left", "Seat heater front left" }, { "right", "front_right", "Seat heater front right" },
  { "rear_left", "rear_left", "Seat heater rear left" }, { "rear_center", "rear_center", "Seat heater rear center" },
  { "rear_right", "rear_right", "Seat heater rear right" },
  { "third_row_left", "third_left", "Seat heater third row left" },
  { "third_row_right", "third_right", "Seat heater third row right" },
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
for _, side in ipairs { "left", "right" } do
  local function automatic(on)
    return { "remote_auto_seat_climate_request", { auto_seat_position = "front_" .. side, auto_climate_on = on } }
  end
  of_car("auto_seat_" .. side, "switch", "Automatic seat climate " .. side, { from = "climate_state.auto_seat_climate_" .. side,
    calls = { ON = automatic(true), OFF = automatic(false) }, icon = "mdi:car-seat-heater" })
end
of_car("auto_wheel_heater", "switch", "Automatic steering wheel heater", { from = "climate_state.auto_steering_wheel_heat",
  calls = yes_no "remote_auto_steering_wheel_heat_climate_request", icon = "mdi:steering" })
local function overheat(on, fan_only) return { "set_cabin_overheat_protection", { on = on, fan_only = fan_only } } end
of_car("overheat_protection", "select", "Cabin overheat protection", { from = "climate_state.cabin_overheat_protection",
  values = { Off = "off", On = "on", FanOnly = "fan_only" }, options = { "off", "on", "fan_only" }, icon = "mdi:sun-thermometer",
  calls = { off = overheat(false, false), on = overheat(true, false), fan_only = overheat(true, true) } })
of_car("overheat_cooling", "binary_sensor", "Cabin overheat protection cooling", { category = "diagnostic", hidden = true,
  from = "climate_state.cabin_overheat_protection_actively_cooling", class = "running" })
of_car("preconditioning", "binary_sensor", "Preconditioning", { from = "climate_state.is_preconditioning", icon = "mdi:hvac",
  category = "diagnostic", hidden = true })
of_car("defrost", "switch", "Defrost", { from = "climate_state.defrost_mode", values = { ["0"] = "OFF", ["1"] = "ON", ["2"] = "ON" },
  icon = "mdi:car-defrost-front", calls = yes_no "set_preconditioning_max" })

of_car("lock", "lock", "Lock", { from = "vehicle_state.locked", values = { ["true"] = "LOCKED", ["false"] = "UNLOCKED" },
  calls = { LOCK = { "door_lock" }, UNLOCK = { "door_unlock" } }, becomes = { LOCK = "LOCKED", UNLOCK = "UNLOCKED" } })
local openings = {
  { "door_driver_front", "df", "Front driver door" }, { "door_driver_rear", "dr", "Rear driver door" },
  { "door_passenger_front", "pf", "Front passenger door" }, { "door_passenger_rear", "pr", "Rear passenger door" },
  { "window_driver_front", "fd_window", "Front driver window" }, { "window_driver_rear", "rd_window", "Rear driver window" },
  { "window_passenger_front", "fp_window", "Front passenger window" }, { "window_passenger_rear", "rp_window", "Rear passenger window" },
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
of_car("sun_roof", "cover", "Sun roof", { from = "vehicle_state.sun_roof_state", class = "window", icon = "mdi:car-select",
  becomes = opened, values = { closed = "closed", open = "open", vent = "open" }, hidden = true,
  needs = "vehicle_state.sun_roof_percent_open",
  calls = { OPEN = { "sun_roof_control", { state = "vent" } }, CLOSE = { "sun_roof_control", { state = "close" } } },
  doc = "opening vents it" })
of_car("horn", "button", "Horn", { icon = "mdi:bullhorn", calls = { PRESS = { "honk_horn" } } })
of_car("lights", "button", "Flash lights", { icon = "mdi:car-light-high", calls = { PRESS = { "flash_lights" } } })
of_car("sentry", "switch", "Sentry mode", { from = "vehicle_state.sentry_mode", icon = "mdi:shield-car", calls = yes_no "set_sentry_mode" })
of_car("valet", "binary_sensor", "Valet mode", { from = "vehicle_state.valet_mode", icon = "mdi:account-tie-hat",
  doc = "switching it on needs a PIN: the command set_valet_mode takes it" })
of_car("user_present", "binary_sensor", "User present", { from = "vehicle_state.is_user_present", class = "occupancy" })
of_car("dashcam", "binary_sensor", "Dashcam", { from = "vehicle_state.dashcam_state", class = "running", category = "diagnostic",
  hidden = true, values = { Recording = "ON", Available = "OFF", Saving = "ON", Unavailable = "OFF" } })
of_car("speed", "sensor", "Speed", { from = "drive_state.speed", unit = "mph", class = "speed", state = "measurement", hidden = true,
  doc = "unknown while the car is parked" })
of_car("power", "sensor", "Power", { from = "drive_state.power", unit = "kW", class = "power", state = "measurement",
  category = "diagnostic", hidden = true, doc = "below 0 it recuperates" })
of_car("gear", "sensor", "Gear", { from = "drive_state.shift_state", class = "enum", options = { "P", "R", "N", "D" }, hidden = true,
  icon = "mdi:car-shift-pattern", doc = "unknown where the car does not report it" })
for _, one in ipairs {
  { "distance", "miles_to_arrival", "Distance to arrival", unit = "mi", class = "distance" },
  { "time", "minutes_to_arrival", "Time to arrival", unit = "min", class = "duration" },
  { "delay", "traffic_minutes_delay", "Traffic delay", unit = "min", class = "duration", hidden = true },
  { "battery", "energy_at_arrival", "Battery at arrival", unit = "%", class = "battery", category = "diagnostic", hidden = true },
} do
  of_car("route_" .. one[1], "sensor", one[3], { from = "drive_state.active_route_" .. one[2], unit = one.unit, class = one.class,
    state = "measurement", category = one.category, hidden = one.hidden, doc = "while navigation has a route" })
end
of_car("odometer", "sensor", "Odometer", { from = "vehicle_state.odometer", unit = "mi", class = "distance", state = "total_increasing",
  steady = true })
for _, wheel in ipairs { { "fl", "front left" }, { "fr", "front right" }, { "rl", "rear left" }, { "rr", "rear right" } } do
  of_car("tyre_" .. wheel[1], "sensor", "Tyre pressure " .. wheel[2], { from = "vehicle_state.tpms_pressure_" .. wheel[1], unit = "bar",
    class = "pressure", state = "measurement", category = "diagnostic", hidden = true })
end
for _, wheel in ipairs { { "fl", "front left" }, { "fr", "front right" }, { "rl", "rear left" }, { "rr", "rear right" } } do
  of_car("tyre_warning_" .. wheel[1], "binary_sensor", "Tyre pressure warning " .. wheel[2], { category = "diagnostic", hidden = true,
    from = "vehicle_state.tpms_soft_warning_" .. wheel[1], class = "problem" })
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
  icon = "mdi:solar-power",
  needs = "components.solar" })
of_site("battery_power", "sensor", "Battery power", { from = "live_status.battery_power", unit = "W", class = "power",
  state = "measurement", needs = "components.battery", icon = "mdi:home-battery", doc = "above 0 it discharges" })
of_site("grid_power", "sensor", "Grid power", { from = "live_status.grid_power", unit = "W", class = "power", state = "measurement",
  icon = "mdi:transmission-tower", doc = "above 0 it imports" })
of_site("load_power", "sensor", "Load", { from = "live_status.load_power", unit = "W", class = "power", state = "measurement",
  icon = "mdi:home-lightning-bolt" })
of_site("generator_power", "sensor", "Generator power", { from = "live_status.generator_power", unit = "W", class = "power",
  state = "measurement", icon = "mdi:generator-stationary", hidden = true })
of_site("grid_services_power", "sensor", "Grid services power", { from = "live_status.grid_services_power", unit = "W", class = "power",
  state = "measurement", icon = "mdi:transmission-tower", hidden = true, needs = "components.battery" })
of_site("energy_left", "sensor", "Energy left", { from = "live_status.energy_left", unit = "Wh", class = "energy_storage",
  state = "measurement", category = "diagnostic", needs = "components.battery", hidden = true })
of_site("pack_energy", "sensor", "Total pack energy", { from = "live_status.total_pack_energy", unit = "Wh", class = "energy_storage",
  state = "measurement", category = "diagnostic", needs = "components.battery", hidden = true })
of_site("charge", "sensor", "Charge", { from = "live_status.percentage_charged", unit = "%", class = "battery", state = "measurement",
  digits = 1,
  needs = "components.battery" })
of_site("grid", "binary_sensor", "Grid", { from = "live_status.island_status",
  values = { on_grid = "ON", off_grid = "OFF", off_grid_intentional = "OFF", off_grid_unintentional = "OFF" },
  class = "connectivity" })
of_site("grid_status", "sensor", "Grid status", { from = "live_status.island_status", class = "enum", icon = "mdi:transmission-tower",
  options = { "on_grid", "off_grid", "off_grid_intentional", "off_grid_unintentional" }, category = "diagnostic" })
of_site("backup_capable", "binary_sensor", "Backup capable", { from = "live_status.backup_capable", icon = "mdi:battery-lock",
  category = "diagnostic", needs = "components.battery" })
of_site("grid_services", "binary_sensor", "Grid services active", { from = "live_status.grid_services_active",
  icon = "mdi:transmission-tower", category = "diagnostic", needs = "components.battery" })
of_site("storm_active", "binary_sensor", "Storm watch active", { from = "live_status.storm_mode_active",
  icon = "mdi:weather-lightning-rainy", needs = "components.battery" })
of_site("vpp_reserve", "sensor", "Reserve of the virtual power plant", { from = "site_info.vpp_backup_reserve_percent", unit = "%",
  class = "battery", category = "diagnostic", needs = "components.grid_services_enabled" })
of_site("reserve", "number", "Backup reserve", { from = "site_info.backup_reserve_percent", unit = "%", class = "battery", call = "backup",
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
  icon = "mdi:weather-lightning",
  needs = "components.battery" })
of_site("tariff", "sensor", "Tariff now", { from = "tariff.label", needs = "tariff", icon = "mdi:clock-outline" })
of_site("price_buy", "sensor", "Price of buying", { from = "tariff.buy", unit = "$/kWh", state = "measurement", needs = "tariff",
  icon = "mdi:cash-plus" })
of_site("price_sell", "sensor", "Price of selling", { from = "tariff.sell", unit = "$/kWh", state = "measurement", needs = "tariff.sell",
  icon = "mdi:cash-minus" })

for _, one in ipairs {
  { "energy_solar", "Solar energy", "solar-power-variant", "components.solar" },
  { "energy_from_grid", "Energy from the grid", "transmission-tower-import" },
  { "energy_to_grid", "Energy to the grid", "transmission-tower-export" },
  { "energy_battery_in", "Energy into the battery", "battery-arrow-up", "components.battery" },
  { "energy_battery_out", "Energy from the battery", "battery-arrow-down", "components.battery" },
  { "energy_home", "Energy of the home", "home-lightning-bolt" },
} do
  of_site(one[1], "sensor", one[2], { from = "energy." .. string.sub(one[1], 8), unit = "kWh", class = "energy", precision = 2,
    state = "total_increasing", steady = true, icon = "mdi:" .. one[3], needs = one[4],
    doc = "since midnight at the site; from energy_history, which is free" })
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
      din = din, field = "wall_connector_power", unit = "W", class = "power", state = "measurement", precision = 0,
      icon = "mdi:ev-station" },
    { name = name .. "_vehicle", component = "sensor", label = label .. " vehicle", from = "live_status.wall_connectors",
      form = "connector", din = din, field = "vin", icon = "mdi:car-electric", category = "diagnostic" },
    { name = name .. "_state", component = "sensor", label = label .. " state", from = "live_status.wall_connectors", form = "connector",
      din = din, field = "wall_connector_state", icon = "mdi:ev-station", category = "diagnostic", hidden = true },
    { name = name .. "_fault", component = "sensor", label = label .. " fault", from = "live_status.wall_connectors", form = "connector",
      din = din, field = "wall_connector_fault_state", icon = "mdi:alert", category = "diagnostic", hidden = true },
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
