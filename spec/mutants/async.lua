local tasks, loop = "spec/async/tasks_spec.lua", "spec/async/loop_spec.lua"

return {
  { "lua/fleet/async/task.lua", "if not promise.token then raise_if_cancelled(task) end", "", { tasks } },
  { "lua/fleet/async/task.lua", "if promise.token then return scheduler.cancel(promise) end", "", { tasks, loop } },
  { "lua/fleet/async/task.lua", "if task.cancelled and not task.started then return finish(task, false, cancelled_error()) end",
    "", { tasks } },
  { "lua/fleet/async/task.lua", "if self.report then self.report.seen = true end", "", { tasks } },
  { "lua/fleet/async/task.lua", "if not ok then close_coroutine(task.coroutine) end", "", { tasks } },
  { "lua/fleet/async/calls.lua", "err.outcome == \"unknown\" and #unknown < most_reported", "err.outcome == \"unknown\"", { tasks, loop } },
  { "lua/fleet/async/loop.lua", "if not fd or watches[fd] ~= self then return end", "", { tasks, loop } },
}
