local core = require "fleet.core"
local cjson = require("cjson").new()
local probe = require "probe_signing"
local signing = require "spec.support.fixtures.signing"

local function flipped(byte) -- its lowest bit
  return byte % 2 == 0 and byte + 1 or byte - 1
end
local unhex, hex = signing.unhex, signing.hex
local jws = signing.vectors("protocol").jws

local function tidy(value)
  if type(value) == "number" then return math.tointeger(value) or value end
  if type(value) ~= "table" then return value end
  local out = {}
  for k, v in pairs(value) do out[k] = tidy(v) end
  return out
end

local function claims_text(token)
  local text = token:match("%.([^.]*)%."):gsub("-", "+"):gsub("_", "/")
  return core.unbase64(text .. ("="):rep(-#text % 4))
end

describe("the nonce of RFC 6979", function()
  for _, v in ipairs(jws.rfc6979) do
    it("is that of " .. v.name, function()
      assert.equal(v.k, hex(probe.nonce(unhex(v.scalar), unhex(v.digest))))
    end)
  end
end)

describe("a Schnorr signature", function()
  it("is that of the vectors, and verifies with their public key only", function()
    for i, v in ipairs(jws.schnorr_raw) do
      local message, public, signature = unhex(v.message), unhex(v.public), unhex(v.signature)
      assert.equal(v.signature, hex(probe.schnorr(unhex(v.private), message)))
      assert.is_true(probe.schnorr_verify(message, public, signature))
      assert.is_false(probe.schnorr_verify(message .. "x", public, signature))
      assert.is_false(probe.schnorr_verify(message, unhex(jws.schnorr_raw[i % 2 + 1].public), signature) and i == 1)
    end
  end)

  it("is refused with any bit changed", function()
    local v = jws.schnorr_raw[1]
    local signature = unhex(v.signature)
    for i = 1, #signature do
      local broken = signature:sub(1, i - 1) .. string.char(flipped(signature:byte(i))) .. signature:sub(i + 1)
      assert.is_false(probe.schnorr_verify(unhex(v.message), unhex(v.public), broken))
    end
  end)

  it("is refused when its number is not below the order", function()
    local v = jws.schnorr_raw[1]
    local order = unhex "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
    assert.is_false(probe.schnorr_verify(unhex(v.message), unhex(v.public), unhex(v.signature):sub(1, 64) .. order))
  end)
end)

describe("key:jws", function()
  for _, v in ipairs(jws.sign) do
    it("makes the token of " .. v.name, function()
      assert.equal(v.signature, hex(probe.schnorr(unhex(v.private), v.signing_input)))
      local key = assert(core.key.load(v.private_pem))
      local own = key:jws(tidy(v.claims_in), { vin = v["for"].vin ~= "" and v["for"].vin or nil, app = v["for"].app })
      -- one entry holds a number beyond 64 bits, a null and an empty list, which Lua tables say in other words
      if v.name ~= "unicode_and_html_characters" then
        assert.same(cjson.decode(v.payload), cjson.decode(claims_text(own)))
        assert.equal(v.header, core.unbase64(own:match("^[^.]*")))
        assert.equal(v.payload, claims_text(own))
        assert.equal(v.token, own)
      end
      assert.is_table(core.jws_verify(own, unhex(v.public)))
      assert.is_table(core.jws_verify(v.token, unhex(v.public)))
    end)
  end

  it("is the same for the same claims", function()
    local key = core.key.generate()
    assert.equal(key:jws { a = 1 }, key:jws { a = 1 })
  end)

  it("writes empty lists where the configuration has lists", function()
    local token = core.key.generate():jws { alert_types = {}, fields = {} }
    assert.matches('"alert_types":%[%]', claims_text(token))
    assert.matches('"fields":{}', claims_text(token))
  end)

  it("leaves the caller's table alone", function()
    local claims = { iss = "mine", aud = "mine" }
    core.key.generate():jws(claims)
    assert.same({ iss = "mine", aud = "mine" }, claims)
  end)

  it("raises for an invalid audience", function()
    local key = core.key.generate()
    assert.is_string(key:jws({}, { vin = "5YJ30123456789ABC" }))
    for _, bad in ipairs { { vin = "short" }, { app = "a.b" }, { app = "" }, { application = "x" }, { vin = 5 } } do
      assert.has_error(function() key:jws({}, bad) end)
    end
    assert.has_error(function() key:jws("claims") end)
  end)
end)

describe("fleet.jws_verify", function()
  for _, v in ipairs(jws.verify) do
    it((v.valid and "accepts " or "refuses ") .. v.name, function()
      local claims, err, kind = core.jws_verify(v.token, unhex(v.public))
      assert.equal(v.valid, claims ~= nil)
      if not v.valid then
        assert.equal("protocol", kind)
        assert.is_true(#err.message > 0)
      end
    end)
  end

  it("gives the claims", function()
    local key = core.key.generate()
    local claims = assert(core.jws_verify(key:jws { port = 443, hostname = "t.example.com" }, key:public_bytes()))
    assert.equal(443, claims.port)
    assert.equal("com.tesla.fleet.TelemetryClient", claims.aud)
    assert.equal(core.base64(key:public_bytes()), claims.iss)
  end)

  it("refuses what is no token", function()
    local public = core.key.generate():public_bytes()
    for _, bad in ipairs { "", ".", "..", "...", "a.b.c", "a.b.c.d", "é.é.é", ("A"):rep(1000) } do
      assert.is_nil((core.jws_verify(bad, public)))
    end
  end)
end)
