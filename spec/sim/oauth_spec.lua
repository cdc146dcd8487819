-- doc/protocol.md#tokens
local control = require("fleet.sim.control")
local simulated = require("spec.support.fixtures.simulated")
local sha256 = require("fleet.core").sha256
local text = require("fleet.sim.text")
local json = require("fleet.sim.json")

local DAY = 86400

describe("the authorization server", function()
  local sim

  before_each(function() sim = simulated.new() end)

  local function form(fields)
    local out = { grant_type = "authorization_code", client_id = "c1", client_secret = "x", audience = "http://base",
      redirect_uri = "http://app/cb" }
    for name, value in pairs(fields or {}) do out[name] = value ~= "" and value or nil end
    return out
  end

  local function refresh(token, fields, host)
    local out = { grant_type = "refresh_token", client_id = "c1", refresh_token = token }
    for name, value in pairs(fields or {}) do out[name] = value end
    return sim:token(out, host)
  end

  local function hex_to_bytes(hex)
    return (hex:gsub("..", function(pair) return string.char(tonumber(pair, 16)) end))
  end

  local VERIFIER = ("v"):rep(43)
  local CHALLENGE = text.base64url(hex_to_bytes(sha256(VERIFIER)))

  local function open_source()
    sim = simulated.new({ apps = { { client_id = "os", redirect_uris = { "http://app/cb" } } } })
    local code = assert(sim:code({ client_id = "os", code_challenge = CHALLENGE, code_challenge_method = "S256" }))
    return sim:token(form({ client_id = "os", client_secret = "", code = code, code_verifier = VERIFIER }), "auth")
  end

  describe("authorize", function()
    it("sends a program back with code, state and issuer", function()
      local _, reply = sim:code()
      local q = text.form(reply.headers.Location:match("%?(.*)$"))
      assert.equal(302, reply.status)
      assert.matches("^NA_", q.code)
      assert.equal("s1", q.state)
      assert.matches("^http://auth", q.issuer)
    end)

    for name, fields in pairs({
      ["another response_type"] = { response_type = "token" }, ["no state"] = { state = "" }, ["no scope"] = { scope = "" },
      ["an unknown scope"] = { scope = "everything" }, ["no redirect_uri"] = { redirect_uri = "" },
      ["a plain code_challenge_method"] = { code_challenge = "x", code_challenge_method = "plain" },
    }) do
      it("gives no code for " .. name, function()
        local code, reply = sim:code(fields)
        assert.same({ 400, nil }, { reply.status, code })
      end)
    end

    it("gives no code to an unknown app, an unknown redirect_uri, or an open-source app without code_challenge", function()
      sim = simulated.new({ apps = { { client_id = "os", redirect_uris = { "http://app/cb" } } } })
      assert.equal(400, select(2, sim:code({ client_id = "other" })).status)
      assert.equal(400, select(2, sim:code({ client_id = "os", code_challenge = "x", redirect_uri = "http://app/cb/" })).status)
      assert.equal(400, select(2, sim:code({ client_id = "os" })).status)
      assert.is_string((sim:code({ client_id = "os", code_challenge = CHALLENGE })))
    end)

    it("shows a browser a form whose first button consents", function()
      local q = { response_type = "code", client_id = "c1", redirect_uri = "http://app/cb", scope = "openid user_data", state = "s" }
      local page = sim:auth("GET", "auth", "/oauth2/v3/authorize", q, nil, { accept = "text/html,*/*" })
      assert.equal(200, page.status)
      local name, value = page.body:match('<button[^>]*name="(%w+)" value="(%w+)"')
      local ticket = page.body:match('name="ticket" value="(%x+)"')
      local reply = sim:auth("POST", "auth", "/oauth2/v3/authorize", nil, { ticket = ticket, [name] = value, scopes = "openid" })
      local code = text.form(reply.headers.Location:match("%?(.*)$")).code
      local token = sim:token(form({ code = code })).json
      assert.same({ "openid" }, setmetatable(json.decode(text.unbase64(token.access_token:match("%.([^.]+)"))).scp, nil))
      assert.equal(400, sim:auth("POST", "auth", "/oauth2/v3/authorize", nil, { ticket = ticket, action = "allow" }).status)
    end)

    it("says access_denied when the user refuses, or leaves out what is required", function()
      local q = { response_type = "code", client_id = "c1", redirect_uri = "http://app/cb", scope = "openid user_data", state = "s" }
      local function answer(fields)
        local page = sim:auth("GET", "auth", "/oauth2/v3/authorize", q, nil, { accept = "text/html" })
        fields.ticket = page.body:match('name="ticket" value="(%x+)"')
        local reply = sim:auth("POST", "auth", "/oauth2/v3/authorize", nil, fields)
        return text.form(reply.headers.Location:match("%?(.*)$")).error
      end
      assert.equal("access_denied", answer({ action = "deny" }))
      q.require_requested_scopes = "true"
      assert.equal("access_denied", answer({ action = "allow", scopes = "openid" }))
    end)

    it("gives no code without all scopes where the app requires them", function()
      local function answer(fields)
        local _, reply = sim:code(fields)
        return text.form(reply.headers.Location:match("%?(.*)$"))
      end
      assert.is_string(answer({ scope = "openid", require_requested_scopes = "true" }).code)
      -- what the user has not granted before is not asked for again, and so is missing
      local both = { scope = "openid user_data", require_requested_scopes = "true" }
      assert.same({ nil, "access_denied" }, { answer(both).code, answer(both).error })
      both.require_requested_scopes = "false"
      assert.is_string(answer(both).code)
      both.require_requested_scopes, both.prompt_missing_scopes = "true", "true"
      assert.is_string(answer(both).code)
    end)

    it("asks again for missing scopes only on request", function()
      local function scopes(fields)
        fields.scope = "openid user_data"
        return sim:get("/api/1/users/me", sim:login(fields).access_token).status
      end
      sim:login({ scope = "openid" })
      assert.equal(403, scopes({}))
      assert.equal(200, scopes({ prompt_missing_scopes = "true" }))
    end)
  end)

  describe("the exchange", function()
    it("of a third-party app gives tokens at the token address", function()
      local token = sim:login()
      assert.same({ "Bearer", 28800 }, { token.token_type, token.expires_in })
      local claims = json.decode(text.unbase64(token.access_token:match("%.([^.]+)")))
      assert.same({ "c1", "NA", "http://base" }, { claims.azp, claims.ou_code, claims.aud[1] })
      assert.is_string(token.refresh_token)
    end)

    it("of an open-source app needs the verifier and the other address", function()
      assert.equal(200, open_source().status)
      local code = sim:code({ client_id = "os", code_challenge = CHALLENGE })
      local wrong = form({ client_id = "os", client_secret = "", code = code, code_verifier = ("w"):rep(43) })
      assert.equal("invalid_auth_code", sim:token(wrong, "auth").json.error)
      wrong.code_verifier = VERIFIER
      assert.equal("unauthorized_client", sim:token(wrong, "token").json.error)
      assert.equal(200, sim:token(wrong, "auth").status)
    end)

    for name, case in pairs({
      ["another audience"] = { { audience = "http://other" }, "invalid_request" },
      ["no audience"] = { { audience = "" }, "invalid_request" },
      ["another redirect_uri"] = { { redirect_uri = "http://app/other" }, "invalid_redirect_url" },
      ["a made-up code"] = { { code = "NA_x" }, "invalid_auth_code" },
      ["another client"] = { { client_id = "c2" }, "invalid_auth_code" },
      ["an unknown grant"] = { { grant_type = "password" }, "unsupported_grant_type" },
      ["no secret"] = { { client_secret = "" }, "unauthorized_client" },
    }) do
      it("is refused with " .. name, function()
        local fields = { code = sim:code() }
        for field, value in pairs(case[1]) do fields[field] = value end
        local reply = sim:token(form(fields))
        assert.same({ 400, case[2] }, { reply.status, reply.json.error })
        assert.matches("^http://auth/error/reference/", reply.json.error_uri)
      end)
    end

    it("works once per code, and not after ten minutes", function()
      local code = sim:code()
      assert.equal(200, sim:token(form({ code = code })).status)
      assert.equal("invalid_auth_code", sim:token(form({ code = code })).json.error)
      code = sim:code()
      sim:advance(600)
      assert.equal("invalid_auth_code", sim:token(form({ code = code })).json.error)
    end)

    it("checks the secret of an app that the garage names", function()
      sim = simulated.new({ apps = { { client_id = "c1", client_secret = "right", redirect_uris = { "http://app/cb" } } } })
      local code = sim:code()
      assert.equal("unauthorized_client", sim:token(form({ code = code, client_secret = "wrong" })).json.error)
      assert.equal(200, sim:token(form({ code = code, client_secret = "right" })).status)
    end)

    it("gives no refresh token without offline_access and no id token without openid", function()
      local token = sim:login({ scope = "vehicle_cmds" })
      assert.same({}, { token.refresh_token, token.id_token })
    end)

    it("puts the nonce into the id token", function()
      local token = sim:login({ nonce = "n1" })
      assert.equal("n1", json.decode(text.unbase64(token.id_token:match("%.([^.]+)"))).nonce)
    end)

    it("signs in the account of login_hint", function()
      sim = simulated.new({ accounts = { { email = "a@x" }, { email = "b@x" } } })
      assert.equal("b@x", sim:get("/api/1/users/me", sim:login({ login_hint = "b@x" }).access_token).response.email)
      assert.equal("a@x", sim:get("/api/1/users/me", sim:login().access_token).response.email)
    end)
  end)

  describe("refresh", function()
    it("gives a new pair", function()
      local first = sim:login()
      local second = refresh(first.refresh_token)
      assert.equal(200, second.status)
      assert.not_equal(first.refresh_token, second.json.refresh_token)
      assert.equal(200, sim:get("/api/1/vehicles", second.json.access_token).status)
    end)

    it("of an open-source app works once, and the newest works", function()
      local first = open_source().json.refresh_token
      local second = refresh(first, { client_id = "os" }, "auth").json.refresh_token
      local again = refresh(first, { client_id = "os" }, "auth")
      assert.same({ 401, "login_required" }, { again.status, again.json.error })
      assert.equal(200, refresh(second, { client_id = "os" }, "auth").status)
    end)

    it("of a third-party app works again for 24 hours with the one last used, not longer", function()
      local first = sim:login().refresh_token
      refresh(first)
      sim:advance(DAY)
      assert.equal(200, refresh(first).status)
      sim:advance(1)
      assert.equal("login_required", refresh(first).json.error)
    end)

    it("of a third-party app is over for a token that a newer one cycled out", function()
      local first = sim:login().refresh_token
      local second = refresh(first).json.refresh_token
      local third = refresh(second).json.refresh_token
      assert.equal(401, refresh(first).status)
      assert.equal(200, refresh(second).status)
      assert.equal(401, refresh(third).status)
    end)

    it("ends after three months", function()
      local token = sim:login().refresh_token
      sim:advance(90 * DAY - 1)
      local next_token = refresh(token)
      assert.equal(200, next_token.status)
      sim:advance(90 * DAY)
      assert.equal("login_required", refresh(next_token.json.refresh_token).json.error)
    end)

    it("ends when the password is reset, for tokens from before", function()
      local token = sim:login().refresh_token
      require("fleet.sim.control").event(sim.service, "password_reset")
      assert.equal("login_required", refresh(token).json.error)
      sim:advance(1)
      assert.equal(200, refresh(sim:login().refresh_token).status)
    end)

    it("is refused for another client, at the other address, or without a token", function()
      local token = sim:login().refresh_token
      assert.equal("login_required", refresh(token, { client_id = "c2" }).json.error)
      assert.equal("unauthorized_client", refresh(token, nil, "auth").json.error)
      assert.equal("invalid_request", refresh(nil).json.error)
      assert.equal(200, refresh(token).status)
    end)
  end)

  describe("consent", function()
    local function page(method, fields)
      return sim:auth(method, "auth", "/user/revoke/consent", { revoke_client_id = "c1", back_url = "http://app/back" }, fields)
    end

    it("shows what an app may do and takes scopes from its new tokens", function()
      local token = sim:login({ scope = "openid offline_access user_data" })
      assert.matches("user_data", page("GET").body)
      assert.equal("http://app/back", page("POST", { action = "save", scopes = "offline_access" }).headers.Location)
      assert.equal(200, sim:get("/api/1/users/me", token.access_token).status)
      assert.equal(403, sim:get("/api/1/users/me", refresh(token.refresh_token).json.access_token).status)
    end)

    it("revoked ends tokens and telemetry configurations", function()
      local token = sim:login()
      sim:car().configs.c1 = { config = {}, at = 0 }
      page("POST", { action = "revoke" })
      assert.equal(401, sim:get("/api/1/vehicles", token.access_token).status)
      assert.equal("login_required", refresh(token.refresh_token).json.error)
      assert.is_nil(sim:car().configs.c1)
    end)
  end)

  describe("partner tokens", function()
    it("are not for open-source apps", function()
      sim = simulated.new({ apps = { { client_id = "os" } } })
      local reply = sim:token({ grant_type = "client_credentials", client_id = "os", audience = "http://base" })
      assert.equal("unauthorized_client", reply.json.error)
    end)

    it("have no refresh token", function()
      local reply = sim:token({ grant_type = "client_credentials", client_id = "c", client_secret = "x", audience = "http://base" })
      assert.same({ 200 }, { reply.status, reply.json.refresh_token, reply.json.id_token })
    end)

    it("with auth_code are of the business account, with an unknown one refused", function()
      sim = simulated.new({ accounts = { { email = "a@x" }, { email = "f@x", business = true, auth_code = "B" } },
        vehicles = { { vin = simulated.CAR, owner = "f@x" } } })
      local token = sim:partner("vehicle_device_data", { auth_code = "B" })
      assert.equal(simulated.CAR, sim:get("/api/1/vehicles", token).response[1].vin)
      local reply = sim:token({ grant_type = "client_credentials", client_id = "c", client_secret = "x", audience = "http://base",
        auth_code = "other", scope = "openid" })
      assert.equal("invalid_auth_code", reply.json.error)
    end)

    it("are good for eight hours", function()
      local token = sim:login().access_token
      sim:advance(8 * 3600 - 1)
      assert.equal(200, sim:get("/api/1/vehicles", token).status)
      sim:advance(1)
      local reply = sim:get("/api/1/vehicles", token)
      assert.equal(401, reply.status)
      assert.matches("expired", reply.json.error, 1, true)
    end)

    it("use an auth_code up, but not where they are refused, and the business gives another one", function()
      sim = simulated.new({ accounts = { { email = "f@x", business = true, auth_code = "B" }, { email = "a@x" } },
        apps = { { client_id = "c1", client_secret = "x", scopes = { "vehicle_cmds" } } } })
      local function ask(code, scope)
        return sim:token({ grant_type = "client_credentials", client_id = "c1", client_secret = "x", audience = "http://base",
          auth_code = code, scope = scope or "vehicle_cmds" }).json.error or "given"
      end
      assert.same({ "invalid_scope", "given", "invalid_auth_code" }, { ask("B", "user_data"), ask("B"), ask("B") })
      control.event(sim.service, "new_auth_code", nil, { auth_code = "C" })
      assert.same({ "invalid_auth_code", "given", "invalid_auth_code" }, { ask("B"), ask("C"), ask("C") })
      for _, options in ipairs({ {}, { auth_code = "" }, { auth_code = "D", account = "a@x" } }) do
        assert.has_error(function() control.event(sim.service, "new_auth_code", nil, options) end)
      end
    end)
  end)

  it("keeps a hundred sign-ins of an app for an account, codes and forms: the oldest give way, the newest work", function()
    local tokens, codes = {}, {}
    for i = 1, 101 do tokens[i] = sim:login().refresh_token end
    for i = 1, 101 do codes[i] = sim:code() end
    assert.equal("login_required", refresh(tokens[1]).json.error)
    assert.equal(200, refresh(tokens[2]).status)
    assert.equal(200, refresh(tokens[101]).status)
    assert.equal("invalid_auth_code", sim:token(form({ code = codes[1] })).json.error)
    assert.equal(200, sim:token(form({ code = codes[101] })).status)
  end)

  it("keeps nothing for every refresh: a thousand leave two tokens", function()
    local token = sim:login().refresh_token
    for _ = 1, 1000 do token = refresh(token).json.refresh_token end
    local count = 0
    for _ in pairs(sim.service.oauth.refresh) do count = count + 1 end
    assert.equal(2, count)
  end)
end)
