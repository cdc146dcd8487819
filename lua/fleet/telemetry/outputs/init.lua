-- Where a receiver puts its records: outputs of the option `outputs`. An output is an object with store(record) → true | nil, err, kind,
-- which may wait; connection(event) and close() where it has them; refresh(vehicle) where other processes write there, too.

local on_demand = require "fleet.util.on_demand"

return {
  lines = on_demand.call("fleet.telemetry.outputs.lines", "new"),
  mqtt = on_demand.call("fleet.mqtt.telemetry", "new"),
  redis = on_demand.call("fleet.telemetry.outputs.redis", "new"),
  teslamate = on_demand.call("fleet.telemetry.outputs.teslamate", "new"),
}
