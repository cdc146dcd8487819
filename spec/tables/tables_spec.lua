-- The tables against what was written down apart from them: spec/vectors/*.tsv, transcribed from the documents.

local core = require "fleet.core"

-- ---- reading ----

local function lines(path)
  local list = {}
  for line in assert(io.open(path)):lines() do
    if string.sub(line, 1, 1) ~= "#" then list[#list + 1] = line end
  end
  return list
end

local function cells(line)
  local list = {}
  for cell in string.gmatch(line .. "\t", "([^\t]*)\t") do list[#list + 1] = cell end
  return list
end

-- A file of tab separated records, its first line being the names of the columns.
local function records(name)
  local list, text = {}, lines("spec/vectors/" .. name)
  local columns = cells(text[1])
  for i = 2, #text do
    local record, values = {}, cells(text[i])
    for j, column in ipairs(columns) do record[column] = values[j] ~= "" and values[j] or nil end
    list[#list + 1] = record
  end
  return list
end

local function by(list, key)
  local found = {}
  for _, item in ipairs(list) do found[item[key]] = item end
  return found
end

local function all_rows()
  local list = core.endpoints()
  for _, row in ipairs(core.commands()) do list[#list + 1] = row end
  return list
end

local function words(text)
  local set = {}
  for word in string.gmatch(text, "%S+") do set[word] = true end
  return set
end

-- A row that says it is unpublished is stated by nothing but itself; what is written down here holds of the others.
local function is_published(item)
  return not (item.flags and item.flags.unpublished)
end

local function names(list, wanted)
  local found = {}
  for _, item in ipairs(list) do
    if wanted(item) and is_published(item) then found[item.name] = true end
  end
  return found
end

local rows = all_rows()
local row_named = by(rows, "name")

-- ---- messages ----

local members, enums = {}, {}
for _, record in ipairs(records("messages.tsv")) do
  local full = (record.package or "") .. "." .. (record.message or "")
  if record.kind == "field" then
    members[full] = members[full] or {}
    members[full][record.field] = record.type
  elseif record.kind == "enum" then
    enums[full] = {}
    for name, number in string.gmatch(record.enum_values, "(%S+)=(%-?%d+)") do enums[full][name] = tonumber(number) end
  end
end

local roots = { vehicle_security = "VCSEC.UnsignedMessage", infotainment = "CarServer.Action" }

-- The type that a path of members leads to, starting in a message.
local function type_at(message, path)
  if path == "." then return message end
  for member in string.gmatch(path, "[^.]+") do
    local known = members[message]
    assert(known and known[member], "no member '" .. member .. "' in " .. tostring(message))
    message = known[member]
  end
  return message
end

-- Messages without members, such as MediaPlayAction, are not in members; everything else is an enum or a lower-case word.
local function is_message(name)
  return not (string.find(name, "^enum ") or string.find(name, "^%l+%d*$"))
end

-- One item of the language: a path, with =VALUE for what is no message.
local function check_item(message, item)
  local path, value = string.match(item, "^([^=]+)=(.+)$")
  local found = type_at(message, path or item)
  if not value then
    assert(is_message(found), item .. " is no message and has no value")
  elseif string.find(found, "^enum ") then
    assert(enums[string.sub(found, 6)][value], item .. ": no such value of " .. found)
  else
    local fits = value == "true" and found == "bool" or tonumber(value) and string.find(found, "int32")
    assert(fits, item .. " does not fit " .. found)
  end
  return found
end

local function base_of(row)
  local message, base = roots[row.domain], nil
  for item in string.gmatch(row.message .. "; ", "(.-); ") do
    local found = check_item(base or message, item)
    if not base and not string.find(item, "=") then base = found end
  end
  return base or message
end

local scalar = {
  string = { string = true }, integer = { int32 = true, uint32 = true, uint64 = true }, number = { float = true, double = true },
  public_key = { bytes = true }, boolean = { bool = true }, id = { uint64 = true, int64 = true },
  days = { int32 = true }, object = { string = true },
}

local function check_choice(target, param, choice)
  if string.find(target, "^enum ") then
    local values = enums[string.sub(target, 6)]
    local name = choice.field or type(choice.value) == "string" and choice.value
    if name then
      assert(values[name], param.name .. ": no value " .. name)
    else
      local known = false
      for _, number in pairs(values) do known = known or number == choice.value end
      assert(known, param.name .. ": no value " .. tostring(choice.value))
    end
  elseif not is_message(target) then
    assert(scalar[param.type][target] and type(choice.value) == "number", param.name .. "." .. choice.name .. " does not fit " .. target)
  else
    if param.name == "state" and choice.name == "stop" then return end -- sun_roof_control: published in plain form only
    check_item(target, assert(choice.field, param.name .. "." .. choice.name .. " has no field"))
  end
end

-- Actions that the published messages lack: what other clients send (commands.tsv, last column).
local unpublished = {
  ["CarServer.VehicleAction"] = {
    navigationRequest = "CarServer.NavigationRequest", navigationSuperchargerRequest = "CarServer.NavigationSuperchargerRequest",
    uiSetUpcomingCalendarEntries = "CarServer.UiSetUpcomingCalendarEntries", navigationGpsRequest = "CarServer.NavigationGpsRequest",
    boomboxAction = "CarServer.BoomboxAction", autoStwHeatAction = "CarServer.AutoStwHeatAction",
    stwHeatLevelAction = "CarServer.StwHeatLevelAction", navigationWaypointsRequest = "CarServer.NavigationWaypointsRequest",
  },
  ["CarServer.NavigationRequest"] = { destination = "string" },
  ["CarServer.NavigationSuperchargerRequest"] = { id = "int64", remote_nav_trip_order = "enum CarServer.NavigationOrder" },
  ["CarServer.UiSetUpcomingCalendarEntries"] = { calendar_data = "string" },
  ["CarServer.NavigationGpsRequest"] = { lat = "double", lon = "double", order = "enum CarServer.NavigationOrder" },
  ["CarServer.BoomboxAction"] = { sound = "uint32" },
  ["CarServer.AutoStwHeatAction"] = { on = "bool" },
  ["CarServer.StwHeatLevelAction"] = { stw_heat_level = "enum CarServer.StwHeatLevel" },
  ["CarServer.NavigationWaypointsRequest"] = { waypoints = "string" },
}
for message, list in pairs(unpublished) do
  members[message] = members[message] or {}
  for name, kind in pairs(list) do members[message][name] = kind end
end
enums["CarServer.NavigationOrder"] = {
  NavigationOrder_Unknown = 0, NavigationOrder_Replace = 1, NavigationOrder_Prepend = 2, NavigationOrder_Append = 3,
}

local function check_field(base, param)
  local target = type_at(base, param.field)
  if param.choices then
    for _, choice in ipairs(param.choices) do check_choice(target, param, choice) end
  elseif is_message(target) then
    assert(param.type == "boolean", param.name .. " is a message")
  else
    assert(scalar[param.type][target], param.name .. " (" .. param.type .. ") does not fit " .. target)
  end
end

-- ---- facts ----

describe("the tables", function()
  it("name every row once, and every method of a handle once", function()
    local seen = {}
    for _, row in ipairs(rows) do
      local method = row.handle .. ":" .. row.method
      assert.is_nil(seen[row.name], row.name)
      assert.is_nil(seen[method], method)
      seen[row.name], seen[method] = true, true
    end
  end)

  it("are fresh with every call", function()
    core.commands()[1].name = "changed"
    core.commands()[1].params[1].name = "changed"
    assert.are_not.equal("changed", core.commands()[1].name)
    assert.are_not.equal("changed", core.commands()[1].params[1].name)
  end)

  it("make every placeholder a parameter of the path, and every such parameter a placeholder", function()
    for _, row in ipairs(rows) do
      local wanted = {}
      for name in string.gmatch(row.path, "{(.-)}") do wanted[name] = true end
      assert.are.same(wanted, names(row.params, function(param) return param.place == "path" end), row.name)
    end
  end)

  it("describe every row, parameter and option", function()
    for _, row in ipairs(rows) do
      assert.is_truthy(row.doc and string.find(row.doc, "%.$"), row.name)
      for _, param in ipairs(row.params) do assert.is_truthy(param.doc, row.name .. "." .. param.name) end
    end
    for _, list in ipairs { core.options(), core.call_options(), core.reasons(), core.faults(), core.kinds() } do
      for _, item in ipairs(list) do assert.is_truthy(item.doc, item.name or item.text) end
    end
  end)

  it("show a call of every row that Lua can read, with known parameters and every required one", function()
    for _, row in ipairs(rows) do
      local arguments = { assert(load("return " .. row.example, row.name, "t", {}))() }
      local given = arguments[#arguments]
      local params = by(row.params, "name")
      local whole = names(row.params, function(param) return param.whole end)
      if type(given) == "table" and not row.flags.body_as_given and not next(whole) then
        for name in pairs(given) do assert.is_truthy(params[name], row.name .. "." .. name) end
        for name, param in pairs(params) do
          if param.required and param.place == "body" then assert.is_not_nil(given[name], row.name .. "." .. name) end
        end
      end
    end
  end)

  it("mark the calls by POST that only read", function()
    assert.are.same(words "fleet_status pricing", names(rows, function(row) return row.flags.read end))
  end)
end)

describe("interface.tsv", function()
  local vectors = records("interface.tsv")

  local function named(row) return row.handle .. ":" .. row.method end

  it("holds every row that does not say it is unpublished, none that does, and every line of it is a row", function()
    local written, stated = {}, {}
    for _, vector in ipairs(vectors) do written[vector.name] = true end
    for _, row in ipairs(rows) do stated[named(row)] = is_published(row) or nil end
    assert.are.same(written, stated)
  end)

  it("has the 45 endpoints, the 67 commands and the further ones", function()
    assert.are.equal(51 + 83, #vectors)
  end)

  it("agrees on method, path, fixed query and the first token", function()
    local found = {}
    for _, row in ipairs(rows) do found[named(row)] = row end
    for _, vector in ipairs(vectors) do
      local row = found[vector.name]
      local pattern = "^" .. string.gsub(string.gsub(row.path, "%-", "%%-"), "{.-}", "[^/]+") .. "$"
      assert.are.equal(vector.method, row.verb, vector.name)
      assert.is_truthy(string.find(vector.path, pattern), vector.name)
      assert.are.equal(vector.token, row.tokens[1], vector.name)
      if row.query then assert.is_truthy(string.find(vector.query, row.query, 1, true), vector.name) end
    end
  end)

  it("uses every parameter that is sent, under its wire name", function()
    local found = {}
    for _, vector in ipairs(vectors) do found[vector.name] = vector end
    for _, row in ipairs(rows) do
      local vector = found[named(row)]
      local sent = vector and "&" .. vector.query .. vector.body
      for _, param in ipairs(vector and row.params or {}) do
        local wanted = param.place == "query" and "&" .. param.name .. "=" or param.place == "body" and '"' .. param.name .. '":'
        if wanted then assert.is_truthy(string.find(sent, wanted, 1, true), vector.name .. " " .. param.name) end
      end
    end
  end)
end)

describe("a planned call", function()
  local cjson = require "cjson"
  local handles = { client = core.client {} }
  for _, kind in ipairs { "partner", "user", "charging" } do handles[kind] = core.handle(kind, handles.client) end
  handles.vehicle = core.handle("vehicle", handles.client, "5YJ3E1EA7KF000001")
  handles.site = core.handle("site", handles.client, "2252147638651")

  local of_pages = words "page per_page pageNo pageSize offset limit"

  -- The parts of a query in an order of their own, without those that the walk over pages adds later.
  local function parts(query)
    local list = {}
    for part in string.gmatch(query, "[^&]+") do
      local text = string.gsub(part, "%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
      if not of_pages[string.match(text, "^[^=]+")] then list[#list + 1] = text end
    end
    table.sort(list)
    return list
  end

  local function written(text)
    return text ~= "-" and text or nil
  end

  it("is what interface.tsv says: method, path, query and body", function()
    local found = {}
    for _, row in ipairs(rows) do found[row.handle .. ":" .. row.method] = row end
    for _, vector in ipairs(records("interface.tsv")) do
      local row = found[vector.name]
      local arguments = table.pack(load("return " .. (vector.arguments or ""))())
      local plan = core.plan(core.row(row.name), handles[row.handle], table.unpack(arguments, 1, arguments.n))
      local request = plan:table("https://service", nil)
      local path, query = string.match(request.url, "^https://service([^?]*)%??(.*)$")
      assert.are.equal(vector.method, request.method, vector.name)
      assert.are.equal(vector.path, path, vector.name)
      assert.are.same(parts(written(vector.query) or ""), parts(query), vector.name)
      assert.are.equal(written(vector.body) ~= nil, (request.body or "") ~= "", vector.name)
      if request.body then assert.are.same(cjson.decode(vector.body), cjson.decode(request.body), vector.name) end
    end
  end)

  it("writes lists that are empty as lists", function()
    local body = core.plan(core.row "create_fleet_telemetry_config", handles.client,
      { vins = { "5YJ3E1EA7KF000001" }, config = { fields = {}, alert_types = {} } }):table("https://service", nil).body
    assert.is_truthy(string.find(body, '"alert_types":[]', 1, true))
    assert.is_truthy(string.find(body, '"fields":{}', 1, true))
  end)

  it("can be made with the sample of every row", function()
    for _, row in ipairs(rows) do
      local arguments = table.pack(load("return " .. row.example)())
      assert.has_no.errors(function()
        core.plan(core.row(row.name), handles[row.handle], table.unpack(arguments, 1, arguments.n))
      end)
    end
  end)
end)

describe("commands", function()
  local vectors = records("commands.tsv")
  local domains = { vcsec = "vehicle_security", infotainment = "infotainment" }

  it("are those of commands.tsv; wake_up is an endpoint", function()
    local wanted, stated = {}, { wake_up = row_named.wake_up and true }
    for _, vector in ipairs(vectors) do wanted[vector.name] = true end
    for _, row in ipairs(core.commands()) do stated[row.name] = is_published(row) or nil end
    assert.are.same(wanted, stated)
  end)

  it("are obeyed in the domain written there, or go plain where no message is published", function()
    for _, vector in ipairs(vectors) do
      local row = row_named[vector.name]
      assert.are.equal(row.message ~= nil, row.domain ~= nil, vector.name)
      local library_only = string.find(vector.name, "^batch_remove_")
      if row.flags.either_form then
        assert.are.equal("infotainment", row.domain, vector.name)
        assert.is_nil(domains[vector.domain], vector.name)
      elseif not library_only then assert.are.equal(domains[vector.domain], row.domain, vector.name) end
    end
  end)

  it("have messages whose every member and value is published", function()
    for _, row in ipairs(core.commands()) do
      if row.message then
        local base = base_of(row)
        for _, param in ipairs(row.params) do
          if param.field then assert.has_no.errors(function() check_field(base, param) end) end
        end
      end
    end
  end)

  it("would notice a misspelt member or value", function()
    local row = row_named.charge_start
    row.message = "vehicleAction.chargingStartStopAction; begin"
    assert.has_error(function() base_of(row) end)
    assert.has_error(function() check_item("VCSEC.UnsignedMessage", "RKEAction=RKE_ACTION_OPEN") end)
    assert.has_error(function() check_item("CarServer.Action", "vehicleAction.chargingSetLimitAction.percent") end)
  end)

  it("put into the message what they put into the body, save what only the plain form takes", function()
    local plain_only = { ["window_control.lat"] = true, ["window_control.lon"] = true, ["trigger_homelink.token"] = true }
    for _, name in ipairs { "type", "locale", "timestamp_ms" } do plain_only["navigation_request." .. name] = true end
    for _, row in ipairs(core.commands()) do
      for _, param in ipairs(row.params) do
        local signed = row.message and param.place == "body" and not plain_only[row.name .. "." .. param.name]
        assert.are.equal(signed and true or false, param.field ~= nil, row.name .. "." .. param.name)
      end
    end
  end)

  it("need the protocol exactly where doc/protocol.md#plain-or-signed says so", function()
    assert.are.same(words "set_pin_to_drive reset_pin_to_drive_pin set_vehicle_name set_low_power_mode keep_accessory_power_mode",
      names(rows, function(row) return row.flags.needs_protocol end))
  end)

  it("are not repeated when they move, toggle, step, add or forget something", function()
    local moving = words [[actuate_trunk window_control sun_roof_control open_tonneau close_tonneau stop_tonneau door_unlock
      remote_start_drive media_next_fav media_next_track media_prev_fav media_prev_track media_toggle_playback media_volume_up
      media_volume_down honk_horn flash_lights trigger_homelink remote_boombox navigation_request navigation_gps_request
      navigation_sc_request navigation_waypoints_request add_charge_schedule add_precondition_schedule erase_user_data
      reset_pin_to_drive_pin reset_valet_pin clear_pin_to_drive_admin speed_limit_clear_pin speed_limit_clear_pin_admin
      parental_controls_clear_pin_admin charge_port_door_open charge_port_door_close set_scheduled_charging
      set_scheduled_departure create_invitation redeem_invitation signed_command wake_up]]
    for name in pairs(moving) do assert.is_false(row_named[name].flags.idempotent, name) end
    for name in pairs(words "set_charge_limit charge_start door_lock set_temps backup adjust_volume remove_charge_schedule") do
      assert.is_true(row_named[name].flags.idempotent, name)
    end
    assert.are.same(words "add_charge_schedule add_precondition_schedule",
      names(rows, function(row) return row.flags.idempotent_with_id end))
  end)

  it("accept the charging scope where they charge", function()
    for name in pairs(words "charge_start charge_stop set_charge_limit set_charging_amps wake_up signed_command") do
      assert.is_true(row_named[name].flags.charging_scope, name)
    end
    for name in pairs(words "door_lock set_temps honk_horn") do assert.is_false(row_named[name].flags.charging_scope, name) end
  end)

  it("name the firmware, the role and the replacement as the published ones do", function()
    assert.are.equal("2024.26", row_named.set_scheduled_charging["until"])
    assert.are.equal("2023.44", row_named.clear_pin_to_drive_admin.since)
    assert.are.equal("2023.38", row_named.speed_limit_clear_pin_admin.since)
    assert.are.same(words [[set_pin_to_drive reset_pin_to_drive_pin clear_pin_to_drive_admin speed_limit_clear_pin_admin
      parental_controls_clear_pin_admin]], names(core.commands(), function(row) return row.who == "fleet manager or owner" end))
    for _, row in ipairs(rows) do
      assert.are.equal(row.flags.deprecated, row["until"] ~= nil, row.name)
      assert.are.equal(row.flags.deprecated, row_named[row.replacement] ~= nil, row.name)
    end
  end)
end)

describe("parameters", function()
  local function param(row, name) return by(row_named[row].params, "name")[name] end

  local function values(row, name)
    local found = {}
    for _, choice in ipairs(param(row, name).choices) do found[choice.name] = choice.value end
    return found
  end

  it("number seats and levels as each command does", function()
    assert.are.same({ front_left = 0, front_right = 1, rear_left = 2, rear_left_back = 3, rear_center = 4, rear_right = 5,
      rear_right_back = 6, third_left = 7, third_right = 8 }, values("remote_seat_heater_request", "seat_position"))
    assert.are.same({ front_left = 1, front_right = 2 }, values("remote_seat_cooler_request", "seat_position"))
    assert.are.same({ front_left = 1, front_right = 2 }, values("remote_auto_seat_climate_request", "auto_seat_position"))
    assert.are.same({ off = 0, low = 1, medium = 2, high = 3 }, values("remote_seat_heater_request", "level"))
    assert.are.same({ off = 1, low = 2, medium = 3, high = 4 }, values("remote_seat_cooler_request", "seat_cooler_level"))
    assert.are.same({ off = 0, low = 1, high = 3 }, values("remote_steering_wheel_heat_level_request", "level"))
  end)

  it("name the published values", function()
    assert.are.same({ low = 0, medium = 1, high = 2 }, values("set_cop_temp", "cop_temp"))
    assert.are.same({ off = 0, keep = 1, on = 1, dog = 2, camp = 3 }, values("set_climate_keeper_mode", "climate_keeper_mode"))
    assert.are.same({ random = 0, locate_ping = 2000 }, values("remote_boombox", "sound"))
    assert.are.same({ front = "front", rear = "rear" }, values("actuate_trunk", "which_trunk"))
    assert.are.same({ vent = "vent", close = "close" }, values("window_control", "command"))
    assert.are.same({ vent = "vent", close = "close", stop = "stop", open = "open" }, values("sun_roof_control", "state"))
    assert.are.same({ autonomous = "autonomous", self_consumption = "self_consumption" },
      values("operation", "default_real_mode"))
    assert.are.same({ battery_ok = "battery_ok", pv_only = "pv_only", never = "never" },
      values("grid_import_export", "customer_preferred_export_rule"))
  end)

  it("send the activation temperature by its meaning: the message counts one higher than the body", function()
    local numbers = enums["CarServer.ClimateState.CopActivationTemp"]
    for _, choice in ipairs(param("set_cop_temp", "cop_temp").choices) do
      assert.are.equal(choice.value + 1, numbers[choice.field])
    end
  end)

  it("have choices of their own type, each name once", function()
    for _, row in ipairs(rows) do
      for _, p in ipairs(row.params) do
        local seen = {}
        for _, choice in ipairs(p.choices or {}) do
          assert.are.equal(p.type == "integer" and "number" or "string", type(choice.value), row.name .. "." .. p.name)
          assert.is_nil(seen[choice.name], row.name .. "." .. choice.name)
          seen[choice.name] = true
        end
      end
    end
  end)

  it("are bounded by what is known", function()
    local bounds = {
      { "set_charge_limit", "percent", 50, 100, "percent" }, { "backup", "backup_reserve_percent", 0, 100, "percent" },
      { "off_grid_vehicle_charging_reserve", "off_grid_vehicle_charging_reserve_percent", 0, 100, "percent" },
      { "set_temps", "driver_temp", 15, 30, "°C" }, { "set_charging_amps", "charging_amps", 0, 80, "A" },
      { "set_scheduled_departure", "departure_time", 0, 1440, "minutes after midnight" },
      { "adjust_volume", "volume", 0, 11 }, { "trigger_homelink", "lat", -90, 90, "degrees" },
      { "speed_limit_set_limit", "limit_mph", 50, 120, "mph" }, { "invitations", "page_size", 1, 25 },
      { "fleet_status", "vins", 1, 100 },
    }
    for _, bound in ipairs(bounds) do
      local p = param(bound[1], bound[2])
      assert.are.same({ bound[3], bound[4], bound[5] }, { p.min, p.max, p.unit })
    end
    assert.are.equal(10, param("adjust_volume", "volume").signed_max)
  end)

  it("treat PINs, tokens and codes as secrets, and nothing else", function()
    for _, row in ipairs(rows) do
      for _, p in ipairs(row.params) do
        local pin = p.name == "pin" or p.name == "password"
        assert.are.equal(pin, p.pin, row.name .. "." .. p.name)
        local secret = pin or p.name == "token" or p.name == "code"
        assert.are.equal(secret, p.secret, row.name .. "." .. p.name)
      end
    end
  end)

  it("can be settled only by sections that are read and parameters that exist", function()
    local sections = { site_info = true, body_controller = true, keys = true }
    for _, choice in ipairs(param("vehicle_data", "endpoints").choices) do sections[choice.value] = true end
    for _, row in ipairs(rows) do
      for part in string.gmatch((row.settle or "") .. "; ", "(.-); ") do
        if part ~= "" then
          local expected, condition = string.match(part, "^(.-) when (.+)$")
          local path, op, value = string.match(expected or part, "^([%l_]+%.[%l%d_.%[%]=$]+) (%S+) (%S+)$")
          assert.is_truthy(path, row.name .. ": " .. part)
          assert.is_true(sections[string.match(path, "^[%l_]+")], row.name)
          assert.is_truthy(words("= ~ in same")[op], row.name)
          assert.is_true(sections[string.match(value, "^@([%l_]+)%.") or "site_info"], row.name)
          for word in string.gmatch(condition or "", "%S+") do assert.is_truthy(string.match(word, "^%$[%l_]+=%S+$"), row.name) end
          for name in string.gmatch(part, "%$([%l_%d]+)") do assert.is_truthy(param(row.name, name), row.name .. " " .. name) end
        end
      end
    end
    for name in pairs(words "actuate_trunk honk_horn flash_lights media_toggle_playback") do
      assert.is_nil(row_named[name].settle, name)
    end
  end)
end)

describe("tokens and prices", function()
  it("use the kind of token that they need", function()
    assert.are.same({ "partner" }, row_named.specs.tokens)
    assert.are.same({ "partner" }, row_named["partner.register"].tokens)
    assert.are.same({ "user" }, row_named["user.me"].tokens)
    assert.are.same({ "business", "user" }, row_named["charging.sessions"].tokens)
    assert.are.same({ "user", "business", "partner" }, row_named.delete_fleet_telemetry_config.tokens)
    assert.are.same({ "user", "business" }, row_named.honk_horn.tokens)
    for _, row in ipairs(rows) do
      assert.are.equal(row.handle == "user", row.flags.no_business, row.name)
      assert.are.equal(row.tokens[1] == "partner", row.flags.third_party, row.name)
      assert.is_truthy(row.scope or row.handle == "partner", row.name)
    end
  end)

  it("price commands, wakes and specs separately, and energy, accounts and charging records not at all", function()
    for _, row in ipairs(rows) do
      local free = words("site partner user charging")[row.handle]
      if row.flags.command then assert.are.equal("command", row.billing, row.name) end
      if free then assert.are.equal("free", row.billing, row.name) end
    end
    assert.are.equal("wake", row_named.wake_up.billing)
    assert.are.equal("specs", row_named.specs.billing)
    assert.are.equal("data", row_named.vehicle_data.billing)
    assert.are.equal("command", row_named.signed_command.billing)
  end)
end)

describe("reasons", function()
  local reasons = core.reasons()

  it("are stated once, each with a kind or as done already", function()
    local seen, kinds = {}, by(core.kinds(), "name")
    for _, reason in ipairs(reasons) do
      assert.is_nil(seen[reason.text], reason.text)
      seen[reason.text] = true
      assert.are.equal(reason.changed, kinds[reason.kind] ~= nil, reason.text)
      assert.are.equal(reason.changed, reason.outcome ~= nil, reason.text)
    end
  end)

  local published = [[login_required|invalid_auth_code|cable connected|non-motorized charge port|already closed|
car_wash|not allowed|already_started|complete|is_charging|disconnected|no_power|requested|not_charging|already_set|not_supported|
parental_controls_active|missing_key|unsupported_hardware|unsupported_firmware|max_configs]]

  it("cover every published reason", function()
    local known = by(reasons, "text")
    for text in string.gmatch(published, "[^|\n]+") do assert.is_truthy(known[text], text) end
  end)

  it("take as done what is published to hold already, and no published refusal", function()
    local known, done = by(reasons, "text"), {}
    for text in string.gmatch([[GENERICERROR_ALREADY_ON|already closed|already off|already_set|already_standard|already_started|
complete|is_charging|not_charging|requested]], "[^|\n]+") do
      assert.is_false(known[text].changed, text)
      done[text] = true
    end
    for text in string.gmatch(published, "[^|\n]+") do assert.are.equal(not done[text], known[text].changed, text) end
  end)
end)

describe("faults", function()
  it("are those of the protocol", function()
    local wanted = enums["UniversalMessage.MessageFault_E"]
    local count = 0
    for _, fault in ipairs(core.faults()) do
      assert.are.equal(wanted["MESSAGEFAULT_ERROR_" .. fault.name], fault.number)
      count = count + 1
    end
    assert.are.equal(28, count)
  end)

  it("leave the outcome open unless the vehicle certainly did nothing", function()
    local refused = words "1 3 4 7 8 9 10 12 13 14 16 18 19 21 22 23 24 27 28"
    local resync = words "5 6 15 17 20"
    for _, fault in ipairs(core.faults()) do
      local number = tostring(fault.number)
      assert.are.equal(refused[number] and "refused" or "unknown", fault.outcome, fault.name)
      assert.are.equal(resync[number] or false, fault.resync, fault.name)
    end
  end)
end)

describe("kinds, options and vendors", function()
  it("give every kind its own exit status, from 10 on", function()
    for i, kind in ipairs(core.kinds()) do
      assert.is_truthy(kind.name)
      assert.are.equal(9 + i, kind.exit)
    end
    assert.are.equal(25, #core.kinds())
  end)

  it("state every option of fleet.new, with its environment", function()
    assert.are.same(words [[region base_url auth_url token_url account client_id client_secret redirect_uri scopes domain key commands
      proxy_url store token timeout connect_timeout max_response ca_file user_agent proxy http2 vendor hosts insecure_http
      insecure_key_mode store_key log budgets pacing prices metrics audit http]], names(core.options(), function() return true end))
    for _, option in ipairs(core.options()) do
      local name = option.environment
      if name then assert.are.equal("FLEET_" .. string.upper(option.name), name) end
    end
    local secrets = names(core.options(), function(option) return option.secret end)
    assert.are.same(words "client_secret token store_key", secrets)
  end)

  it("state every option of a call", function()
    assert.are.same(words "timeout wake auth idempotent strict raw force read_back",
      names(core.call_options(), function() return true end))
  end)

  it("keep all addresses on the known hosts, over https", function()
    for _, vendor in ipairs(core.vendors()) do
      for _, region in ipairs(vendor.regions) do
        for _, name in ipairs { "base_url", "auth_url", "token_url" } do
          local host = string.match(region[name], "^https://([%w%-.]+)$")
          local known = false
          for _, ending in ipairs(vendor.host_endings) do known = known or string.sub(host, -#ending) == ending end
          assert.is_true(known, region[name])
        end
      end
    end
  end)
end)

describe("generated files", function()
  local content = require("spec.support.harness.files").read

  it("are those of these rows: run make doc after a change", function()
    assert.is_true(content("doc/reference.md") == require("doc.generate.reference").markdown(), "doc/reference.md")
    assert.is_true(content("lua/fleet/types.lua") == require("doc.generate.types").definitions(), "lua/fleet/types.lua")
  end)

  it("describe every row to readers and to editors", function()
    local reference, types = content("doc/reference.md"), content("lua/fleet/types.lua")
    for _, row in ipairs(rows) do
      assert.is_truthy(string.find(reference, "\n### " .. row.name .. "\n", 1, true), row.name)
      assert.is_truthy(string.find(types, "\nfunction " .. row.handle .. ":" .. row.method .. "(", 1, true), row.name)
    end
  end)

  it("are Lua that an editor can read", function()
    assert.is_truthy(load(content("lua/fleet/types.lua")))
  end)
end)
