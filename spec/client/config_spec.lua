-- The options of fleet.new, and the file of fleet.from_config.

local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local seam = require "spec.support.fixtures.host_http"

local function refuses(pattern, options)
  assert.error_matches(function() fleet.new(options) end, "^fleet.new: .*" .. pattern)
end

-- The address that a client of these options asks first.
local function asked(options)
  local request
  options.token = options.token or "a-token"
  options.http = function(r)
    request = r
    return seam.answer "{}"
  end
  fleet.new(options):products()
  return request.url
end

describe("options", function()
  it("are checked by name, type and value", function()
    refuses("unknown option 'acount', did you mean 'account'?", { acount = "x" })
    refuses("unknown option '1'", { "x" })
    refuses("a table of options is needed, got string", "x")
    for _, row in ipairs(core.options()) do
      refuses("option '" .. row.name .. "'", { [row.name] = row.type == "boolean" and "x" or true })
    end
  end)

  local wrong = {
    { "timeout", 0, "got" }, { "timeout", -1, "got" }, { "timeout", 0 / 0, "got" }, { "timeout", math.huge, "got" },
    { "timeout", "30", "must be a number, got string" }, { "max_response", 1.5, "whole number" }, { "max_response", 0, "got" },
    { "region", "ue", "did you mean 'eu'?" }, { "region", "mars", "one of 'na', 'eu', 'cn'" },
    { "commands", "sined", "did you mean 'signed'?" },
    { "vendor", "acme", "one of 'tesla'" }, { "log", "x", "must be a function" }, { "http", {}, "must be a function" },
    { "budgets", { usd_per_moth = 10 }, "did you mean 'usd_per_month'?" }, { "budgets", { usd_per_month = "10" }, "dollars from 0 on" },
    { "budgets", { usd_per_day = -1 }, "dollars from 0 on" }, { "budgets", { per_day = 5 }, "'budgets.per_day' must be a table" },
    { "budgets", { per_vehicle_day = { wakes = 5 } }, "did you mean 'wake'?" }, { "budgets", { 5 }, "unknown member of 'budgets'" },
    { "budgets", { per_day = { data = 0 / 0 } }, "'data' must be a number from 0 on" }, { "budgets", 5, "must be a table" },
    { "pacing", { command = 0 }, "'command' must be a number from 1 on" }, { "pacing", { free = 5 }, "unknown class of 'pacing'" },
    { "prices", { data = "x" }, "'data' must be a number" }, { "metrics", {}, "must be a function" }, { "audit", {}, "must be a function" },
    { "scopes", 5, "must be a list" }, { "scopes", { 5 }, "list of strings" }, { "scopes", { "a b" }, "list of strings" },
    { "scopes", "openid vehicle_cmd", "did you mean 'vehicle_cmds'" },
    { "hosts", { "a\nb" }, "control characters" }, { "token", "a\r\nX: y", "control characters" },
    { "token", "a\0b", "control characters" },
    { "user_agent", "x\r\ny", "control characters" }, { "client_id", "\n", "control characters" },
    { "account", "a\0", "control characters" },
    { "store", 5, "must be a string" }, { "insecure_http", "yes", "must be a boolean" }, { "proxy", "http://p\r\nx", "control characters" },
  }
  for i, case in ipairs(wrong) do
    it(("refuse %d: %s"):format(i, case[1]), function() refuses(case[3], { [case[1]] = case[2] }) end)
  end

  it("take scopes as a text with blanks between them, too", function()
    local client = fleet.new { scopes = "openid vehicle_cmds" }
    assert.same({ "openid", "vehicle_cmds" }, require("fleet.core").context(client).config.scopes)
  end)

  it("never show a secret when they are refused", function()
    for _, name in ipairs { "token", "client_secret", "store_key" } do
      local ok, message = pcall(fleet.new, { [name] = "canary\n" })
      assert.is_false(ok)
      assert.is_nil(message:find("canary", 1, true))
    end
  end)

  it("are copied: the caller's table is neither kept nor changed", function()
    local options = { token = "a-token", base_url = "https://one.example/", http = function() return seam.answer "[]" end }
    local client = fleet.new(options)
    assert.equal("https://one.example/", options.base_url)
    options.http = function() error("asked") end
    assert(client:products())
    assert.is_nil(options.timeout)
  end)

  it("may be left out altogether: no file and no network is touched", function()
    assert.equal("fleet.client", tostring(fleet.new()))
    assert.equal("fleet.client", tostring(fleet.new {}))
  end)

  it("take a store as an object, and refuse what is none", function()
    local store = fleet.store.memory()
    local client = fleet.new { token = "a-token", store = store }
    client:close()
    assert(store:get("x") == nil)
    assert.error_matches(function() fleet.new { store = {} } end, "it has no function 'get'")
  end)
end)

