-- Newest values in the shape of vehicle_data, and reads that are answered from the stream.

local fleet = require "fleet"
local compat = require "fleet.util.compat"
local core = require "fleet.core"
local streams = require "spec.support.servers.vehicle_stream"
local vehicle_pki = require "spec.support.servers.vehicle_pki"
local vehicles = require "fleet.telemetry.vehicle"
local view = require "fleet.telemetry.view"

local VIN = "5YJ3000TEST000001"

local function vehicle_with(values, invalid, at)
  local _, now = core.clock()
  local vehicle = vehicles.new(VIN)
  vehicles.learn(vehicle, { values = values, invalid = invalid or {}, at = at or now, arrived = now, connection = 1 })
  return vehicle
end

local function data_of(values, invalid)
  local data = view.of(vehicle_with(values, invalid))
  data.at = nil
  for _, section in pairs(data) do
    if type(section) == "table" then section.timestamp = nil end
  end
  return data
end

describe("the view", function()
  it("takes a value of another kind than the field's for unknown, and raises nothing", function()
    local others = { number = 7.5, text = "word", boolean = true, parts = { DriverFront = true, latitude = 1, longitude = 2 } }
    local rows, tried = require("fleet.telemetry.fields").rows, 0
    for name in pairs(rows) do
      for _, value in pairs(others) do
        assert.is_true(compat.pcall(data_of, { [name] = value }))
        tried = tried + 1
      end
    end
    assert.is_true(tried > 400)
    for _, name in ipairs { "DoorState", "Location", "TpmsHardWarnings", "Locked" } do
      assert.same({ vin = VIN }, data_of { [name] = 1 })
    end
    assert.same({ vin = VIN }, data_of {
      DoorState = true, ChargeLimitSoc = true, TpmsPressureFl = "low", DetailedChargeState = 4, TimeToFullCharge = {},
      ChargingCableType = 1,
    })
  end)

  for name, one in pairs {
    DetailedChargeState = { "Charging", { charge_state = { charging_state = "Charging" } } },
    BatteryLevel = { 71.6, { charge_state = { battery_level = 72 } } },
    TimeToFullCharge = { 1.5, { charge_state = { time_to_full_charge = 1.5, minutes_to_full_charge = 90 } } },
    ChargingCableType = { "SNA", { charge_state = { conn_charge_cable = "<invalid>" } } },
    Location = { { latitude = 1.5, longitude = -2 }, { drive_state = { latitude = 1.5, longitude = -2 } } },
    Gear = { "SNA", {} },
    DoorState = { { DriverFront = true, TrunkRear = false }, { vehicle_state = { df = 1, rt = 0 } } },
    FdWindow = { "PartiallyOpen", { vehicle_state = { fd_window = 1 } } },
    RpWindow = { "Closed", { vehicle_state = { rp_window = 0 } } },
    FpWindow = { "Unknown", {} },
    SentryMode = { "Off", { vehicle_state = { sentry_mode = false } } },
    SpeedLimitMode = { true, { vehicle_state = { speed_limit_mode = { active = true } } } },
    TpmsHardWarnings = { { front_left = true, rear_right = false },
      { vehicle_state = { tpms_hard_warning_fl = true, tpms_hard_warning_rr = false } } },
    SoftwareUpdateExpectedDurationMinutes = { 25, { vehicle_state = { software_update = { expected_duration_sec = 1500 } } } },
    HvacPower = { "Precondition", { climate_state = { is_climate_on = true, is_preconditioning = true } } },
    ClimateKeeperMode = { "Party", { climate_state = { climate_keeper_mode = "camp" } } },
    CabinOverheatProtectionMode = { "FanOnly", { climate_state = { cabin_overheat_protection = "FanOnly" } } },
    CenterDisplay = { "Driving", { vehicle_state = { center_display_state = 4 } } },
    SeatHeaterRearCenter = { 2, { climate_state = { seat_heater_rear_center = 2 } } },
    Locked = { false, { vehicle_state = { locked = false } } },
    ChargeState = { "Idle", {} },
    HvacAutoMode = { "Unknown", {} },
    FastChargerType = { "SNA", { charge_state = { fast_charger_type = "<invalid>" } } },
    CarType = { "Unknown", {} },
    DefrostForPreconditioning = { false, {} },
    ScheduledDepartureTime = { "07:30", {} },
    ScheduledChargingStartTime = { "22:00", {} },
    RearSeatHeaters = { "nan", {} },
  } do
    it("has " .. name .. " in its place", function()
      local wanted = one[2]
      wanted.vin = VIN
      assert.same(wanted, data_of { [name] = one[1] })
    end)
  end

  -- A value of each field as vehicles send it, and the values of its places.
  local function example(name, row)
    local one = ({
      DoorState = { { DriverFront = true, DriverRear = false, PassengerFront = true, PassengerRear = false, TrunkFront = true,
        TrunkRear = false }, { 1, 0, 1, 0, 1, 0 } },
      TpmsHardWarnings = { { front_left = true, front_right = false, rear_left = true, rear_right = false },
        { true, false, true, false } },
      TpmsSoftWarnings = { { front_left = false, front_right = true, rear_left = false, rear_right = true },
        { false, true, false, true } },
      TimeToFullCharge = { 0.75, { 0.75, 45 } }, EstimatedHoursToChargeTermination = { 1.25, { 75 } }, BatteryLevel = { 71.4, { 71 } },
      Soc = { 70.5, { 71 } }, ChargeAmps = { 15.8, { 16 } }, ChargerVoltage = { 229.6, { 230 } },
      HvacPower = { "OverheatProtect", { true, false } }, HvacAutoMode = { "On", { true } }, DefrostMode = { "Max", { 2 } },
      ClimateKeeperMode = { "Dog", { "dog" } }, SentryMode = { "Armed", { true } }, CenterDisplay = { "Dog", { 8 } },
      Gear = { "R", { "R" } },
      SpeedLimitMode = { false, { false } }, SoftwareUpdateExpectedDurationMinutes = { 2, { 120 } },
      SoftwareUpdateScheduledStartTime = { 1767225600, { 1767225600000 } }, CarType = { "ModelY", { "modely" } },
      SunroofInstalled = { "Gen2Installed", { 2 } }, SettingDistanceUnit = { "Kilometers", { "km/hr" } },
      SettingTemperatureUnit = { "Celsius", { "C" } }, ChargingCableType = { "IEC", { "IEC" } },
      RearSeatHeaters = { "2", { 2 } }, ScheduledDepartureTime = { "1767225600", { 1767225600 } },
      DefrostForPreconditioning = { true, { 2 } },
    })[name]
    if one then return one[1], one[2] end
    if string.find(name, "Window$") then return "Opened", { 1 } end
    if row.kind == "location" then return { latitude = 52.5, longitude = -13.25 }, { 52.5, -13.25 } end
    local value = ({ number = 21.5, integer = 7, time = 1767225600, boolean = true, text = "word", enum = "Word" })[row.kind]
    return value, { value }
  end

  local function at_path(data, path)
    for word in string.gmatch(path, "[^.]+") do data = type(data) == "table" and data[word] end
    return data
  end

  it("has every field that has a place there, with its time", function()
    local tried = 0
    for name, row in pairs(require("fleet.telemetry.fields").rows) do
      if row.counterpart then
        local value, wanted = example(name, row)
        local data, i = view.of(vehicle_with({ [name] = value }, nil, 1000)), 0
        for path in string.gmatch(row.counterpart, "%S+") do
          i = i + 1
          assert.equal(wanted[i], at_path(data, path), name .. " at " .. path)
          assert.equal(1000, at_path(data.at, path), name .. " at " .. path)
        end
        assert.equal(#wanted, i, name)
        tried = tried + 1
      end
    end
    assert.is_true(tried >= 130)
  end)

  it("takes the larger charging power, and the energy of the kind that charges", function()
    assert.equal(7, data_of { ACChargingPower = 7, DCChargingPower = 0 }.charge_state.charger_power)
    assert.equal(90, data_of { ACChargingPower = 0, DCChargingPower = 90 }.charge_state.charger_power)
    for _, values in ipairs { { ACChargingPower = 7, DCChargingPower = 0 }, { ACChargingPower = 7, DCChargingPower = 7 },
      { ACChargingPower = 0, DCChargingPower = 90 }, { DCChargingPower = 90 } } do
      local count = 0
      view.each(vehicle_with(values), function() count = count + 1 end)
      assert.equal(1, count) -- only one of the two has the place
    end
    for fast, energy in pairs { [false] = 3, [true] = 40 } do
      local data = data_of { ACChargingEnergyIn = 3, DCChargingEnergyIn = 40, FastChargerPresent = fast }
      assert.equal(energy, data.charge_state.charge_energy_added)
    end
    local values = { ACChargingEnergyIn = 3, FastChargerPresent = true } -- what AC added is of an earlier session
    assert.is_nil(data_of(values).charge_state.charge_energy_added)
    assert.is_nil(data_of(values, { "DCChargingEnergyIn" }).charge_state.charge_energy_added)
  end)

  it("has the defrost mode where that is streamed, else what the defrosting of a preconditioning says", function()
    assert.equal(0, data_of { DefrostMode = "Off", DefrostForPreconditioning = true }.climate_state.defrost_mode)
    local count = 0
    view.each(vehicle_with { DefrostMode = "Max", DefrostForPreconditioning = true }, function() count = count + 1 end)
    assert.equal(1, count) -- only one of the two has the place
    assert.equal(2, data_of { DefrostForPreconditioning = true }.climate_state.defrost_mode)
    assert.equal(2, data_of({ DefrostForPreconditioning = true }, { "DefrostMode" }).climate_state.defrost_mode)
  end)

  it("leaves out what is invalid, but a cable that is none", function()
    assert.same({ vin = VIN, charge_state = { conn_charge_cable = "<invalid>" } }, data_of({}, { "VehicleSpeed", "ChargingCableType" }))
  end)

  it("has the time of each value, and a section that of its oldest", function()
    local vehicle = vehicle_with({ Soc = 50 }, nil, 1000)
    vehicles.learn(vehicle, { values = { ChargeLimitSoc = 80 }, invalid = {}, at = 2000, arrived = 5000, connection = 1 })
    local data = vehicle.vehicle_data()
    assert.same({ 1000, 2000 }, { data.at.charge_state.usable_battery_level, data.at.charge_state.charge_limit_soc })
    assert.equal(1000000, data.charge_state.timestamp)
    local turned = vehicle_with({ Soc = 50 }, nil, 4000)
    vehicles.learn(turned, { values = { ChargeLimitSoc = 80 }, invalid = {}, at = 3000, arrived = 5000, connection = 1 })
    assert.equal(3000000, turned.vehicle_data().charge_state.timestamp)
    assert.is_nil(data.state)
  end)

  it("has now as the time of what was sent since the vehicle connected, and its own time of what was known before", function()
    local vehicle = vehicle_with({ Soc = 50 }, nil, 1000)
    local _, now = core.clock()
    vehicles.joins(vehicle, { connection = 1, arrived = now }, {})
    vehicles.learn(vehicle, { values = { ChargeLimitSoc = 80 }, invalid = {}, at = 2000, arrived = now, connection = 1 })
    local at = vehicle.vehicle_data().at.charge_state
    assert.equal(1000, at.usable_battery_level)
    assert.is_true(at.charge_limit_soc >= now)
  end)
end)

describe("vehicle_data from the stream", function()
  local pki, client, receiver, car, stream, answer, asked
  setup(function() pki = vehicle_pki.new() end)
  teardown(function() pki.close() end)
  before_each(function()
    answer, asked = nil, nil
    client = fleet.new { base_url = "http://127.0.0.1:9", token = "none", http = function(request)
      asked = string.match(request.url, "^http://[^/]+(.*)$")
      if not answer then return nil, "refused", false end
      local status, body = answer()
      return { status = status, headers = { ["content-type"] = "application/json" }, body = core.json_encode(body) }
    end }
    car = client:vehicle(VIN)
  end)
  after_each(function()
    if stream then stream:close() end
    if receiver then receiver:close() end
    stream, receiver = nil, nil
    client:close()
  end)

  local function options(listed)
    return { host = "127.0.0.1", port = 0, certificate = pki.server.certificate, certificate_key = pki.server.key,
      client_ca = pki.authorities, vehicles = listed, on_notice = function() end }
  end

  local function start() receiver = assert(client:telemetry(options { VIN })) end

  it("ends with the client", function()
    start()
    client:close()
    assert.is_nil(receiver.raw)
  end)

  local function sent(values, at)
    stream = stream or streams.connect { pki = pki, port = receiver.port, vin = VIN }
    local before = #stream.acknowledged
    stream:send { values = values, at = at }
    for _ = 1, 20000 do
      stream:step()
      fleet.loop.step()
      if #stream.acknowledged > before then return end
      core.pause(0.0005)
    end
    error "no acknowledgement"
  end

  it("is what an automation waits for while the awake car has not connected", function()
    start()
    answer = function() return 200, { response = { { vin = VIN, state = "online" } }, count = 1 } end
    local automation = fleet.automation.keep_limit { car = car, level = 80, look_every = 600 }
    local report = assert(fleet.run(function() return assert(automation:dry_run()) end))
    assert.matches("waits for the car to connect to the receiver", report.why)
    assert.same({}, report.actions)
    answer = function()
      if string.find(asked, "vehicle_data", 1, true) then
        return 200, { response = { vin = VIN, charge_state = { charge_limit_soc = 80, battery_level = 50, charging_state = "Stopped" } } }
      end
      return 200, { response = { { vin = VIN, state = "online" } }, count = 1 }
    end
    receiver:close()
    report = assert(fleet.run(function() return assert(automation:dry_run()) end))
    assert.matches("the charge limit is 80 %", report.why, 1, true)
  end)

  it("counts what was sent as signals of the account", function()
    start()
    sent({ BatteryLevel = 60, Location = { latitude = 1.5, longitude = 2.5 } }, 1767225600)
    local cost = assert(client:cost {})
    assert.same({ signal = 2 }, cost.calls)
    assert.same({ signal = 2 }, cost.vehicles[1].calls)
  end)

  it("makes no call, and holds while the vehicle is connected", function()
    start()
    sent({ BatteryLevel = 60, Location = { latitude = 1.5, longitude = 2.5 } }, 1767225600)
    local data = assert(car:vehicle_data { from = "stream", age = 60 })
    assert.same({ 60, 1.5, "online" }, { data.charge_state.battery_level, data.drive_state.latitude, data.state })
    data = assert(car:vehicle_data { from = "stream", endpoints = { "charge_state" } })
    assert.is_nil(data.drive_state)
    assert.equal(receiver, client:telemetry())
  end)

  it("with fallback = \"look\" makes a billed look where the stream lacks what was asked for, and only there", function()
    local given = { from = "stream", age = 60, fallback = "look", endpoints = { "charge_state" } }
    local looks = 0
    local function look()
      looks = looks + 1
      return 200, { response = { vin = VIN, state = "online", charge_state = { battery_level = 33 } } }
    end
    answer = look
    assert.equal(33, car:vehicle_data(given).charge_state.battery_level) -- no receiver
    start()
    assert.equal(33, car:vehicle_data(given).charge_state.battery_level) -- nothing streamed
    sent({ BatteryLevel = 60 }, 1767225600)
    assert.equal(60, car:vehicle_data(given).charge_state.battery_level)
    assert.equal(2, looks)
    given.endpoints = { "charge_state", "climate_state" }
    assert.equal(33, car:vehicle_data(given).charge_state.battery_level)
    assert.equal(3, looks)
    assert.equal("/api/1/vehicles/" .. VIN .. "/vehicle_data", string.match(asked, "^[^?]+"))
    assert.is_nil(string.find(asked, "fallback", 1, true))
    given.fallback = nil
    assert.equal(60, car:vehicle_data(given).charge_state.battery_level)
    assert.equal(3, looks)
    assert.error_matches(function() car:vehicle_data { from = "stream", fallback = "wake" } end, "fallback")
    assert.error_matches(function() car:vehicle_data { fallback = "look" } end, "from = \"stream\"")
  end)

  it("fails with a reason where there is no receiver, no value, or an old one", function()
    local data, err, kind = car:vehicle_data { from = "stream" }
    assert.same({ nil, "unsupported" }, { data, kind })
    assert.matches("client:telemetry", err.message)
    start()
    data, err, kind = car:vehicle_data { from = "stream" }
    assert.same({ nil, "offline" }, { data, kind })
    assert.matches("streamed nothing yet", err.message)
    local vehicle = receiver:vehicle(VIN)
    vehicles.learn(vehicle, { values = { Soc = 1 }, invalid = {}, at = 1000, arrived = 2000, connection = 1 })
    data, err, kind = car:vehicle_data { from = "stream", age = 60 }
    assert.same({ nil, "offline" }, { data, kind })
    assert.matches("older than 60 s", err.message)
    data, err, kind = client:vehicle("5YJ3000TEST000002"):vehicle_data { from = "stream" }
    assert.same({ nil, "unsupported" }, { data, kind })
    assert.matches("not among", err.message)
    assert.error_matches(function() car:vehicle_data { from = "river" } end, "river")
    assert.error_matches(function() car:vehicle_data { from = "stream", ages = 1 } end, "ages")
    assert.error_matches(function() client:telemetry { port = 0 } end, "close it first")
  end)

  it("is tied once, also where two calls ask for the account's vehicles at the same time", function()
    answer = function()
      fleet.sleep(0.02)
      return 200, { response = { { vin = VIN, state = "asleep" } } }
    end
    local outcomes = {}
    fleet.run(function()
      for i = 1, 2 do
        fleet.spawn(function() outcomes[i] = { compat.pcall(client.telemetry, client, options()) } end)
      end
    end)
    assert.is_true(outcomes[1][1])
    receiver = outcomes[1][2]
    assert.equal(receiver, client:telemetry())
    assert.is_false(outcomes[2][1])
    assert.matches("another call of client:telemetry", outcomes[2][2])
    receiver:close()
    receiver = assert(client:telemetry(options { VIN }))
  end)

  it("can be made again after a call that failed", function()
    answer = function() return 500, {} end
    fleet.run(function() assert.is_nil((client:telemetry(options()))) end)
    start()
  end)
end)
