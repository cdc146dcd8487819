-- A table of a manual page that a spec makes: it stands between two marks, and with FLEET_WRITE=1 it is written there.
--
--   assert.equal(made, manual_table.of("doc/manual/simulator-faults.md", "matrix", made))
local M = {}

local read = require("spec.support.harness.files").read

local write = require("spec.support.harness.files").write

--- What stands between <!-- name --> and <!-- end of name -->, after it was replaced by made where that is asked for.
function M.of(path, name, made)
  local text = read(path)
  local from = select(2, text:find("<!-- " .. name .. " -->\n", 1, true))
  local to = text:find("<!-- end of " .. name .. " -->", 1, true)
  if not os.getenv("FLEET_WRITE") then return text:sub(from + 1, to - 1) end
  write(path, text:sub(1, from) .. made .. text:sub(to))
  return made
end

return M
