-- Whether a request is served at all, before its path is looked at: without sockets.
local admissions = require "fleet.proxy.admission"
local callers = require "fleet.proxy.callers"

local SECRET = "a-secret-of-16-bytes"

describe("the proxy's admission", function()
  local function admitting(facts)
    local all = { socket = false, loopback = true, names = {}, callers = callers.new { secret = SECRET } }
    for name, value in pairs(facts or {}) do all[name] = value end
    return admissions.new(all)
  end

  local function objection(admission, headers, body, method)
    return (admission:objection { method = method or "POST", headers = headers, body = body or "" })
  end

  it("takes a Host of this machine on loopback only", function()
    local loopback, open = admitting(), admitting { loopback = false, names = { ["proxy.example.com"] = true, ["192.0.2.4"] = true } }
    for _, host in ipairs { "localhost", "LOCALHOST:4443", "127.0.0.1:1", "[::1]:4443" } do
      assert.is_nil(objection(loopback, { host = host }), host)
      assert.equal(403, objection(open, { host = host }), host)
    end
    for _, host in ipairs { "proxy.example.com", "Proxy.Example.Com:4443", "192.0.2.4:4443" } do
      assert.equal(403, objection(loopback, { host = host }), host)
      assert.is_nil(objection(open, { host = host }), host)
      assert.equal(403, objection(open, { host = host .. ".evil" }), host)
    end
    assert.equal(403, objection(loopback, {}))
    assert.equal(403, objection(loopback, { host = "" }))
  end)

  it("takes no request of a web page, whichever page it names", function()
    for _, origin in ipairs { "https://example.com", "null", "" } do
      assert.equal(403, objection(admitting(), { host = "localhost", origin = origin }), origin)
    end
  end)

  it("takes a body that is JSON, and that of a GET, which is ignored", function()
    local function status(content_type, body, method)
      return objection(admitting(), { host = "localhost", ["content-type"] = content_type }, body, method)
    end
    for _, content_type in ipairs { "application/json", "Application/JSON; charset=utf-8", "application/json ;x=y" } do
      assert.is_nil(status(content_type, "{}"), content_type)
    end
    for _, content_type in ipairs { "text/plain", "application/x-www-form-urlencoded", "application/jsonx", "" } do
      assert.equal(415, status(content_type, "{}"), content_type)
      assert.is_nil(status(content_type, "{}", "GET"), content_type)
      assert.is_nil(status(content_type, ""), content_type)
    end
    assert.equal(415, status(nil, "{}"))
  end)

  it("asks nothing of this on a Unix socket, but refuses a wrong secret there", function()
    local socket = admitting { socket = true }
    local request = { peer = function() return nil, 1000 end }
    assert.is_nil(objection(socket, { origin = "https://example.com" }, "{}"))
    local function who(authorization)
      local caller, status = socket:caller(request, { headers = { authorization = authorization } })
      return caller and caller.name or status
    end
    assert.equal("local", who(nil))
    assert.equal("secret", who("Bearer " .. SECRET))
    assert.equal(401, who("Bearer " .. SECRET .. "x"))
    assert.equal(401, who("Basic " .. SECRET))
  end)
end)
