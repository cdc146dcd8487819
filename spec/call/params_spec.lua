-- How parameters are checked and written, seen in the request that a call makes. Rows that lend their parameters are named
-- for their types; what every row puts on the wire stands in vectors/ and tables_spec.

local fleet = require "fleet"
local core = require "fleet.core"
local seam = require "spec.support.fixtures.host_http"

local function sent(object, method, ...)
  local target, requests = seam[object](seam.done)
  target[method](target, ...)
  return requests[1]
end

local function body(method, ...)
  return sent("car", method, ...).body
end

local function path(object, method, ...)
  return (sent(object, method, ...).path)
end

local function refusal(object, method, ...)
  local target, requests = seam[object](seam.done)
  local ok, message = pcall(target[method], target, ...)
  assert.is_false(ok, "it was accepted")
  assert.equal(0, #requests)
  local own, text = string.match(message, "^(spec/call/params_spec%.lua:%d+: )(.*)$")
  assert.truthy(own, message)
  return text
end

local function refuses(pattern, object, method, ...)
  assert.matches(pattern, refusal(object, method, ...))
end

local doubles = _VERSION < "Lua 5.3" -- all numbers are

describe("a whole number", function()
  it("is taken as integer or as float without fraction", function()
    assert.equal('{"percent":80}', body("set_charge_limit", { percent = 80 }))
    assert.equal('{"percent":80}', body("set_charge_limit", { percent = 80.0 }))
  end)

  it("is refused as text, with a fraction, or when it is none", function()
    refuses("'percent' must be a number, got string", "car", "set_charge_limit", { percent = "80" })
    refuses("'percent' must be a whole number", "car", "set_charge_limit", { percent = 80.5 })
    refuses("'percent' must be a finite number", "car", "set_charge_limit", { percent = 0 / 0 })
    refuses("'percent' must be a finite number", "car", "set_charge_limit", { percent = math.huge })
    refuses("'percent' must be a number, got boolean", "car", "set_charge_limit", { percent = true })
    refuses("'percent' must be a number, got userdata", "car", "set_charge_limit", { percent = fleet.null })
  end)

  it("is taken at both ends of its range and refused beyond, with unit", function()
    assert.equal('{"percent":50}', body("set_charge_limit", { percent = 50 }))
    assert.equal('{"percent":100}', body("set_charge_limit", { percent = 100 }))
    refuses("^[^:]*set_charge_limit: 'percent' must be 50 to 100 percent$", "car", "set_charge_limit", { percent = 49 })
    refuses("'percent' must be 50 to 100 percent", "car", "set_charge_limit", { percent = 101 })
  end)
end)

describe("a number", function()
  it("keeps its fraction and needs no point", function()
    assert.equal('{"driver_temp":21.5,"passenger_temp":20}', body("set_temps", { driver_temp = 21.5, passenger_temp = 20 }))
    assert.equal('{"driver_temp":15,"passenger_temp":30}', body("set_temps", { driver_temp = 15, passenger_temp = 30.0 }))
  end)

  it("outside its range names both ends and the unit: Fahrenheit does not pass", function()
    refuses("'driver_temp' must be 15 to 30 °C", "car", "set_temps", { driver_temp = 70, passenger_temp = 20 })
    refuses("'passenger_temp' must be 15 to 30 °C", "car", "set_temps", { driver_temp = 20, passenger_temp = 14.9 })
    refuses("'lat' must be %-90 to 90 degrees", "car", "trigger_homelink", { lat = -90.1, lon = 0 })
  end)
end)

describe("a boolean", function()
  it("is true or false and nothing that counts as such", function()
    assert.equal('{"on":false}', body("set_sentry_mode", { on = false }))
    assert.equal('{"on":true}', body("set_sentry_mode", { on = true }))
    for _, value in ipairs { 0, 1, "true", "false", {} } do
      refuses("'on' must be true or false, got " .. type(value), "car", "set_sentry_mode", { on = value })
    end
  end)
end)

describe("text", function()
  it("is escaped, whatever it holds", function()
    assert.equal('{"note":"a\\"\\\\\\n\\u0000\u{20AC}"}', body("take_drivenote", { note = 'a"\\\n\0\u{20AC}' }))
  end)

  it("is no number, unless the row takes one", function()
    refuses("'note' must be a string, got number", "car", "take_drivenote", { note = 5 })
    local request = { type = "t", value = {}, locale = "en-US", timestamp_ms = 1767225600000 }
    local written = '{"type":"t","value":{},"locale":"en-US","timestamp_ms":"1767225600000"}'
    assert.equal(written, body("navigation_request", request))
    request.timestamp_ms = 1767225600000.0
    assert.equal(written, body("navigation_request", request))
    request.timestamp_ms = "1767225600000"
    assert.equal(written, body("navigation_request", request))
    request.timestamp_ms = 0.5
    refuses("'timestamp_ms' must be a whole number", "car", "navigation_request", request)
  end)
end)

describe("a choice", function()
  it("is taken by name and by the published value", function()
    local heat = '{"seat_position":0,"level":3}'
    assert.equal(heat, body("remote_seat_heater_request", { seat_position = "front_left", level = "high" }))
    assert.equal(heat, body("remote_seat_heater_request", { seat_position = 0, level = 3 }))
    assert.equal(heat, body("remote_seat_heater_request", { seat_position = 0.0, level = 3.0 }))
    for _, setting in ipairs { "curfew", "Curfew" } do
      assert.equal('{"setting":"Curfew","enable":true}', body("parental_controls_enable_setting", { setting = setting, enable = true }))
    end
  end)

  it("has the numbers of its own command", function()
    assert.equal('{"seat_position":1,"seat_cooler_level":4}',
      body("remote_seat_cooler_request", { seat_position = "front_left", seat_cooler_level = "high" }))
    assert.equal('{"level":3}', body("remote_steering_wheel_heat_level_request", { level = "high" }))
    assert.equal('{"climate_keeper_mode":1}', body("set_climate_keeper_mode", { climate_keeper_mode = "on" }))
    assert.equal('{"climate_keeper_mode":1}', body("set_climate_keeper_mode", { climate_keeper_mode = "keep" }))
  end)

  it("that is none names the nearest, or all", function()
    refuses("'which_trunk' cannot be 'raer', did you mean 'rear'?", "car", "actuate_trunk", { which_trunk = "raer" })
    local wheel = "remote_steering_wheel_heat_level_request"
    refuses("'level' cannot be '2', it is one of 'off', 'low', 'high'", "car", wheel, { level = 2 })
    refuses("'level' cannot be 'zzzzzzzzzz', it is one of 'off'", "car", wheel, { level = "zzzzzzzzzz" })
    refuses("cannot be 'true'", "car", "actuate_trunk", { which_trunk = true })
    refuses("cannot be 'rear", "car", "actuate_trunk", { which_trunk = "rear\0x" })
    refuses("cannot be 'Rear'", "car", "actuate_trunk", { which_trunk = "Rear" })
  end)
end)

describe("days of the week", function()
  local function days(value)
    local text = body("add_precondition_schedule",
      { id = 1, days_of_week = value, enabled = true, precondition_time = 0, lat = 0, lon = 0 })
    return text:match('"days_of_week":"([^"]*)"')
  end
  local cases = {
    { { "mon", "tue" }, "Mon,Tues" }, { { "tue", "mon", "mon" }, "Mon,Tues" }, { { "Sunday", "SAT" }, "Sun,Sat" },
    { "Mon,Tues", "Mon,Tues" }, { " thu , fri ", "Thurs,Fri" }, { "all", "All" }, { { "weekdays" }, "Weekdays" },
    { 127, "All" }, { 62, "Weekdays" }, { 1, "Sun" }, { 64.0, "Sat" }, { { "weekdays", "sat", "sun" }, "All" },
    { { "mon", "tue", "wed", "thu", "fri" }, "Weekdays" },
  }
  for i, case in ipairs(cases) do
    it(("are written as the wire takes them: %d %s"):format(i, case[2]), function()
      assert.equal(case[2], days(case[1]))
    end)
  end

  for i, value in ipairs { {}, "", "mon;tue", "funday", { "mon", "" }, { 1 }, 0, 128, -1, 1.5, true, { { "mon" } }, "mon," } do
    it("are refused when they name none: " .. i, function()
      refuses("'days_of_week'", "car", "add_precondition_schedule",
        { id = 1, days_of_week = value, enabled = true, precondition_time = 0, lat = 0, lon = 0 })
    end)
  end
end)

describe("an id", function()
  it("is text or an exact number", function()
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations/429509621657/revoke", path("car", "revoke_invitation", "429509621657"))
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations/429509621657/revoke", path("car", "revoke_invitation", 429509621657))
    local function large() return path("car", "revoke_invitation", 9007199254740993) end
    if not doubles then
      assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations/9007199254740993/revoke", large())
    else -- it looks like its neighbour
      assert.error_matches(large, "'id' must be a whole number")
    end
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations/9007199254740991/revoke", path("car", "revoke_invitation", 2^53 - 1))
    refuses("'id' must be a whole number", "car", "revoke_invitation", 2^53)
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/invitations/9007199254740993/revoke",
      path("car", "revoke_invitation", "9007199254740993"))
  end)

  it("that could leave its place in the address is refused", function()
    for _, id in ipairs { "", "a/b", "..", "a?b", "a#b", "a b", "%2e", "a\0b", "a\r\nb", "\u{20AC}", ("x"):rep(129), -1, 1.5, 1e300, 0 / 0,
        true, {} } do
      refuses("'id' must", "car", "revoke_invitation", id)
    end
  end)

  it("in a body is an exact number without leading zeros", function()
    assert.equal('{"id":9007199254740991}', body("remove_charge_schedule", { id = "9007199254740991" }))
    assert.equal('{"id":12}', body("remove_charge_schedule", { id = 12 }))
    for _, id in ipairs { "007", "0", 0, "1e3", "-1", "1 ", "", "9007199254740992", "99999999999999999999", 2^53, "abc" } do
      refuses("'id'", "car", "remove_charge_schedule", { id = id })
    end
  end)
end)

