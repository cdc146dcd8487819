-- Which region an account lives in: hints, the search, what is remembered.

local accounts = require "spec.support.fixtures.accounts"
local core = require "fleet.core"
local fleet = require "fleet"

local vendor = core.vendors()[1]
local base = {}
for _, row in ipairs(vendor.regions) do base[row.name] = row.base_url end

describe("a token's hint", function()
  local cases = {
    { "its audience where it names one base address", { aud = { base.eu, "https://auth.example/userinfo" } }, nil, "eu" },
    { "its audience as text, with a slash", { aud = base.eu .. "/" }, nil, "eu" },
    { "its region among several audiences", { aud = { base.na, base.eu }, ou_code = "EU" }, nil, "eu" },
    { "its ou_code", { ou_code = "EU" }, nil, "eu" },
    { "an ou_code that no row knows, as it is", { ou_code = "MOON" }, nil, "moon" },
    { "the beginning of the refresh token", {}, "EU_abc", "eu" },
    { "the ou_code before the refresh token", { ou_code = "NA" }, "EU_abc", "na" },
    { "nothing where several audiences are named alone", { aud = { base.na, base.eu } }, nil, nil },
    { "nothing where nothing is said", {}, "abc", nil },
    { "nothing where claims have other types", { aud = 5, ou_code = {} }, nil, nil },
    { "nothing for a foreign audience", { aud = { "https://evil.example" } }, nil, nil },
  }
  for _, case in ipairs(cases) do
    it("is " .. case[1], function() assert.equal(case[4], core.region_hint(vendor.name, case[2], case[3])) end)
  end
end)

-- ---- the search ----

local function token(claims)
  return accounts.jwt(claims or {})
end

