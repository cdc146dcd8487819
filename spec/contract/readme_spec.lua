-- The README: what its console shows is what a shell prints, and its first script prints what stands below it.

local files = require "spec.support.harness.files"
local markdown = require "spec.support.harness.markdown"
local process = require "spec.support.harness.process"
local sim_process = require "spec.support.servers.sim_process"

local function block(language, heading)
  local _, blocks = markdown.parts(files.read(process.root .. "/README.md"))
  for _, each in ipairs(blocks) do
    if each.language == language and each.heading == heading then return each.text end
  end
end

-- A pattern that fits a text with other numbers.
local function with_any_numbers(text)
  return (string.gsub(string.gsub(text, "[%-%.%+%*%?%[%]%^%$%(%)%%]", "%%%0"), "%d+", "%%-?%%d+"))
end

describe("README.md", function()
  local home

  setup(function() home = process.temporary "readme" end)
  teardown(function() process.execute("rm -rf " .. process.quote(home)) end)

  -- The shell is that of the quick start: the command of this tree, and a simulator of its own.
  local function shell(lines)
    local head = string.format("fleet() { %s \"$@\"; }; exec 2>&1; export XDG_RUNTIME_DIR=%s XDG_CONFIG_HOME=%s XDG_STATE_HOME=%s\n",
      sim_process.fleet, process.quote(home), process.quote(home), process.quote(home))
    return (sim_process.shell("(" .. head .. lines .. '\neval "$(fleet sim stop --env)"\n)'))
  end

  it("shows commands with what they print", function()
    local commands, shown = {}, {}
    for line in string.gmatch(block("console", "Try it"), "[^\n]+") do
      local command = string.match(line, "^%$ (.*)$")
      if not command then
        shown[#shown + 1] = line
      elseif not string.find(command, "make -s env", 1, true) then -- the specs have the module already
        commands[#commands + 1] = command
      end
    end
    assert.is_true(#commands >= 4)
    assert.equal(table.concat(shown, "\n") .. "\n", shell(table.concat(commands, "\n")))
  end)

  it("shows what its first script prints", function()
    files.write(home .. "/first.lua", block("lua", "A first script"))
    local printed = shell('eval "$(fleet sim --env)"\n' .. process.lua .. " " .. process.quote(home .. "/first.lua"))
    assert.matches("^" .. with_any_numbers(block("text", "A first script")) .. "\n$", printed)
  end)
end)