describe("the region", function()
  it("gives the address", function()
    local hosts = {}
    for _, vendor in ipairs(core.vendors()) do
      for _, region in ipairs(vendor.regions) do hosts[region.name] = region.base_url end
    end
    for name, base in pairs(hosts) do assert.equal(base .. "/api/1/products", asked { region = name }) end
    assert.equal(hosts.na .. "/api/1/products", asked {})
  end)
end)

describe("an address", function()
  local good = {
    { "https://a.example", "https://a.example" }, { "https://a.example/", "https://a.example" },
    { "https://a.example:8443", "https://a.example:8443" }, { "https://a.example/x/y/", "https://a.example/x/y" },
    { "http://127.0.0.1:8080", "http://127.0.0.1:8080" }, { "http://localhost", "http://localhost" },
    { "http://[::1]:99", "http://[::1]:99" }, { "http://127.3.2.1/x", "http://127.3.2.1/x" },
    { "http+unix:/run/x.sock", "http://localhost" },
  }
  for _, case in ipairs(good) do
    it("is taken: " .. case[1], function() assert.equal(case[2] .. "/api/1/products", asked { base_url = case[1] }) end)
  end

  local bad = {
    "http://a.example", "http://127.0.0.1.evil.example", "http://localhost.evil.example", "http://localhost@evil.example",
    "http://127.0.0.1:80@evil.example", "http://evil.example#127.0.0.1", "http://evil.example/127.0.0.1", "ftp://a.example", "a.example",
    "", "https://", "https://user:pw@a.example", "https://a.example?x", "https://a.example/#x", "https://a.example/%2e", "https://a b",
    "https://a.example:x", "http+unix:relative", "http+unix:", "http://2130706433", "HTTPS://a.example", "https://a.example\\x",
    "http://[::2]",
  }
  for _, text in ipairs(bad) do
    it("is refused: " .. text, function()
      for _, name in ipairs { "base_url", "auth_url", "token_url" } do refuses("option '" .. name .. "'", { [name] = text }) end
    end)
  end

  it("without encryption is taken beyond this machine only by an explicit word", function()
    assert.equal("http://a.example/api/1/products", asked { base_url = "http://a.example", insecure_http = true })
    refuses("insecure_http = true", { base_url = "http://a.example" })
  end)
end)

describe("a token call", function()
  local vendor = core.vendors()[1]

  -- Where a partner login of these options goes, and the audience that it names.
  local function login(options)
    local request
    options.client_id, options.client_secret = "app", "s"
    options.http = function(r)
      request = r
      return seam.answer '{"access_token":"t","expires_in":300}'
    end
    assert(fleet.new(options):partner_login())
    return (request.url:gsub("/oauth2/v3/token$", "")), (request.body:match("audience=([^&]+)"):gsub("%%3A", ":"):gsub("%%2F", "/"))
  end

  it("of an application with a secret goes to the token host, whatever address people sign in at", function()
    for _, region in ipairs(vendor.regions) do
      assert.equal(region.token_url, (login { region = region.name, auth_url = "https://sign-in.example" }))
    end
    assert.equal("https://own.example", (login { auth_url = "https://sign-in.example", token_url = "https://own.example" }))
  end)

  it("names the service as the audience, not the socket through which it is reached", function()
    for _, region in ipairs(vendor.regions) do
      local _, audience = login { region = region.name, base_url = "http+unix:/run/x.sock" }
      assert.equal(region.base_url, audience)
    end
    assert.equal("https://own.example", select(2, login { base_url = "https://own.example" }))
  end)
end)

