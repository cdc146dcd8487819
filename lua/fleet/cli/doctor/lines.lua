-- The report of `fleet doctor`: lines { name =, ok = true, false or nil (could not be checked), message =, fix =, cause = }.

local M = {}

function M.add(report, name, ok, message, fix)
  local line = { name = name, ok = ok, message = message, fix = fix }
  report.lines[#report.lines + 1] = line
  return line
end

function M.failed(report, name, err, fix)
  M.add(report, name, false, err.message or tostring(err), fix)
end

return M