describe("a handle", function()
  local client = seam.client(seam.done)

  it("is made from a VIN or a numeric id", function()
    assert.matches("%(...0001%)", tostring(client:vehicle(seam.vin)))
    assert.matches("%(...3456%)", tostring(client:vehicle(123456)))
    assert.matches("%(...3456%)", tostring(client:vehicle("123456")))
    assert.matches("%(...0823%)", tostring(client:energy_site(1689504023420823)))
    assert.matches("%(...7890%)", tostring(client:energy_site("1234567890")))
  end)

  for _, id in ipairs { "../users/me", "", "5YJ3E1EA7KF00000", "5YJ3E1EA7KF0000011", "5yj3e1ea7kf000001", "5YJ3E1EA7KF00000I",
      "5YJ3E1EA7KF00000O", "5YJ3E1EA7KF00000Q", "5YJ3E1EA7KF0000/1", "5YJ3E1EA7KF00000\0", "5YJ3E1EA7KF00000\n", "1.5",
      ("1"):rep(21) } do
    it("is not made from '" .. id:gsub("%c", "?") .. "'", function()
      assert.error_matches(function() client:vehicle(id) end, "vehicle: 'vin'")
    end)
  end

  for _, id in ipairs { "a1", "-1", "", "1/2", "01", "1.0", "0", 0, -5, 1.5, true } do
    it("of a site is not made from " .. tostring(id), function()
      assert.error_matches(function() client:energy_site(id) end, "energy_site: 'id'")
    end)
  end

  it("needs an id at all", function()
    assert.has_error(function() client:vehicle() end)
    assert.has_error(function() client:energy_site(nil) end)
  end)
end)

