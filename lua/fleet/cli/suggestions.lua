-- Suggests verbs for an unknown word: first by the words of other tools, then by the words in names and descriptions of verbs.

local errors = require "fleet.util.errors"

local M = {}

-- Words of other tools and of users. Names that are no verb here are left out.
local called = {
  lock = "door_lock door_unlock", unlock = "door_unlock door_lock", ["climate-on"] = "auto_conditioning_start",
  ["climate-off"] = "auto_conditioning_stop", climate = "auto_conditioning_start auto_conditioning_stop set_temps",
  ["climate-set-temp"] = "set_temps", temperature = "set_temps", temp = "set_temps",
  heat = "auto_conditioning_start set_temps remote_seat_heater_request", hvac = "auto_conditioning_start auto_conditioning_stop",
  defrost = "set_preconditioning_max", precondition = "auto_conditioning_start add_precondition_schedule",
  trunk = "open_trunk close_trunk actuate_trunk", ["trunk-open"] = "open_trunk actuate_trunk",
  ["trunk-close"] = "close_trunk actuate_trunk", ["trunk-move"] = "actuate_trunk", frunk = "open_trunk actuate_trunk",
  ["frunk-open"] = "open_trunk actuate_trunk", boot = "open_trunk actuate_trunk", bonnet = "open_trunk actuate_trunk",
  state = "vehicle_data info", status = "vehicle_data live_status fleet_status", data = "vehicle_data live_status",
  battery = "vehicle_data live_status", soc = "vehicle_data live_status", range = "vehicle_data", odometer = "vehicle_data",
  ["body-controller-state"] = "body_controller_state", position = "locate", location = "locate", gps = "locate",
  where = "locate", address = "navigate", route = "navigate", destination = "navigate", share = "navigate create_invitation",
  ["seat-heater"] = "remote_seat_heater_request", ["seat-cooler"] = "remote_seat_cooler_request",
  ["auto-seat-and-climate"] = "remote_auto_seat_climate_request",
  ["steering-wheel-heater"] = "remote_steering_wheel_heater_request",
  ["list-keys"] = "keys", ["add-key"] = "add_key pair", ["add-key-request"] = "pair",
  ["remove-key"] = "remove_key", sites = "products", site = "site_info products", powerwall = "live_status site_info products",
  solar = "live_status energy_history", energy = "live_status energy_history products", home = "live_status site_info",
  grid = "live_status grid_import_export", reserve = "backup", storm = "storm_mode", tou = "time_of_use_settings",
  config = "setup doctor", configure = "setup", init = "setup", install = "setup completion", whoami = "user.me token.info",
  me = "user.me", account = "user.me token.info", auth = "login token.info", signin = "login", signout = "logout",
  ["sign-in"] = "login", ["sign-out"] = "logout", tokens = "token.info", car = "vehicles info vehicle_data",
  cars = "vehicles", vehicle = "vehicles info vehicle_data", list = "vehicles products", ls = "vehicles products",
  ["product-info"] = "products", horn = "honk_horn", flash = "flash_lights", lights = "flash_lights",
  drive = "remote_start_drive", start = "remote_start_drive charge_start", charge = "charge_start charge_stop set_charge_limit",
  charging = "charge_start charge_stop charging.history", limit = "set_charge_limit speed_limit_set_limit",
  amps = "set_charging_amps", ["charging-set-amps"] = "set_charging_amps", ["charging-set-limit"] = "set_charge_limit",
  ["charging-schedule"] = "add_charge_schedule set_scheduled_charging", ["charging-schedule-add"] = "add_charge_schedule",
  ["charging-schedule-remove"] = "remove_charge_schedule", ["charging-schedule-cancel"] = "remove_charge_schedule",
  ["precondition-schedule-add"] = "add_precondition_schedule", ["precondition-schedule-remove"] = "remove_precondition_schedule",
  ["charge-port-open"] = "charge_port_door_open", ["charge-port-close"] = "charge_port_door_close",
  windows = "window_control", ["windows-vent"] = "window_control", ["windows-close"] = "window_control", vent = "window_control",
  sunroof = "sun_roof_control", sentry = "set_sentry_mode", ["sentry-mode"] = "set_sentry_mode", valet = "set_valet_mode",
  dog = "set_climate_keeper_mode", camp = "set_climate_keeper_mode", garage = "trigger_homelink", fart = "remote_boombox",
  ["valet-mode-on"] = "set_valet_mode", ["valet-mode-off"] = "set_valet_mode", ["guest-mode-on"] = "guest_mode",
  ["guest-mode-off"] = "guest_mode", ["erase-guest-data"] = "erase_user_data", volume = "adjust_volume media_volume_up",
  play = "media_toggle_playback", pause = "media_toggle_playback", ["media-set-volume"] = "adjust_volume",
  ["software-update-start"] = "schedule_software_update", ["software-update-cancel"] = "cancel_software_update",
  update = "schedule_software_update cancel_software_update", rename = "set_vehicle_name", name = "set_vehicle_name",
  ["session-info"] = "doctor", ping = "wake doctor", get = "endpoints", post = "endpoints", raw = "endpoints",
  simulator = "sim", bridge = "mqtt", server = "proxy", price = "cost tariff.show", prices = "tariff.show cost", spending = "cost",
  logs = "cost help", debug = "doctor version", check = "doctor tariff.check", invite = "create_invitation",
  invoice = "charging.invoice", invoices = "charging.history charging.invoice",
  superchargers = "nearby_charging_sites signed_nearby_charging_sites",
  chargers = "nearby_charging_sites",
}

