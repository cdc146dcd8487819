-- Certificates that this module makes and judges, and payloads that the simulator's vehicles send.

local stream = require "fleet.stream"
local core = require "fleet.core"

local function authority(subject, more)
  local options = { subject = subject or "Test Root CA", authority = true, days = 3650 }
  for name, value in pairs(more or {}) do options[name] = value end
  local certificate, key = assert(stream.issue(options))
  return { certificate = certificate, key = key }
end

local function below(parent, more)
  local options = { subject = "leaf", days = 30, issuer = parent.certificate, issuer_key = parent.key }
  for name, value in pairs(more or {}) do options[name] = value end
  local certificate, key = assert(stream.issue(options))
  return { certificate = certificate, key = key }
end

describe("an issued certificate", function()
  it("says whom it is for, who issued it and until when", function()
    local root = authority()
    local leaf = below(root, { subject = "car.example.com", host = "car.example.com", usage = "serverAuth" })
    local list = assert(stream.certificates(leaf.certificate .. root.certificate))
    local _, now = core.clock()
    assert.same({ "car.example.com", "Test Root CA", { "car.example.com" }, false, false },
      { list[1].subject, list[1].issuer, list[1].hosts, list[1].authority, list[1].self_issued })
    assert.same({ "Test Root CA", "Test Root CA", {}, true, true },
      { list[2].subject, list[2].issuer, list[2].hosts, list[2].authority, list[2].self_issued })
    assert.near(now + 30 * 86400, list[1].until_utc, 120)
    assert.near(now - 86400, list[1].from, 120)
    assert.matches("^%x+$", list[1].fingerprint)
    assert.equal(64, #list[1].fingerprint)
    assert.is_true(stream.key_fits(leaf.certificate .. root.certificate, leaf.key))
    assert.equal("tls", (select(3, stream.key_fits(leaf.certificate, root.key))))
  end)

  it("is for an address as well as for a name", function()
    local root = authority()
    for _, host in ipairs { "192.0.2.7", "2001:db8:0:0:0:0:0:1", "a.example.com" } do
      local leaf = below(root, { host = host })
      assert.same({ host }, stream.certificates(leaf.certificate)[1].hosts)
      assert.is_true(stream.verify_server(leaf.certificate, root.certificate, host))
    end
  end)

  it("carries a host's text as it is", function()
    local leaf = below(authority(), { host = "a.example.com,DNS:b.example.com" })
    assert.same({ "a.example.com,DNS:b.example.com" }, stream.certificates(leaf.certificate)[1].hosts)
  end)

  it("needs an issuer that can be read", function()
    local root = authority()
    local got, err, kind = stream.issue { subject = "x", days = 1, issuer = "none", issuer_key = root.key }
    assert.same({ nil, "invalid" }, { got, kind })
    assert.matches("PEM is wanted", err.message)
    assert.equal("invalid", (select(3, stream.issue { subject = "x", days = 1, issuer = root.certificate, issuer_key = "none" })))
    assert.error_matches(function() stream.issue { subject = "x", days = 1, isuer = "" } end, "isuer")
    assert.error_matches(function() stream.issue { subject = "x\0y", days = 1 } end, "subject")
  end)
end)

describe("a receiver's chain", function()
  local root, middle, leaf

  setup(function()
    root = authority()
    middle = authority("Test Middle CA", { issuer = root.certificate, issuer_key = root.key })
    leaf = below(middle, { host = "localhost" })
  end)

  it("is believed up to a root, with what the server sends", function()
    assert.is_true(stream.verify_server(leaf.certificate .. middle.certificate, root.certificate, "localhost"))
    assert.is_true(stream.verify_server(leaf.certificate, root.certificate .. middle.certificate, "localhost", true))
  end)

  for name, given in pairs {
    ["without its intermediate"] = { function() return leaf.certificate end, "localhost" },
    ["of another name"] = { function() return leaf.certificate .. middle.certificate end, "example.com", "[Hh]ostname" },
    ["looked at alone"] = { function() return leaf.certificate .. middle.certificate end, "localhost", nil, true },
    ["after its end"] = { function() return leaf.certificate .. middle.certificate end, "localhost", "expired", false, 40 * 86400 },
  } do
    it(name .. " is refused", function()
      local _, now = core.clock()
      local at = given[5] and math.floor(now + given[5])
      local good, err, kind = stream.verify_server(given[1](), root.certificate, given[2], given[4], at)
      assert.same({ nil, "tls" }, { good, kind })
      if given[3] then assert.matches(given[3], err.message) end
    end)
  end

  it("that ends at an intermediate of the authorities is refused: vehicles want the root", function()
    assert.is_nil((stream.verify_server(leaf.certificate, middle.certificate, "localhost")))
  end)
end)

describe("a payload", function()
  local function back(given) return assert(stream.payload("V", stream.data_payload(given))) end

  it("is read as it was written", function()
    local record = back { vin = "5YJ3000TEST000001", at = 1773136800.25, signals = {
      { field = "Soc", value = 71.5 }, { field = "ChargeLimitSoc", value = 80 }, { field = "Locked", value = true },
      { field = "VehicleName", value = "Blue" }, { field = "DetailedChargeState", value = "Charging" }, { field = "Gear", value = "D" },
      { field = "Location", value = { latitude = 52.5, longitude = -13.25 } }, { field = "CarType", value = 1 },
      { field = "TpmsLastSeenPressureTimeFl", value = 1773136800 },
      { field = "DoorState", member = "door_value", value = { DriverFront = true } },
      { field = "ScheduledChargingStartTime", member = "time_value", value = "07:05:59" },
      { field = "InsideTemp", member = "float_value", value = 0.1 }, { field = "VehicleSpeed", member = "invalid", value = true },
      { field = 9001, value = "new" }, { field = "OutsideTemp", member = "string_value", value = "8.5" },
    } }
    assert.same({ Soc = 71.5, ChargeLimitSoc = 80, Locked = true, DetailedChargeState = "Charging", Gear = "D",
      Location = { latitude = 52.5, longitude = -13.25 }, CarType = "ModelS", TpmsLastSeenPressureTimeFl = 1773136800,
      DoorState = { DriverFront = true, DriverRear = false, PassengerFront = false, PassengerRear = false, TrunkFront = false,
        TrunkRear = false }, ScheduledChargingStartTime = "07:05:59", InsideTemp = 0.1 }, record.values)
    assert.same({ VehicleName = "Blue", ["9001"] = "new", OutsideTemp = "8.5" }, record.texts)
    assert.same({ "VehicleSpeed" }, record.invalid)
    assert.same({ 1773136800.25, 15, false }, { record.at, record.signals, record.resend })
    assert.is_true(back { resend = true, signals = {} }.resend)
  end)

  it("refuses fields, members and names that are not known", function()
    assert.error_matches(function() stream.data_payload { signals = { { field = "Socc", value = 1 } } } end, "Socc")
    assert.error_matches(function() stream.data_payload { signals = { { field = "Soc", member = "x", value = 1 } } } end, "member 'x'")
    assert.error_matches(function() stream.data_payload { signals = { { field = "Gear", value = "Q" } } } end, "'Q'")
    assert.error_matches(function() stream.data_payload { signals = { { field = "Soc", value = "much" } } } end, "number")
  end)
end)