describe("a time", function()
  local function asked(params)
    local target, requests = seam.client('{"data":[]}')
    target.charging:history(params):collect()
    return requests[1].path:match("startTime=([^&]*)")
  end

  it("is sent as it was given, or made from UTC seconds", function()
    assert.equal("2026-03-29T00%3A00%3A00%2B01%3A00", asked { startTime = "2026-03-29T00:00:00+01:00" })
    assert.equal("2026-03-29T00%3A00%3A00.5z", asked { startTime = "2026-03-29T00:00:00.5z" })
    assert.equal("1970-01-01T00%3A00%3A00%2B00%3A00", asked { startTime = 0 })
    assert.equal("2026-03-29T01%3A00%3A00%2B00%3A00", asked { startTime = 1774746000.9 })
    assert.equal("1969-12-31T23%3A59%3A59%2B00%3A00", asked { startTime = -0.5 })
  end)

  it("that is none is refused", function()
    local client = seam.client('{"data":[]}')
    for _, value in ipairs { "", "yesterday", "2026-02-30T00:00:00Z", "2026-03-29T24:00:00Z", "2026-03-29T00:00:00", "2026-3-9", 1e15,
        -1e15, 0 / 0, true, {}, "2026-03-29T00:00:00Z\n", "2026-03-29T00:00:00Z&x=1" } do
      assert.error_matches(function() client.charging:history { startTime = value } end, "'startTime' must be")
    end
  end)

  it("of a date alone is a date that exists", function()
    refuses("'day' must be a date such as", "site", "energy_history", { day = "2026-02-29", time_zone = "Europe/Berlin" })
    refuses("'day' must be", "site", "energy_history", { day = 5, time_zone = "Europe/Berlin" })
  end)
end)

