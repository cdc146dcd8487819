-- A host that loads no C module: a state of Lua for each event, 100 ms, `require` for its own files only. What it can do is ask
-- a proxy, through the host's HTTP or a Unix socket.

local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"
local sim_process = require "spec.support.servers.sim_process"

describe("a host like dzVents", function()
  local logged

  setup(function()
    local directory = process.temporary "dzvents"
    local line = string.format("cd %s; FLEET=%s timeout 90 bash spec/hosts/dzvents.sh %s 2>&1", process.quote(process.root),
      sim_process.fleet, process.quote(directory))
    local out = sim_process.shell(line)
    logged = { text = out }
    for name, text in string.gmatch(out, "([%l ]+): ([^\n]*)\n") do logged[name] = text end
    process.execute("rm -rf " .. process.quote(directory))
  end)

  it("commands a car through the host's HTTP; the reply is an event of its own", function()
    assert.equal("log charging: done", logged.on, logged.text)
    assert.equal("log charging: done", logged.off, logged.text)
  end)

  it("logs what the car refuses, and what the proxy refuses", function()
    assert.equal("log charging: refused, not_charging", logged["off again"], logged.text)
    assert.equal("log charging: failed, status 401", logged["wrong secret"], logged.text)
  end)

  it("reaches the Unix socket by a program in the background", function()
    assert.equal("log asked", logged.socket, logged.text)
    assert.equal('{"response":{"result":true,"reason":""}}', logged.horn, logged.text)
  end)

  it("loads no module, and has 100 ms: as the host of this spec does", function()
    assert.matches("module 'fleet' is none of this host's", logged.module, 1, true)
    assert.matches("more than 100 ms", logged.slow, 1, true)
  end)

  it("needs few lines", function()
    local _, lines = string.gsub(files.read(process.root .. "/examples/hosts/dzvents.lua"), "\n", "")
    assert.is_true(lines <= 40, lines .. " lines")
  end)
end)
