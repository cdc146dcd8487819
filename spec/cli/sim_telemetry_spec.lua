-- `fleet sim --telemetry` as a process: what it prints, and that it leaves no file behind.

local core = require "fleet.core"
local files = require "spec.support.harness.files"
local sims = require "spec.support.servers.sim_process"
local stream = require "fleet.stream"

describe("fleet sim --telemetry", function()
  it("prints where its cars connect and where their authorities are, and removes the file at its end", function()
    local sim = sims.start "--telemetry"
    assert.equal("localhost", sim.telemetry_hostname)
    local list = assert(stream.certificates(files.read(sim.telemetry_ca)))
    assert.equal(3, #list)
    assert.equal("Tesla Motors Products CA", list[3].subject)
    assert.equal("0", sim.stop())
    assert.is_nil((core.file_read(sim.telemetry_ca, 100)))
  end)

  it("writes them where it is asked to", function()
    local path = os.tmpname()
    local sim = sims.start("--telemetry-ca=" .. path)
    assert.equal(path, sim.telemetry_ca)
    assert.matches("BEGIN CERTIFICATE", files.read(path))
    sim.stop()
    os.remove(path)
  end)
end)
