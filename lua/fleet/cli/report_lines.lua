-- Prints a report of lines { name =, ok = true, false or nil (could not be checked, or uncertain), message =, fix = } on a terminal.

local show = require "fleet.cli.show"

local M = {}

local signs = { [true] = "ok  ", [false] = "FIX " }
local coloured = { [true] = "\27[32mok\27[0m  ", [false] = "\27[1;31mFIX\27[0m " }

--- Prints the lines, with the fix below each one that failed. with_colours: "ok" is green, "FIX" red.
function M.print(out, lines, with_colours)
  local sign_of = with_colours and coloured or signs
  local columns = 0
  for _, line in ipairs(lines) do columns = math.max(columns, #line.name) end
  for _, line in ipairs(lines) do
    out:write(sign_of[line.ok] or "-   ", string.format("%-" .. columns .. "s  ", show.clean(line.name)), show.clean(line.message), "\n")
    if line.fix and line.ok ~= true then out:write("    ", string.rep(" ", columns), "  -> ", show.clean(line.fix), "\n") end
  end
end

--- The number of lines that need a fix.
function M.count(lines)
  local count = 0
  for _, line in ipairs(lines) do count = count + (line.ok == false and 1 or 0) end
  return count
end

return M
