-- The verbs of an account's tokens: a business token for a code.

local cli = require "spec.support.harness.cli"

local env = {
  FLEET_CLIENT_ID = "app", FLEET_CLIENT_SECRET = "canary-secret", FLEET_AUTH_CODE = "canary-code", XDG_STATE_HOME = os.tmpname() .. ".d",
}

teardown(function() os.execute("rm -rf '" .. env.XDG_STATE_HOME .. "'") end)

-- Runs a command line whose token address answers with a token, or as given.
local function run(words, given)
  given = given or {}
  local http, requests = cli.service(given.answer or '{"access_token":"canary-access","expires_in":28800,"token_type":"Bearer"}')
  given.http, given.env = http, given.env or env
  return cli.run(words, given), requests
end

local scopes = "--scopes=openid,vehicle_cmds"

describe("fleet business_login", function()
  it("exchanges the code and says when the token ends, and that the next needs another", function()
    local result, requests = run { "business_login", scopes }
    assert.equal(0, result.status, result.err)
    assert.matches("signed in for the business, until %d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%dZ; the code is used up", result.out)
    assert.matches("auth_code=canary%-code", requests[1].body)
    assert.matches("scope=openid%%20vehicle_cmds", requests[1].body)
    assert.is_nil((result.out .. result.err):find("canary", 1, true))
  end)

  it("takes the code from standard input or a prompt, and never as a plain argument", function()
    local _, requests = run({ "business_login", scopes, "--auth-code=-" }, { stdin = "other-code\n" })
    assert.matches("auth_code=other%-code", requests[1].body)
    local without = { FLEET_CLIENT_ID = "app", FLEET_CLIENT_SECRET = "s", XDG_STATE_HOME = env.XDG_STATE_HOME }
    _, requests = run({ "business_login", scopes }, { env = without, answer = nil, terminal = true })
    assert.equal(0, #requests)
    local result
    result, requests = run { "business_login", scopes, "--auth-code=canary-plain" }
    assert.equal(2, result.status)
    assert.equal(0, #requests)
    assert.is_nil((result.out .. result.err):find("canary", 1, true))
  end)

  it("needs scopes, and says what the server refused", function()
    local result, requests = run { "business_login" }
    assert.equal(2, result.status)
    assert.matches("needs %-%-scopes", result.err)
    assert.equal(0, #requests)
    local http = cli.service(function() return 400, '{"error":"invalid_auth_code"}' end)
    result = cli.run({ "business_login", scopes }, { http = http, env = env })
    assert.matches("the code expired", result.err:lower())
    assert.is_true(result.status > 2)
  end)
end)

describe("fleet logout", function()
  local function signed_in()
    assert.equal(0, run({ "business_login", scopes }).status)
    return function(words, given) return run(words, given) end
  end

  it("removes the stored tokens and says what stays", function()
    local fleet = signed_in()
    assert.equal(0, fleet({ "token", "info" }).status)
    local result, requests = fleet { "logout" }
    assert.equal(0, result.status, result.err)
    assert.matches("signed out: the stored tokens are removed; key and configuration stay", result.out, 1, true)
    assert.matches("To withdraw it: http%S+revoke_client_id=app", result.out)
    assert.equal(0, #requests)
    assert.equal(13, fleet({ "token", "info" }).status)
    assert.equal(0, fleet({ "logout" }).status) -- nothing is left to remove
  end)

  it("removes one kind of token alone when it is named, and refuses another word", function()
    local fleet = signed_in()
    assert.equal(0, fleet({ "logout", "--auth", "user" }).status)
    assert.equal(0, fleet({ "token", "info" }).status)
    local result = fleet { "logout", "--auth", "owner" }
    assert.equal(2, result.status)
    assert.matches("owner", result.err, 1, true)
    assert.equal(0, fleet({ "logout", "--auth=business", "--json" }).status)
    assert.equal(13, fleet({ "token", "info" }).status)
  end)

  it("has nothing to remove where the token is given from outside", function()
    local result = run({ "logout" }, { env = { FLEET_TOKEN = "canary-token" } })
    assert.equal(2, result.status)
    assert.matches("given by --token or FLEET_TOKEN", result.err, 1, true)
  end)
end)
