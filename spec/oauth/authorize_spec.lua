local core = require "fleet.core"
local form_of = require "probe_oauth"
local accounts = require "spec.support.fixtures.accounts"
local login = require "fleet.oauth.authorize"
local stores = require "spec.support.fixtures.stores"
local memory = require("fleet.store").memory
local tokens = require "fleet.oauth.tokens"

describe("signing in", function()
  local clock, store, server, account

  local function new(config, options)
    clock = accounts.clock()
    store, server = memory { clock = clock.read }, accounts.server(options)
    local whole = { redirect_uri = "https://app.example/back?x=1", scopes = { "openid", "offline_access", "vehicle_cmds" } }
    for name, value in pairs(config or {}) do whole[name] = value end
    account = accounts.account(server, store, clock, whole)
  end

  local function field(url, name)
    return (form_of.field(url:match("%?(.*)$"), name))
  end

  local function callback(pending, more)
    return "https://app.example/back?x=1&code=good-code&state=" .. pending.state .. (more or "")
  end

  local function begin(options)
    local url, pending = login.authorize_url(account, options)
    server.id_token = pending.nonce and accounts.jwt { nonce = pending.nonce }
    return url, pending
  end

  before_each(function() new() end)

  -- ---- the address ----

  it("asks with every required parameter, each once", function()
    local url, pending = begin()
    assert.equal("https://auth.example/oauth2/v3/authorize", (url:match("^[^?]+")))
    assert.equal("code", field(url, "response_type"))
    assert.equal("app", field(url, "client_id"))
    assert.equal("https://app.example/back?x=1", field(url, "redirect_uri"))
    assert.equal("openid offline_access vehicle_cmds", field(url, "scope"))
    assert.equal(pending.state, field(url, "state"))
    assert.equal(pending.nonce, field(url, "nonce"))
    for _, name in ipairs { "code_challenge", "code_challenge_method", "locale", "prompt", "show_keypair_step" } do
      assert.is_nil(field(url, name))
    end
    assert.is_nil(url:find("shh", 1, true))
  end)

  it("passes on what a third-party app may ask for", function()
    local url = begin { prompt_missing_scopes = true, require_requested_scopes = false, show_keypair_step = true,
      locale = "en-US", prompt = "login", login_hint = "a@b.example", scopes = { "vehicle_cmds" }, nonce = "n-1" }
    local expected = { prompt_missing_scopes = "true", require_requested_scopes = "false", show_keypair_step = "true",
      locale = "en-US", prompt = "login", login_hint = "a@b.example", scope = "vehicle_cmds", nonce = "n-1" }
    for name, value in pairs(expected) do assert.equal(value, field(url, name)) end
  end)

  it("gives an open-source app a challenge and keeps the verifier", function()
    new({ client_secret = false }, { single_use = true })
    local url, pending = begin()
    assert.equal("S256", field(url, "code_challenge_method"))
    assert.equal(core.oauth_challenge(pending.code_verifier), field(url, "code_challenge"))
    assert.is_nil(url:find(pending.code_verifier, 1, true))
    assert.is_true(#pending.code_verifier >= 43)
  end)

  it("makes no nonce where openid is not asked for", function()
    local url, pending = login.authorize_url(account, { scopes = "vehicle_cmds" })
    assert.is_nil(field(url, "nonce"))
    assert.is_nil(pending.nonce)
  end)

  it("makes a nonce where the caller's is empty: it would be compared with nothing", function()
    local url, pending = login.authorize_url(account, { scopes = "openid", nonce = "" })
    assert.is_true(#pending.nonce >= 22)
    assert.equal(pending.nonce, field(url, "nonce"))
    url, pending = login.authorize_url(account, { scopes = "vehicle_cmds", nonce = "" })
    assert.same({}, { field(url, "nonce"), pending.nonce })
  end)

  it("gives pending as a table of strings, and never the same twice", function()
    local _, one = begin()
    local _, two = begin()
    for _, value in pairs(one) do assert.equal("string", type(value)) end
    assert.not_equal(one.state, two.state)
    assert.not_equal(one.nonce, two.nonce)
  end)

  local mistakes = {
    { { color = "red" }, "unknown option 'color'" }, { { locale = 1 }, "'locale' must be a string" },
    { { show_keypair_step = "yes" }, "must be true or false" }, { { scopes = {} }, "'scopes' is an empty list" },
    { { scopes = 1 }, "bad option 'scopes'" }, { { scopes = { 1 } }, "bad option 'scopes'" },
    { { scopes = { "openid", "vehicle_cmd" } }, "unknown scope 'vehicle_cmd', did you mean 'vehicle_cmds'" },
    { { scopes = "openid ofline_access" }, "did you mean 'offline_access'" }, { { scopes = " " }, "'scopes' is an empty list" },
  }
  for _, mistake in ipairs(mistakes) do
    it("raises: " .. mistake[2], function()
      assert.error_matches(function() login.authorize_url(account, mistake[1]) end, mistake[2], 1, true)
    end)
  end

  it("raises for third-party parameters of an open-source app, and for what fleet.new lacks", function()
    new { client_secret = false }
    for _, name in ipairs { "prompt_missing_scopes", "require_requested_scopes", "show_keypair_step" } do
      assert.error_matches(function() login.authorize_url(account, { [name] = true }) end, "is for third%-party apps")
    end
    assert.error_matches(function() login.add_scopes_url(account, { scopes = { "user_data" } }) end, "is for third%-party apps")
    new { redirect_uri = false }
    assert.error_matches(function() login.authorize_url(account) end, "set redirect_uri in fleet.new")
  end)

  -- ---- the way back ----

  it("takes the whole address, exchanges the code and keeps the pair", function()
    local _, pending = begin()
    assert.is_true(login.authorize(account, callback(pending), pending))
    assert.equal("a1", tokens.access(account, "user"))
    local form = "grant_type=authorization_code&client_id=app&client_secret=shh&code=good-code" ..
      "&audience=https%3A%2F%2Fapi.example&redirect_uri=https%3A%2F%2Fapp.example%2Fback%3Fx%3D1"
    assert.equal(form, server.requests[1].body)
    assert.equal("https://token.example/oauth2/v3/token", server.requests[1].url)
  end)

  it("exchanges an open-source app's code with its verifier and no secret", function()
    new({ client_secret = false }, { single_use = true })
    local _, pending = begin()
    assert.is_true(login.authorize(account, callback(pending), pending))
    assert.equal(pending.code_verifier, server.field(1, "code_verifier"))
    assert.is_nil(server.field(1, "client_secret"))
    assert.equal("https://auth.example/oauth2/v3/token", server.requests[1].url)
  end)

  local forms = {
    { "with spaces and a newline around it", function(p) return "  " .. callback(p) .. "\n" end },
    { "as its query alone", function(p) return "code=good-code&state=" .. p.state end },
    { "as the path a server sees", function(p) return "/back?state=" .. p.state .. "&code=good-code" end },
    { "with a fragment", function(p) return callback(p) .. "#_" end },
    { "with our issuer", function(p) return callback(p, "&issuer=https%3A%2F%2Fauth.example%2Foauth2%2Fv3") end },
    { "with iss of the token host", function(p) return callback(p, "&iss=https%3A%2F%2FTOKEN.example%2Fx") end },
    { "as the bare code", function() return "good-code" end },
  }
  for _, form in ipairs(forms) do
    it("takes the address " .. form[1], function()
      local _, pending = begin()
      assert.is_true(login.authorize(account, form[2](pending), pending))
    end)
  end

  local refused = {
    { "without state", function() return "https://app.example/back?code=good-code" end, "state_missing" },
    { "with an empty state", function() return "https://app.example/back?code=good-code&state=" end, "state_mismatch" },
    { "with another state", function(p) return "?code=good-code&state=" .. p.state .. "x" end, "state_mismatch" },
    { "with a state that ours begins with", function(p) return "?code=good-code&state=" .. p.state:sub(1, -2) end,
      "state_mismatch" },
    { "with a state twice", function(p) return callback(p, "&state=" .. p.state) end, "malformed", "protocol" },
    { "with a code twice", function(p) return callback(p, "&code=evil") end, "malformed", "protocol" },
    { "with a code that is badly encoded", function(p) return "?code=%zz&state=" .. p.state end, "malformed", "protocol" },
    { "without code", function(p) return "https://app.example/back?state=" .. p.state end, "code_missing" },
    { "with an empty code", function(p) return "?code=&state=" .. p.state end, "code_missing" },
    { "of another issuer", function(p) return callback(p, "&issuer=https%3A%2F%2Fevil.example") end, "issuer" },
    { "of an issuer that only begins like ours", function(p) return callback(p, "&iss=https%3A%2F%2Fauth.example.evil") end,
      "issuer" },
    { "of an issuer that ours begins like", function(p) return callback(p, "&iss=https%3A%2F%2Fauth.exam") end, "issuer" },
    { "of two issuers", function(p)
      return callback(p, "&issuer=https%3A%2F%2Fauth.example&iss=https%3A%2F%2Fevil.example")
    end, "issuer" },
    { "of an issuer that is no address", function(p) return callback(p, "&iss=us") end, "issuer" },
    { "of a refusal", function(p) return "?error=access_denied&error_description=No&state=" .. p.state end, "access_denied" },
    { "of a refusal in words we do not know", function(p) return "?error=full_moon&state=" .. p.state end, "full_moon" },
    { "of a forged refusal", function() return "?error=access_denied" end, "state_missing" },
    { "with a stale code", function(p) return "?code=stale&state=" .. p.state end, "invalid_auth_code" },
    { "that is no address", function() return "hello, world" end, "state_missing" },
    { "that is empty", function() return "" end, "state_missing" },
  }
  for _, case in ipairs(refused) do
    it("refuses an address " .. case[1] .. " and keeps what is stored", function()
      store:put("token/home/user", "{\"access_token\":\"old\"}")
      local _, pending = begin()
      local done, err, kind = login.authorize(account, case[2](pending), pending)
      assert.is_nil(done)
      assert.equal(case[4] or "auth", kind)
      assert.equal(case[3], err.reason)
      assert.equal(case[3] == "invalid_auth_code" and "refused" or "not_sent", err.outcome or "not_sent")
      assert.equal("{\"access_token\":\"old\"}", (store:get("token/home/user")))
    end)
  end

  it("uses a state once, also after a refusal", function()
    local _, pending = begin()
    assert.is_true(login.authorize(account, callback(pending), pending))
    assert.equal("state_used", select(2, login.authorize(account, callback(pending), pending)).reason)
    _, pending = begin()
    login.authorize(account, "?error=access_denied&state=" .. pending.state, pending)
    assert.equal("state_used", select(2, login.authorize(account, callback(pending), pending)).reason)
    assert.equal(1, #server.requests)
  end)

  it("uses a bare code's sign-in once too", function()
    local _, pending = begin()
    assert.is_true(login.authorize(account, "good-code", pending))
    assert.equal("state_used", select(2, login.authorize(account, "good-code", pending)).reason)
  end)

  it("is not used up by the state of another sign-in", function()
    local _, pending = begin()
    login.authorize(account, "?code=good-code&state=guess", pending)
    assert.is_true(login.authorize(account, callback(pending), pending))
  end)

  it("waits ten minutes for the person and no longer", function()
    local _, pending = begin()
    clock.advance(599)
    assert.is_true(login.authorize(account, callback(pending), pending))
    _, pending = begin()
    server.code = "good-code"
    clock.advance(600)
    assert.equal("state_used", select(2, login.authorize(account, callback(pending), pending)).reason)
  end)

  for _, jump in ipairs { -3600, 3600, 20 * 365 * 86400 } do
    it(("waits as long when the wall clock is set by %d s meanwhile"):format(jump), function()
      local path = stores.directory()
      account.store = assert(require("fleet.store").file(path, { clock = clock.read }))
      local _, pending = begin()
      clock.wall = clock.wall + jump
      clock.advance(599)
      assert.is_true(login.authorize(account, callback(pending), pending))
      _, pending = begin()
      server.code = "good-code"
      clock.wall = clock.wall - jump
      clock.advance(600)
      assert.equal("state_used", select(2, login.authorize(account, callback(pending), pending)).reason)
      account.store:close()
      stores.remove(path)
    end)
  end

  it("says so when the store cannot keep the state", function()
    account.store = { put = function() return nil, core.err { kind = "store", message = "full" }, "store" end }
    assert.equal("store", select(3, login.authorize_url(account)))
  end)

  -- ---- the nonce ----

  local tokens_of_others = {
    { "another nonce", function() return accounts.jwt { nonce = "theirs" } end },
    { "no nonce", function() return accounts.jwt { sub = "x" } end },
    { "a nonce that is no text", function() return accounts.jwt { nonce = 1 } end },
    { "nothing that can be read", function() return "opaque" end },
  }
  for _, case in ipairs(tokens_of_others) do
    it("refuses an id_token with " .. case[1] .. ", and keeps no pair", function()
      local _, pending = begin()
      server.id_token = case[2]()
      local done, err, kind = login.authorize(account, callback(pending), pending)
      assert.is_nil(done)
      assert.equal("auth", kind)
      assert.equal("nonce", err.reason)
      assert.is_nil((store:get("token/home/user")))
      assert.is_false(tokens.holds(account, "user"))
    end)
  end

  it("has nothing to compare where there is no id_token or no nonce", function()
    local _, pending = begin()
    server.id_token = nil
    assert.is_true(login.authorize(account, callback(pending), pending))
    _, pending = begin { scopes = "vehicle_cmds" }
    server.code, server.id_token = "good-code", accounts.jwt { nonce = "theirs" }
    assert.is_true(login.authorize(account, callback(pending), pending))
  end)

  it("raises for mistakes", function()
    local _, pending = begin()
    assert.error_matches(function() login.authorize(account, nil, pending) end, "the callback address expected")
    assert.error_matches(function() login.authorize(account, "x") end, "the second result of authorize_url expected")
    assert.error_matches(function() login.authorize(account, "x", { state = 1 }) end, "the second result of authorize_url")
  end)

  -- ---- other addresses ----

  it("gives the address of the consent page", function()
    assert.equal("https://auth.example/user/revoke/consent?revoke_client_id=app&back_url=https%3A%2F%2Fapp.example%2F",
      login.consent_url(account, { back_url = "https://app.example/" }))
    assert.equal("https://auth.example/user/revoke/consent?revoke_client_id=app", login.consent_url(account))
  end)

  it("asks for further scopes beside those it has", function()
    local url, pending = login.add_scopes_url(account, { scopes = { "vehicle_location", "openid" } })
    assert.equal("openid offline_access vehicle_cmds vehicle_location", field(url, "scope"))
    assert.equal("true", field(url, "prompt_missing_scopes"))
    assert.equal(pending.state, field(url, "state"))
    assert.error_matches(function() login.add_scopes_url(account, {}) end, "must be a list of scopes")
  end)

  it("asks for all scopes of an owner where none are named, and takes a text", function()
    account.config.scopes = nil
    local function asked(options) return field(login.authorize_url(account, options), "scope") end
    assert.equal("openid offline_access user_data vehicle_device_data vehicle_location vehicle_cmds vehicle_charging_cmds " ..
      "energy_device_data energy_cmds", asked())
    assert.equal("openid vehicle_cmds", asked { scopes = "openid  vehicle_cmds" })
    assert.equal("vehicle_cmds brand_new_thing", asked { scopes = { "vehicle_cmds", "brand_new_thing" } })
  end)

  it("asks for openid with offline_access, without which no refresh token comes", function()
    local function asked(scopes) return field(login.authorize_url(account, { scopes = scopes }), "scope") end
    assert.equal("openid offline_access user_data", asked { "offline_access", "user_data" })
    assert.equal("offline_access openid", asked "offline_access openid")
    assert.equal("user_data", asked "user_data")
  end)

  it("gives the address for pairing, with and without a car", function()
    assert.equal("https://vendor.example/_ak/app.example", login.pairing_url(account, { domain = "app.example" }))
    assert.equal("https://vendor.example/_ak/a-1.app.example?vin=5YJ30123456789ABC",
      login.pairing_url(account, { domain = "a-1.app.example", vin = "5YJ30123456789ABC" }))
    local bad_domains = { "https://app.example", "App.example", "app", "app.example/x", "app..example", "-a.example", "", 1,
      "app.example.", "a b.example", "app.example?x" }
    for _, domain in ipairs(bad_domains) do
      assert.error_matches(function() login.pairing_url(account, { domain = domain }) end, "'domain' must be")
    end
    for _, vin in ipairs { "short", "5YJ3012345678IABC", "5YJ30123456789AB/" } do
      assert.error_matches(function() login.pairing_url(account, { domain = "app.example", vin = vin }) end, "'vin' is not a VIN")
    end
  end)
end)
