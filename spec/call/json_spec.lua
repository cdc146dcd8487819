local compat = require "fleet.util.compat"
local core = require "fleet.core"
local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"
local signing = require "spec.support.fixtures.signing"

-- Runs Lua text in a process of its own and returns what it prints.
local function run(environment, text)
  local pipe = io.popen(environment .. " " .. process.lua .. " -e " .. process.quote(text) .. " 2>&1")
  local out = pipe:read("a")
  pipe:close()
  return out
end

describe("a reply's numbers", function()
  local cases = {
    { "21", 21, "integer" }, { "21.0", 21, "integer" }, { "2.1e1", 21, "integer" }, { "-7", -7, "integer" },
    { "0", 0, "integer" }, { "-0", 0, "integer" }, { "1e14", 100000000000000, "integer" },
    { "999999999999999", 999999999999999, "integer" }, { "-999999999999999", -999999999999999, "integer" },
    { "0.25", 0.25, "float" }, { "-1.5", -1.5, "float" }, { "1e15", 1e15, "float" }, { "1e300", 1e300, "float" },
    { "12345678901234567.0", 12345678901234568.0, "float" }, { "5e-324", 5e-324, "float" },
  }
  for _, case in ipairs(cases) do
    it(("read %s as %s %s"):format(case[1], case[3], case[2]), function()
      for _, text in ipairs { case[1], "[" .. case[1] .. "]", '{"n":' .. case[1] .. "}", "[[ " .. case[1] .. " ]]" } do
        local value = core.json_decode(text)
        while type(value) == "table" do value = value.n or value[1] end
        assert.equal(case[2], value)
        assert.equal(case[3], math.type(value))
      end
    end)
  end

  local long = { "1000000000000000", "-1000000000000000", "12345678901234567890123", "9007199254740993" }
  for _, text in ipairs(long) do
    it("keep every digit of " .. text .. " as text", function()
      assert.equal(text, core.json_decode(text))
      assert.same({ text, { a = text }, 1 }, core.json_decode("[" .. text .. ',{"a":' .. text .. "},1]"))
    end)
  end

  it("stay as they are inside strings", function()
    local text = '["12345678901234567890","\\"12345678901234567890","\\\\",12345678901234567890]'
    assert.same({ "12345678901234567890", '"12345678901234567890', "\\", "12345678901234567890" }, core.json_decode(text))
  end)

  it("are text where the row marks an id, short or long, at any depth, but not in lists", function()
    local value = core.json_decode('{"id":7,"other":7,"in":{"id":1.5,"ids":[7]},"vin_id":12345678901234567,"id_s":8}', "id id_s")
    assert.same({ id = "7", other = 7, ["in"] = { id = "1.5", ids = { 7 } }, vin_id = "12345678901234567", id_s = "8" }, value)
  end)
end)

