-- Templates of telemetry configurations, by purpose. Each field is sent when it has changed, and at least once an hour; unacknowledged
-- values are sent again (delivery_policy "latest"). An interval does not delay the first change after a longer silence.

local errors = require "fleet.util.errors"

local M = {}

local RESEND = 3600 -- seconds

-- Fields: { interval in seconds, minimum_delta }.
local templates = {
  {
    name = "charging", doc = "whether and how the car charges, and where",
    fields = {
      DetailedChargeState = { 30 }, Soc = { 60, 0.5 }, ChargeLimitSoc = { 60 }, ACChargingPower = { 30, 0.2 }, DCChargingPower = { 30, 1 },
      ChargeAmps = { 30, 1 }, ChargeCurrentRequest = { 60 }, ChargeCurrentRequestMax = { 60 }, ChargerVoltage = { 300, 5 },
      ChargerPhases = { 300 }, ACChargingEnergyIn = { 300, 0.1 }, DCChargingEnergyIn = { 300, 0.1 }, TimeToFullCharge = { 300, 0.1 },
      ScheduledChargingMode = { 60 }, ChargingCableType = { 30 }, Location = { 60, 100 },
    },
  },
  {
    name = "solar", doc = "what surplus charging needs to follow the sun",
    fields = {
      DetailedChargeState = { 30 }, Soc = { 60, 0.5 }, ChargeLimitSoc = { 60 }, ACChargingPower = { 30, 0.1 }, ChargeAmps = { 30, 1 },
      ChargeCurrentRequest = { 30 }, ChargeCurrentRequestMax = { 60 }, ChargerVoltage = { 60, 5 }, ChargerPhases = { 60 },
      ACChargingEnergyIn = { 300, 0.1 }, DCChargingEnergyIn = { 300, 0.1 }, TimeToFullCharge = { 300, 0.1 },
      ScheduledChargingMode = { 60 }, ChargingCableType = { 30 }, LocatedAtHome = { 60 },
    },
  },
  {
    name = "presence", doc = "whether the car is at home, moves, is locked and closed",
    fields = {
      Gear = { 10 }, Location = { 60, 100 }, LocatedAtHome = { 60 }, Locked = { 30 }, DoorState = { 30 }, FdWindow = { 60 },
      FpWindow = { 60 }, RdWindow = { 60 }, RpWindow = { 60 }, DriverSeatOccupied = { 30 }, SentryMode = { 60 },
    },
  },
  {
    name = "everything", doc = "for a logger: drives, charging, climate, doors, tyres, software",
    fields = {
      VehicleSpeed = { 10, 1 }, Location = { 10, 20 }, GpsHeading = { 30, 5 }, Gear = { 10 }, Odometer = { 30, 0.1 }, Soc = { 30, 0.1 },
      RatedRange = { 60, 1 }, EstBatteryRange = { 60, 1 }, DetailedChargeState = { 30 }, ChargeLimitSoc = { 60 }, ChargeAmps = { 30, 1 },
      ACChargingPower = { 30, 0.1 }, DCChargingPower = { 30, 1 }, ACChargingEnergyIn = { 60, 0.1 }, DCChargingEnergyIn = { 60, 0.1 },
      PackVoltage = { 10, 2 }, PackCurrent = { 10, 1 }, -- their product is the power of a drive
      ChargerVoltage = { 60, 2 }, ChargerPhases = { 60 }, TimeToFullCharge = { 300, 0.1 }, ChargingCableType = { 30 },
      ChargeCurrentRequest = { 60 }, ChargeCurrentRequestMax = { 60 }, ScheduledChargingMode = { 60 }, ChargePortDoorOpen = { 30 },
      FastChargerPresent = { 30 }, InsideTemp = { 60, 0.5 }, OutsideTemp = { 60, 0.5 }, HvacPower = { 60 },
      HvacLeftTemperatureRequest = { 60 }, ClimateKeeperMode = { 60 }, DefrostMode = { 60 }, Locked = { 30 }, DoorState = { 30 },
      FdWindow = { 60 }, FpWindow = { 60 }, RdWindow = { 60 }, RpWindow = { 60 }, SentryMode = { 60 }, LocatedAtHome = { 60 },
      TpmsPressureFl = { 600, 0.05 }, TpmsPressureFr = { 600, 0.05 }, TpmsPressureRl = { 600, 0.05 }, TpmsPressureRr = { 600, 0.05 },
      Version = { 3600 }, SoftwareUpdateVersion = { 3600 },
    },
  },
}

--- Their names, in order.
M.names = {}
local by_name = {}
for i, template in ipairs(templates) do M.names[i], by_name[template.name] = template.name, template end

--- The purpose of a template; nil for an unknown name.
function M.doc(name) return by_name[name] and by_name[name].doc end

--- The configuration of a template. given: hostname, port, ca of the receiver; without them only `fields` and `delivery_policy`.
function M.config(name, given)
  local template = by_name[name]
  if not template then errors.unknown_name("fleet.telemetry", "template", tostring(name), by_name) end
  local config = { fields = {}, delivery_policy = "latest" }
  for field, how in pairs(template.fields) do
    config.fields[field] = { interval_seconds = how[1], minimum_delta = how[2], resend_interval_seconds = RESEND }
  end
  for _, member in ipairs { "hostname", "port", "ca" } do config[member] = given and given[member] end
  return config
end

return M
