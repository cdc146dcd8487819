local damage, back = "spec/automation/damage_spec.lua", "spec/automation/put_back_spec.lua"
local reading = "spec/automation/surplus_reading_spec.lua"
local prices, ensure, notices = "spec/automation/no_prices_spec.lua", "spec/automation/ensure_spec.lua", "spec/automation/notices_spec.lua"
local runner, late = "spec/automation/runner_spec.lua", "spec/automation/charge_by_spec.lua"
local connects, streamed = "spec/automation/connects_spec.lua", "spec/automation/streamed_spec.lua"

return {
  -- what a reply tells
  { "lua/fleet/automation/readings.lua", "return kinds.number(value) and value >= 0", "return kinds.number(value)", { damage } },
  { "lua/fleet/automation/readings.lua", 'charging_state = "charging"', 'charging_state = "text"', { damage } },
  { "lua/fleet/automation/readings.lua", "return #missing == 0 and read or nil, odd, missing", "return read, odd, missing", { damage } },
  { "lua/fleet/automation/runner.lua", "      if ends_the_run(more) then error(more, 0) end", "      error(more, 0)", { damage } },
  { "lua/fleet/automation/runner.lua", "if decision.problem then error(decision.problem, 0) end", "", { damage } },
  { "lua/fleet/automation/runner.lua", "return raised.store ~= nil or", "return", { runner }, hangs = true },
  { "lua/fleet/automation/runner.lua", "state.unread[action.call] = nil", "state.unread = {}", { damage } },
  { "lua/fleet/automation/decision.lua", "    state.memory = memory\n", "", { damage } },
  { "lua/fleet/automation/state.lua", '"again_at", "why", "why_at" }', '"again_at" }', { notices } },
  -- what is put back
  { "lua/fleet/automation/temporary.lua", "if info.texts and info.texts[name] then return info.texts[name] end", "", { back } },
  { "lua/fleet/automation/temporary.lua", "info.backup_reserve_percent + 0.5", "info.backup_reserve_percent", { back } },
  { "lua/fleet/automation/temporary.lua", "sent and shown ~= nil and shown ~= memory.had or", "", { back } },
  { "lua/fleet/automation/temporary.lua", "and memory.tries >= most_tries", "", { back } },
  { "lua/fleet/automation/temporary.lua", "if memory.at and now - memory.at < gap then return {} end", "", { back } },
  { "lua/fleet/automation/temporary.lua", "options = setting == tariff and { force = true } or nil", "options = nil", { back } },
  { "lua/fleet/automation/builtin/charge_home_battery.lua", "now < ends and inputs.wanted", "inputs.wanted", { back } },
  { "lua/fleet/automation/builtin/ensure.lua", "m.kept[name] = shown end", "end", { ensure } },
  { "lua/fleet/automation/builtin/ensure.lua", "local known = seen and is_known(row, params, data)", "local known = seen", { ensure } },
  -- readings of the site
  { "lua/fleet/automation/builtin/surplus_charge.lua", 'if not live.grid_power then return "no reading of the grid power" end',
    "live.grid_power = live.grid_power or 0", { reading } },
  { "lua/fleet/automation/builtin/surplus_charge.lua", "now - at > oldest and", "false and", { reading } },
  { "lua/fleet/automation/builtin/surplus_charge.lua", "now - m.unread >= config.steady", "true", { reading } },
  { "lua/fleet/automation/builtin/surplus_charge.lua", "state.trouble.count % 2 == 1", "false", { reading } },
  -- prices that are missing, and a time that came too soon
  { "lua/fleet/automation/charging/plan.lua", "if same and (kept.from <= now or", "if false and (kept.from <= now or", { prices } },
  { "lua/fleet/automation/charging/plan.lua", "return slots, bare * 3600 > deadline - now", "return slots, late", { prices } },
  { "lua/fleet/automation/builtin/charge_by.lua", "config.last.date ~= date", "true", { prices } },
  { "lua/fleet/automation/charging/by_command.lua", "if config.go_on then plans.note_late(m, f) end", "plans.note_late(m, f)", { late } },
  -- a car that streams
  { "lua/fleet/automation/streamed.lua", "if self.awaited and now < self.awaited.ends then return true end", "", { connects } },
  { "lua/fleet/automation/streamed.lua", "self.awaited.connected, self.awaited.ends = true, now + asks_again",
    "self.awaited.connected = true",
    { connects } },
  { "lua/fleet/automation/streamed.lua", "awaited.connected and now < awaited.ends and awaited.ends or nil", "nil", { connects } },
  { "lua/fleet/automation/streamed.lua", "vehicle.left and tasks.steady() - vehicle.left", "vehicle.left_at and now - vehicle.left_at",
    { connects } },
  { "lua/fleet/automation/streamed.lua", "if self.awaited then self.awaited.ends = moved(self.awaited.ends) end", "", { streamed } },
  { "lua/fleet/automation/streamed.lua", "self.event_at, self.looked_into_at = moved", "self.looked_into_at, self.looked_into_at = moved",
    { streamed } },
  { "lua/fleet/automation/shared_looks.lua", "new(of_context[self.id].looked)", "nil", { streamed } },
}