describe("a reply of millions of values", function()
  it("is read whole: max_response limits it", function()
    local value = core.json_decode("[" .. ("1,"):rep(1999999) .. "7]")
    assert.equal(2000000, value and #value)
    assert.equal(7, value[2000000])
  end)
end)

describe("half a surrogate pair", function()
  local replaced = "\239\191\189" -- U+FFFD
  local cases = {
    { [["\ud83d"]], replaced }, { [["\uDE00"]], replaced }, { [["a\ud83dz\ude00"]], "a" .. replaced .. "z" .. replaced },
    { [["\ud83d\ud83d\ude00"]], replaced .. "\240\159\152\128" }, { [["\ude00\ud83d"]], replaced .. replaced },
    { [["\ud83d\u0041"]], replaced .. "A" }, { [["\ud83d\n"]], replaced .. "\n" }, { [["\\ud83d"]], "\\ud83d" },
    { [["\ud83d\\ude00"]], replaced .. "\\ude00" }, { [["\ud83d\ude00"]], "\240\159\152\128" },
  }
  for _, case in ipairs(cases) do
    it("does not make the rest unreadable: " .. case[1], function()
      assert.equal(case[2], core.json_decode(case[1]))
      local body = '{"display_name":' .. case[1] .. ',' .. case[1] .. ':1,"id":12345678901234567,"list":[' .. case[1] .. ',7]}'
      assert.same({ display_name = case[2], [case[2]] = 1, id = "12345678901234567", list = { case[2], 7 } },
        core.json_decode(body))
    end)
  end

  it("is still an error where it is no escape at all", function()
    for _, text in ipairs { [["\ud83"]], [["\udzzz"]], [["\u"]], [["\ud83d]], [["\ud83d\]], [["\ud83d\u"]] } do
      local value, _, kind = core.json_decode(text)
      assert.is_nil(value, text)
      assert.equal("protocol", kind)
    end
  end)
end)

describe("a null", function()
  it("is absent as a member and fleet.null as an element", function()
    assert.same({ b = 1 }, core.json_decode('{"a":null,"b":1}'))
    assert.same({ 1, core.null, 2 }, core.json_decode("[1,null,2]"))
    assert.same({ a = { core.null } }, core.json_decode('{"a":[null]}'))
    assert.equal(core.null, core.json_decode("null"))
    assert.is_nil(next(core.json_decode('{"a":null,"b":null,"c":null}')))
  end)
end)

describe("an empty list", function()
  it("is an ordinary empty table, and is written as a list again", function()
    local value = core.json_decode '{"list":[],"object":{},"inner":[[],{}]}'
    assert.equal('{"inner":[[],{}],"list":[],"object":{}}', core.json_encode(value))
    assert.same({ list = {}, object = {}, inner = { {}, {} } }, value)
    assert.equal(0, #value.list)
    assert.is_nil(next(value.list))
    assert.is_nil(getmetatable(value.object))
    assert.equal("[]", core.json_encode(core.json_decode "[]"))
  end)

  it("that is filled is what was put into it", function()
    local value = core.json_decode '{"a":[],"b":[]}'
    value.a[1], value.b.name = 1, "x"
    assert.equal('{"a":[1],"b":{"name":"x"}}', core.json_encode(value))
  end)
end)

describe("what is no JSON", function()
  local texts = {
    "", " ", "{", "[1", '{"a"}', "{'a':1}", "[1,]", "NaN", "nan", "[NaN]", "Infinity", "-Infinity", "inf", "0x10", "[0x1p4]",
    "01", "-01", "00000000000000000001", "[-00000000000000000001]", "1 2", "+1", "+12345678901234567890", ".5", "tru",
    "1e400", "[-1e400]", '{"n":1e999,"n":1}', "1.", "[2.e1]", "-.5", '{"a":[1e999]}',
    '"\\x"', '"\\ud80"', '"abc', '"\\', "\239\187\191{}", "{}x", "[1]]", "\0", '{"a":1}\0{', '"\0"',
    '{"a":1}\0', string.rep("[", 65) .. string.rep("]", 65), string.rep("[", 100000), string.rep('{"a":', 65) .. "1",
  }
  for i, text in ipairs(texts) do
    it(("is refused: %d %s"):format(i, text:sub(1, 24):gsub("%c", "?")), function()
      local value, err, kind = core.json_decode(text)
      assert.is_nil(value)
      assert.equal("protocol", kind)
      assert.equal("protocol", err.kind)
      assert.matches("not JSON", tostring(err))
    end)
  end

  it("ends at 64 levels: 64 are read", function()
    assert.is_table(core.json_decode(string.rep("[", 64) .. string.rep("]", 64)))
  end)
end)

describe("a reply's text", function()
  it("is bytes: invalid UTF-8 and duplicate names are left to the reader", function()
    assert.equal("\255\192\128", core.json_decode('"\255\192\128"'))
    assert.equal("\u{20AC}\u{1F600}", core.json_decode('"\\u20ac\\ud83d\\ude00"'))
    assert.equal("a\0b", core.json_decode('"a\\u0000b"'))
    assert.same({ a = 2 }, core.json_decode('{"a":1,"a":2}'))
  end)
end)

-- The reader against lua-cjson: every table that lua-cjson makes is walked through, member by member. lua-cjson takes numbers with
-- a bare point, as "1." and "-.5", which are no JSON, and one beyond doubles where another member of its name follows.
describe("any text", function()
  local plain = require("cjson").new()
  plain.decode_max_depth(64)
  plain.decode_invalid_numbers(false)
  local ids = { id = true, vehicle_id = true }

  local function number(value, name)
    local whole = value > -1e15 and value < 1e15 and value == math.floor(value)
    assert(whole or math.abs(value) < math.huge)
    if ids[name] then return string.format("%.17g", value + 0) end -- compared as numbers, below
    return whole and (math.tointeger and math.tointeger(value) or value + 0) or value
  end

  local function walked(value, name)
    if type(value) == "number" then return number(value, name) end
    if type(value) ~= "table" then return value end
    local result, list = {}, #value > 0
    for key, member in pairs(value) do
      if list or member ~= plain.null then result[key] = walked(member, not list and key or nil) end
    end
    return result
  end

  local function reference(text)
    local ran, value = pcall(function() return walked(plain.decode(text)) end)
    if ran then return value == plain.null and core.null or value, true end
    return nil, false
  end

  local function equal(a, b)
    if type(a) ~= "table" or type(b) ~= "table" then return rawequal(a, b) and math.type(a) == math.type(b) end
    for key, value in pairs(a) do
      local same_id = ids[key] and type(value) == "string" and type(b[key]) == "string" and tonumber(value)
      if not (equal(value, b[key]) or (same_id and same_id == tonumber(b[key]))) then return false end
    end
    for key in pairs(b) do if a[key] == nil then return false end end
    return true
  end

  local function agrees(text)
    local wanted, good = reference(text)
    local bare_point, huge = string.find(" " .. text, "%D%.") or string.find(text .. " ", "%.%D"), string.find(text, "[eE]%d%d%d")
    local value, err = core.json_decode(text, "id vehicle_id")
    if err and (bare_point or huge) then return false end
    if (err ~= nil) == good or not equal(wanted, value) then error("read in another way: " .. text) end
    return good
  end

  local draw = signing.generator(271828)
  local function one_of(list) return list[draw(#list)] end
  local function blank() return draw(8) == 1 and one_of { " ", "\n", "\t ", "\r\n" } or "" end
  local names = { "id", "vehicle_id", "a", "b", "api_version", "a_rather_long_name_of_a_member", "", "i\\u0064", 'q\\"x', "ab", "ba" }
  local values = {
    "null", "null", "null", "true", "false", "0", "7", "-7", "-0", "-0.0", "0.0", "21.0", "51.5", "-1.25", "1e3", "1E-2", "2.5e1", "0.1",
    "999999999999999", "999999999999999.01", "1234567890123456.7", "0.00000000000000000001", "123456789012.000", '"null"', '"x"', '""',
    '"a\\"b"', '"\\\\"', '"1,2:{}[]"', '"a text of more than sixteen bytes, and of more"', "1e300",
  }

  local function value_text(depth)
    local kind = depth > 0 and draw(4) or 1
    local parts = {}
    if kind <= 2 then return one_of(values) end
    for i = 1, draw(6) - 1 do
      local inner = blank() .. value_text(depth - 1) .. blank()
      parts[i] = kind == 3 and inner or blank() .. '"' .. one_of(names) .. '"' .. blank() .. ":" .. inner
    end
    local text = table.concat(parts, ",")
    if text == "" then text = blank() end
    return kind == 3 and "[" .. text .. "]" or "{" .. text .. "}"
  end

  it("has each number and null as Lua shall see it", function()
    local good = 0
    for _ = 1, 4000 do good = good + (agrees(blank() .. value_text(4) .. blank()) and 1 or 0) end
    assert.is_true(good > 3900, good)
  end)

  it("is refused where lua-cjson refuses it, whatever is left out of it or put into it", function()
    local bits = { ",", ":", "{", "}", "[", "]",
      '"', "null", "nul", "1", "-", ".", "e", " ", '"a":null', '"id":1', "\\", "01", "+1", "true" }
    local refused = 0
    for _ = 1, 12000 do
      local text = value_text(3)
      for _ = 1, draw(2) do
        local at = draw(#text + 1)
        text = string.sub(text, 1, at - 1) .. (draw(3) == 1 and "" or one_of(bits)) .. string.sub(text, at + draw(3) - 1)
      end
      local long = string.find(text, string.rep("%d", 16)) -- perhaps an integer, which is read as a text
      refused = refused + ((long or agrees(text)) and 0 or 1)
    end
    assert.is_true(refused > 5000, refused)
  end)

  it("is refused where a long integer is a name or begins with a zero", function()
    for _, text in ipairs { '{12345678901234567:1}', '{12345678901234567 :1}', '[012345678901234567]', '[-012345678901234567]' } do
      assert.is_nil((core.json_decode(text)), text)
    end
    assert.same({ "12345678901234567", "-12345678901234567" }, core.json_decode "[12345678901234567,-12345678901234567 ]")
    assert.same({ ["a:1"] = "12345678901234567" }, core.json_decode '{"a:1":12345678901234567}')
  end)

  it("is read whole, however many numbers it holds", function()
    for _, count in ipairs { 255, 256, 257, 1000 } do
      local members = {}
      for i = 1, count do members[i] = string.format('"m%d":{"id":%d,"n":%d.0,"none":null}', i, i, i) end
      local value = core.json_decode("{" .. table.concat(members, ",") .. "}", "id")
      for i = 1, count do assert.is_true(equal({ id = tostring(i), n = i }, value["m" .. i])) end
    end
  end)

  it("says what the last of several members of a name says, null included", function()
    for _, case in ipairs {
      { '{"a":1,"a":null}', {} }, { '{"a":null,"a":1}', { a = 1 } }, { '{"id":1,"b":2,"id":null,"b":null}', {} },
      { '{"a":{"n":1},"a":[2.0]}', { a = { 2 } } }, { '{"a":[1],"a":{"n":2.0}}', { a = { n = 2 } } }, { '{"a":{"n":1},"a":3}', { a = 3 } },
      { '{"a":1,"\\u0061":null}', {} },
    } do
      assert.is_true(equal(case[2], core.json_decode(case[1], "id")), case[1])
    end
  end)

  it("keeps its long integers among ids and nulls", function()
    local text = '{"id":12345678901234567,"a":null,"n":-1000000000000000,"l":[null,1234567890123456789012,5]}'
    assert.same({ id = "12345678901234567", n = "-1000000000000000", l = { core.null, "1234567890123456789012", 5 } },
      core.json_decode(text, "id"))
  end)
end)

describe("a finaliser of the host's that reads JSON", function()
  it("changes nothing of what is being read", function()
    local members, others, inside = {}, {}, false
    for i = 1, 60 do members[i], others[i] = string.format('"m%d":%d,"z":null', i, i), string.format('"other%d":null,"n":"%d"', i, i) end
    local text, other = '{"z":null,' .. table.concat(members, ",") .. "}", '{"a":null,' .. table.concat(others, ",") .. "}"
    local mt = {}
    function mt.__gc()
      if inside then return end
      inside = true
      core.json_decode(other)
      inside = false
    end
    for i = 1, 2000 do
      for _ = 1, 3 do compat.finalised({}, mt) end
      local value = core.json_decode(text .. string.rep(" ", i))
      assert.is_true(value and value.m1 == 1 and value.m60 == 60 and value.other1 == nil)
    end
  end)
end)

describe("what is written", function()
  local list_of_names = "periods daily_charges"
  local cases = {
    { { 1, 2, { 3 } }, "[1,2,[3]]" }, { { b = 1, a = { true, false } }, '{"a":[true,false],"b":1}' }, { {}, "{}" },
    { { periods = {}, x = {} }, '{"periods":[],"x":{}}' }, { { periods = { {} } }, '{"periods":[{}]}' },
    { { periods = { { periods = {} }, {} } }, '{"periods":[{"periods":[]},{}]}' },
    { { x = { { periods = {} } } }, '{"x":[{"periods":[]}]}' },
    { { daily_charges = {}, daily_demand_charges = {} }, '{"daily_charges":[],"daily_demand_charges":{}}' },
    { core.null, "null" }, { { core.null, 1 }, "[null,1]" }, { { a = core.null }, '{"a":null}' },
    { 21, "21" }, { 21.0, "21" }, { 0.1, "0.1" }, { -0.0, "-0" }, { 1 / 3, "0.3333333333333333" }, { 1e300, "1e+300" },
    { 2^53, "9007199254740992" },
    { 'a"\\\n\1\127/', '"a\\"\\\\\\n\\u0001\\u007f/"' }, { "\u{20AC}", '"\u{20AC}"' }, { "a\0b", '"a\\u0000b"' },
    { { ["a\0b"] = 1 }, '{"a\\u0000b":1}' },
    { { ["k\"y"] = 1 }, '{"k\\"y":1}' },
  }
  if _VERSION >= "Lua 5.3" then -- before it all numbers are doubles
    cases[#cases + 1] = { math.maxinteger, "9223372036854775807" }
    cases[#cases + 1] = { math.mininteger, "-9223372036854775808" }
  end
  for _, case in ipairs(cases) do
    it("is " .. case[2]:gsub("%c", "?"), function()
      assert.equal(case[2], core.json_encode(case[1], list_of_names))
    end)
  end

  it("has every escape at every place, among texts of every length", function()
    local escapes = { ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\0"] = "\\u0000", ["\31"] = "\\u001f", ["\127"] = "\\u007f" }
    local plain = "az09 !#[]^\128\255\194\160\224\128\239~"
    for length = 0, 26 do
      local text = string.sub(string.rep(plain, 2), 1, length)
      assert.equal('"' .. text .. '"', core.json_encode(text))
      for at = 0, length do
        local before, after = string.sub(text, 1, at), string.sub(text, at + 1)
        for byte, escape in pairs(escapes) do
          assert.equal('"' .. before .. escape .. after .. '"', core.json_encode(before .. byte .. after))
        end
      end
    end
  end)

  it("has its members in the order of their bytes, however many there are and however alike their names are", function()
    local draw = signing.generator(4711)
    local function name()
      local parts = { ({ "", "scheduled_", "charger_", "charger", "\255", "~" })[draw(6)] }
      for i = 1, draw(12) do parts[i + 1] = string.char(96 + draw(3)) end
      return table.concat(parts)
    end
    local function below(a, b) -- strings compare by the host's locale
      for i = 1, math.min(#a, #b) do
        if a:byte(i) ~= b:byte(i) then return a:byte(i) < b:byte(i) end
      end
      return #a < #b
    end
    for _, count in ipairs { 1, 2, 3, 10, 40, 63, 64, 65, 66, 300 } do
      local object, names, parts = {}, {}, {}
      for _ = 1, count do object[name()] = 1 end
      for key in pairs(object) do names[#names + 1] = key end
      table.sort(names, below)
      for i, key in ipairs(names) do parts[i] = '"' .. key .. '":1' end
      assert.equal("{" .. table.concat(parts, ",") .. "}", core.json_encode(object))
    end
  end)

  it("reads back as the same number, whatever number", function()
    local draw = signing.generator(12345)
    for _ = 1, 2000 do
      local value = 0
      for _ = 1, 4 do value = value / 32768 + draw(32768) end
      value = (draw(2) == 1 and 1 or -1) * value * 2 ^ (draw(2000) - 1000)
      if value == value and math.abs(value) < math.huge then
        assert.equal(value, tonumber(core.json_encode(value)))
      end
    end
  end)

  it("is decoded to what was written", function()
    local value = { list = { 1, "two", { three = 3.5 } }, text = "\1\\\"\u{1F600}", flag = false, empty = {} }
    assert.same(value, core.json_decode(core.json_encode(value)))
  end)

  local function cycle()
    local t = {}
    t.again = t
    return t
  end
  local refused = {
    { { 0 / 0 }, "not finite" }, { { a = math.huge }, "not finite.*'a'" }, { { a = { -math.huge } }, "not finite.*'a'" },
    { { 1, 2, x = 3 }, "both list elements and members" }, { { x = 3, [5] = 1 }, "both" }, { { [1] = 1, [3] = 2 }, "%a" },
    { { [1.5] = 1 }, "both" }, { { [true] = 1 }, "both" }, { { a = print }, "function.*'a'" },
    { { a = io.stdout }, "userdata" }, { { coroutine.create(function() end) }, "thread" }, { cycle(), "deep.*'again'" },
    { { [2] = 1 }, "holes" },
  }
  for i, case in ipairs(refused) do
    it(("raises for what JSON cannot say: %d %s"):format(i, case[2]), function()
      assert.error_matches(function() core.json_encode(case[1]) end, case[2])
    end)
  end
end)

describe("the locale of the host", function()
  local directory = process.build .. "/locale"
  local quiet = "ASAN_OPTIONS=detect_leaks=0 " -- the C library keeps what it read from LOCPATH

  setup(function()
    process.execute("mkdir -p " .. process.quote(directory))
    os.execute("test -d " .. process.quote(directory .. "/de_DE.UTF-8")
      .. " || localedef -i de_DE -f UTF-8 " .. process.quote(directory .. "/de_DE.UTF-8") .. " 2>/dev/null")
  end)

  local check = [[
    local core = require "fleet.core"
    local function check(when)
      local value = core.json_decode('{"a":0.25,"b":[1.5e3,-2.75],"c":12345678901234567}')
      assert(value and value.a == 1 / 4 and value.b[1] == 1500 and value.b[2] == -11 / 4, when)
      assert(core.json_encode { 1 / 4, 1500000000000000000000, 3 } == "[0.25,1.5e+21,3]", when)
      assert(core.json_decode("0,25") == nil and core.json_decode("[1,5]")[2] == 5, when)
    end
    local function german()
      assert(os.setlocale("de_DE.UTF-8"), "no German")
      assert(jit or ("%.1f"):format(1 / 2) == "0,5") -- LuaJIT writes its numbers itself
    end
  ]]
  local orders = {
    ["set before anything is loaded"] = [[ german() check "x" ]],
    ["set after loading"] = [[ check "before" german() check "after" ]],
    ["set and taken back"] = [[ german() check "x" os.setlocale("C") check "back" german() check "again" ]],
    ["set when the host loads cjson, and taken back"] =
      [[ german() require("cjson").new() os.setlocale("C") check "back" check "back again" ]],
    ["set back and forth with instances of the host's in between"] =
      [[ for i = 1, 4 do os.setlocale("C") require("cjson").new() check "c" german() require("cjson").new() check "g" end ]],
  }
  for name, text in pairs(orders) do
    needs("locales", it, pending)("does not matter: " .. name, function()
      local out = run(quiet .. "LOCPATH=" .. process.quote(directory), check:gsub("local core = ", "") .. "core = nil "
        .. text:gsub("check", "core = core or require 'fleet.core' check", 1) .. " print 'good'")
      assert.equal("good\n", out)
    end)
  end

  needs("locales", it, pending)("is left as it is", function()
    local out = run(quiet .. "LOCPATH=" .. process.quote(directory), check .. [[
      german() check "x" assert(os.setlocale() ~= "C" and (jit or ("%.1f"):format(1 / 2) == "0,5")) print 'good' ]])
    assert.equal("good\n", out)
  end)
end)

describe("a host that uses cjson itself", function()
  it("changes nothing for us by its settings, and we nothing for it", function()
    local out = run("", [==[
      local cjson = require "cjson"
      cjson.decode_max_depth(2) cjson.decode_invalid_numbers(true) cjson.encode_keep_buffer(false)
      local core = require "fleet.core"
      cjson.decode_max_depth(3)
      assert(core.json_decode("[[[[[1]]]]]")[1][1][1][1][1] == 1)
      assert(core.json_decode("[NaN]") == nil)
      assert(not pcall(cjson.decode, "[[[[1]]]]"), "its depth")
      assert(cjson.decode("[NaN]")[1] ~= 0)
      cjson.decode, cjson.new = nil, nil
      assert(core.json_decode("[1]")[1] == 1)
      print "good" ]==])
    assert.equal("good\n", out)
  end)
end)

describe("an integer of many digits", function()
  it("is a number up to 15 digits and a text from 16 on, at every place in the document", function()
    for pad = 0, 34 do
      for _, around in ipairs { { '["', '",', "]" }, { '{"', '":', "}" }, { '["12345', '",', ',"1234567890123"]' } } do
        local before, after = around[1] .. ("p"):rep(pad) .. around[2], around[3]
        local short, long = ("1234567890"):rep(2):sub(1, 15), ("1234567890"):rep(2):sub(1, 16)
        local name = around[2] == '":' and ("p"):rep(pad) or 2
        assert.equal(tonumber(short), core.json_decode(before .. short .. after)[name])
        assert.equal(long, core.json_decode(before .. long .. after)[name])
        assert.equal("-" .. long, core.json_decode(before .. "-" .. long .. after)[name])
      end
    end
  end)

  it("in a text is left alone, and so is one with a fraction or an exponent", function()
    local digits = ("7"):rep(40)
    assert.same({ digits, 1e20, 12345678901234567.5 }, core.json_decode('["' .. digits .. '",100000000000000000000e0,12345678901234567.5]'))
  end)
end)

describe("an id", function()
  it("is text with all its digits, also where the service wrote no integer", function()
    local function id(number) return core.json_decode('{"id":' .. number .. "}", "id").id end
    assert.equal("12345678902345.5", id "12345678902345.5")
    assert.equal("1000000000000000", id "1e15")
    assert.equal("12345678901234567", id "12345678901234567")
    assert.equal("1500", id "1.5e3")
    assert.equal("0.1", id "0.1")
    assert.equal("1e300", id "1e300")
    assert.equal("2.50E-1", id "2.50E-1")
  end)
end)
