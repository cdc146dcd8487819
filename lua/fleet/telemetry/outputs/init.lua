-- Outputs of a receiver (option `outputs`) store its records. An output is an object with store(record) → true | nil, err, kind, which may
-- wait. Optional: the member `name`, and the methods connection(event), close(), check() → true | nil, err, kind, which a starting receiver
-- calls, and refresh(vehicle) when other processes write there, too.

local on_demand = require "fleet.util.on_demand"

return {
  lines = on_demand.call("fleet.telemetry.outputs.lines", "new"),
  mqtt = on_demand.call("fleet.mqtt.telemetry", "new"),
  redis = on_demand.call("fleet.telemetry.outputs.redis", "new"),
  teslamate = on_demand.call("fleet.telemetry.outputs.teslamate", "new"),
}
