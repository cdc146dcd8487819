-- Secrets never leave in an error, a log event or a printed object (rule R4). Every secret of every call is a
-- canary; the service echoes all that it received in every text it can answer with; then everything a program
-- may show is searched.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local recorder = require "spec.support.servers.recorder"

require "spec.support.harness.quick"(fleet)

local vin = "5YJ3E1EA7KF000001"
local server, events

setup(function() server = recorder.start() end)
before_each(function() events = {} end)
teardown(function() server:stop() end)

-- ---- the search ----

local function forms(canary)
  local percent = string.gsub(canary, "[^%w%-%._~]",
    function(c) return string.format("%%%02X", string.byte(c)) end)
  return { canary, percent, (string.gsub(canary, "/", "\\/")) }
end

-- A part long enough to be of use counts: texts are cut.
local function shows(text, canary)
  for _, form in ipairs(forms(canary)) do
    if string.find(text, string.sub(form, 1, math.max(4, math.floor(#form / 2))), 1, true) then return true end
  end
  return #canary == 4 and string.sub(text, -3) == string.sub(canary, 1, 3)
end

local function search(value, canaries, where, seen)
  if type(value) == "table" then
    seen = seen or {}
    if seen[value] then return end
    seen[value] = true
    for key, item in pairs(value) do
      search(key, canaries, where, seen)
      search(item, canaries, where .. "." .. tostring(key), seen)
    end
    local shown = getmetatable(value) and getmetatable(value).__tostring -- an address may hold any four digits
    if shown then search(shown(value), canaries, where, seen) end
  elseif type(value) == "string" then
    for name, canary in pairs(canaries) do
      assert.is_false(shows(value, canary), where .. " shows " .. name .. ": " .. value)
    end
  end
end

-- What a call showed: its err, and every event of the log.
local function look(canaries, where, _, err)
  search(err, canaries, where .. " err")
  search(tostring(err), canaries, where .. " tostring(err)")
  search(events, canaries, where .. " log")
end

-- ---- canaries ----

-- Four digits that the server's port and the VIN do not hold.
local function pin()
  for _, digits in ipairs { "7391", "6283", "9174" } do
    if not string.find(server.url .. vin, digits, 1, true) then return digits end
  end
end

local values = { pin = pin, password = pin,
  token = function() return "canary.jws/token+" .. string.rep("q", 30) end,
  code = function() return "canary-code+with=signs" end }

local token = "NA_canary/access+token==." .. string.rep("z", 40)

local function new_client(more)
  local options = more or {}
  options.base_url, options.auth_url, options.token_url = server.url, server.url, server.url
  options.log = function(event) events[#events + 1] = event end
  return fleet.new(options)
end

local function handles_of(client)
  return { client = client, partner = client.partner, user = client.user, charging = client.charging,
    vehicle = client:vehicle(vin), site = client:energy_site("1") }
end

-- ---- every row ----

local rows = {}
for _, set in ipairs { core.endpoints(), core.commands() } do
  for _, row in ipairs(set) do rows[#rows + 1] = row end
end

local function holds_secret(row)
  for _, param in ipairs(row.params) do
    if param.secret or param.pin then return true end
  end
end

local function arguments_of(row, canaries)
  local arguments = table.pack(load("return " .. row.example)())
  if row.name == "charging.invoice" then arguments[2] = nil end -- no file
  for _, param in ipairs(row.params) do
    if param.secret or param.pin then
      local value = assert(values[param.name], "no canary for " .. param.name)()
      canaries[param.name] = value
      arguments[arguments.n][param.name] = value
    end
  end
  return arguments
end

local function call(handles, row, canaries)
  local arguments = arguments_of(row, canaries)
  if row.name == "create_fleet_telemetry_config" then -- the sample's certificate is none
    arguments[arguments.n + 1], arguments.n = { force = true }, arguments.n + 1
  end
  local value, err = handles[row.handle][row.method](handles[row.handle],
    table.unpack(arguments, 1, arguments.n))
  if row.paging ~= "no" then value, err = value:collect() end
  return value, err
end

-- What the service answers with: its statuses, its refusals with 200, and texts that are cut at every place.
local answers = { { status = 200, echo = 0 }, { status = 401, echo = 0 }, { status = 429, echo = 0 },
  { status = 503, echo = 0 } }
for padding = 90, 190, 10 do answers[#answers + 1] = { status = 400, echo = padding } end

describe("a secret", function()
  it("of any parameter, or the token, is in no error and no log of any row", function()
    local client <close> = new_client { token = token }
    local handles, secrets = handles_of(client), 0
    for _, row in ipairs(rows) do
      if not (row.flags.needs_protocol or row.flags.deprecated) then -- those are refused here
        for _, answer in ipairs(holds_secret(row) and answers or { answers[1], answers[2] }) do
          local canaries = { token = token }
          server:script { { status = answer.status, echo = answer.echo, times = 0 } }
          events = {}
          local value, err = call(handles, row, canaries)
          look(canaries, row.name, value, err)
          assert.is_true(#events > 0, row.name)
        end
        secrets = secrets + (holds_secret(row) and 1 or 0)
      end
    end
    assert.is_true(secrets >= 8)
  end)

  it("that is a part of another leaves nothing of that one", function()
    local whole = "canary-7391-token"
    assert.are.equal("got [redacted] and [redacted]", core.redact("got " .. whole .. " and 7391", { "7391", whole }))
  end)

  it("reaches the service", function()
    local client <close> = new_client { token = token }
    server:script { { status = 400, body = "", times = 0 } }
    client:vehicle(vin):set_valet_mode { on = true, password = pin() }
    local request = server:records()[1]
    assert.are.equal("Bearer " .. token, request.headers.authorization)
    assert.are.equal(pin(), cjson.decode(request.body).password)
    assert.is_nil(string.find(request.path .. request.query, pin(), 1, true))
  end)

  it("would be found: the search itself works", function()
    local canaries = { token = token, pin = "7391" }
    for _, text in ipairs { token, forms(token)[2], forms(token)[3], string.sub(token, 1, 40), "x 7391 y",
      "cut 739" } do
      assert.has_error(function() search({ a = { b = text } }, canaries, "here") end)
      assert.has_error(function() search({ [text] = 1 }, canaries, "here") end)
    end
    assert.has_no.errors(function() search({ a = "nothing [redacted]" }, canaries, "here") end)
  end)

  it("is not printed with what holds it", function()
    local canaries = { token = token, secret = "canary-client-secret", key = ("c0ffee5e"):rep(8) }
    local client <close> = new_client { token = token, client_id = "app", client_secret = canaries.secret,
      store_key = canaries.key }
    for name, handle in pairs(handles_of(client)) do search(tostring(handle), canaries, name) end
    search(tostring(fleet.throwing(client)), canaries, "throwing")
    search(tostring(client:vehicles()), canaries, "pages")
    search(tostring(core.plan(core.row "set_valet_mode", client:vehicle(vin),
      { on = true, password = "7391" })), { pin = "7391" }, "plan")
    search(client:token_info(), canaries, "token_info")
  end)

  it("that a caller got wrong is not repeated to them", function()
    local client <close> = new_client { token = token }
    local car = client:vehicle(vin)
    local wrong = {
      function() return car:set_valet_mode { on = true, password = "canary" } end,
      function() return car:set_valet_mode { on = true, password = 8365 } end,
      function() return car:set_valet_mode { on = true, password = { "canary" } } end,
      function() return car:set_valet_mode { on = "canary", password = "7391" } end,
      function() return car:set_valet_mode { on = true, pasword = "canary" } end,
      function() return car:speed_limit_activate("canary") end,
      function() return fleet.new { token = "canary\r\nX: 1" } end,
      function() return fleet.new { client_secret = { "canary" } } end,
      function() return fleet.new { client_secret = "canary\1" } end,
      function() return fleet.new { base_url = "https://someone:canary@host" } end,
      function() return fleet.new { base_url = "https://host/?token=canary" } end,
      function() return fleet.new { token_url = "someone:canary@host" } end,
      function() return fleet.new { proxy_url = "https://someone:canary@host" } end,
    }
    for i, mistake in ipairs(wrong) do
      local ok, message = pcall(mistake)
      assert.is_false(ok, "mistake " .. i)
      search(message, { secret = "canary", pin = "8365" }, "mistake " .. i)
    end
  end)

  it("stays secret when the caller's own HTTP fails with it in its words", function()
    for _, sent in ipairs { true, false } do
      local client <close> = new_client { token = token, http = function(request)
        return nil, "cannot reach " .. request.url .. " with " .. request.headers.authorization .. " " ..
          tostring(request.body), sent
      end }
      local value, err = client:vehicle(vin):set_valet_mode { on = true, password = pin() }
      look({ token = token, pin = pin() }, "http", value, err)
    end
  end)

  it("of a proxy's address is in no error", function()
    local client <close> = new_client { token = token, proxy = "http://someone:canary@127.0.0.1:9" }
    local value, err = client.user:me()
    assert.is_nil(value)
    look({ password = "canary", token = token }, "proxy", value, err)
  end)
end)

-- ---- tokens that the module holds itself ----

describe("a stored token", function()
  local canaries = { access = token, refresh = "NA_canary/refresh+token==" .. string.rep("r", 30),
    secret = "canary/client+secret", code = "NA_canary/code+" .. string.rep("c", 30) }

  local function signed_in(expires_in)
    local store = fleet.store.memory()
    local _, wall = core.clock()
    for _, slot in ipairs { "user", "business", "partner" } do
      store:put("token/default/" .. slot, cjson.encode {
        access_token = canaries.access, refresh_token = canaries.refresh, saved_at = wall,
          refreshed_at = wall,
        expires_at = wall + expires_in,
      })
    end
    return new_client { store = store, client_id = "app", client_secret = canaries.secret,
      redirect_uri = "https://app.example.com/cb",
      scopes = { "openid", "offline_access" } }
  end

  it("is in no error and no log of a call", function()
    local client <close> = signed_in(3600)
    for _, answer in ipairs(answers) do
      server:script { { status = answer.status, echo = answer.echo, times = 0 } }
      events = {}
      look(canaries, "command", client:vehicle(vin):honk_horn())
      look(canaries, "read", client.user:me())
    end
  end)

  it("is in no error and no log of an exchange", function()
    for _, answer in ipairs(answers) do
      if answer.status ~= 200 then
        for _, exchange in ipairs {
          function(client) return client:refresh() end,
          function(client) return client:partner_login { scopes = { "openid" } } end,
          function(client) return client:business_login { auth_code = canaries.code,
            scopes = { "openid" } } end,
          function(client)
            local url, pending = client:authorize_url()
            assert(url)
            search(url, canaries, "authorize_url")
            return client:authorize("https://app.example.com/cb?code=" .. forms(canaries.code)[2] ..
              "&state=" .. pending.state, pending)
          end,
          function(client) return client:vehicle(vin):honk_horn() end,
        } do
          local client <close> = signed_in(-10)
          server:script { { status = answer.status, echo = answer.echo, times = 0 } }
          events = {}
          look(canaries, "exchange", exchange(client))
        end
      end
    end
  end)

  it("is in no error of a reply that cannot be read", function()
    local client <close> = signed_in(-10)
    for _, body in ipairs { "{}", canaries.refresh, '{"access_token":5,"refresh_token":"' ..
      canaries.refresh .. '"}',
      '{"access_token":"' .. canaries.access } do
      server:script { { body = body, times = 0 } }
      events = {}
      local value, err = client:refresh()
      assert.is_nil(value)
      look(canaries, "reply", value, err)
    end
  end)

  it("is in no error about a callback", function()
    local client <close> = signed_in(3600)
    local _, pending = client:authorize_url()
    local function callback(address) return client:authorize(address, pending) end
    for _, address in ipairs {
      "https://app.example.com/cb?code=" .. canaries.code, "https://app.example.com/cb?state=other&code=" ..
        canaries.code,
      "https://elsewhere.example.com/cb?state=" .. pending.state .. "&code=" .. canaries.code,
      "https://app.example.com/cb?error=" .. canaries.code .. "&error_description=" .. canaries.code,
    } do
      server:script { { status = 400, body = '{"error":"invalid_grant"}', times = 0 } }
      local ok, value, err = pcall(callback, address)
      search(ok and tostring(err) or tostring(value), { code = canaries.code, state = pending.state },
        "callback")
      search(events, canaries, "log")
    end
  end)
end)
