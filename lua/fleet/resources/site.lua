-- Methods of an energy site beyond its rows.

local on_demand = require "fleet.util.on_demand"

return {
  around = {
    time_of_use_settings = on_demand.call("fleet.resources.time_of_use", "set"),
    energy_history = on_demand.call("fleet.energy.histories", "energy"),
    backup_history = on_demand.call("fleet.energy.histories", "backup"),
    charge_history = on_demand.call("fleet.energy.histories", "charge"),
  },
  methods = { settle = on_demand.call("fleet.confirm", "settle") },
}
