-- What can be said of a telemetry configuration before it is sent (src/bind/resources/telemetry_check.c).

local core = require "fleet.core"

local M = {}

--- Checks the config of create_fleet_telemetry_config.
-- config: the table; wall: UTC seconds for what depends on the time, or nil.
-- Returns { problems = list, warnings = list } of { where = "fields.Soc.interval_seconds", message = text }; a
-- configuration without problems can be sent. Raises when config is no table.
M.check = core.telemetry_check

--- The newest of the firmware versions that first knew the fields of a configuration, or nil.
M.since = core.telemetry_since

return M