-- answers: base address → body of users/region, or a status. Returns client, addresses asked in order.
local function client(answers, options)
  local asked = {}
  options = options or {}
  local given = { token = token(options.claims), region = options.region, base_url = options.base_url, store = options.store }
  given.http = function(request)
    local host, path = string.match(request.url, "^(https?://[^/]+)(.*)$")
    assert.equal("/api/1/users/region", path)
    asked[#asked + 1] = host
    local answer = answers[host] or 412
    if type(answer) == "table" then return answer end
    if type(answer) == "string" then return { status = 200, headers = {}, body = answer } end
    return { status = answer, headers = {}, body = '{"error":"Account 1 must be registered in the current region ' .. host .. '"}' }
  end
  return fleet.new(given), asked
end

local function lives(name)
  return core.json_encode { response = { region = name, fleet_api_base_url = base[name] } }
end

local function moved(name)
  return { status = 421, headers = {}, body = '{"error":"user out of region, use base URL: ' .. base[name] .. ', see https://docs"}' }
end

describe("the search for the region", function()
  it("asks where the token hints at first, and no other when that is right", function()
    local c, asked = client({ [base.eu] = lives "eu" }, { claims = { ou_code = "EU" } })
    assert.same({ region = "eu", base_url = base.eu }, c:discover_region())
    assert.same({ base.eu }, asked)
  end)

  it("continues after a 412", function()
    local c, asked = client { [base.na] = 412, [base.eu] = lives "eu" }
    assert.same({ region = "eu", base_url = base.eu }, c:discover_region())
    assert.same({ base.na, base.eu }, asked)
  end)

  it("continues after any other failure, too", function()
    local c = client { [base.na] = 500, [base.eu] = lives "eu" }
    assert.equal(base.eu, c:discover_region().base_url)
  end)

  it("follows a 421, and what users/region says", function()
    local c, asked = client { [base.na] = moved "eu", [base.eu] = lives "eu" }
    assert.equal(base.eu, c:discover_region().base_url)
    assert.same({ base.na, base.eu }, asked)
    c, asked = client { [base.na] = lives "eu", [base.eu] = lives "eu" }
    assert.equal(base.eu, c:discover_region().base_url)
    assert.same({ base.na, base.eu }, asked)
  end)

  it("keeps the address for this client and for the next process", function()
    local store = fleet.store.memory()
    local c = client({ [base.eu] = lives "eu" }, { store = store })
    assert(c:discover_region())
    assert.equal(base.eu, core.context(c).base_url)
    assert.equal(base.eu, (store:get "region/default"))
    local later = client({}, { store = store })
    assert.equal(base.eu, core.context(later).base_url)
  end)

  it("does not leave the sign-in: other regions of the same authorization server only", function()
    local c, asked = client { [base.cn] = lives "cn" }
    assert.is_nil((c:discover_region()))
    assert.same({ base.na, base.eu }, asked)
    c, asked = client({}, { region = "cn" })
    assert.is_nil((c:discover_region()))
    assert.same({ base.cn }, asked)
  end)

  it("trusts no host that is not the service's, whatever its source", function()
    local evil = '{"response":{"region":"eu","fleet_api_base_url":"https://evil.example"}}'
    local c, asked = client { [base.na] = evil }
    assert.same({ region = "eu", base_url = base.na }, c:discover_region())
    assert.same({ base.na }, asked)
  end)

  it("says in which region to register", function()
    local function refused(answers, options, words)
      local found, err, kind = client(answers, options):discover_region()
      assert.is_nil(found)
      assert.equal("unregistered", kind)
      assert.equal(412, err.status)
      assert.is_truthy(string.find(err.message, words, 1, true), err.message)
      assert.is_truthy(string.find(err.message, "fleet setup", 1, true), err.message)
    end
    refused({}, nil, "one of na, eu")
    refused({}, { claims = { ou_code = "EU" } }, "in region eu, where the account lives")
    refused({ [base.na] = lives "eu", [base.eu] = 412 }, nil, "in region eu, where the account lives")
    refused({ [base.na] = 500, [base.eu] = 412 }, nil, "one of eu")
  end)

  it("gives the first failure where none asked for a registration", function()
    local found, err, kind = client({ [base.na] = 500, [base.eu] = 403 }):discover_region()
    assert.is_nil(found)
    assert.same({ "service", 500 }, { kind, err.status })
  end)

  it("ends where regions send the account to each other", function()
    local c, asked = client { [base.na] = lives "eu", [base.eu] = lives "na" }
    assert.equal("region", select(3, c:discover_region()))
    assert.equal(2, #asked)
  end)

  it("asks only the address that the caller gave", function()
    local c, asked = client({ ["https://own.example"] = lives "eu" }, { base_url = "https://own.example" })
    assert.equal("https://own.example", c:discover_region().base_url)
    assert.same({ "https://own.example" }, asked)
  end)

  it("needs a sign-in", function()
    local none = fleet.new { client_id = "app", http = function() error("nothing may be sent") end }
    assert.equal("auth", select(3, none:discover_region()))
  end)
end)

describe("a 412", function()
  it("of any call says which region it was", function()
    local body = '{"error":"must be registered in the current region"}'
    local c = fleet.new { token = "t", region = "eu", http = function() return { status = 412, headers = {}, body = body } end }
    local _, err, kind = c.user:me()
    assert.equal("unregistered", kind)
    assert.is_truthy(string.find(err.message, "(region eu, " .. base.eu .. ")", 1, true), err.message)
  end)
end)

describe("signing in", function()
  local function signed_in(more, claims)
    local options = {
      client_id = "app", client_secret = "s", redirect_uri = "https://app.example/back", scopes = { "vehicle_cmds" },
      http = function()
        return { status = 200, headers = {}, body = core.json_encode { access_token = token(claims), refresh_token = "x", expires_in = 9 } }
      end,
    }
    for name, value in pairs(more) do options[name] = value end
    local c = fleet.new(options)
    local _, pending = c:authorize_url()
    assert(c:authorize("code-1", pending))
    return core.context(c).base_url
  end

  it("starts in the region that the token hints at", function()
    assert.equal(base.eu, signed_in({}, { ou_code = "EU" }))
    assert.equal(base.na, signed_in({}, { ou_code = "MOON" }))
    assert.equal(base.na, signed_in({}, {}))
  end)

  it("leaves alone what the caller chose, and another sign-in's region", function()
    assert.equal(base.na, signed_in({ region = "na" }, { ou_code = "EU" }))
    assert.equal("https://own.example", signed_in({ base_url = "https://own.example" }, { ou_code = "EU" }))
    assert.equal(base.na, signed_in({}, { ou_code = "CN" }))
  end)
end)
