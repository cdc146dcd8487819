-- All budgets of the design, one line each: name figure budget ok|over|absent. Ratios of one run, never times; a script of
-- its own measures a group, in a process of its own, and prints such lines. Ends non-zero only when something that exists
-- could not be measured.

local budgets = require "spec.bench.budgets"

local verdicts = { ok = true, over = true, absent = true }

local function measured(script)
  local pipe = assert(io.popen("lua5.4 spec/bench/" .. script, "r"))
  local lines = {}
  for line in pipe:lines() do
    local name, verdict = string.match(line, "^([%w%-]+) %S+ %S+ (%l+)")
    if verdicts[verdict] then lines[name] = line else print("# " .. line) end
  end
  return lines, pipe:close() == true
end

os.exit(budgets.print_all(budgets.groups, measured, print), true)
