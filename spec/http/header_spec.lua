-- The one look-up of headers, the dates in them, and an address from outside.

local core = require "fleet.core"

describe("a header", function()
  local headers = "date: Sun, 06 Nov 1994 08:49:37 GMT\nx-date: no\nempty:\nodd\nset-cookie: a=1\nset-cookie: b=2\nspaced:   two words\n"

  it("is found by its whole name in lower case; of several the first", function()
    for name, value in pairs {
      ["x-date"] = "no", empty = "", odd = "", ["set-cookie"] = "a=1", spaced = "two words",
      date = "Sun, 06 Nov 1994 08:49:37 GMT",
    } do
      assert.equal(value, core.header(headers, name), name)
      assert.equal(value, core.reply { status = 200, headers = { [name] = value } }:header(name))
    end
  end)

  it("that is not there is nil, as are parts of names and lines", function()
    for _, name in ipairs { "dat", "ate", "Date", "x", "", "cookie", "b=2", "date: Sun, 06 Nov 1994 08" } do
      assert.is_nil(core.header(headers, name), name)
    end
    assert.is_nil(core.header("", "date"))
    assert.is_nil(core.header("date: unended", "date"))
  end)

  it("has a date in any of the three forms, and no other text is one", function()
    for _, text in ipairs { "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994" } do
      assert.equal(784111777, core.http_date(text))
    end
    for _, text in ipairs { "", "yesterday", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT", ("1"):rep(100) } do
      assert.is_nil(core.http_date(text))
    end
  end)
end)

describe("an address from outside", function()
  local hosts = { ".example.com", "http://127.0.0.1:8080" }

  it("is accepted on the list of hosts, as its base", function()
    for _, case in ipairs {
      { "https://eu.example.com", "https://eu.example.com" }, { "https://eu.example.com/", "https://eu.example.com" },
      { "https://eu.example.com/api/1", "https://eu.example.com" }, { "http://127.0.0.1:8080", "http://127.0.0.1:8080" },
    } do
      assert.equal(case[2], core.accepted_host(case[1], hosts))
    end
  end)

  it("is refused off the list, and where it only looks like one", function()
    for _, text in ipairs {
      "", "eu.example.com", "http://eu.example.com", "https://example.com", "https://evil-example.com",
      "https://eu.example.com@evil.example", "https://eu.example.com.evil.org", "see https://eu.example.com",
      "use base URL: https://eu.example.com", "http://127.0.0.1:8081",
    } do
      assert.is_nil(core.accepted_host(text, hosts), text)
    end
    assert.is_nil(core.accepted_host("https://eu.example.com", {}))
  end)
end)
