-- What the machine did beside a bench that judges by wall time: a core for which we waited, or which the machine's host took, is
-- no time of ours.

local M = {}

local function first_line(path)
  local file = io.open(path)
  local text = file and file:read("l") or ""
  if file then file:close() end
  return text
end

--- The share of the cores that the host took between two readings of the first line of /proc/stat (proc(5)): user, nice, system,
--- idle, iowait, irq, softirq, steal; what follows is counted in user and nice already. 0 where the kernel does not tell.
function M.stolen_between(before, after)
  local function numbers(text)
    local list = {}
    for number in string.gmatch(text, "%d+") do list[#list + 1] = tonumber(number) end
    return list
  end
  local from, to, all = numbers(before), numbers(after), 0
  if #from < 8 or #to < 8 then return 0 end
  for i = 1, 8 do all = all + to[i] - from[i] end
  return all > 0 and (to[8] - from[8]) / all or 0
end

-- Seconds for which this process could have run and had no core, where the kernel tells.
local function waited_for_core()
  return (tonumber(string.match(first_line("/proc/self/schedstat"), "^%d+ (%d+)")) or 0) / 1e9
end

--- Begins to look. Returns a function: the seconds for which this process waited for a core since then, and the share of the cores
--- that the host took meanwhile.
function M.watch()
  local waited, stat = waited_for_core(), first_line("/proc/stat")
  return function()
    return waited_for_core() - waited, M.stolen_between(stat, first_line("/proc/stat"))
  end
end

return M