local most = 3

local function plain(word)
  return (string.gsub(string.lower(word), "[%s_]", "-"))
end

local function existing(text, by_name)
  local found = {}
  for name in string.gmatch(text or "", "%S+") do
    if by_name[name] and #found < most then found[#found + 1] = name end
  end
  return found
end

local function words_of(text)
  local list = {}
  for word in string.gmatch(string.lower(text), "%a+") do list[#list + 1] = word end
  return list
end

-- How well a verb fits the words. A word that occurs in the name counts 2; one that begins a word of the description counts 1. The result
-- is 0 when a word does neither.
local function fit(verb, words)
  local name, sentence, sum = "_" .. string.lower(verb.name), " " .. table.concat(words_of(verb.doc), " "), 0
  for _, word in ipairs(words) do
    local in_name = string.find(name, "[._]" .. word)
    if not in_name and not string.find(sentence, " " .. word, 1, true) then return 0 end
    sum = sum + (in_name and 2 or 1)
  end
  return sum
end

local function search_all(words, by_name)
  local found = {}
  for name, verb in pairs(by_name) do
    local sum = fit(verb, words)
    if sum > 0 then found[#found + 1] = { name = name, sum = sum } end
  end
  table.sort(found, function(a, b)
    if a.sum ~= b.sum then return a.sum > b.sum end
    if #a.name ~= #b.name then return #a.name < #b.name end
    return a.name < b.name
  end)
  local names = {}
  for i = 1, math.min(most, #found) do names[i] = found[i].name end
  return names
end

-- Verbs that fit all words, else those that fit the first word with a match.
local function search(text, by_name)
  local words = words_of(text)
  for i = #words, 1, -1 do
    if #words[i] < 3 then table.remove(words, i) end
  end
  local names = words[1] and search_all(words, by_name) or {}
  for _, word in ipairs(words) do
    if not names[1] then names = search_all({ word }, by_name) end
  end
  return names
end

--- The names of verbs that other tools call by this word; an empty list when there are none.
function M.called(text, by_name)
  return existing(called[plain(text)], by_name)
end

--- The same for a misspelt word.
function M.misspelt(text, by_name)
  local known = {}
  for word in pairs(called) do known[#known + 1] = word end
  return M.called(string.match(errors.unknown("word", plain(text), known), "did you mean '(.-)'") or "", by_name)
end

--- The names of verbs whose name or description has these words, the best first.
M.search = search

--- The table of words, for specs.
M.words = called

return M
