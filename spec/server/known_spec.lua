-- Requests that the server knows again: those whose method, target and headers are, byte for byte, those of one that was remembered.
local client = require "spec.support.harness.miniclient"
local miniloop = require "spec.support.harness.miniloop"
local server = require "fleet.server"

describe("a request that was remembered", function()
  local loop, opened, where, seen, values

  before_each(function()
    loop, seen, values = miniloop.new(), nil, 0
    opened = assert(server.new {
      loop = loop,
      on_request = function(request)
        values = values + 1
        request:remember(values)
        seen = { "new", values }
        request:respond(200, nil, "")
      end,
      on_known = function(request, value, body, authorization)
        seen = { "known", value, body, authorization }
        request:respond(200, nil, "")
      end,
    })
    where = { port = opened:port() }
  end)

  after_each(function() opened:close() end)

  local function ask(method, target, headers, body)
    seen = nil
    loop:run(function() return client.request(where, method, target, headers, body) end)
    return seen
  end

  it("is known again, whatever its body and its authorization say, and those are told", function()
    assert.same({ "new", 1 }, ask("POST", "/a", { Authorization = "Bearer one" }, "12"))
    assert.same({ "known", 1, "12", "Bearer one" }, ask("POST", "/a", { Authorization = "Bearer one" }, "12"))
    assert.same({ "known", 1, "34", "Bearer two" }, ask("POST", "/a", { Authorization = "Bearer two" }, "34"))
    assert.same({ "new", 2 }, ask("POST", "/a", nil, "34")) -- none says so
    assert.same({ "known", 2, "34" }, ask("POST", "/a", nil, "34"))
  end)

  it("is another one with another method, target, query, length, or any byte of a header", function()
    ask("POST", "/abcdefgh", { ["X-One"] = "12345678" }, "12")
    for _, other in ipairs {
      { "PATCH", "/abcdefgh", { ["X-One"] = "12345678" }, "12" }, { "POST", "/abcdefgi", { ["X-One"] = "12345678" }, "12" },
      { "POST", "/abcdefg", { ["X-One"] = "12345678" }, "12" }, { "POST", "/abcdefgh?", { ["X-One"] = "12345678" }, "12" },
      { "POST", "/abcdefgh", { ["X-One"] = "12345679" }, "12" }, { "POST", "/abcdefgh", { ["X-One"] = "02345678" }, "12" },
      { "POST", "/abcdefgh", { ["X-Two"] = "12345678" }, "12" }, { "POST", "/abcdefgh", { ["X-One"] = "12345678" }, "123" },
      { "POST", "/abcdefgh", nil, "12" },
    } do
      local before = values
      assert.same({ "new", before + 1 }, ask(table.unpack(other, 1, 4)))
    end
    assert.same({ "known", 1, "12" }, ask("POST", "/abcdefgh", { ["X-One"] = "12345678" }, "12"))
  end)

  it("is never taken for another, of many that differ by one byte", function()
    local function target(i)
      return "/" .. string.rep("a", i % 40) .. string.char(65 + math.floor(i / 40)) .. string.rep("b", 39 - i % 40)
    end
    for i = 0, 199 do assert.same({ "new", i + 1 }, ask("GET", target(i))) end
    for i = 0, 199 do assert.same({ "known", i + 1, "" }, ask("GET", target(i))) end
  end)

  it("is forgotten where heads in ever new ways come, and one that is too long is never remembered", function()
    local long = { ["X-Long"] = string.rep("x", 1100) }
    for _ = 1, 2 do assert.equal("new", ask("GET", "/", long)[1]) end
    ask("GET", "/first")
    assert.equal("known", ask("GET", "/first")[1])
    for i = 1, 1024 do ask("GET", "/" .. i) end
    assert.equal("new", ask("GET", "/first")[1])
  end)
end)
