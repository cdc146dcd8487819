-- A caller's value as a tree: from Lua and from JSON text, and back.

local core = require "fleet.core"
local probe = require "probe_value"

local function nested(depth)
  return string.rep("[", depth) .. string.rep("]", depth)
end

describe("a Lua value as a tree", function()
  it("keeps every kind that JSON has", function()
    assert.equal("object{a=text,b=boolean,c=list{1=integer,2=nil},d=number,e=object{}}",
      probe.describe { b = true, a = "x", d = 0.5, c = { 1, core.null }, e = {} })
    for _, value in ipairs { "text", 5, true, false, 0.25, "a\0b" } do assert.equal(value, probe.copy(value)) end
    local mixed = { a = { 1, { b = "c" }, core.null }, "x", [7] = { true } }
    assert.same(mixed, probe.copy(mixed))
  end)

  it("names what JSON cannot say, and raises nothing", function()
    assert.equal("object{c=other thread,f=other function,u=other userdata}",
      probe.describe { f = print, c = coroutine.create(function() end), u = io.stdout })
    assert.equal("nil", probe.describe(nil))
    assert.equal("nil", probe.describe(core.null))
  end)

  it("is a list only with the places 1 to n", function()
    assert.equal("list{1=integer,2=integer,3=integer}", probe.describe { [3] = 3, [1] = 1, [2] = 2 })
    assert.equal("object{1=integer,3=integer}", probe.describe { [1] = 1, [3] = 3 })
    assert.equal("object{1=integer,x=integer}", probe.describe { 1, x = 2 })
    assert.equal("object{0=integer}", probe.describe { [0] = 1 })
    assert.equal("object{-1=integer,1=integer}", probe.describe { [-1] = 1, [1] = 2 })
    assert.equal("object{0=integer,2=integer}", probe.describe { [0] = 1, [2] = 2 })
    assert.equal("object{true?=integer}", probe.describe { [true] = 1 })
    assert.equal("object{}", probe.describe {})
    assert.equal("list{}", probe.describe(setmetatable({}, { __jsontype = "array" })))
    assert.equal("object{}", probe.describe(setmetatable({}, { __jsontype = "object" })))
  end)

  it("has its members in the order of their names", function()
    local names, wanted = {}, {}
    for i = 1, 500 do
      local name = string.format("m%03d", i * 7 % 500)
      names[name] = i
      wanted[i] = string.format("m%03d=integer", i - 1)
    end
    assert.equal("object{" .. table.concat(wanted, ",") .. "}", probe.describe(names))
  end)

  it("does not ask metamethods", function()
    local proxy = setmetatable({}, { __index = function() error "asked" end, __len = function() error "asked" end,
      __pairs = function() error "asked" end })
    assert.equal("object{}", probe.describe(proxy))
    local given = { text = string.rep("x", 100) }
    given[setmetatable({}, { __tostring = function() error "asked" end, __name = "a name" })] = 1
    assert.equal("object{text=text,table?=integer}", probe.describe(given))
    assert.equal("object{1.5?=integer,function?=integer,true?=integer}", probe.describe { [1.5] = 1, [true] = 1, [print] = 1 })
  end)

  it("ends where a table is too deep or holds itself", function()
    local deep = {}
    local inner = deep
    for _ = 1, 63 do
      inner[1] = {}
      inner = inner[1]
    end
    assert.is_nil(string.find(probe.describe(deep), "other", 1, true))
    inner[1] = {}
    assert.is_truthy(string.find(probe.describe(deep), "other a table that deep", 1, true))
    local own = {}
    own.own = own
    assert.is_truthy(string.find(probe.describe(own), "other a table that deep", 1, true))
    own.twice = own
    assert.has_error(function() probe.describe(own) end, "a table holds too many values, or holds itself")
  end)
end)

