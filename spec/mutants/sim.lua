local commands, energy, faults = "spec/sim/commands_spec.lua", "spec/sim/energy_spec.lua", "spec/sim/faults_spec.lua"
local oauth, service, sharing = "spec/sim/oauth_spec.lua", "spec/sim/service_spec.lua", "spec/sim/sharing_spec.lua"
local data, forms, states = "spec/sim/signed_data_spec.lua", "spec/sim/signed_forms_spec.lua", "spec/sim/states_spec.lua"
local client = "spec/sim/client_spec.lua"

return {
  { "lua/fleet/sim/service.lua", "== true and not context.hidden", "== true", { data, service } },
  { "lua/fleet/sim/service.lua", "if OWNERS[word] then", "if false then", { forms, service } },
  { "lua/fleet/sim/service.lua", "context.token.kind == \"business\" or context.role == \"OWNER\"", "context.token.kind ~= \"business\"",
    { forms, service } },
  { "lua/fleet/sim/service.lua", "if not vehicle.mobile_enabled then", "if false then", { service, states } },
  { "lua/fleet/sim/vehicle.lua", "for _, name in ipairs(defaults.location_fields) do rest[name] = nil end", "", { data, service } },
  { "lua/fleet/sim/vehicle.lua", "if self.guest == email then return \"DRIVER\", false end", "", { sharing } },
  { "lua/fleet/sim/faults.lua", "and options.row ~= context.command then", "then", { faults } },
  { "lua/fleet/sim/faults.lua", "if fault.left == 0 then", "if false then", { faults } },
  { "lua/fleet/sim/faults.lua", "return not options.vin or", "return true or", { faults } },
  { "lua/fleet/sim/oauth/grants.lua", "if account then account.auth_code = nil end", "", { oauth } },
  { "lua/fleet/sim/oauth/grants.lua", "self.codes[form.code] = nil", "", { oauth } },
  { "lua/fleet/sim/oauth/grants.lua", "now - entry.used_at > REUSE_SECONDS", "now - entry.used_at < 0", { oauth } },
  { "lua/fleet/sim/oauth/tokens.lua", "if entry.expires_at <= self.service:now() then", "if false then", { oauth } },
  { "lua/fleet/sim/api/sharing.lua", "if vehicle.owner == email then", "if false then", { sharing } },
  { "lua/fleet/sim/api/sharing.lua", "if now >= vehicle.invitations[i].expires then", "if now > vehicle.invitations[i].expires then",
    { sharing } },
  { "lua/fleet/sim/api/telemetry.lua", "if not app.any and not app.csr then", "if false then", { sharing } },
  { "lua/fleet/sim/history.lua", "return energy.add(sum, modelled(site, number), before)", "return sum", { energy } },
  { "lua/fleet/sim/history.lua", "wh(\"sun_to_load\", \"battery_to_load\", \"grid_to_load\")",
    "wh(\"sun_to_load\", \"grid_to_load\")", { energy } },
  { "lua/fleet/sim/energy.lua", "return site.grid_up and site.info.components.customer", "return site.info.components.customer",
    { energy } },
  { "lua/fleet/sim/limits.lua", "if window.count <= most then", "if window.count <= most + 1 then", { faults, service } },
  { "lua/fleet/sim/billing.lua", "or status >= 500 then", "then", { service, "spec/sim/sim_spec.lua" } },
  { "lua/fleet/sim/commands/access.lua", "if not vehicle:parked() then return \"not_parked\" end\n  if not state(vehicle).guest_mode",
    "if not state(vehicle).guest_mode", { commands, states } },
  { "lua/fleet/sim/signed/init.lua", "admission.scope(row, context.token)", "", { forms } },
  { "lua/fleet/sim/client.lua", "if not options.store and signed_in[email] then", "if false then", { client } },
}
