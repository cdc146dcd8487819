-- Commands for locks, lids and windows, and for access: PINs, valet, guests, speed limit, parental controls. State changes:
-- doc/protocol.md#states-and-moves.
local vehicles = require("fleet.sim.vehicle")

local M = {}

local value = vehicles.value

local function state(vehicle)
  return vehicle.sections.vehicle_state
end

local function needs_park(vehicle)
  if not vehicle:parked() then return "not_parked" end
end

-- ---- locks, lids, signals ----

function M.door_lock(vehicle)
  state(vehicle).locked = true
end

function M.door_unlock(vehicle)
  state(vehicle).locked = false
end

-- The front lid can only be opened; the rear one also closes when it is powered.
function M.actuate_trunk(vehicle, params)
  local s = state(vehicle)
  if params.which_trunk == "front" then
    s.ft = 1
  elseif params.which_trunk == "rear" then
    s.rt = s.rt == 0 and 1 or (vehicle.sections.vehicle_config.plg and 0 or 1)
  else
    return "invalid_value"
  end
end

local LIDS = { front = "ft", rear = "rt" }

local function lid(open)
  return function(vehicle, params)
    local field = LIDS[params.which_trunk]
    if not field then return "invalid_value" end
    if not open and (field == "ft" or not vehicle.sections.vehicle_config.plg) then return "not_supported" end
    state(vehicle)[field] = open and 1 or 0
  end
end

M.open_trunk, M.close_trunk = lid(true), lid(false)

function M.honk_horn(vehicle)
  return needs_park(vehicle)
end

function M.flash_lights(vehicle)
  return needs_park(vehicle)
end

function M.remote_boombox(vehicle, params)
  local refused = needs_park(vehicle)
  if refused then return refused end
  vehicle.sound = params.sound
end

local WINDOWS = { "fd_window", "fp_window", "rd_window", "rp_window" }

function M.window_control(vehicle, params)
  local open = ({ vent = 1, close = 0 })[params.command]
  if not open then return "invalid_value" end
  for _, window in ipairs(WINDOWS) do state(vehicle)[window] = open end
end

local ROOF = { stop = false, close = { "closed", 0 }, vent = { "vent", 15 }, open = { "open", 100 } }

function M.sun_roof_control(vehicle, params)
  local s, to = state(vehicle), ROOF[params.state]
  if to == nil then return "invalid_value" end
  local installed = value(vehicle.sections.vehicle_config.sun_roof_installed)
  if not installed or installed == 0 then return "not_supported" end
  if to then s.sun_roof_state, s.sun_roof_percent_open = to[1], to[2] end
end

function M.trigger_homelink(vehicle)
  if (value(state(vehicle).homelink_device_count) or 0) == 0 then return "not_supported" end
end

local function tonneau(to)
  return function(vehicle)
    if value(state(vehicle).tonneau_state) == nil then return "not_supported" end
    if to then state(vehicle).tonneau_state = to end
  end
end

M.open_tonneau, M.close_tonneau, M.stop_tonneau = tonneau("open"), tonneau("closed"), tonneau(nil)

