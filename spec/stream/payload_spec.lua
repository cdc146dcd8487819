-- Payloads beside those of the vectors: what vehicles of later firmware, other writers and damage make of them, read as records and
-- written as the maker's server publishes them to MQTT.

local cjson = require "cjson"
local protobuf = require "spec.support.fixtures.protobuf"
local stream = require "fleet.stream"

-- ---- protobuf's wire format ----

local NEGATIVE = "\255\255\255\255\255\255\255\255\1" -- the rest of a negative number of 64 bits

local varint, number, bytes = protobuf.varint, protobuf.number, protobuf.bytes
local function double(field, eight) return varint(field * 8 + 1) .. eight end

local SOC, SEAT, NAME, CHARGE, PLACE = 8, 87, 64, 179, 21
local sixty_eight = "\0\0\0\0\0\0\81\64"

local function datum(field, ...) return bytes(1, number(1, field), bytes(2, ...)) end
local function text(field, value) return datum(field, bytes(1, value)) end

local function read(...) return stream.payload("V", table.concat { ... }) end
local function values(...) return assert(read(...)).values end

describe("a payload", function()
  it("gives a float as the number that was meant", function()
    assert.equal(0.1, values(datum(SOC, "\37\205\204\204\61")).Soc)
  end)

  it("keeps fields and enum numbers that are not known, and cuts none to 32 bits", function()
    assert.same({ ["1001"] = 7 }, values(datum(1001, number(2, 7))))
    assert.equal("99", values(datum(CHARGE, number(32, 99))).DetailedChargeState)
    local beyond = 2 ^ 32 + 4 -- neither Charging, nor 4, nor the field 4
    assert.equal("4294967300", values(datum(CHARGE, number(32, beyond))).DetailedChargeState)
    assert.equal(beyond, values(datum(SEAT, number(2, beyond))).SeatHeaterLeft)
    assert.same({ ["4294967300"] = 5 }, values(datum(beyond, number(2, 5))))
    assert.same({ ["4294967300"] = true }, values(datum(beyond, number(6, 2 ^ 32))))
    for _, two in ipairs { "\254" .. NEGATIVE, "\254\255\255\255\15" } do -- minus two, also as an encoder of 32 bits writes it
      assert.equal(-2, values(datum(SEAT, number(2, two))).SeatHeaterLeft)
      assert.equal("-2", values(datum(CHARGE, number(32, two))).DetailedChargeState)
      assert.same({ ["-2"] = 5 }, values(datum(two, number(2, 5))))
    end
  end)

  it("is read around what it has besides: numbers, texts, groups, members of another type", function()
    local soc = datum(SOC, double(5, sixty_eight))
    local others = {
      number = number(31, 99), fixed64 = varint(31 * 8 + 1) .. "12345678", text = bytes(31, "hi"), fixed32 = varint(31 * 8 + 5) .. "1234",
      group = varint(31 * 8 + 3) .. number(1, 9) .. varint(31 * 8 + 4),
      groups = varint(31 * 8 + 3) .. varint(30 * 8 + 3) .. bytes(2, "x") .. varint(30 * 8 + 4) .. varint(31 * 8 + 4),
      ["data as a number"] = number(1, 5), ["created_at as a number"] = number(2, 5), ["vin as a number"] = number(3, 5),
      ["is_resend as a text"] = bytes(4, "x"),
    }
    for name, other in pairs(others) do
      for _, payload in ipairs { other .. soc, soc .. other } do
        local record = assert(read(payload), name)
        assert.same({ { Soc = 68 }, 1, false }, { record.values, record.signals, record.resend }, name)
      end
      if not string.find(name, " ") then -- inside a signal, and beside the member of a value
        assert.same({ Soc = 68 }, values(bytes(1, other, number(1, SOC), other, bytes(2, double(5, sixty_eight)), other)), name)
        assert.same({ Soc = 68 }, values(datum(SOC, other, double(5, sixty_eight))), name)
      end
    end
    assert.same({ "Soc" }, read(datum(SOC, number(60, 1))).invalid) -- a member of a later time
    assert.same({ "Soc" }, read(datum(SOC, bytes(5, "a double as text"))).invalid)
  end)

  it("counts the last signal of a field, and the last member of a value", function()
    local five, invalid, word = datum(SEAT, number(2, 5)), datum(SEAT, number(10, 1)), text(SEAT, "7")
    local record = read(five, invalid)
    assert.same({ {}, { "SeatHeaterLeft" }, 2 }, { record.values, record.invalid, record.signals })
    assert.is_nil(record.texts)
    record = read(invalid, datum(SOC, number(10, 1)), five)
    assert.same({ { SeatHeaterLeft = 5 }, { "Soc" } }, { record.values, record.invalid })
    record = read(five, word)
    assert.same({ {}, { SeatHeaterLeft = "7" }, {} }, { record.values, record.texts, record.invalid })
    record = read(datum(1001, number(10, 1)), datum(1001, number(2, 3))) -- one without a name
    assert.same({ { ["1001"] = 3 }, {} }, { record.values, record.invalid })
    assert.same({ SeatHeaterLeft = 6 }, values(datum(SEAT, number(2, 5), number(2, 6))))
    assert.same({ "SeatHeaterLeft" }, read(datum(SEAT, number(2, 5), number(10, 0))).invalid)
    assert.same({ SeatHeaterLeft = 5 }, values(bytes(1, number(1, SEAT), bytes(2), bytes(2, number(2, 5)))))
    assert.same({ latitude = 68, longitude = 68 },
      values(datum(PLACE, bytes(7, double(1, sixty_eight)), bytes(7, double(2, sixty_eight)))).Location)
    assert.same({ latitude = 0, longitude = 68 },
      values(datum(PLACE, bytes(7, double(1, sixty_eight)), number(2, 1), bytes(7, double(2, sixty_eight)))).Location)
  end)

  it("that is damaged is refused: numbers, lengths, groups, and text that is not UTF-8", function()
    local deep = string.rep(varint(31 * 8 + 3), 5000)
    for name, payload in pairs {
      ["a number of eleven bytes"] = datum(SEAT, number(2, "\255" .. string.rep("\255", 9) .. "\1")),
      ["a number above 64 bits"] = datum(SEAT, number(2, "\255\255\255\255\255\255\255\255\255\2")),
      ["field number 0"] = number(0, 5), ["field number 2^29"] = number(2 ^ 29, 5), ["an open group"] = varint(31 * 8 + 3) .. number(1, 9),
      ["the end of another group"] = varint(31 * 8 + 3) .. varint(30 * 8 + 4), ["an end without a group"] = varint(31 * 8 + 4),
      ["wire type 6"] = varint(31 * 8 + 6), ["wire type 7"] = varint(31 * 8 + 7), ["a length beyond the end"] = varint(10) .. "\255\1",
      ["a cut double"] = datum(SOC, double(5, "\0\0\0\0")), ["a cut float"] = datum(SOC, "\37\0\0"), ["a cut number"] = "\8\128",
      ["text that is not UTF-8"] = text(NAME, "a\255"), ["an overlong character"] = text(NAME, "\192\128"),
      ["a surrogate"] = text(NAME, "\237\160\128"),
      ["a VIN that is not UTF-8"] = bytes(3, "\195\40"), ["a damaged time"] = bytes(2, "\8"), ["groups within groups"] = deep,
      ["a damaged place"] = datum(PLACE, bytes(7, "\9\0")),
    } do
      assert.is_nil((read(payload)), name)
    end
    for name, payload in pairs { ["the name of an alert"] = bytes(1, bytes(1, "\255")), ["the VIN"] = bytes(3, "\255"),
      ["cut audiences"] = bytes(1, bytes(2, "\1\128")), ["a damaged time"] = bytes(1, bytes(3, "\8")) } do
      assert.is_nil((stream.payload("alerts", payload)), name)
    end
    for name, payload in pairs { name = bytes(1, bytes(2, "\255")), body = bytes(1, bytes(4, "\255")),
      tag = bytes(1, bytes(3, bytes(1, "\255"))),
      ["text of a tag"] = bytes(1, bytes(3, bytes(2, "\255"))), time = bytes(1, bytes(1, "\8")) } do
      assert.is_nil((stream.payload("errors", payload)), name)
    end
  end)

  it("has texts to their end", function()
    assert.equal("a\0b", read(text(NAME, "a\0b")).texts.VehicleName)
    assert.equal("a\0b", stream.payload("errors", bytes(1, bytes(2, "a\0b"))).errors[1].name)
    assert.equal("ü", read(text(NAME, "ü")).texts.VehicleName)
  end)

  it("has audiences packed and one by one, unknown ones as numbers, and the last of two tags", function()
    local sent = bytes(1, bytes(1, "a"), bytes(2, "\1\2"), number(2, 3), number(2, 9), number(2, 2 ^ 32 + 1))
    local alert = stream.payload("alerts", sent).alerts[1]
    assert.same({ "Customer", "Service", "ServiceFix", "9", "4294967297" }, alert.audiences)
    sent = bytes(1, bytes(3, bytes(1, "k"), bytes(2, "1")), bytes(3, bytes(1, "k"), bytes(2, "2")), bytes(3))
    assert.same({ k = "2", [""] = "" }, stream.payload("errors", sent).errors[1].tags)
  end)

  it("of half a million empty signals is refused in place of filling the memory", function()
    for _, topic in ipairs { "V", "alerts", "errors" } do assert.is_nil((stream.payload(topic, string.rep("\10\0", 400000)))) end
    assert.is_nil((stream.payload("alerts", bytes(1, bytes(2, string.rep("\1", 2000))))))
    assert.equal(1000, read(string.rep(datum(SEAT, number(2, 5)), 1000)).signals)
  end)
end)