describe("a configuration file", function()
  local directory
  setup(function() directory = process.temporary("config") end)
  teardown(function() process.execute("rm -rf " .. process.quote(directory)) end)

  local function write(text)
    local path = directory .. "/config.json"
    local file = io.open(path, "w")
    file:write(text)
    file:close()
    process.execute("chmod 600 " .. process.quote(path))
    return path
  end

  it("is JSON: data, never code", function()
    local client = assert(fleet.from_config(write '{"token":"a-token","region":"eu","timeout":5}'))
    assert.equal("fleet.client", tostring(client))
    for _, text in ipairs { "return { token = 'x' }", "os.exit()", "", "{", "[1", "nope" } do
      local value, err, kind = fleet.from_config(write(text))
      assert.is_nil(value)
      assert.equal(kind, err.kind)
    end
  end)

  it("that is no JSON is named with the line, and not called a reply", function()
    local path = write '{\n  "token": "a-token",\n  "region" "eu"\n}'
    local _, err, kind = fleet.from_config(path)
    assert.equal("invalid", kind)
    assert.equal(path .. ":3: ", string.sub(err.message, 1, #path + 4))
    assert.matches("this is not JSON: expected ':'$", err.message)
    assert.is_nil(string.find(err.message, "reply", 1, true))
    assert.is_nil(string.find(err.message, "a-token", 1, true))
  end)

  it("that others may read is refused where it holds a secret", function()
    local secrets = { '{"client_secret":"s","region":"eu"}', '{"token":"s"}' }
    for _, text in ipairs(secrets) do
      local path = write(text)
      process.execute("chmod 644 " .. process.quote(path))
      local value, err, kind = fleet.from_config(path)
      assert.same({ nil, "store" }, { value, kind })
      assert.matches("holds a secret and can be read by others: chmod 600 " .. path, err.message, 1, true)
      process.execute("chmod 600 " .. process.quote(path))
      assert(fleet.from_config(path)):close()
    end
    local path = write '{"region":"eu"}'
    process.execute("chmod 644 " .. process.quote(path))
    assert(fleet.from_config(path)):close()
  end)

  it("that others may write is refused: it says where tokens are sent", function()
    for _, mode in ipairs { "620", "602", "666" } do
      local path = write '{"region":"eu"}'
      process.execute("chmod " .. mode .. " " .. process.quote(path))
      local _, err, kind = fleet.from_config(path)
      assert.equal("store", kind)
      assert.matches("can be written by others: chmod 600 " .. path, err.message, 1, true)
    end
  end)

  it("may be a symbolic link to a file of yours", function()
    local path = write '{"token":"a-token"}'
    local link = directory .. "/link.json"
    process.execute("ln -sf " .. process.quote(path) .. " " .. process.quote(link))
    assert(fleet.from_config(link)):close()
  end)

  -- What another process makes of the file and of variables.
  local function elsewhere(variables, path)
    local code = [[
      local fleet, core = require "fleet", require "fleet.core"
      local client, err = fleet.from_config(%s)
      if not client then io.write(err.kind, ": ", err.message) os.exit() end
      local config = core.context(client).config
      io.write(tostring(config.region), " ", tostring(config.token), " ", tostring(config.timeout), " ", tostring(config.base_url))
    ]]
    local home = "XDG_CONFIG_HOME=" .. process.quote(directory .. "/none") .. " "
    local pipe = io.popen("unset FLEET_BASE_URL FLEET_TOKEN FLEET_REGION FLEET_TIMEOUT; " .. home .. variables .. " " .. process.lua ..
      " -e " .. process.quote(code:format(path and string.format("%q", path) or "")) .. " 2>&1")
    local text = pipe:read "a"
    pipe:close()
    return text
  end

  it("comes after the variables, as on the command line", function()
    local path = write '{"token":"a-token","region":"eu","timeout":5}'
    assert.equal("eu a-token 5 nil", elsewhere("", path))
    local three = "FLEET_TOKEN=other FLEET_TIMEOUT=7.5 FLEET_BASE_URL=http://127.0.0.1:1"
    assert.equal("eu other 7.5 http://127.0.0.1:1", elsewhere(three, path))
    assert.equal("eu a-token 5 nil", elsewhere("FLEET_TOKEN=", path))
  end)

  it("may be absent where variables are set, unless it is named", function()
    assert.equal("na other 30 http://127.0.0.1:1", elsewhere "FLEET_TOKEN=other FLEET_BASE_URL=http://127.0.0.1:1")
    assert.matches("^store: no configuration", elsewhere "")
    assert.matches("^store: no configuration", elsewhere("FLEET_TOKEN=other", directory .. "/nothing.json"))
    assert.equal("invalid: from_config: FLEET_TIMEOUT must be a number, got 'soon'", elsewhere "FLEET_TOKEN=other FLEET_TIMEOUT=soon")
  end)

  it("that is missing says what to do", function()
    local value, err, kind = fleet.from_config(directory .. "/nothing.json")
    assert.is_nil(value)
    assert.equal("store", kind)
    assert.matches("fleet setup", err.message)
  end)

  it("with a wrong option names it", function()
    assert.error_matches(function() fleet.from_config(write '{"regoin":"eu"}') end, "did you mean 'region'?")
    assert.error_matches(function() fleet.from_config(write "5") end, "a table of options is needed")
    assert.error_matches(function() fleet.from_config(write '{"http":"x"}') end, "'http' must be a function")
  end)

  it("is where XDG says, else below HOME", function()
    local text = [[
      io.write(require("fleet.client.config_file").path())
    ]]
    local function path(environment)
      local pipe = io.popen("env " .. environment .. " " .. process.lua .. " -e " .. process.quote(text))
      local out = pipe:read("a")
      pipe:close()
      return out
    end
    assert.equal("/x/fleet/config.json", path "XDG_CONFIG_HOME=/x HOME=/h")
    assert.equal("/h/.config/fleet/config.json", path "XDG_CONFIG_HOME= HOME=/h")
    assert.equal("/h/.config/fleet/config.json", path "-u XDG_CONFIG_HOME HOME=/h")
  end)
end)
