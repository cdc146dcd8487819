-- The modules of this tree and of the specs as compiled chunks, for specs that load them into thousands of states: reading their
-- text takes longer than what such a state is for. Lines and names in errors stay those of the text.

local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"

local M = {}

local function compile(root, prefix, directory)
  local quoted = process.quote(directory)
  process.execute("cd " .. process.quote(root) .. " && find " .. prefix .. " -type d -exec mkdir -p " .. quoted .. "/{} \\;")
  local list = io.popen("cd " .. process.quote(root) .. " && find " .. prefix .. " -name '*.lua'")
  for path in list:lines() do
    local chunk = loadfile(root .. "/" .. path)
    if chunk then files.write(directory .. "/" .. path, string.dump(chunk)) end
  end
  list:close()
end

--- The package.path of such a state, and a function that removes the chunks.
function M.path()
  local directory = process.temporary "bytecode"
  compile(process.root .. "/lua", "fleet", directory)
  compile(process.root, "spec/support", directory)
  return directory .. "/?.lua;" .. directory .. "/?/init.lua;" .. package.path, function()
    process.execute("rm -rf " .. process.quote(directory))
  end
end

return M
