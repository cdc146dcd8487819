-- What the command loads: the verb that was asked for and nothing of the others, because every file is time at the start.

local process = require "spec.support.harness.process"
local shell = require("spec.support.servers.sim_process").shell

-- Runs a command line in a process of its own; gives the verbs' files that it has loaded, as one text.
local program = [[
  local leave = os.exit
  os.exit = function()
    local found = {}
    for name in pairs(package.loaded) do found[#found + 1] = string.match(name, "^fleet%%.cli%%.verbs%%.(.+)$") end
    table.sort(found)
    print("\nloaded:" .. table.concat(found, " ") .. (package.loaded["fleet.cli.bulk"] and " bulk" or ""))
    leave(0)
  end
  arg = { [0] = "lua/fleet/cli/fleet", %s }
  dofile(arg[0])
]]

local function loaded(words)
  local out = shell(string.format("cd %s && lua5.4 -e %s 2>/dev/null", process.quote(process.root),
    process.quote(string.format(program, words))))
  return string.match(out, "\nloaded:([^\n]*)")
end

describe("the command loads", function()
  if process.no_command then return end

  it("the file of the verb alone", function()
    assert.equal("version", loaded [["--version"]])
    assert.equal("version", loaded [["version", "--json"]])
    assert.equal("keygen", loaded [["keygen"]])
    assert.equal("endpoints", loaded [["commands"]])
  end)

  it("no file for a row, which is no verb of a file", function()
    assert.equal("", loaded [["vehicle_data", "one", "two", "three"]])
  end)

  it("what many vehicles need for many vehicles only", function()
    assert.equal("", loaded [["honk_horn", "--base-url=http://127.0.0.1:1"]])
    assert.equal(" bulk", loaded [["honk_horn", "--all", "--base-url=http://127.0.0.1:1"]])
  end)

  it("all of them when all are shown", function()
    assert.matches("account.*chart.*wake", loaded [["help", "all"]])
  end)
end)
