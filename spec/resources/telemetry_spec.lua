local core = require "fleet.core"
local telemetry = require "fleet.resources.telemetry_check"

local function run(command)
  local pipe = assert(io.popen("(" .. command .. ") 2>/dev/null"))
  local text = pipe:read("a")
  pipe:close()
  return text
end

local own = run("openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -days 30 -subj /CN=t.example.com")

local function config(changes)
  local c = { hostname = "telemetry.example.com", port = 4443, ca = own,
    fields = { Soc = { interval_seconds = 60, minimum_delta = 1 }, Location = { interval_seconds = 10 } } }
  for name, value in pairs(changes or {}) do
    if value == "absent" then c[name] = nil else c[name] = value end
  end
  return c
end

local function problems(changes, wall)
  local list = {}
  for _, p in ipairs(telemetry.check(config(changes), wall or os.time()).problems) do list[#list + 1] = p.where .. " " .. p.message end
  return list
end

describe("a telemetry configuration", function()
  it("that is right has no problems and no warnings", function()
    local report = telemetry.check(config {
      alert_types = { "service" }, exp = os.time() + 1000, prefer_typed = true, delivery_policy = "latest",
      fields = { Soc = { interval_seconds = 1, resend_interval_seconds = 60, include_fields = { "Location" } } },
    }, os.time())
    assert.same({ problems = {}, warnings = {} }, report)
    assert.same({}, problems { port = "absent" })
    assert.same({}, problems { fields = { Soc = { interval_seconds = 1, resend_interval_seconds = 0 } } }) -- on change only
  end)

  -- what is changed; the beginning of the only problem
  local rows = {
    { { hostname = "absent" }, "hostname must be the name" },
    { { hostname = "https://t.example.com" }, "hostname must be the name of your telemetry server: leave out the scheme" },
    { { hostname = "t.example.com:443" }, "hostname must be the name of your telemetry server: leave out the port" },
    { { hostname = "t.example.com/x" }, "hostname must be the name of your telemetry server: leave out the path" },
    { { hostname = "t..example.com" }, "hostname must be the name of your telemetry server: a name is missing" },
    { { hostname = "-t.example.com" }, "hostname must be the name of your telemetry server: no part may begin" },
    { { hostname = "t_1.example.com" }, "hostname must be the name of your telemetry server: it may hold letters" },
    { { hostname = ("a"):rep(64) .. ".com" }, "hostname must be the name of your telemetry server: one of its parts" },
    { { port = "443" }, "port must be a whole number from 1 to 65535, not text" },
    { { port = 0 }, "port must be" }, { { port = 65536 }, "port must be" }, { { port = 1.5 }, "port must be" },
    { { ca = "absent" }, "ca must be the certificate chain" },
    { { ca = "chain.pem" }, "ca holds no certificate" },
    { { ca = own:gsub("\nMII", "\nMIX") }, "ca certificate 1 cannot be read" },
    { { ca = own:sub(1, 200) .. own:sub(260) }, "ca certificate 1 cannot be read" },
    { { ca = own .. "-----BEGIN PRIVATE KEY-----" }, "ca holds a private key" },
    { { fields = "absent" }, "fields must name at least one field" },
    { { fields = {} }, "fields must name at least one field" },
    { { fields = { Sock = { interval_seconds = 1 } } }, "fields.Sock unknown field 'Sock', did you mean 'Soc'" },
    { { fields = { soc = { interval_seconds = 1 } } }, "fields.soc unknown field 'soc', did you mean 'Soc'" },
    { { fields = { Soc = 60 } }, "fields.Soc must be a table" },
    { { fields = { Soc = {} } }, "fields.Soc.interval_seconds must be a whole number" },
    { { fields = { Soc = { interval_seconds = 0 } } }, "fields.Soc.interval_seconds must be a whole number" },
    { { fields = { Soc = { interval_seconds = "60" } } }, "fields.Soc.interval_seconds must be a whole number" },
    { { fields = { Soc = { interval_seconds = 1, minimum_delta = -1 } } }, "fields.Soc.minimum_delta must be a number" },
    { { fields = { Locked = { interval_seconds = 1, minimum_delta = 1 } } }, "fields.Locked.minimum_delta is not taken" },
    { { fields = { DricveRail = { interval_seconds = 60 } } }, "fields.DricveRail unknown field 'DricveRail', did you mean 'DriveRail'" },
    { { fields = { Soc = { interval_seconds = 1, resend_interval_seconds = -1 } } }, "fields.Soc.resend_interval_seconds" },
    { { fields = { Soc = { interval_seconds = 1, resend_interval_seconds = 1.5 } } }, "fields.Soc.resend_interval_seconds" },
    { { fields = { Soc = { interval_seconds = 1, include_fields = { "X" } } } }, "fields.Soc.include_fields unknown field 'X'" },
    { { fields = { Soc = { interval_seconds = 1, include_fields = "Soc" } } }, "fields.Soc.include_fields must be a list" },
    { { alert_types = { "services" } }, "alert_types unknown alert type 'services', did you mean 'service'" },
    { { alert_types = "service" }, "alert_types must be a list" },
    { { exp = "tomorrow" }, "exp must be seconds since 1970" }, { { exp = 1000 }, "exp is in the past" },
    { { prefer_typed = 1 }, "prefer_typed must be true or false" },
    { { delivery_policy = "later" }, "delivery_policy unknown delivery policy 'later'" },
  }

  for _, row in ipairs(rows) do
    it("is refused: " .. row[2], function()
      local found = problems(row[1])
      assert.equal(1, #found, table.concat(found, "\n"))
      assert.equal(row[2], found[1]:sub(1, #row[2]))
    end)
  end

  -- what is changed; the only warning: what may be right after all
  local odd = {
    { { host = "t.example.com" }, "host unknown member 'host'" },
    { { aud = "x" }, "aud is written by what signs" }, { { iss = "x" }, "iss is written by what signs" },
    { { exp = 1795575000000 }, "exp counts seconds since 1970" },
    { { fields = { Soc = { interval_seconds = 1, interval = 5 } } }, "fields.Soc unknown option 'interval'" },
    { { fields = { Location = { interval_seconds = 1, minimum_delta = 0.001 } } }, "fields.Location.minimum_delta counts metres" },
    { { fields = { OriginLocation = { interval_seconds = 1, minimum_delta = 0.5 } } },
      "fields.OriginLocation.minimum_delta counts metres" },
  }
  for _, row in ipairs(odd) do
    it("is warned about: " .. row[2], function()
      local report = telemetry.check(config(row[1]), 1.7e9)
      assert.same({ 0, 1 }, { #report.problems, #report.warnings })
      local first = report.warnings[1].where .. " " .. report.warnings[1].message
      assert.equal(row[2], first:sub(1, #row[2]))
    end)
  end

  it("takes metres as the difference of a place", function()
    for _, name in ipairs { "Location", "OriginLocation", "DestinationLocation" } do
      for _, delta in ipairs { 0, 1, 50.5 } do
        assert.same({ problems = {}, warnings = {} },
          telemetry.check(config { fields = { [name] = { interval_seconds = 1, minimum_delta = delta } } }))
      end
    end
  end)

  it("is reported with all its problems at once", function()
    assert.equal(3, #problems { port = "443", hostname = "", fields = {} })
  end)

  it("whose certificate has ended is refused, if the time is known", function()
    assert.matches("ca certificate 1 ended on", problems({}, os.time() + 40 * 86400)[1])
    assert.same({}, telemetry.check(config()).problems)
  end)

  it("whose chain lacks an issuer is warned about", function()
    local folder = os.tmpname()
    os.remove(folder)
    run(("mkdir '%s' && cd '%s' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout a.key -out a.pem "
      .. "-days 9 -subj /CN=root && openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout b.key -out b.csr "
      .. "-subj /CN=telemetry.example.com && openssl x509 -req -in b.csr -CA a.pem -CAkey a.key -CAcreateserial -days 9 "
      .. "-out b.pem"):format(folder, folder))
    local leaf, root = run("cat " .. folder .. "/b.pem"), run("cat " .. folder .. "/a.pem")
    assert.equal(1, #telemetry.check(config { ca = leaf }).warnings)
    assert.same({}, telemetry.check(config { ca = leaf .. root }).warnings)
    local other = telemetry.check(config { ca = leaf .. root, hostname = "other.example.com" })
    assert.same({}, other.problems)
    assert.equal("ca holds a server's certificate that does not name other.example.com",
      other.warnings[1].where .. " " .. other.warnings[1].message)
    run(("rm -r '%s'"):format(folder))
  end)

  it("on a name without a dot is warned about", function()
    assert.equal("hostname", telemetry.check(config { hostname = "server" }).warnings[1].where)
  end)

  it("raises when it is no table", function()
    assert.has_error(function() telemetry.check("config") end)
  end)

  it("is signed for all vehicles, or for one", function()
    local key = core.key.generate()
    local claims = assert(core.jws_verify(key:jws(config()), key:public_bytes()))
    assert.equal("com.tesla.fleet.TelemetryClient", claims.aud)
    assert.equal(4443, claims.port)
    claims = assert(core.jws_verify(key:jws(config(), { vin = "5YJ30123456789ABC" }), key:public_bytes()))
    assert.equal("com.tesla.vehicle.5YJ30123456789ABC.TelemetryClient", claims.aud)
  end)
end)

describe("the firmware of a telemetry configuration", function()
  local wanted = config {
    delivery_policy = "latest",
    fields = {
      Soc = { interval_seconds = 60 }, ChargerVoltage = { interval_seconds = 60, minimum_delta = 5 },
      Location = { interval_seconds = 60, minimum_delta = 100 }, Gear = { interval_seconds = 1, include_fields = { "MilesSinceReset" } },
    },
  }

  local function needs(version)
    local list = {}
    for i, need in ipairs(telemetry.needs(wanted, version)) do list[i] = need.what .. " " .. need.since end
    return list
  end

  it("is that of its fields and options", function()
    assert.same({
      "ChargerVoltage 2024.44.32", "Gear 2024.26", "Location 2024.26", "MilesSinceReset 2025.44.25.5", "Soc 2024.26",
      "delivery_policy 2024.45.32.20", "include_fields 2026.26.6", "minimum_delta 2024.44.32", "minimum_delta of Location 2024.45.32.20",
    }, needs())
  end)

  it("says what a vehicle is too old for, and nothing of a new one", function()
    assert.same({}, needs "2026.26.6")
    assert.same({ "include_fields 2026.26.6" }, needs "2026.8")
    assert.same({ "MilesSinceReset 2025.44.25.5", "delivery_policy 2024.45.32.20", "include_fields 2026.26.6",
      "minimum_delta of Location 2024.45.32.20" }, needs "2024.44.32")
    assert.is_nil(telemetry.firmware_sentence(wanted, "2026.32.1"))
    assert.equal("its firmware 2026.8 is too old for include_fields (from 2026.26.6)", telemetry.firmware_sentence(wanted, "2026.8"))
    assert.same({}, telemetry.needs { fields = "none" })
    local all = telemetry.firmware_sentence(wanted, "2023.20") -- nine needs
    assert.matches("ChargerVoltage (from 2024.44.32), ", all, 1, true)
    assert.matches("minimum_delta %(from 2024.44.32%) and 1 more$", all)
  end)
end)

describe("the rows of telemetry fields", function()
  it("are there, unique, and as published", function()
    local rows, count = core.telemetry_fields(), 0
    for name in pairs(rows) do
      assert.matches("^[%w_]+$", name)
      count = count + 1
    end
    assert.equal(271, count)
    assert.same({ since = "2024.26", minimum_delta = true, number = 8, kind = "number", unit = "%",
      counterpart = "charge_state.usable_battery_level" }, rows.Soc)
    assert.same({ since = "2024.26", minimum_delta = "metres", number = 21, kind = "location",
      counterpart = "drive_state.latitude drive_state.longitude" }, rows.Location)
    assert.is_nil(rows.Cabin48vPortKeepOn.minimum_delta)
  end)
end)
