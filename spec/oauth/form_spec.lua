-- Forms and queries, and the members of JSON objects: what is read of the other side's text.

local oauth = require "probe_oauth"

describe("a form", function()
  it("encodes everything but unreserved characters, in the order given", function()
    assert.equal("scope=openid%20vehicle_cmds&redirect_uri=https%3A%2F%2Fx.example%2Fa%3Fb%3D1%26c&e=%C3%A4%2B~",
      oauth.form { { "scope", "openid vehicle_cmds" }, { "redirect_uri", "https://x.example/a?b=1&c" }, { "e", "ä+~" } })
  end)

  it("leaves out what has no value and keeps what is empty", function()
    assert.equal("b=", oauth.form { { "a" }, { "b", "" } })
    assert.equal("", oauth.form {})
  end)

  it("is read back by oauth.field, whatever the bytes", function()
    local every = {}
    for byte = 0, 255 do every[#every + 1] = string.char(byte) end
    local text = table.concat(every)
    assert.equal(text, oauth.field(oauth.form { { "x", "1" }, { "all", text } }, "all"))
  end)
end)

describe("a field of a form", function()
  local cases = {
    { "code=abc&state=x", "code", "abc" }, { "code=abc&state=x", "state", "x" }, { "a=1+2%2B3", "a", "1 2+3" },
    { "a", "a", "" }, { "a=", "a", "" }, { "a=b=c", "a", "b=c" }, { "&&a=1&", "a", "1" }, { "%61=1", "a", "1" },
    { "", "a", nil }, { "ab=1", "a", nil }, { "A=1", "a", nil },
  }
  for _, case in ipairs(cases) do
    it(("reads '%s' of '%s'"):format(case[2], case[1]), function()
      assert.same({ case[3] }, { (oauth.field(case[1], case[2])) })
    end)
  end

  local refused = { "a=1&a=2", "a=1&%61=1", "a=%4", "a=%zz", "a=%" }
  for _, query in ipairs(refused) do
    it(("refuses '%s'"):format(query), function()
      local value, _, kind = oauth.field(query, "a")
      assert.is_nil(value)
      assert.equal("protocol", kind)
    end)
  end
end)


describe("a member of a JSON object", function()
  local texts = {
    { [[{"a":"b"}]], "b" }, { [[ { "x" : 1 , "a" : "b" } ]], "b" }, { [[{"a":""}]], "" }, { [[{"a":"1","a":"2"}]], "2" },
    { [[{"\u0061":"b"}]], "b" }, { [[{"a":"\"\\\/\b\f\n\r\t"}]], "\"\\/\b\f\n\r\t" },
    { [[{"a":"\u00e4\u20AC\ud83d\ude00"}]], "ä€😀" },
    { [[{"a":"\ud800"}]], "\u{FFFD}" }, { [[{"a":"\udc00x"}]], "\u{FFFD}x" }, { [[{"a":"\ud800\u0041"}]], "\u{FFFD}A" },
    { [[{"deep":{"a":"no"},"list":["a",{"a":"no"}],"a":"yes"}]], "yes" },
    { [[{"n":1e999,"m":"\ud800","a":"b"}]], "b" },
    { [[{"a":1}]], nil }, { [[{"a":null}]], nil }, { [[{"b":"a"}]], nil }, { [[["a","b"]\]], nil }, { "", nil }, { "{", nil },
    { [[{"a":"\x"}]], nil }, { [[{"a":"\u12"}]], nil }, { [[{"a":"b]], nil }, { [[{"a":"b\]], nil },
  }
  for _, case in ipairs(texts) do
    it("is text, or none: " .. case[1], function() assert.equal(case[2], oauth.text(case[1], "a")) end)
  end

  local numbers = {
    { "0", 0 }, { "12", 12 }, { "-3", -3 }, { "28800.5", 28800.5 }, { "2.88e4", 28800 }, { "5e-1", 0.5 },
    { "1E+2", 100 }, { "1e999", math.huge },
    { '"600"', 600 }, { '"1e999"', math.huge }, { '"-1e999"', -math.huge }, { '"0x1p2000"', 0 }, { '"0x10"', 0 },
    { '"inf"', 0 }, { '"nan"', 0 },
    { '"12h"', 0 }, { '" 12"', 0 }, { '""', 0 }, { '"."', 0 }, { '"-"', 0 }, { "true", 0 }, { "null", 0 }, { "{}", 0 }, { "[1]", 0 },
    { "1700000000.25", 1700000000.25 }, { '"' .. ("9"):rep(400) .. '"', math.huge },
  }
  for _, case in ipairs(numbers) do
    it("is a number, or 0: " .. case[1]:sub(1, 20), function()
      local found = oauth.number('{"b":7,"a":' .. case[1] .. "}", "a")
      assert.is_true(found == case[2] or math.abs(found - case[2]) < 1e-9, tostring(found))
    end)
  end

  local whole = { "{}", ' {"a":[]} ', '{"a":{"b":[1,-2.5e3,"x",true,false,null,[],{}]}}',
    '{"a":"\n\1"}', "{\"a\":" .. ("["):rep(30) .. ("]"):rep(30) .. "}" }
  local broken = { "", " ", "[]", "1", "null", "{", "}", '{"a"}', '{"a":}', '{"a":1,}', '{"a":1', '{"a":1}x', '{"a":1}{}', '{a:1}',
    "{'a':1}", '{"a":"b', '{"a":"\0"}', '{"a":[1}', '{"a":1 2}', "{\"a\":" .. ("["):rep(40) .. ("]"):rep(40) .. "}", "\0{}" }
  for _, text in ipairs(whole) do
    it("is part of the whole text: " .. text:sub(1, 40), function() assert.is_true(oauth.whole(text)) end)
  end
  for _, text in ipairs(broken) do
    it("does not make whole what is broken: " .. text:sub(1, 40):gsub("%c", "?"), function() assert.is_false(oauth.whole(text)) end)
  end
end)
