-- A drive drawn from streamed records, and the verb that draws it.

local cli = require "spec.support.harness.cli"
local core = require "fleet.core"
local drive = require "fleet.chart.drive"
local read = require("spec.support.harness.files").read
local streamed_drive = require "spec.support.fixtures.streamed_drive"

local function record(at, values, invalid)
  return { vin = "5YJ3FLEE9RF000001", topic = "V", at = at, values = values, invalid = invalid }
end

local function place(latitude, longitude) return { latitude = latitude, longitude = longitude } end

describe("the picture of a drive", function()
  it("is in the manual as it is drawn", function()
    assert.is_true(read "doc/manual/pictures/drive.svg" == drive.svg(streamed_drive()), "make look")
  end)

  it("leaves a gap for an invalid value, and does not draw 0", function()
    local picture = assert(drive.svg {
      record(0, { Location = place(52, 13), VehicleSpeed = 30 }), record(60, { VehicleSpeed = 40 }), record(120, {}, { "VehicleSpeed" }),
      record(180, { VehicleSpeed = 20, Location = place(52.01, 13) }), record(240, { VehicleSpeed = 30 }),
    })
    local path = string.match(picture, '<path class="speed" d="([^"]*)"')
    assert.equal(2, select(2, string.gsub(path, "M", "")))
    assert.equal(2, select(2, string.gsub(path, "L", "")))
    assert.matches("not streamed", picture) -- Soc
    assert.matches("A drive of 4 minutes", picture, 1, true)
  end)

  it("says how long the drive was, also one that was short", function()
    for seconds, wanted in pairs { [1] = "1 second", [20] = "20 seconds", [60] = "1 minute", [170] = "3 minutes" } do
      local picture = assert(drive.svg { record(0, { Location = place(52, 13) }), record(seconds, { Location = place(52.01, 13) }) })
      assert.matches("A drive of " .. wanted .. "<", picture, 1, true)
    end
  end)

  it("needs two places, and no number", function()
    assert.equal("invalid", (select(3, drive.svg { record(0, { Location = place(52, 13) }) })))
    assert.equal("invalid", (select(3, drive.svg {})))
    assert.equal("invalid", (select(3, drive.svg { record(0, { Location = "x" }), record(1, { Location = { latitude = "a" } }) })))
  end)
end)

describe("fleet telemetry plot", function()
  local function plot(records, ...)
    local lines = {}
    for i, one in ipairs(records) do lines[i] = type(one) == "table" and core.json_encode(one) or one end
    return cli.run({ "telemetry", "plot", "-", ... }, { stdin = table.concat(lines, "\n"), env = {} })
  end

  it("draws what serve printed, of one car", function()
    local records = { { topic = "connectivity", type = "connected", vin = "5YJ3FLEE9RF000001" },
      record(0, { Location = place(52, 13) }), record(60, { Location = place(52.1, 13) }) }
    local result = plot(records)
    assert.equal(0, result.status, result.err)
    assert.matches("^<svg", result.out)
    records[4] = { vin = "5YJSFLEE9KF000002", topic = "V", at = 70, values = {} }
    assert.matches("several vehicles", plot(records).err)
    assert.matches("the file has 5YJ3FLEE9RF000001, 5YJSFLEE9KF000002", plot(records).err)
    assert.equal(0, plot(records, "--vin=5YJ3FLEE9RF000001").status)
    assert.equal(0, plot(records, "--vin=000001").status)
    local unknown = plot(records, "--vin=000009")
    assert.equal(2, unknown.status)
    assert.matches("no record of 000009; the file has 5YJ3FLEE9RF000001", unknown.err)
  end)

  it("leaves out a last line that was cut, and rejects another line that is none", function()
    local records = { record(0, { Location = place(52, 13) }), record(60, { Location = place(52.1, 13) }), '{"topic":"V","at":7' }
    assert.equal(0, plot(records).status)
    records[4] = record(120, {})
    local result = plot(records)
    assert.equal(2, result.status)
    assert.matches("line 3 is no record", result.err)
  end)

  it("refuses what is none", function()
    assert.equal(2, plot({ "drive" }).status)
    assert.matches("fewer than two places", plot({ record(0, {}) }).err)
  end)
end)