describe("a list", function()
  it("of sections is joined with semicolons", function()
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/vehicle_data?endpoints=charge_state%3Bclimate_state",
      path("car", "vehicle_data", { endpoints = { "charge_state", "climate_state" } }))
  end)

  it("has elements, each of which is checked", function()
    refuses("'endpoints' must be a list with at least one", "car", "vehicle_data", { endpoints = {} })
    refuses("'endpoints' must be a list of strings, got string", "car", "vehicle_data", { endpoints = "charge_state" })
    refuses("did you mean 'charge_state'?", "car", "vehicle_data", { endpoints = { "climate_state", "charge_sate" } })
    refuses("cannot be", "car", "vehicle_data", { endpoints = { "charge_state;climate_state" } })
    refuses("is not a VIN", "client", "fleet_status", { vins = { seam.vin, "nope" } })
  end)

  it("of VINs is an array in a body, and may be given without a table", function()
    assert.equal('{"vins":["' .. seam.vin .. '"]}', sent("client", "fleet_status", { vins = { seam.vin } }).body)
    assert.equal('{"vins":["' .. seam.vin .. '"]}', sent("client", "fleet_status", { seam.vin }).body)
  end)

  it("is no longer than one request carries", function()
    local many = {}
    for i = 1, 101 do many[i] = seam.vin end
    assert.error_matches(function() core.plan(core.row("fleet_status"), (seam.client("{}")), many) end, "takes at most 100")
  end)
end)

