-- store_key: what a reader of the store sees, and what a wrong key does.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"
local signed_world = require "spec.support.fixtures.signed_world"
local stores = require "fleet.store"
local support = require "spec.support.fixtures.stores"
local seal = require "fleet.store.sealed"

local function is_sealed(value)
  return value:sub(1, #core.seal_mark) == core.seal_mark
end

local hex, other_hex = ("0123456789abcdef"):rep(4), ("fedcba9876543210"):rep(4)
local key, other_key = assert(core.store_key(hex)), assert(core.store_key(other_hex))
local TOKEN, SESSION = "token/default/user", "session/f/v/d"

describe("a sealed store", function()
  local inner, sealed

  before_each(function()
    inner = stores.memory()
    sealed = seal(inner, key)
  end)

  it("hides tokens, sessions and the proxy's answers from readers of the store, and nothing else", function()
    for _, name in ipairs { TOKEN, SESSION, "proxy/0a1b" } do
      assert(sealed:put(name, "the secret value", { durable = true }))
      local text = inner:get(name)
      assert.is_nil(text:find("secret", 1, true))
      assert.is_true(is_sealed(text))
      assert.equal("the secret value", (sealed:get(name)))
    end
    assert(sealed:put("region/default", "https://eu"))
    assert.equal("https://eu", (inner:get("region/default")))
  end)

  it("seals the same value differently each time", function()
    sealed:put(TOKEN, "v")
    local first = inner:get(TOKEN)
    sealed:put(TOKEN, "v")
    assert.not_equal(first, (inner:get(TOKEN)))
  end)

  it("reads a plain record and seals it at its next write", function()
    local generation = inner:put(TOKEN, "plain")
    assert.same({ "plain", generation }, { sealed:get(TOKEN) })
    assert.equal("plain", (inner:get(TOKEN)))
    assert(sealed:put(TOKEN, "next", { generation = generation }))
    assert.is_true(is_sealed((inner:get(TOKEN))))
  end)

  it("seals the other tokens of an account with the first, and those of no other account", function()
    local business, theirs = "token/default/business", "token/other/user"
    inner:put(business, "plain", { durable = true })
    inner:put(theirs, "plain", { durable = true })
    assert(sealed:put(TOKEN, "v", { durable = true }))
    assert.is_true(is_sealed((inner:get(business))))
    assert.equal("plain", (sealed:get(business)))
    assert.is_false(is_sealed((inner:get(theirs))))
    assert.equal("plain", (sealed:get(theirs)))
  end)

  it("refuses a plain token where the account's were sealed, in any process, and takes a new one", function()
    assert(sealed:put(TOKEN, "v", { durable = true }))
    for _, name in ipairs { TOKEN, "token/default/business" } do
      inner:put(name, "somebody else's", { durable = true })
      for _, store in ipairs { sealed, seal(inner, key) } do
        local value, err, kind = store:get(name)
        assert.is_nil(value)
        assert.equal("store", kind)
        assert.matches("are not sealed, though they were.*client:logout.*sign in again", err.message)
      end
      assert.is_true(sealed:delete(name))
      assert(sealed:put(name, "signed in", { durable = true }))
      assert.equal("signed in", (seal(inner, key):get(name)))
    end
    inner:put("token/other/user", "never sealed", { durable = true })
    assert.equal("never sealed", (sealed:get("token/other/user")))
    inner:put(SESSION, "plain")
    assert.equal("plain", (sealed:get(SESSION)))
  end)

  it("says of no account that all is sealed while a record could not be", function()
    local fails = true
    inner:put("token/default/business", "plain", { durable = true })
    local own = setmetatable({}, { __index = function(_, name)
      return function(_, at, ...)
        if name == "put" and at == "token/default/business" and fails then
          return nil, core.err { kind = "store", message = "full" }, "store"
        end
        return inner[name](inner, at, ...)
      end
    end })
    local store = seal(own, key)
    assert(store:put(TOKEN, "v", { durable = true }))
    assert.equal("plain", (store:get("token/default/business")))
    fails = false
    assert(store:put(TOKEN, "w", { durable = true }))
    assert.is_true(is_sealed((inner:get("token/default/business"))))
  end)

  it("is opened by any form of the same key", function()
    sealed:put(TOKEN, "v")
    local bytes = hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
    local url = core.base64(bytes):gsub("%+", "-"):gsub("/", "_"):gsub("=", "")
    local path = os.tmpname()
    os.execute("chmod 600 " .. path)
    for _, text in ipairs { hex:upper(), url, "@" .. path } do
      files.write(path, hex .. "\n")
      assert.equal("v", (seal(inner, assert(core.store_key(text))):get(TOKEN)))
    end
    os.remove(path)
  end)

  -- Each may try to write over a record that it cannot open.
  local strangers = {
    { "with another key", function() return seal(inner, other_key) end, "another store_key" },
    { "without a key", function() return seal(inner, nil) end, "give the store_key" },
  }
  for _, stranger in ipairs(strangers) do
    it("overwrites nothing " .. stranger[1] .. ", and says what to do", function()
      sealed:put(TOKEN, "v")
      local text = inner:get(TOKEN)
      local store = stranger[2]()
      local calls = {
        function() return store:get(TOKEN) end,
        function() return store:put(TOKEN, "w") end,
        function() return store:put(TOKEN, "w", { durable = true, lease = assert(store:lease(TOKEN, 60)) }) end,
        function() return store:delete(TOKEN) end,
      }
      for _, call in ipairs(calls) do
        local done, err, kind = call()
        assert.is_nil(done)
        assert.equal("store", kind)
        assert.matches(stranger[3], err.message)
        assert.equal(text, (inner:get(TOKEN)))
      end
      assert.equal("v", (sealed:get(TOKEN)))
    end)
  end

  it("looks again under a new lease, before it writes over what others may have sealed", function()
    assert(sealed:put(TOKEN, "v"))
    seal(inner, other_key):delete(TOKEN)
    inner:delete(TOKEN)
    assert(seal(inner, other_key):put(TOKEN, "theirs"))
    local lease = assert(sealed:lease(TOKEN, 60))
    assert.equal("store", select(3, sealed:put(TOKEN, "mine", { lease = lease })))
    assert.equal("theirs", (seal(inner, other_key):get(TOKEN)))
  end)

  it("refuses a value that was moved to another key, cut or changed", function()
    sealed:put(TOKEN, "v")
    local text = inner:get(TOKEN)
    inner:put(SESSION, text)
    assert.matches("moved here", select(2, sealed:get(SESSION)).message)
    for at = 16, #text do
      inner:put(TOKEN, text:sub(1, at - 1) .. string.char((text:byte(at) + 1) % 256) .. text:sub(at + 1))
      assert.equal("store", select(3, seal(inner, key):get(TOKEN)))
    end
    for size = 15, #text - 1 do
      inner:put(TOKEN, text:sub(1, size))
      assert.equal("store", select(3, seal(inner, key):get(TOKEN)))
    end
  end)

  it("holds an empty value and one of every byte", function()
    local every = {}
    for byte = 0, 255 do every[#every + 1] = string.char(byte) end
    for _, value in ipairs { "", table.concat(every) } do
      sealed:put(TOKEN, value)
      assert.equal(value, (sealed:get(TOKEN)))
    end
  end)
end)

describe("the option store_key", function()
  for _, text in ipairs { "", "short", hex .. "0", hex:sub(2), "g" .. hex:sub(2), ("A"):rep(42), ("A"):rep(44) } do
    it(("refuses %q"):format(text), function()
      assert.error_matches(function() fleet.new { token = "t", store_key = text } end, "must be 32 bytes")
    end)
  end

  it("requires a file that only its owner can read, and says what is wrong with it", function()
    local path = os.tmpname()
    files.write(path, hex)
    os.execute("chmod 644 " .. path)
    local client, err = fleet.new { token = "t", store_key = "@" .. path }
    assert.is_nil(client)
    assert.matches("chmod 600", err.message)
    fleet.new({ token = "t", store_key = "@" .. path, insecure_key_mode = true }):close()
    os.execute("chmod 600 " .. path)
    files.write(path, "nothing")
    assert.matches("must be 32 bytes", select(2, fleet.new { token = "t", store_key = "@" .. path }).message)
    os.remove(path)
    local none, missing, kind = fleet.new { token = "t", store_key = "@" .. path }
    assert.is_nil(none)
    assert.equal("store", kind)
    assert.matches("No such file", missing.message)
  end)

  local function signed_in(store, store_key)
    return fleet.new {
      client_id = "app", redirect_uri = "https://x.example/cb", base_url = "https://base.example", store = store,
      store_key = store_key, http = function(request)
        if not request.url:find("/token", 1, true) then return seam.answer '{"response":{"email":"a@b.c"}}' end
        return seam.answer '{"access_token":"access-1","refresh_token":"refresh-1","expires_in":28800,"token_type":"Bearer"}'
      end,
    }
  end

  it("seals the tokens of a client, with any store", function()
    local path = support.directory()
    for _, store in ipairs { stores.memory(), assert(stores.file(path)), support.own(stores.memory()) } do
      local client = signed_in(store, hex)
      local _, pending = client:authorize_url {}
      assert(client:authorize("https://x.example/cb?code=c&state=" .. pending.state, pending))
      local text = store:get(TOKEN)
      assert.is_true(is_sealed(text))
      assert.is_nil(text:find("refresh-1", 1, true))
      client:close()
      assert.is_truthy(client and signed_in(store, hex).user:me())
      local stranger = signed_in(store, other_hex)
      local me, err, kind = stranger.user:me()
      assert.is_nil(me)
      assert.equal("store", kind)
      assert.matches("store_key", err.message)
      local done, _, refused = stranger:refresh()
      assert.is_nil(done)
      assert.equal("store", refused)
      assert.equal(text, (store:get(TOKEN)))
    end
    os.execute("rm -r " .. path)
  end)

  it("seals the sessions with vehicles", function()
    local world = signed_world.new()
    local store = stores.memory()
    local client = world:client { store = store, store_key = hex }
    assert(client:vehicle(world.VIN):honk_horn())
    local name = "session/" .. world.keys[1]:fingerprint() .. "/" .. world.VIN .. "/infotainment"
    assert.is_true(is_sealed((store:get(name))))
    client:close()
    local stranger = world:client { store = store, store_key = other_hex }
    local text = store:get(name)
    assert.is_truthy(stranger:vehicle(world.VIN):honk_horn()) -- with a session of its own
    stranger:close()
    assert.equal(text, (store:get(name)))
  end)
end)