describe("JSON text as a tree", function()
  it("is written as it was read", function()
    for _, text in ipairs { "null", "true", "false", "0", "-1", "0.5", "1e3", '""', '"x"', "[]", "{}", "[[],{}]",
      '{"a":[1,2,null],"b":{"c":[]}}', "12345678901234567890", "-9223372036854775808", "9223372036854775807",
      "0.1000000000000000055511151231257827", "-0", nested(64), '"\\u0000"' } do
      assert.equal(text, probe.rewrite(text))
    end
    assert.equal('{"a":1,"b":[]}', probe.rewrite ' { "b" : [ ] ,\n\t"a" :1 }\r')
    assert.equal('{"a":3,"b":2}', probe.rewrite '{"a":1,"b":2,"a":3}')
    assert.equal('["é\240\159\152\128\239\191\189/"]', probe.rewrite '["\\u00e9\\ud83d\\ude00\\ud83d\\/"]')
  end)

  it("is an empty list or an empty object, as the text says", function()
    assert.equal("object{a=list{},b=object{}}", probe.describe_json '{"a":[],"b":{}}')
    assert.equal('{"a":[],"b":{},"c":[]}', probe.rewrite('{"a":[],"b":{},"c":{}}', "c"))
    assert.equal('{"c":[{},1]}', probe.rewrite('{"c":[{},1]}', "c")) -- an element has no name
  end)

  it("keeps integers whole", function()
    assert.equal("list{1=integer,2=number,3=number,4=integer}",
      probe.describe_json "[9223372036854775807,9223372036854775808,1.0,-0]")
    assert.equal("list{1=integer,2=number}", probe.describe_json "[-9223372036854775808,-9223372036854775809]")
    assert.same({ "12345678901234567890", 1, 0.5, 100, -5 }, probe.read "[12345678901234567890,1,5e-1,1e2,-5]")
  end)

  it("is refused where it is none", function()
    for _, text in ipairs { "", " ", "{", "[1", "[1,]", "[,1]", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "[1] 2", "[1]]", '"', '"\\',
      '"\0"', nested(65), '{"a":1 "b":2}', "'x'", "\0", "[1\0]", '"\\q"', "1e999" } do
      assert.is_nil(probe.describe_json(text), text)
    end
  end)

  it("is refused where a word is no value", function()
    for _, word in ipairs { "nan", "tru", "nulls", "01", "1.", ".5", "1e", "+1", "--1", "1e+" } do
      assert.is_nil(probe.describe_json("[" .. word .. "]"), word)
    end
  end)

  it("may hold control characters in its strings, and is written with escapes", function()
    assert.equal('{"\\t":"\\n\\u0001"}', probe.rewrite '{"\t":"\n\1"}')
  end)

  it("says where it ends to be JSON, and what was expected there", function()
    for text, wanted in pairs { ["[1,"] = { "a value", 3 }, ['{"a" 1}'] = { "':'", 5 }, ["[1 2]"] = { "',' or ']'", 3 },
      ['{"a":1;'] = { "',' or '}'", 6 }, ["{a:1}"] = { "a string", 1 }, ["1 2"] = { "the end", 2 }, ["[01]"] = { "a value", 1 },
      ['["\\q"]'] = { "an escape that JSON has", 1 }, [nested(65)] = { "fewer levels", 64 } } do
      assert.same(wanted, { core.json_fault(text) }, text)
    end
    assert.equal(0, select("#", core.json_fault "[1]"))
  end)
end)

describe("JSON from Lua", function()
  it("names what it cannot say and where", function()
    local loop = {}
    loop.deep = loop
    local cases = {
      { { a = print }, "function cannot be written as JSON (in 'a')" },
      { { a = { b = 1 / 0 } }, "a number that is not finite cannot be written as JSON (in 'b')" },
      { { 1, nil, 3 }, "a list with holes cannot be written as JSON (in 'value')" },
      { { a = { 1, x = 2 } }, "a table with both list elements and members cannot be written as JSON (in 'a')" },
      { { nil, 2 }, "a list with holes cannot be written as JSON (in 'value')" },
      { { [1.5] = 2 }, "a table with both list elements and members cannot be written as JSON (in 'value')" },
      { { [0] = 1, 2 }, "a list with holes cannot be written as JSON (in 'value')" },
      { { [0] = 1 }, "a list with holes cannot be written as JSON (in 'value')" },
      { loop, "a table that deep cannot be written as JSON (in 'deep')" },
    }
    for _, case in ipairs(cases) do
      assert.has_error(function() core.json_encode(case[1]) end, case[2])
    end
  end)
end)