-- Allows two minutes to start driving; requires keyless driving (doc/protocol.md#command-bodies).
function M.remote_start_drive(vehicle)
  if not state(vehicle).remote_start_enabled then return "keyless_driving_disabled" end
  state(vehicle).remote_start = true
end

function M.set_sentry_mode(vehicle, params)
  if not state(vehicle).sentry_mode_available then return "not_supported" end
  state(vehicle).sentry_mode = params.on
end

-- ---- PINs ----

local function is_pin(pin)
  return type(pin) == "string" and pin:match("^%d%d%d%d$") ~= nil
end

-- Stores the first PIN; compares later ones with it.
local function pin_fits(vehicle, name, pin)
  if not is_pin(pin) then return false end
  if vehicle.pins[name] == nil then vehicle.pins[name] = pin end
  return vehicle.pins[name] == pin
end

-- Switching valet mode off requires the PIN in a plain command. A signed one may omit it, as Tesla's own tools do: the key authenticates
-- it.
local function valet_off_allowed(pin, given, context)
  if pin == nil or given == pin then return true end
  return context.signed == true and (given == nil or given == "")
end

function M.set_valet_mode(vehicle, params, context)
  local s, pins = state(vehicle), vehicle.pins
  if params.on then
    if not pin_fits(vehicle, "valet", params.password) then return "invalid_pin" end
  else
    if not s.valet_mode then return "already off" end
    if not valet_off_allowed(pins.valet, params.password, context) then return "invalid_pin" end
  end
  s.valet_mode, s.valet_pin_needed = params.on, pins.valet == nil
end

function M.reset_valet_pin(vehicle)
  if state(vehicle).valet_mode then return "valet_mode_active" end
  vehicle.pins.valet = nil
  state(vehicle).valet_pin_needed = true
end

-- The first PIN is kept while PIN to Drive is off; later ones are ignored.
function M.set_pin_to_drive(vehicle, params)
  local pins = vehicle.pins
  if not pins.pin_to_drive then
    if params.on and not is_pin(params.password) then return "invalid_pin" end
    if is_pin(params.password) then pins.pin_to_drive = params.password end
  end
  state(vehicle).pin_to_drive_enabled = params.on
end

function M.reset_pin_to_drive_pin(vehicle)
  if state(vehicle).valet_mode then return "valet_mode_active" end
  if state(vehicle).pin_to_drive_enabled then return "pin_to_drive_active" end
  vehicle.pins.pin_to_drive = nil
end

function M.clear_pin_to_drive_admin(vehicle)
  state(vehicle).pin_to_drive_enabled, vehicle.pins.pin_to_drive = false, nil
end

-- ---- speed limit mode ----

local function show_speed_pin(vehicle)
  state(vehicle).speed_limit_mode.pin_code_set = vehicle.pins.speed_limit ~= nil
end

function M.speed_limit_set_limit(vehicle, params)
  local mode = state(vehicle).speed_limit_mode
  if params.limit_mph < mode.min_limit_mph or params.limit_mph > mode.max_limit_mph then return "invalid_value" end
  mode.current_limit_mph = params.limit_mph
end

function M.speed_limit_activate(vehicle, params)
  if not pin_fits(vehicle, "speed_limit", params.pin) then return "invalid_pin" end
  state(vehicle).speed_limit_mode.active = true
  show_speed_pin(vehicle)
end

function M.speed_limit_deactivate(vehicle, params)
  if params.pin ~= vehicle.pins.speed_limit then return "invalid_pin" end
  state(vehicle).speed_limit_mode.active = false
end

function M.speed_limit_clear_pin(vehicle, params)
  if params.pin ~= vehicle.pins.speed_limit then return "invalid_pin" end
  state(vehicle).speed_limit_mode.active, vehicle.pins.speed_limit = false, nil
  show_speed_pin(vehicle)
end

function M.speed_limit_clear_pin_admin(vehicle)
  state(vehicle).speed_limit_mode.active, vehicle.pins.speed_limit = false, nil
  show_speed_pin(vehicle)
end

-- ---- parental controls ----

local SETTINGS = {
  SpeedLimit = true, Acceleration = true, SafetyFeatures = true, Curfew = true, BrowserBlocked = true, TheaterBlocked = true,
  ArcadeBlocked = true,
}

local function parental(vehicle)
  return state(vehicle).parental_controls
end

function M.parental_controls_enable_setting(vehicle, params)
  if parental(vehicle).active then return "parental_controls_active" end
  if not SETTINGS[params.setting] then return "invalid_value" end
  parental(vehicle).settings[params.setting] = params.enable
end

function M.parental_controls_set_speed_limit(vehicle, params)
  if parental(vehicle).active then return "parental_controls_active" end
  if not parental(vehicle).settings.SpeedLimit then return "speed_limit_not_enabled" end
  parental(vehicle).speed_limit_mph = params.limit_mph
end

function M.parental_controls_activate(vehicle, params)
  if not pin_fits(vehicle, "parental", params.pin) then return "invalid_pin" end
  parental(vehicle).active, parental(vehicle).pin_code_set = true, true
end

function M.parental_controls_deactivate(vehicle, params)
  if params.pin ~= vehicle.pins.parental then return "invalid_pin" end
  parental(vehicle).active = false
end

function M.parental_controls_clear_pin(vehicle, params)
  if params.pin ~= vehicle.pins.parental then return "invalid_pin" end
  return M.parental_controls_clear_pin_admin(vehicle)
end

function M.parental_controls_clear_pin_admin(vehicle)
  vehicle.pins.parental = nil
  parental(vehicle).active, parental(vehicle).pin_code_set = false, false
end

-- ---- guests ----

local GUEST_CODE_SECONDS = 600 -- doc/protocol.md#states-and-moves

function M.guest_mode(vehicle, params, context)
  state(vehicle).guest_mode = params.enable
  vehicle.guest_code = nil
  if not params.enable then
    vehicle.guest = nil
  elseif vehicle:firmware("2024.14") then
    vehicle.guest_code = { code = context.random(8), expires_at = context.now + GUEST_CODE_SECONDS }
  end
end

function M.erase_user_data(vehicle)
  if not vehicle:parked() then return "not_parked" end
  if not state(vehicle).guest_mode then return "guest_mode_not_active" end
  vehicle.guest = nil
end

function M.set_vehicle_name(vehicle, params)
  if state(vehicle).guest_mode then return "guest_mode_active" end
  vehicle.record.display_name, state(vehicle).vehicle_name = params.vehicle_name, params.vehicle_name
end

return M
