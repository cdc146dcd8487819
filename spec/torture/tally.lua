-- What happened how often, a line each, in the order of the names.
return function(counts)
  local lines = {}
  for what, times in pairs(counts) do lines[#lines + 1] = ("  %-40s %7d"):format(what, times) end
  table.sort(lines)
  return table.concat(lines, "\n")
end
