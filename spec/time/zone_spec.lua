local core = require "fleet.core"

local function zone(name)
  return assert(core.zone(name))
end

local function instant(text)
  return assert(core.time(text))
end

-- spec/vectors/zones.tsv: { zone, utc, local time, offset, dst, abbreviation }, in pairs around a change
local function recorded()
  local rows = {}
  for line in io.lines("spec/vectors/zones.tsv") do
    if not line:match("^#") then
      local row = {}
      for field in line:gmatch("[^\t]+") do row[#row + 1] = field end
      rows[#rows + 1] = row
    end
  end
  return rows
end

local function shown(t)
  return ("%04d-%02d-%02dT%02d:%02d:%02d"):format(t.year, t.month, t.day, t.hour, t.min, t.sec)
end

describe("core.zone", function()
  it("agrees with zdump on both sides of every recorded change", function()
    for _, row in ipairs(recorded()) do
      local t = zone(row[1]):localtime(tonumber(row[2]))
      local found = table.concat({ shown(t), t.offset, t.isdst and 1 or 0, t.abbreviation }, "\t")
      assert.equal(table.concat(row, "\t", 3), found, row[1])
    end
  end)

  it("finds every recorded change as the next one after the second before it", function()
    local rows = recorded()
    for i = 1, #rows, 2 do
      assert.equal(tonumber(rows[i + 1][2]), zone(rows[i][1]):next(tonumber(rows[i][2])))
    end
  end)

  it("turns every recorded local time back into its instant", function()
    for _, row in ipairs(recorded()) do
      local z, utc = zone(row[1]), tonumber(row[2])
      local first, _, second = z:utc(z:localtime(utc))
      assert.is_true(first == utc or second == utc, table.concat(row, " "))
    end
  end)

  it("knows no further change where daylight saving was given up", function()
    assert.is_nil(zone("Asia/Kolkata"):next(instant "2026-01-01T00:00:00Z"))
    assert.is_nil(zone("UTC"):next(0))
  end)

  local names = {
    { "Europe/Berln", "there is no time zone 'Europe/Berln'", "invalid" },
    { "../etc/passwd", "is not a time zone name", "invalid" },
    { "/etc/localtime", "is not a time zone name", "invalid" },
    { "Europe//Berlin", "is not a time zone name", "invalid" },
    { "Europe/", "is not a time zone name", "invalid" },
    { "", "is not a time zone name", "invalid" },
    { "Europe", "cannot read 'Europe': Is a directory", "unsupported" },
  }
  for _, case in ipairs(names) do
    it(("refuses the name %q"):format(case[1]), function()
      local z, err, kind = core.zone(case[1])
      assert.is_nil(z)
      assert.matches(case[2], tostring(err), 1, true)
      assert.equal(case[3], kind)
    end)
  end

  it("raises for a name that C would cut short", function()
    assert.error_matches(function() core.zone("Europe/Berlin\0") end, "contains a zero byte")
  end)

  it("says what to install where there is no database", function()
    local z, err, kind = core.zone("Europe/Berlin", "/nonexistent")
    assert.is_nil(z)
    assert.matches("install tzdata, or set TZDIR", tostring(err), 1, true)
    assert.equal("unsupported", kind)
  end)

  it("says what to install where a part of the world is missing", function()
    local process = require "spec.support.harness.process"
    local directory = process.temporary "zoneinfo"
    process.execute("cp /usr/share/zoneinfo/UTC " .. process.quote(directory) .. "/UTC")
    local _, err, kind = core.zone("Europe/Berlin", directory)
    assert.equal("unsupported", kind)
    assert.matches("no time zone data for Europe", tostring(err), 1, true)
    _, err, kind = core.zone("Mars/Base", directory)
    assert.equal("invalid", kind)
    assert.matches("there is no time zone 'Mars/Base'", tostring(err), 1, true)
    process.execute("rm -r " .. process.quote(directory))
  end)

  it("refuses times outside the years 0 to 9999", function()
    assert.has_error(function() zone("UTC"):offset(1e15) end)
    assert.has_error(function() zone("UTC"):offset("noon") end)
  end)

  it("prints as what it is and closes twice", function()
    local z = zone("UTC")
    assert.equal("fleet.zone", tostring(z))
    z:close()
    z:close()
    assert.equal("fleet.zone (closed)", tostring(z))
    assert.has_error(function() z:offset(0) end, "fleet.zone is closed")
  end)
end)

describe("zone:utc", function()
  local cases = {
    { "Europe/Berlin", { 2026, 3, 29, 2, 30 }, "2026-03-29T03:30:00+02:00", "skipped", "2026-03-29T01:30:00+01:00" },
    { "Europe/Berlin", { 2026, 10, 25, 2, 30 }, "2026-10-25T02:30:00+02:00", "repeated", "2026-10-25T02:30:00+01:00" },
    { "Europe/Berlin", { 2026, 3, 29, 1, 59 }, "2026-03-29T01:59:00+01:00" },
    { "Europe/Berlin", { 2026, 3, 29, 3, 0 }, "2026-03-29T03:00:00+02:00" },
    { "Europe/Berlin", { 2026, 10, 25, 3, 0 }, "2026-10-25T03:00:00+01:00" },
    { "Australia/Lord_Howe", { 2024, 10, 6, 2, 15 }, "2024-10-06T02:45:00+11:00", "skipped", "2024-10-06T01:45:00+10:30" },
    { "Australia/Lord_Howe", { 2024, 4, 7, 1, 45 }, "2024-04-07T01:45:00+11:00", "repeated", "2024-04-07T01:45:00+10:30" },
    { "Pacific/Apia", { 2011, 12, 30, 12, 0 }, "2011-12-31T12:00:00+14:00", "skipped", "2011-12-29T12:00:00-10:00" },
    { "Europe/Berlin", { 2090, 3, 26, 2, 30 }, "2090-03-26T03:30:00+02:00", "skipped", "2090-03-26T01:30:00+01:00" },
  }
  for _, case in ipairs(cases) do
    local at = case[2]
    it(("reads %d-%d-%d %d:%02d in %s"):format(at[1], at[2], at[3], at[4], at[5], case[1]), function()
      local fields = { year = at[1], month = at[2], day = at[3], hour = at[4], min = at[5] }
      local utc, kind, other = zone(case[1]):utc(fields)
      assert.equal(instant(case[3]), utc)
      assert.equal(case[4], kind)
      assert.equal(case[5] and instant(case[5]), other)
    end)
  end

  it("refuses what no calendar and no clock shows", function()
    local z = zone("Europe/Berlin")
    assert.error_matches(function() z:utc { year = 2026, month = 2, day = 30 } end, "there is no 2026%-2%-30")
    assert.error_matches(function() z:utc { year = 2026, month = 1, day = 1, hour = 24 } end, "there is no")
    assert.error_matches(function() z:utc { year = 2026, day = 1 } end, "'month' must be a whole number")
    assert.error_matches(function() z:utc { year = 2026, month = 1.5, day = 1 } end, "'month' must be a whole number")
  end)
end)

describe("zone:day", function()
  local cases = { -- zone, day, first instant, hours
    { "Europe/Berlin", "2026-03-29", "2026-03-29T00:00:00+01:00", 23 },
    { "Europe/Berlin", "2026-10-25", "2026-10-25T00:00:00+02:00", 25 },
    { "Europe/Berlin", "2026-07-01", "2026-07-01T00:00:00+02:00", 24 },
    { "Australia/Lord_Howe", "2024-10-06", "2024-10-06T00:00:00+10:30", 23.5 },
    { "Australia/Lord_Howe", "2024-04-07", "2024-04-07T00:00:00+11:00", 24.5 },
    { "America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00", 23 },
    { "America/Sao_Paulo", "2018-02-17", "2018-02-17T00:00:00-02:00", 25 },
    { "America/Sao_Paulo", "2018-02-18", "2018-02-18T00:00:00-03:00", 24 },
    { "America/St_Johns", "2006-10-29", "2006-10-29T00:00:00-02:30", 25 },
    { "Pacific/Apia", "2011-12-30", "2011-12-31T00:00:00+14:00", 0 },
    { "Africa/Casablanca", "2024-03-10", "2024-03-10T00:00:00+01:00", 25 },
  }
  for _, case in ipairs(cases) do
    it(("begins %s in %s with its first instant and gives it %s hours"):format(case[2], case[1], case[4]), function()
      local first, after = zone(case[1]):day(case[2])
      assert.equal(instant(case[3]), first)
      assert.equal(case[4], (after - first) / 3600)
    end)
  end

  it("refuses what is not a date", function()
    assert.error_matches(function() zone("UTC"):day("2026-02-29") end, "is not a date such as")
    assert.error_matches(function() zone("UTC"):day("2026-2-9") end, "is not a date such as")
  end)
end)

describe("a time zone file", function()
  local directory

  local function written(bytes)
    local file = assert(io.open(directory .. "/X", "wb"))
    file:write(bytes)
    file:close()
    return core.zone("X", directory)
  end

  local function berlin()
    local file = assert(io.open("/usr/share/zoneinfo/Europe/Berlin", "rb"))
    local bytes = file:read("a")
    file:close()
    return bytes
  end

  -- A version 2 file with one local time and the given footer.
  local function with_footer(footer, leaps)
    local function number(n) return "\0\0\0" .. string.char(n) end
    local header = "TZif2" .. ("\0"):rep(15 + 8) .. number(leaps or 0) .. number(0) .. number(1) .. number(4)
    local body = ("\0"):rep(6) .. "XXX\0"
    local narrow, wide = ("\0"):rep(8 * (leaps or 0)), ("\0"):rep(12 * (leaps or 0))
    return header .. body .. narrow .. header .. body .. wide .. "\n" .. footer .. "\n"
  end

  setup(function()
    directory = os.tmpname()
    os.remove(directory)
    assert(os.execute("mkdir " .. directory))
  end)
  teardown(function() os.execute("rm -r " .. directory) end)

  it("is refused when it is cut short anywhere", function()
    local bytes = berlin()
    assert.is_truthy(written(bytes))
    for size = 0, #bytes - 1, 7 do
      local z, _, kind = written(bytes:sub(1, size))
      assert.is_nil(z)
      assert.equal("unsupported", kind)
    end
  end)

  it("is refused when it is older than version 2, or counts leap seconds", function()
    local _, old = written((berlin():gsub("^TZif.", "TZif\0")))
    assert.matches("of an old form", tostring(old), 1, true)
    local _, leaps = written(with_footer("UTC0", 1))
    assert.matches("leap seconds", tostring(leaps), 1, true)
  end)

  it("may say in its footer that summer time is all year, or begins and ends on numbered days", function()
    local all_year = assert(written(with_footer("XXX3EDT4,0/0,J365/23")))
    for month = 1, 12 do assert.equal(-4 * 3600, all_year:offset(all_year:utc { year = 2026, month = month, day = 1 })) end
    local julian = assert(written(with_footer("AAA0BBB,J60/0,J300/0")))
    assert.equal(instant "2028-03-01T00:00:00Z", julian:next(instant "2028-01-01T00:00:00Z"))
    local counted = assert(written(with_footer("AAA0BBB,59/0,300/0")))
    assert.equal(instant "2028-02-29T00:00:00Z", counted:next(instant "2028-01-01T00:00:00Z"))
  end)

  for _, footer in ipairs { "X1", "CET", "CET-25", "CET-1CEST", "CET-1CEST,M13.1.0,M10.5.0", "CET-1CEST,M3.5.0",
    "CET-1CEST,M3.5.0,M10.5.0/168", "<CET-1", "CET-1CEST,J0,J1", "CET-1x", "CET-1CEST,M3.5.0,M10.5.0,", ("A"):rep(20) .. "1" } do
    it(("with the footer %q is refused"):format(footer), function()
      local z, err = written(with_footer(footer))
      assert.is_nil(z)
      assert.matches("its footer cannot be read", tostring(err), 1, true)
    end)
  end
end)

describe("core.time", function()
  local accepted = {
    { "1970-01-01T00:00:00Z", 0 }, { "2026-03-29T07:30:00+02:00", 1774762200 }, { "2026-03-29t07:30:00z", 1774769400 },
    { "2026-03-29T07:30:00.25Z", 1774769400.25 }, { "1969-12-31T23:59:59-00:00", -1 },
    { "2016-12-31T23:59:60Z", 1483228799 }, { "2017-01-01T05:29:60+05:30", 1483228799 },
    { "2000-02-29T00:00:00Z", 951782400 }, { "0000-01-01T00:00:00Z", -62167219200 },
    { "9999-12-31T23:59:59Z", 253402300799 }, { 1774769400000, 1774769400 }, { 1774769400250, 1774769400.25 }, { 0, 0 },
  }
  for _, case in ipairs(accepted) do
    it(("reads %s"):format(case[1]), function()
      assert.equal(case[2], core.time(case[1]))
      assert.equal(math.type(case[2]), math.type(core.time(case[1])))
    end)
  end

  local refused = {
    "", "2026-03-29", "2026-03-29T07:30:00", "2026-03-29 07:30:00Z", "2026-03-29T24:00:00Z", "2026-03-29T07:60:00Z",
    "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-03-29T07:30Z",
    "2026-03-29T07:30:00.Z", "2026-03-29T07:30:00+2:00", "2026-03-29T07:30:00+0200", "2026-03-29T07:30:00+24:00",
    "2026-03-29T07:30:00+02:60", "2026-03-29T07:30:00Z ", " 2026-03-29T07:30:00Z", "2026-03-29T07:30:60Z",
    "2026-03-29T07:30:61Z", "+026-03-29T07:30:00Z", "2026-03-29T07:30:00Z\0", "0000-01-01T00:00:00+01:00", "1774769400000",
  }
  for _, text in ipairs(refused) do
    it(("refuses %q"):format(text), function()
      local seconds, err, kind = core.time(text)
      assert.is_nil(seconds)
      assert.matches("RFC 3339", tostring(err), 1, true)
      assert.equal("invalid", kind)
    end)
  end

  it("refuses numbers that are no milliseconds, and raises for other types", function()
    for _, number in ipairs { 1e300, 0 / 0, 1 / 0 } do assert.is_nil((core.time(number))) end
    assert.has_error(function() core.time({}) end)
    assert.has_error(function() core.time() end)
  end)

  it("writes what it reads", function()
    assert.equal("2026-03-29T07:30:00+02:00", core.time_text(1774762200, 7200))
    assert.equal("1969-12-31T20:30:00-03:30", core.time_text(0, -12600))
    assert.equal("1970-01-01T00:00:00+00:00", core.time_text(0))
    assert.has_error(function() core.time_text(0, 90000) end)
  end)

  it("counts days both ways, over a whole turn of the calendar", function()
    for days = core.date_days("1999-12-31"), core.date_days("2400-01-01"), 13 do
      assert.equal(days, core.date_days(core.days_date(days)))
    end
    assert.equal(1, core.date_days("2000-03-01") - core.date_days("2000-02-29"))
    assert.equal("invalid", select(3, core.date_days("2100-02-29")))
  end)
end)
