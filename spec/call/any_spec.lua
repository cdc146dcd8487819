-- client:request: a path that has no row.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

require "spec.support.harness.quick"(fleet)

local function json(body, status)
  return { status = status or 200, headers = {}, body = body }
end

describe("client:request", function()
  it("calls any path with the client's token, and returns the member response", function()
    local client, requests = seam.client {
      json '{"response":{"keys":["a"]}}', json '{"data":[1,2]}', json '"ok"', json '{"response":null}',
    }
    assert.same({ keys = { "a" } }, client:request("GET", "/api/1/users/backup_key"))
    assert.same({ data = { 1, 2 } }, client:request("GET", "/api/1/subscriptions?vin=1"))
    assert.equal("ok", client:request("POST", "/api/1/x", { a = { 1 } }))
    assert.same({}, client:request("DELETE", "/api/1/x"))
    assert.same({ "GET", "/api/1/users/backup_key", "Bearer a-token" },
      { requests[1].method, requests[1].path, requests[1].headers.authorization })
    assert.equal("/api/1/subscriptions?vin=1", requests[2].path)
    assert.equal('{"a":[1]}', requests[3].body)
    assert.is_nil(requests[1].body)
    assert.equal("DELETE", requests[4].method)
  end)

  it("fails as any call: kind, outcome, repeats of reads only", function()
    local client, requests = seam.client { json('{"error":"internal"}', 500) }
    local _, err, kind = client:request("GET", "/api/1/x")
    assert.same({ "service", nil, 3 }, { kind, err.outcome, #requests })
    assert.equal("GET /api/1/x", err.request)
    _, err, kind = client:request("POST", "/api/1/x?secret=1", {})
    assert.same({ "service", "unknown", 4 }, { kind, err.outcome, #requests })
    assert.equal("POST /api/1/x", err.request)
    _, err = client:request("POST", "/api/1/x", {}, { idempotent = true })
    assert.same({ "unknown", 7 }, { err.outcome, #requests })
    client = seam.client { json('{"response":null,"error":"not_now"}') }
    _, err, kind = client:request("POST", "/api/1/x")
    assert.same({ "service", "refused" }, { kind, err.outcome })
    client = seam.client { json "<html>" }
    assert.equal("protocol", (select(3, client:request("GET", "/api/1/x"))))
    assert.equal("<html>", (client:request("GET", "/api/1/x", nil, { raw = true })))
  end)

  it("raises for what cannot be called", function()
    local client, requests = seam.client "{}"
    for _, path in ipairs { "api/1/x", "", "https://evil.example/", "/a b", "/a\r\nX: y", "/a#b", "/ä", "/a\0b" } do
      assert.error_matches(function() client:request("GET", path) end, "percent%-encoded", nil, path)
    end
    assert.error_matches(function() client:request("PUT", "/x") end, "'method' cannot be 'PUT'", 1, true)
    assert.error_matches(function() client:request("GET") end, "the path must be a text", 1, true)
    assert.error_matches(function() client:request("POST", "/x", 5) end, "a table or JSON text", 1, true)
    assert.error_matches(function() client:request("GET", "/x", nil, { timeot = 5 }) end, "timeout", 1, true)
    assert.error_matches(function() client:request("GET", "/x", nil, { wake = true }) end, "wake", 1, true)
    assert.equal(0, #requests)
  end)

  it("counts what the path shows to be priced", function()
    local client = seam.client('{"response":{}}', { budgets = { per_day = { data = 1 } } })
    assert(client:request("GET", "/api/1/users/x"))
    assert(client:request("GET", "/api/1/vehicles/1/x"))
    local _, err, kind = client:request("GET", "/api/1/vehicles/1/x")
    assert.same({ "budget", nil }, { kind, err.outcome })
    assert(client:request("GET", "/api/1/users/x"))
  end)
end)
