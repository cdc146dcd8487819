-- Mistakes in the check of a telemetry configuration and in waiting for one.

local check, config, methods = "spec/resources/telemetry_spec.lua", "spec/resources/telemetry_config_spec.lua",
  "spec/resources/methods_spec.lua"

return {
  { "lua/fleet/resources/telemetry_check.lua", "report:warning(where or tostring(name)", "report:problem(where or tostring(name)",
    { check } },
  { "lua/fleet/resources/telemetry_check.lua", "elseif takes == false then", "elseif false then", { check } },
  { "lua/fleet/resources/telemetry_check.lua", "elseif takes == \"metres\" and", "elseif false and", { check } },
  { "lua/fleet/resources/telemetry_check.lua", "elseif value >= far_future then", "elseif false then", { check } },
  { "src/bind/crypto/context.c", "chain.servers && !chain.named", "!chain.named", { check } },
  { "lua/fleet/resources/telemetry_check.lua", "if wall and one.until_utc < wall then", "if false then", { check } },
  { "lua/fleet/resources/telemetry_check.lua", "if not one.has_issuer then", "if false then", { check } },
  { "lua/fleet/resources/telemetry_check.lua", "or next(fields) == nil then", "then", { check } },
  { "src/crypto/x509.c", "if (X509_check_ca(certificate)) continue;", "", { check } },
  { "src/tables/telemetry.c", "{\"DestinationLocation\", \"2024.26\", DELTA_METRES,", "{\"DestinationLocation\", \"2024.26\", DELTA_NO,",
    { check } },
  { "lua/fleet/resources/telemetry.lua", "if problems and not (options and options.force) then", "if problems then", { config } },
  { "lua/fleet/resources/telemetry.lua", "elseif context.keys and context.config.commands ~= \"plain\" then", "elseif context.keys then",
    { config } },
  { "lua/fleet/resources/telemetry.lua", "if never then return never_synced(car, never, why) end", "", { methods }, hangs = true },
  { "lua/fleet/resources/telemetry.lua", "value.synced ~= true and value.limit_reached == true", "value.limit_reached == true",
    { methods } },
  { "lua/fleet/resources/telemetry.lua", "config.exp <= wall", "false", { methods } },
}
