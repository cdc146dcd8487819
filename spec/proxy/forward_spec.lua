-- What a call that is passed on comes back with, when it took several attempts: the answer of the last one, or why there was none.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local fleet = require "fleet"
local services = require "fleet.proxy.service"
local virtual = require "spec.support.harness.virtual"

local expired = { status = 401, headers = {}, body = '{"error":"token expired"}' }
local good = { status = 200, headers = {}, body = '{"response":[]}' }
local pair = '{"access_token":"second","refresh_token":"r2","expires_in":28800,"token_type":"Bearer"}'

describe("a read that is passed on", function()
  local time, opened

  before_each(function() time = virtual.install() end)
  after_each(function()
    opened:close()
    time.restore()
  end)

  -- A service that answers one by one from its list (false: nothing comes), and so does its token endpoint.
  local function ask(answers, token_answers)
    local store = fleet.store.memory()
    assert(store:put("token/default/user", core.json_encode {
      access_token = "first", refresh_token = "r1", saved_at = time.now(), expires_at = 4e9, scope = "openid offline_access",
    }))
    local function http(request)
      local list = request.url:find("/token", 1, true) and token_answers or answers
      local answer = table.remove(list, 1)
      if not answer then return nil, "connection refused" end
      return answer
    end
    opened = clients.new(fleet.new { base_url = "https://base", auth_url = "https://auth", client_id = "c", store = store,
      key = core.key.generate(), http = http, timeout = 20 })
    return fleet.run(function()
      local status, headers, body = services.new({ clients = opened, timeout = 30 }):handle(callers.new({}).default_caller, {
        method = "GET", path = "/api/1/products", query = "", headers = {}, body = "",
      })
      return { status = status, headers = headers, body = body }
    end)
  end

  it("has the answer to the refreshed token", function()
    local reply = ask({ expired, good }, { { status = 200, headers = {}, body = pair } })
    assert.same({ 200, good.body }, { reply.status, reply.body })
  end)

  it("has the second 401 where the refreshed token is refused too", function()
    local again = { status = 401, headers = {}, body = '{"error":"revoked"}' }
    local reply = ask({ expired, again }, { { status = 200, headers = {}, body = pair } })
    assert.same({ 401, again.body }, { reply.status, reply.body })
  end)

  it("never has the owner's token, where the service repeats it in a body or a header", function()
    for _, status in ipairs { 200, 400, 403, 404, 429, 503 } do
      local answers = {}
      for i = 1, 3 do
        answers[i] = { status = status, headers = { ["x-txid"] = "id of first" }, body = '{"response":null,"error":"no: first"}' }
      end
      local reply = ask(answers, {})
      assert.equal(status, reply.status)
      assert.not_matches("first", reply.body .. tostring(reply.headers["X-Txid"]), 1, true)
      assert.matches("no: ", reply.body, 1, true)
    end
  end)

  it("has it neither in the answer to a command, where the service adds it", function()
    opened = clients.new(fleet.new { base_url = "https://base", token = "the-owners-token", key = core.key.generate(), commands = "plain",
      http = function()
        return { status = 200, headers = {}, body = '{"response":{"result":true,"reason":"","echo":"the-owners-token","id":7}}' }
      end })
    local body = fleet.run(function()
      return (select(3, services.new({ clients = opened, timeout = 30 }):handle(callers.new({}).default_caller, {
        method = "POST", path = "/api/1/vehicles/5YJ3E1EA7KF000001/command/honk_horn", query = "", headers = {}, body = "",
      })))
    end)
    assert.not_matches("the-owners-token", body, 1, true)
    assert.equal(7, core.json_decode(body).response.id)
  end)

  it("has neither of two tokens, where the first one was refused", function()
    local again = { status = 401, headers = { ["x-txid"] = "second" }, body = '{"error":"neither first nor second"}' }
    local reply = ask({ expired, again }, { { status = 200, headers = {}, body = pair } })
    assert.equal(401, reply.status)
    assert.not_matches("first", reply.body)
    assert.not_matches("second", reply.body .. reply.headers["X-Txid"])
  end)

  it("keeps the service's other words and figures", function()
    local said = '{"response":null,"error":"missing scopes","txid":"c0ffee-1"}'
    local reply = ask({ { status = 403, headers = { ["x-txid"] = "c0ffee-1", ["ratelimit-reset"] = "12" }, body = said } }, {})
    assert.same({ 403, said, "c0ffee-1", "12" }, { reply.status, reply.body, reply.headers["X-Txid"], reply.headers["RateLimit-Reset"] })
  end)

  it("does not blame the token when it could not be refreshed: the token service did not answer", function()
    local reply = ask({ expired }, {})
    assert.equal(502, reply.status, reply.body)
    assert.matches("token", reply.body)
    assert.not_matches("token expired", reply.body, 1, true)
  end)

  it("says so when the token service is busy, and until when", function()
    local busy = { status = 503, headers = { ["retry-after"] = "7" }, body = "busy" }
    local reply = ask({ expired }, { busy, busy, busy, busy, busy, busy })
    assert.equal(503, reply.status, reply.body)
    assert.not_matches("token expired", reply.body, 1, true)
  end)

  it("is 401 in words that help where the pair is refused for good", function()
    local refused = { status = 401, headers = {}, body = '{"error":"login_required"}' }
    local reply = ask({ expired }, { refused, refused })
    assert.equal(401, reply.status)
    assert.matches("sign in", reply.body)
  end)

  it("is 502 where a first answer was to be repeated and nothing more came", function()
    local broken = { status = 502, headers = {}, body = "bad gateway" }
    local reply = ask({ broken, false, false, false, false }, {})
    assert.equal(502, reply.status)
    assert.not_matches("bad gateway", reply.body)
  end)
end)