describe("a record on MQTT", function()
  local messages_of = require("fleet.mqtt.telemetry").messages_of

  local function published(topic, payload)
    local record, found = assert(stream.payload(topic, payload)), {}
    record.vin, record.topic, record.raw = "5YJ3000TEST000001", topic, payload
    for _, message in ipairs(messages_of({ base = "t" }, record)) do
      assert.is_nil(found[message.topic])
      found[string.match(message.topic, "^t/5YJ3000TEST000001/(.*)$")] = message.payload
    end
    return found
  end

  local function value_of(...) return select(2, next(published("V", table.concat { ... }))) end

  it("has null where the vehicle sent nothing or no number, and names that the maker's server lacks", function()
    assert.equal("null", value_of(bytes(1, number(1, SOC))))
    assert.equal("null", value_of(datum(SOC, double(5, "\0\0\0\0\0\0\248\127"))))
    assert.equal("{}", value_of(datum(SOC, number(60, 1))))
    assert.same({ ["v/GradeEstimatePercent"] = "68" }, published("V", datum(264, double(5, sixty_eight))))
    assert.same({ ["v/1001"] = "7" }, published("V", datum(1001, number(2, 7))))
  end)

  it("writes whole numbers to their last digit", function()
    assert.equal("9223372036854775807", value_of(datum(107, number(3, "\255\255\255\255\255\255\255\255\127"))))
    assert.equal("-1", value_of(datum(107, number(3, "\255" .. NEGATIVE))))
    assert.equal("4294967300", value_of(datum(SEAT, number(2, 2 ^ 32 + 4))))
  end)

  it("has a field that comes twice once, as it came last", function()
    assert.same({ ["v/SeatHeaterLeft"] = "null" }, published("V", datum(SEAT, number(2, 5)) .. datum(SEAT, number(10, 1))))
  end)

  it("writes a number with point and exponent out, and leaves other texts as they are", function()
    for given, wanted in pairs { ["1.e2"] = "100.00000", ["+1.25E+1"] = "12.50000", ["-.5e-1"] = "-0.05000",
      ["123456.78e1"] = "1234567.75000", ["1.5e-99"] = "0.00000", ["-1.5e-99"] = "-0.00000", ["-0.0e0"] = "-0.00000",
      ["1.5e0000000000000000000001"] = "15.00000",
      ["1." .. string.rep("0", 400) .. "e0"] = "1.00000" } do
      assert.equal(cjson.encode(wanted), value_of(text(NAME, given)), given)
    end
    for _, given in ipairs { "1e5", "1.5", "1.5e", "1.5e+", ".e1", "1.5e-3x", " 1.5e-3", "1.5e99", "1.2.3e1", "0x1.8p1",
      "1.5e99999999999999999999", "1." .. string.rep("0", 600) .. "e0", "", "e", "." } do
      assert.equal(cjson.encode(given), value_of(text(NAME, given)), given)
    end
  end)

  it("has a place only where Location is one, and only the first", function()
    for given, wanted in pairs { ["(37.5 S, 122.25 E)"] = { latitude = -37.5, longitude = 122.25 },
      ["(-37.5 N, 0.5 W)"] = { latitude = -37.5, longitude = -0.5 }, ["(-37.5 S, 1 E)"] = { latitude = 37.5, longitude = 1 },
      ["(37.5 N, 2.5e-05 W)"] = { latitude = 37.5, longitude = -2.5e-5 }, ["( 1E1\tN,  +.5 E)"] = { latitude = 10, longitude = 0.5 } } do
      assert.same(wanted, cjson.decode(value_of(text(PLACE, given))), given)
    end
    for _, given in ipairs { "(37.5 N)", "37.5 N, 122.25 E", "(37.5 N, 122.25 N)", "(N, E)", "(37.5 NN, 122.25 E)",
      "(3.7.5 N, 122.25 E)", "(37.5 n, 122.25 E)", "(37.5N, 122.25 E)", "(37.5 N,122.25 E)", "(1e N, 1 E)",
      "(1e+ N, 1 E)", "(1e400 N, 1 E)", "(37.5 N, 122.25 E", "" } do
      assert.equal(cjson.encode(given), value_of(text(PLACE, given)), given)
    end
    assert.same({ ["v/Location"] = '"(2 N, 22.25 E)"' }, published("V", text(PLACE, "(1 N, 22.25 E)") .. text(PLACE, "(2 N, 22.25 E)")))
    assert.equal('"(1 N, 22.25 E)"', value_of(text(111, "(1 N, 22.25 E)"))) -- OriginLocation
  end)

  it("names the alert that has started last as the current one, and lets no name open a topic", function()
    local function alert(name, started) return bytes(1, bytes(1, name), started and bytes(3, number(1, started)) or "") end
    local found = published("alerts", alert("a", 9) .. alert("a", 5) .. alert("a") .. alert("b/+") .. alert("c", 1))
    assert.equal("1970-01-01T00:00:09Z", cjson.decode(found["alerts/a/current"]).StartedAt)
    assert.equal(3, #cjson.decode(found["alerts/a/history"]))
    assert.same({ false, true }, { found["alerts/b__/current"] ~= nil, found["alerts/b__/history"] ~= nil })
    assert.equal("1970-01-01T00:00:01Z", cjson.decode(found["alerts/c/current"]).StartedAt)
    assert.same({ Body = "", Tags = cjson.null }, cjson.decode(published("errors", bytes(1, bytes(2, "n")))["errors/n"]))
  end)
end)
