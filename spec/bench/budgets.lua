-- All budgets of the design, and how what a run finds of them is told: a line for each, `name figure budget ok|over|absent`, or
-- `name - - failed` where its script does not print it.

local M = {}

M.groups = {
  { script = "sign.lua", "sign", "sign-lua", "sign-heap", "handshake", "session-memory" },
  { script = "requests.lua", "request-1", "request-64", "request-1000" },
  { script = "tariff.lua", "tariff", "tariff-rows", "tariff-growth" },
  { script = "memory.lua", "client-memory", "request-memory" },
  { script = "require.lua", "require" },
  { script = "cli.lua" },
  { script = "cancel.lua", "cancel" },
  { script = "store_turn.lua", "store-turn", "store-cpu" },
  { script = "redis.lua", "redis-trips" },
  { script = "proxy.lua", "proxy-cpu", "proxy-p99", "proxy-memory" },
  { script = "stream.lua", "stream-memory", "stream-cpu", "stream-turn" },
  { script = "sim_reads.lua", "sim-reads" },
  { script = "many_vehicles.lua", "many-vehicles" },
  { script = "growth.lua", "growth-vehicles", "growth-clients", "growth-tasks", "growth-accounts", "growth-sessions", "growth-pages",
    "growth-periods", "store-open" },
}

--- Prints the groups in order. measured(script): the lines of its budgets by name, and whether it succeeded. Returns whether
--- all of them were measured.
function M.print_all(groups, measured, print_line)
  local good = true
  for _, group in ipairs(groups) do
    local lines, ended = measured(group.script)
    for _, name in ipairs(group) do
      print_line(lines[name] or name .. " - - failed")
      good = good and lines[name] ~= nil
    end
    good = good and ended
  end
  return good
end

return M