describe("what may be given without a table", function()
  it("is bytes: they are base64 on the wire, and back", function()
    local car, requests = seam.car('{"response":"AAH/"}')
    assert.equal("\0\1\255", car:signed_command("\50\0\255"))
    assert.equal('{"routable_message":"MgD/"}', requests[1].body)
    assert.equal("\0\1\255", car:signed_command { routable_message = "\50\0\255" })
    assert.equal('{"routable_message":"MgD/"}', requests[2].body)
  end)

  it("is a tariff: a table, or an object that encodes itself, below the member that wraps it", function()
    local tariff = { name = "x", daily_charges = {}, seasons = {}, periods = {} }
    local wrapped = '{"tou_settings":{"tariff_content_v2":{"daily_charges":[],"name":"x","periods":[],"seasons":{}}}}'
    local site, requests = seam.site('{"response":{"code":201,"message":"Updated"}}')
    local client = core.plan(core.row("time_of_use_settings"), site, tariff):table("", nil)
    assert.equal(wrapped, client.body)
    assert.equal(wrapped, core.plan(core.row("time_of_use_settings"), site, { tariff_content_v2 = tariff }):table("", nil).body)
    local object = setmetatable({}, { encode = function() return '{"own":1}' end })
    assert.equal('{"tou_settings":{"tariff_content_v2":{"own":1}}}',
      core.plan(core.row("time_of_use_settings"), site, object):table("", nil).body)
    assert.equal(0, #requests)
  end)
end)

describe("a switch", function()
  it("needs the other parameters only when it is on", function()
    assert.equal('{"on":false}', body("set_valet_mode", { on = false }))
    assert.equal('{"on":true,"password":"1234"}', body("set_valet_mode", { on = true, password = "1234" }))
    refuses("'password' is missing", "car", "set_valet_mode", { on = true })
    refuses("'on' is missing", "car", "set_valet_mode", { password = "1234" })
  end)
end)

describe("a time of day", function()
  local place = { days_of_week = "All", enabled = true, lat = 52.5, lon = 13.4 }
  local function schedule(with)
    local params = {}
    for k, v in pairs(place) do params[k] = v end
    for k, v in pairs(with) do params[k] = v end
    return params
  end

  it("is needed where a flag says that it counts: without it the vehicle would take midnight", function()
    for _, row in ipairs {
      { "add_charge_schedule", schedule { start_enabled = true, end_enabled = false }, "start_time", "start_enabled" },
      { "add_charge_schedule", schedule { start_enabled = true, start_time = 60, end_enabled = true }, "end_time", "end_enabled" },
      { "add_charge_schedule", schedule { start_enabled = true, end_enabled = true, end_time = 5 }, "start_time", "start_enabled" },
      { "set_scheduled_charging", { enable = true }, "time", "enable" },
      { "set_scheduled_departure", { enable = true }, "departure_time", "enable" },
      { "set_scheduled_departure", { enable = true, departure_time = 5, off_peak_charging_enabled = true }, "end_off_peak_time",
        "off_peak_charging_enabled" },
      { "set_scheduled_departure", { enable = true, departure_time = 5, off_peak_charging_weekdays_only = true },
        "end_off_peak_time", "off_peak_charging_weekdays_only" },
    } do
      local sentence = string.format("'%s' is missing: '%s' is true", row[3], row[4])
      refuses(sentence, "car", row[1], row[2])
      refuses(sentence, "car", row[1], row[2], { force = true })
    end
    refuses("'precondition_time' is missing", "car", "add_precondition_schedule", place)
  end)

  it("may be missing where the flag is false", function()
    assert.truthy(body("add_charge_schedule", schedule { start_enabled = true, start_time = 0, end_enabled = false }))
    assert.truthy(body("add_charge_schedule", schedule { start_enabled = false, end_enabled = true, end_time = 1440 }))
    assert.equal('{"enable":false}', body("set_scheduled_charging", { enable = false }, { force = true }))
    assert.equal('{"enable":false}', body("set_scheduled_departure", { enable = false }, { force = true }))
    assert.equal('{"enable":false,"off_peak_charging_enabled":true}',
      body("set_scheduled_departure", { enable = false, off_peak_charging_enabled = true }, { force = true }))
    assert.truthy(body("set_scheduled_departure", { enable = true, departure_time = 5, off_peak_charging_enabled = false },
      { force = true }))
  end)

  it("is that of a start, an end or both: a schedule of neither is none", function()
    refuses("one of these must be true: start_enabled end_enabled", "car", "add_charge_schedule",
      schedule { start_enabled = false, end_enabled = false, start_time = 5 })
    refuses("'end_enabled' is missing", "car", "add_charge_schedule", schedule { start_enabled = false })
    assert.truthy(body("add_charge_schedule", schedule { enabled = false, start_enabled = false, end_enabled = false }))
  end)
end)

describe("a parameter of another name in the past", function()
  it("is taken under it as well, and under one of the two names only", function()
    assert.equal('{"seat_position":0,"level":1}', body("remote_seat_heater_request", { heater = 0, level = 1 }))
    assert.equal('{"seat_position":2,"level":3}', body("remote_seat_heater_request", { heater = "rear_left", level = "high" }))
    assert.same(core.command("remote_seat_heater_request", { seat_position = 5, level = 1 }),
      core.command("remote_seat_heater_request", { heater = 5, level = 1 }))
    refuses("'heater' is the older name of 'seat_position': give one of them", "car", "remote_seat_heater_request",
      { heater = 0, seat_position = 1, level = 1 })
    refuses("'seat_position' cannot be '99'", "car", "remote_seat_heater_request", { heater = 99, level = 1 })
    refuses("'seat_position' is missing", "car", "remote_seat_heater_request", { level = 1 })
    refuses("unknown parameter 'heater'", "car", "remote_seat_cooler_request", { heater = 1, seat_cooler_level = 1 })
  end)
end)

describe("manual_override", function()
  it("is true, false, or the text that the plain form takes as well", function()
    for _, row in ipairs { { "auto_conditioning_start", {} }, { "set_preconditioning_max", { on = true } },
      { "set_climate_keeper_mode", { climate_keeper_mode = 1 } }, { "set_bioweapon_mode", { on = true } } } do
      local params = row[2]
      for value, text in pairs { [true] = "true", socdoors = '"socdoors"' } do
        params.manual_override = value
        assert.matches('"manual_override":' .. text, body(row[1], params), 1, true)
      end
      params.manual_override = "socdoors"
      local _, err, kind = core.command(row[1], params)
      assert.equal("unsupported", kind)
      assert.matches("manual_override = 'socdoors' has no signed form", err.message, 1, true)
      params.manual_override = "doors"
      refuses("'manual_override' must be true, socdoors or false, got string", "car", row[1], params)
    end
    refuses("'on' must be true or false, got string", "car", "set_sentry_mode", { on = "socdoors" })
  end)
end)

describe("a text", function()
  it("that names something is not empty", function()
    for _, row in ipairs { { "take_drivenote", "note" }, { "navigation_waypoints_request", "waypoints" } } do
      refuses("'" .. row[2] .. "' must not be empty", "car", row[1], { [row[2]] = "" })
    end
    assert.error_matches(function() core.command("set_vehicle_name", { vehicle_name = "" }) end, "'vehicle_name' must not be empty")
  end)

  it("is UTF-8, in every form, and holds no zero byte where a message may carry it", function()
    local bad = { "\255", "a\128", "\192\128", "\237\160\128", "\244\144\128\128", "caf\233" }
    for _, text in ipairs(bad) do
      refuses("'note' must be UTF%-8 text", "car", "take_drivenote", { note = text })
      refuses("'vehicle_name' must be UTF%-8 text", "car", "set_vehicle_name", { vehicle_name = text })
      refuses("'waypoints' must be UTF%-8 text", "car", "navigation_waypoints_request", { waypoints = { "refId:a", text } })
      refuses("'value' must be UTF%-8 text", "car", "navigation_request", { value = text })
      refuses("'value' must be UTF%-8 text", "car", "navigation_request", { value = { ["android.intent.extra.TEXT"] = text } })
      assert.has_error(function() core.command("set_vehicle_name", { vehicle_name = text }) end)
    end
    refuses("'vehicle_name' must not hold a zero byte", "car", "set_vehicle_name", { vehicle_name = "a\0b" })
    refuses("'value' must not hold a zero byte", "car", "navigation_request", { value = "a\0b" })
    assert.equal('{"note":"caf\195\169 \240\159\152\128"}', body("take_drivenote", { note = "caf\195\169 \240\159\152\128" }))
    assert.truthy(core.command("set_vehicle_name", { vehicle_name = "caf\195\169" }))
  end)
end)

describe("what a navigation takes", function()
  local json = require("cjson").new()

  it("is an address alone, with what the service wants beside it", function()
    local before = os.time()
    local sent_body = json.decode(body("navigation_request", { value = "Berlin" }))
    local stamp = tonumber(sent_body.timestamp_ms)
    assert.is_true(stamp >= before * 1000 and stamp <= (os.time() + 1) * 1000)
    sent_body.timestamp_ms = nil
    assert.same({ type = "share_ext_content_raw", locale = "en-US", value = { ["android.intent.extra.TEXT"] = "Berlin" } }, sent_body)
    local given = json.decode(body("navigation_request", { type = "other", locale = "de-DE", timestamp_ms = 5, value = { x = "y" } }))
    assert.same({ type = "other", locale = "de-DE", timestamp_ms = "5", value = { x = "y" } }, given)
    refuses("'value' is missing", "car", "navigation_request", {})
    refuses("'value' must be a table", "car", "navigation_request", { value = 5 })
  end)

  it("is one place without an order, or one of several with it", function()
    assert.equal('{"lat":1,"lon":2,"order":0}', body("navigation_gps_request", { lat = 1, lon = 2 }))
    assert.equal('{"lat":1,"lon":2,"order":1}', body("navigation_gps_request", { lat = 1, lon = 2, order = "replace" }))
    assert.equal('{"id":5,"order":0}', body("navigation_sc_request", { id = 5 }))
    assert.equal('{"id":5,"order":3}', body("navigation_sc_request", { id = 5, order = 3 }))
    refuses("'order' cannot be", "car", "navigation_gps_request", { lat = 1, lon = 2, order = 9 })
    local unpublished = { unpublished = true }
    assert.same(core.command("navigation_gps_request", { lat = 1, lon = 2, order = 0 }, unpublished),
      core.command("navigation_gps_request", { lat = 1, lon = 2 }, unpublished))
  end)

  it("is waypoints as a list or as one text", function()
    assert.equal('{"waypoints":"refId:a,refId:b"}', body("navigation_waypoints_request", { waypoints = { "refId:a", "refId:b" } }))
    assert.equal('{"waypoints":"refId:a"}', body("navigation_waypoints_request", { waypoints = "refId:a" }))
    assert.same(core.command("navigation_waypoints_request", { waypoints = "a,b" }, { unpublished = true }),
      core.command("navigation_waypoints_request", { waypoints = { "a", "b" } }, { unpublished = true }))
    refuses("with at least one", "car", "navigation_waypoints_request", { waypoints = {} })
    refuses("'waypoints' must be a string, got number", "car", "navigation_waypoints_request", { waypoints = { 5 } })
    refuses("'note' must be a string, got table", "car", "take_drivenote", { note = { "a" } })
  end)

  it("is a calendar as a text or as a table", function()
    assert.equal('{"calendar_data":"[]"}', body("upcoming_calendar_entries", { calendar_data = "[]" }))
    assert.equal('{"calendar_data":{"events":[{"name":"x"}]}}',
      body("upcoming_calendar_entries", { calendar_data = { events = { { name = "x" } } } }))
    assert.same(core.command("upcoming_calendar_entries", { calendar_data = '{"a":1}' }, { unpublished = true }),
      core.command("upcoming_calendar_entries", { calendar_data = { a = 1 } }, { unpublished = true }))
    refuses("'calendar_data' must be a string, got boolean", "car", "upcoming_calendar_entries", { calendar_data = true })
  end)
end)

describe("a PIN", function()
  it("is four digits, as text: 0012 is not 12", function()
    assert.equal('{"pin":"0012"}', body("speed_limit_activate", { pin = "0012" }))
    for _, pin in ipairs { "123", "12345", "12a4", "", " 123", "123\0", "\u{0661}\u{0662}", 1234, true } do
      local message = refusal("car", "speed_limit_activate", { pin = pin })
      assert.matches("'pin' must be", message)
      if pin ~= "" and type(pin) == "string" then assert.is_nil(message:find(pin, 1, true), "the PIN is in the message") end
    end
  end)
end)

describe("one of several", function()
  it("is needed where nothing would be asked otherwise", function()
    refuses("at least one parameter is needed, such as", "site", "grid_import_export", {})
    refuses("at least one parameter is needed", "site", "grid_import_export")
    assert.equal('{"customer_preferred_export_rule":"pv_only"}',
      sent("site", "grid_import_export", { customer_preferred_export_rule = "pv_only" }).body)
    assert.equal('{"disallow_charge_from_grid_with_solar_installed":false}',
      sent("site", "grid_import_export", { disallow_charge_from_grid_with_solar_installed = false }).body)
  end)
end)

describe("names of parameters", function()
  it("that are unknown raise and name the nearest", function()
    refuses("set_charge_limit: unknown parameter 'precent', did you mean 'percent'?", "car", "set_charge_limit", { precent = 80 })
    refuses("unknown parameter 'zzzzzzzzzzzzzzzzz'", "car", "set_charge_limit", { percent = 80, zzzzzzzzzzzzzzzzz = 1 })
    refuses("given by name, as { percent = ... }", "car", "set_charge_limit", { 80 })
    refuses("given by name", "car", "set_charge_limit", { percent = 80, [true] = 1 })
    refuses("unknown parameter 'vin'", "car", "set_charge_limit", { percent = 80, vin = seam.vin })
  end)

  it("that are options of the call are rejected with the right place", function()
    refuses("set_charge_limit: 'timeout' is an option of the call: pass it in the table after the parameters", "car",
      "set_charge_limit", { percent = 80, timeout = 5 })
    refuses("'wake' is an option of the call", "car", "auto_conditioning_start", { wake = true })
  end)

  it("may be none: an empty table is taken in their place, but no more than that", function()
    assert.is_truthy(sent("car", "info", {}, { timeout = 5 }))
    refuses("info: too many arguments", "car", "info", { timeout = 5 }, { timeout = 5 })
    refuses("info: too many arguments", "car", "info", {}, {}, {})
  end)

  it("that are required are missed by name", function()
    refuses("set_charge_limit: 'percent' is missing", "car", "set_charge_limit")
    refuses("set_charge_limit: 'percent' is missing", "car", "set_charge_limit", {})
    refuses("'driver_temp' is missing", "car", "set_temps", {})
  end)

  it("that are too long to be near are answered, too", function()
    refuses("unknown parameter", "car", "set_charge_limit", { [("percent"):rep(1000)] = 80 })
  end)
end)

describe("an address", function()
  it("encodes everything but unreserved characters", function()
    local target, requests = seam.client('{"response":{}}')
    target:energy_site("1"):energy_history { time_zone = "a.b-c_d~e/f?g=h&i+j%k\u{20AC} l" }
    assert.equal("/api/1/energy_sites/1/calendar_history?kind=energy&time_zone=a.b-c_d~e%2Ff%3Fg%3Dh%26i%2Bj%25k%E2%82%AC%20l",
      requests[1].path)
  end)

  it("holds no line break and no zero byte", function()
    local client, requests = seam.client("{}")
    for _, text in ipairs { "a\rb", "a\nb", "a\0b", "a\tb", "a\127b" } do
      assert.error_matches(function() client:energy_site("1"):energy_history { time_zone = text } end, "must not hold control characters")
    end
    assert.equal(0, #requests)
  end)

  it("keeps the fixed query of the row in front", function()
    assert.equal("/api/1/energy_sites/1234567890/telemetry_history?kind=charge&time_zone=UTC",
      path("site", "charge_history", { time_zone = "UTC" }))
    assert.equal("/api/1/energy_sites/1234567890/telemetry_history?kind=charge", path("site", "charge_history"))
  end)

  it("writes numbers and booleans plainly", function()
    assert.equal("/api/1/vehicles/" .. seam.vin .. "/nearby_charging_sites?count=3&radius=0.25&detail=true",
      path("car", "nearby_charging_sites", { detail = true, radius = 0.25, count = 3 }))
  end)
end)

describe("a body that is not published", function()
  it("is the table as given", function()
    assert.equal('{"anything":[1,2],"x":{}}', body("set_managed_charger_location", { anything = { 1, 2 }, x = {} }))
    assert.equal("{}", body("set_managed_charger_location"))
    refuses("the parameters must be a table such as { name = value }, got string", "car", "set_managed_charger_location", "x")
  end)
end)

describe("a body of a command without parameters", function()
  it("is an empty object", function()
    assert.equal("{}", body("honk_horn"))
    assert.is_nil(sent("car", "info").body)
  end)
end)

describe("the caller's table", function()
  it("is not changed by the call, and the call not by later changes of it", function()
    local params = { percent = 80 }
    local target, requests = seam.car(seam.done)
    target:set_charge_limit(params)
    assert.same({ percent = 80 }, params)
    params.percent = 90
    assert.equal('{"percent":80}', requests[1].body)
  end)
end)

describe("the parameters of a command", function()
  local VIN = "5YJ30123456789ABC"

  -- Sends set_charge_limit{ percent = 80 } signed; the caller's table is changed while the handshake waits.
  local function carried_with(change)
    local key, vehicle = core.key.generate(), core.key.generate()
    local receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
    local params, carried = { percent = 80 }, {}
    local client = fleet.new { token = "t", key = key, base_url = "https://service.example", http = function(request)
      change(params)
      local bytes, payload = receiver:handle((core.unbase64(string.match(request.body, '"routable_message":"([^"]+)"'))))
      if payload then carried[#carried + 1] = select(2, core.decode_command("infotainment", payload)) end
      return { status = 200, headers = {}, body = '{"response":"' .. core.base64(bytes) .. '"}' }
    end }
    assert(client:vehicle(VIN):set_charge_limit(params))
    return carried
  end

  it("are those of the moment of the call, whatever becomes of the caller's table meanwhile", function()
    assert.same({ { percent = 80 } }, carried_with(function() end))
    assert.same({ { percent = 80 } }, carried_with(function(params) params.percent = 55 end))
    assert.same({ { percent = 80 } }, carried_with(function(params) params.percent = "no number" end))
  end)

  it("are read through a metatable, and checked before anything is sent", function()
    local requests = 0
    local client = fleet.new { token = "t", base_url = "https://service.example", http = function(request)
      requests = requests + 1
      assert.equal('{"percent":70}', request.body)
      return { status = 200, headers = {}, body = '{"response":{"result":true,"reason":""}}' }
    end }
    local car = client:vehicle(VIN)
    assert(car:set_charge_limit(setmetatable({}, { __index = { percent = 70 } })))
    assert.error_matches(function() car:set_charge_limit(setmetatable({}, { __index = { percent = 700 } })) end, "'percent' must be")
    assert.equal(1, requests)
  end)
end)
