-- Small mistakes in budgets and rate limits.
local count, limits = "lua/fleet/budget/count.lua", "lua/fleet/budget/limits.lua"
local gate, bucket = "lua/fleet/budget/gate.lua", "lua/fleet/util/bucket.lua"
local budget, pacing = "spec/budget/budget_spec.lua", "spec/budget/pacing_spec.lua"

return {
  { limits, "spent > limit.most + enough", "spent >= limit.most", { budget } },
  { limits, "local of = limit.period == \"day\" and suffix or \"\"", "local of = \"\"", { budget } },
  { limits, "and spent - (limit.class and amount or amount * price) < edge", "", { budget } },
  { limits, "(limit.class and amount or amount * price)", "amount * price", { "spec/budget/signals_spec.lua" } },
  { count, "if not same and is_unended(one, mono) then", "if false then", { budget } },
  { count, "if is_unended(before, mono) then add_keys(meter, entry, before) end", "add_keys(meter, entry, before)", { budget } },
  { count, "local step = step_of(entry.class, one.period.suffix, -1)",
    "local step = step_of(entry.class, entry.period.suffix, -1)", { budget } },
  { count, "return wall + period.ends_mono - mono", "return period.day_ends", { budget } },
  { count, "if beyond and not forced then return beyond, totals end", "if beyond then return beyond, totals end", { budget } },
  { count, "if not billed then return take_back(meter, entry) end", "if not billed then return end", { budget } },
  { count, "      one.undo()\n", "", { budget } },
  { bucket, "state.at = math.min(state.at, now + state.rest)", "", { pacing } },
  { bucket, "after.rest = math.max(after.rest, after.at - now)", "", { pacing } },
  { bucket, "after.level = math.min(after.level, 1)", "", { pacing } },
  { bucket, "if wait > step.within then return nil, wait end", "", { pacing } },
  { gate, "pacing.ask(context.pacer, class, call.id, tasks.steady(),", "pacing.ask(context.pacer, class, call.id, wall,", { pacing } },
}
