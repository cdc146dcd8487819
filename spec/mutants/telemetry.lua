-- Mistakes in the check of a telemetry configuration and in waiting for one.

local check, config, methods = "spec/resources/telemetry_spec.lua", "spec/resources/telemetry_config_spec.lua",
  "spec/resources/methods_spec.lua"

return {
  { "src/bind/resources/telemetry_check.c", "(sure ? problem : warning)(c, where", "problem(c, where", { check } },
  { "src/bind/resources/telemetry_check.c", "c->field->minimum_delta == DELTA_NO", "false", { check } },
  { "src/bind/resources/telemetry_check.c", "c->field->minimum_delta == DELTA_METRES", "false", { check } },
  { "src/bind/resources/telemetry_check.c", "lua_tonumber(c->L, value) >= FAR_FUTURE", "false", { check } },
  { "src/bind/resources/telemetry_check.c", "chain.servers && !chain.named", "!chain.named", { check } },
  { "src/bind/resources/telemetry_check.c", "(double)one->until < c->wall", "false", { check } },
  { "src/bind/resources/telemetry_check.c", "if (!one->has_issuer)", "if (false)", { check } },
  { "src/bind/resources/telemetry_check.c", "if (!count) problem(", "if (false) problem(", { check } },
  { "src/crypto/x509.c", "if (X509_check_ca(certificate)) continue;", "", { check } },
  { "src/tables/telemetry.c", "{\"DestinationLocation\", \"2024.26\", DELTA_METRES,", "{\"DestinationLocation\", \"2024.26\", DELTA_NO,",
    { check } },
  { "lua/fleet/resources/telemetry.lua", "if told and not (options and options.force) then", "if told then", { config } },
  { "lua/fleet/resources/telemetry.lua", "elseif context.keys and context.config.commands ~= \"plain\" then", "elseif context.keys then",
    { config } },
  { "lua/fleet/resources/telemetry.lua", "if never then return never_synced(car, never, why) end", "", { methods }, hangs = true },
  { "lua/fleet/resources/telemetry.lua", "value.synced ~= true and value.limit_reached == true", "value.limit_reached == true",
    { methods } },
  { "lua/fleet/resources/telemetry.lua", "config.exp <= wall", "false", { methods } },
}
