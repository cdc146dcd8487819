-- The sequence of one call: token, request, reply, and whether there is another attempt (rules R1, R4, R8).

local fleet = require "fleet"
local core = require "fleet.core"
local lifetime = require "fleet.call.lifetime"
local rows = require "fleet.call.rows"
local tokens = require "fleet.oauth.tokens"
local seam = require "spec.support.fixtures.host_http"
local virtual = require "spec.support.harness.virtual"

local function status(code, body, headers)
  return { status = code, headers = headers or {}, body = body or "" }
end

local scopes = status(403, '{"error":"Unauthorized missing scopes"}')
local asleep = status(408, '{"error":"vehicle unavailable: vehicle is offline or asleep"}')
local online = '{"response":{"state":"online"}}'

describe("a call", function()
  local time

  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  -- Ends with the client's outcomes taken back, so that one case leaves nothing for another.
  local function outcome_of(answers, method, params, options)
    local car, requests = seam.car(answers)
    local value, err, kind
    if params then value, err, kind = car[method](car, params, options) else value, err, kind = car[method](car, options) end
    fleet.drain()
    return { value = value, err = err, kind = kind, requests = #requests, list = requests }
  end

  describe("that was not answered for good", function()
    local passing = {
      { "500", status(500) }, { "502", status(502) }, { "503", status(503) }, { "504", status(504) }, { "540", status(540) },
      { "408 without a cause", status(408, "slow") },
    }
    for _, case in ipairs(passing) do
      it("is repeated twice when it reads: " .. case[1], function()
        assert.equal(3, outcome_of({ case[2] }, "info").requests)
      end)

      it("is repeated twice when it sets a value: " .. case[1], function()
        local got = outcome_of({ case[2] }, "set_charge_limit", { percent = 80 })
        assert.equal(3, got.requests)
        assert.equal("unknown", got.err.outcome)
      end)

      it("is never repeated when it acts: " .. case[1], function()
        local got = outcome_of({ case[2] }, "actuate_trunk", { which_trunk = "rear" })
        assert.equal(1, got.requests)
        assert.equal("unknown", got.err.outcome)
      end)

      it("is repeated when the caller says that it may be: " .. case[1], function()
        assert.equal(3, outcome_of({ case[2] }, "honk_horn", nil, { idempotent = true }).requests)
      end)

      it("is not repeated when the caller says that it must not be: " .. case[1], function()
        assert.equal(1, outcome_of({ case[2] }, "set_charge_limit", { percent = 80 }, { idempotent = false }).requests)
      end)
    end

    it("ends well when a repeat does", function()
      local got = outcome_of({ status(503), seam.done }, "set_charge_limit", { percent = 80 })
      assert.is_true(got.value.changed)
      assert.equal(2, got.requests)
    end)

    local final = { 400, 402, 404, 405, 406, 412, 418, 422, 423, 424, 429, 451 }
    for _, code in ipairs(final) do
      it("is not repeated after " .. code, function()
        local got = outcome_of({ status(code) }, "set_charge_limit", { percent = 80 })
        assert.equal(1, got.requests)
        assert.equal("refused", got.err.outcome)
        assert.equal(1, outcome_of({ status(code) }, "info").requests)
      end)
    end

    it("is not repeated after a reply that cannot be read", function()
      assert.equal(1, outcome_of({ "<html>" }, "info").requests)
      assert.equal("unknown", outcome_of({ "<html>" }, "set_charge_limit", { percent = 80 }).err.outcome)
    end)
  end)

  describe("in doubt", function()
    it("stays in doubt, whatever a later attempt says", function()
      for _, last in ipairs { status(400), status(429), asleep, seam.refused("disconnected"), "<html>" } do
        local got = outcome_of({ status(503), seam.answer(last) }, "charge_start")
        assert.equal(2, got.requests)
        assert.equal("unknown", got.err.outcome)
      end
    end)

    it("stays in doubt when a repeat cannot even be sent", function()
      local count = 0
      local car = seam.car(function()
        count = count + 1
        if count == 1 then return nil, "broken", true end
        return nil, "no connection", false
      end)
      local _, err = car:set_charge_limit { percent = 80 }
      assert.equal("unknown", err.outcome)
      assert.equal(3, count)
      assert.equal(err, fleet.drain()[1])
    end)

    it("is no longer in doubt when a repeat was done", function()
      assert.is_true(outcome_of({ status(503), seam.done }, "charge_start").value.changed)
    end)
  end)

  describe("with a limit of time", function()
    it("does not begin a pause that would pass it", function()
      assert.equal(1, outcome_of({ status(503) }, "info", nil, { timeout = 0.2 }).requests)
      assert.equal(2, outcome_of({ status(503) }, "info", nil, { timeout = 1 }).requests)
    end)

    it("does not wait long for a service that says how long", function()
      local slow = status(503, "", { ["retry-after"] = "60" })
      local got = outcome_of({ slow }, "info")
      assert.equal(1, got.requests)
      assert.equal(60, got.err.retry_after)
    end)

    it("waits as long as the service says when that is short", function()
      local began = time.now()
      assert.equal(3, outcome_of({ status(503, "", { ["retry-after"] = "2" }) }, "info").requests)
      assert.is_true(time.now() - began >= 4)
    end)

    it("says how long when the service limits the rate, and waits for nothing", function()
      local began = time.now()
      local got = outcome_of({ status(429, "Retry in 90 seconds") }, "info")
      assert.equal("rate_limited", got.kind)
      assert.equal(90, got.err.retry_after)
      assert.equal(1, got.requests)
      assert.equal(began, time.now())
    end)
  end)

  describe("whose scope is refused", function()
    it("is repeated once, because the service refuses at random", function()
      local got = outcome_of({ scopes, seam.done }, "honk_horn")
      assert.is_true(got.value.changed)
      got = outcome_of({ scopes }, "honk_horn")
      assert.equal(2, got.requests)
      assert.equal("scope", got.kind)
      assert.equal("vehicle_cmds", got.err.scope)
      assert.equal("refused", got.err.outcome)
    end)

    it("for another cause is not repeated", function()
      for _, body in ipairs { "account disabled: EXCEEDED_LIMIT", "Tesla Vehicle Command Protocol required", "no" } do
        assert.equal(1, outcome_of({ status(403, body) }, "honk_horn").requests)
      end
    end)
  end)

  describe("to a sleeping vehicle", function()
    it("fails as asleep and wakes no car unless asked", function()
      local got = outcome_of({ asleep }, "honk_horn")
      assert.equal("asleep", got.kind)
      assert.equal("refused", got.err.outcome)
      assert.equal(1, got.requests)
    end)

    it("wakes it first when asked, and is then sent once more", function()
      local looks = 0
      local got = outcome_of(function(request)
        if request.path:find("wake_up") then return seam.answer '{"response":{"state":"asleep"}}' end
        if request.path:find("products") then return seam.answer '{"response":[],"count":0}' end
        if request.method == "GET" then
          looks = looks + 1
          return seam.answer(looks < 2 and '{"response":{"state":"asleep"}}' or online)
        end
        return looks < 2 and asleep or seam.answer(seam.done)
      end, "honk_horn", nil, { wake = true })
      assert.is_true(got.value.changed)
      local paths = {}
      for i, request in ipairs(got.list) do paths[i] = request.path:match("[^/]+$") end
      assert.same({ "honk_horn", "wake_up", "products", seam.vin, seam.vin, "honk_horn" }, paths) -- the free list first
    end)

    it("wakes it once only", function()
      local got = outcome_of(function(request)
        if request.path:find("honk_horn") then return asleep end
        return seam.answer(online)
      end, "honk_horn", nil, { wake = true })
      assert.equal("offline", got.kind) -- it was seen awake
      assert.equal(3, got.requests)
    end)

    it("does not wake for a command that may have been done", function()
      local doubtful = status(500, "the vehicle is asleep, perhaps")
      local got = outcome_of(function(request)
        if request.path:find("honk_horn") then return doubtful end
        return seam.answer(online)
      end, "honk_horn", nil, { wake = true })
      assert.equal(1, got.requests)
      assert.equal("asleep", got.kind)
      assert.equal("unknown", got.err.outcome)
    end)

    it("knows an unclear 408 by the last state", function()
      local unclear = status(408, "vehicle unavailable")
      for state, kind in pairs { asleep = "asleep", offline = "offline", online = "timeout" } do
        local car = seam.car { '{"response":{"state":"' .. state .. '"}}', unclear }
        assert(car:info())
        local _, _, got = car:vehicle_data()
        assert.equal(kind, got)
      end
    end)
  end)

  it("says of a repeat that finds the wanted state that it may have been this call", function()
    local seen = outcome_of({ status(503), seam.refused "already_set" }, "set_charge_limit", { percent = 80 })
    assert.same({ false, true, 2 }, { seen.value.changed, seen.value.perhaps_changed, seen.requests })
    seen = outcome_of({ status(503), seam.done }, "set_charge_limit", { percent = 80 })
    assert.same({ true }, { seen.value.changed, seen.value.perhaps_changed })
    seen = outcome_of({ seam.refused "already_set" }, "set_charge_limit", { percent = 80 })
    assert.same({ false }, { seen.value.changed, seen.value.perhaps_changed })
    seen = outcome_of({ status(503), seam.refused "already_set" }, "set_charge_limit", { percent = 80 }, { strict = true })
    assert.same({ "refused", "unknown" }, { seen.kind, seen.err.outcome })
  end)
end)

describe("a token", function()
  local access, holds = tokens.access, tokens.holds
  local asked, given, time

  before_each(function()
    asked, given, time = {}, { "first", "second", "third", "fourth" }, virtual.install()
    tokens.access = function(_, slot, options)
      asked[#asked + 1] = { slot = slot, rejected = options.rejected, deadline = options.deadline }
      return given[#asked]
    end
    tokens.holds = function(_, slot) return slot == "business" end
  end)
  after_each(function()
    tokens.access, tokens.holds = access, holds
    time.restore()
  end)

  local function client(answers)
    local requests = {}
    return fleet.new {
      client_id = "x", client_secret = "y", base_url = seam.host,
      http = function(request)
        requests[#requests + 1] = request
        return seam.answer(answers[math.min(#requests, #answers)])
      end,
    }, requests
  end

  it("that is refused is refreshed once, and the call repeated once", function()
    local c, requests = client { status(401), seam.done }
    assert(c:vehicle(seam.vin):honk_horn())
    assert.equal("Bearer first", requests[1].headers.authorization)
    assert.equal("Bearer second", requests[2].headers.authorization)
    assert.equal(2, #asked)
    assert.is_nil(asked[1].rejected)
    assert.equal("first", asked[2].rejected)
  end)

  it("that was refused, or took its place, is in no err, though the service says it back", function()
    given = { "canary-first/token", "canary-second/token" }
    local echo = '{"error":"canary-first/token is not canary-second/token"}'
    local c = client { status(401), status(400, echo) }
    local _, err = c:vehicle(seam.vin):honk_horn()
    for _, name in ipairs { "message", "raw" } do
      assert.matches("%[redacted%] is not %[redacted%]", err[name])
      assert.is_nil(err[name]:find("canary", 1, true))
    end
  end)

  it("that is refused again ends the call as auth", function()
    local c, requests = client { status(401) }
    local _, err, kind = c:vehicle(seam.vin):honk_horn()
    assert.equal("auth", kind)
    assert.equal("refused", err.outcome)
    assert.equal(2, #requests)
  end)

  for _, text in ipairs { "mobile_access_disabled", "unknown user" } do
    it("is not refreshed for a 401 that it is not the cause of: " .. text, function()
      local c, requests = client { status(401, '{"error":"' .. text .. '"}') }
      local _, err, kind = c:vehicle(seam.vin):honk_horn()
      assert.same({ "forbidden", "refused", 1, 1 }, { kind, err.outcome, #requests, #asked })
    end)
  end

  it("of the caller's own is never refreshed", function()
    local car, requests = seam.car { status(401) }
    local _, _, kind = car:honk_horn()
    assert.equal("auth", kind)
    assert.equal(1, #requests)
  end)

  it("comes from the first slot of the row that holds one, else the first", function()
    local c = client { '{"response":{}}' }
    assert(c:vehicle(seam.vin):info())
    assert.equal("business", asked[1].slot)
    tokens.holds = function(_, slot) return slot == "user" end
    assert(c:vehicle(seam.vin):info())
    assert(c.user:me())
    assert.equal("user", asked[2].slot)
    assert.equal("user", asked[3].slot)
    c:vehicle(seam.vin):info { auth = "business" }
    assert.equal("business", asked[4].slot)
  end)

  it("of a business cannot make a user's call, which is not sent", function()
    local c, requests = client { '{"response":{}}' }
    local _, err, kind = c.user:me()
    assert.equal("unsupported", kind)
    assert.matches("business token", err.message)
    assert.same({ 0, 0 }, { #requests, #asked })
    tokens.holds = function() return false end
    assert(c.user:me()) -- without any token it is the user's that is asked for
    assert.equal("user", asked[1].slot)
  end)

  it("that cannot be had ends the call before it is sent, each call with its own err", function()
    local shared = core.err { kind = "auth", message = "sign in again", reason = "login_required" }
    tokens.access = function() return nil, shared, "auth" end
    local c, requests = client { seam.done }
    local _, first = c:vehicle(seam.vin):honk_horn()
    local _, second = c:energy_site(12345):live_status()
    assert.equal("not_sent", first.outcome)
    assert.equal("login_required", first.reason)
    assert.equal(seam.vin, first.vin)
    assert.is_nil(second.vin)
    assert.is_nil(second.outcome)
    assert.equal("sign in again", tostring(second))
    assert.is_nil(rawget(shared, "vin"))
    assert.equal(0, #requests)
  end)
end)

describe("a 421", function()
  local eu = "https://fleet-api.prd.eu.vn.cloud.tesla.com"

  local function client(named, options)
    local requests = {}
    local given = { token = "a-token" }
    for name, value in pairs(options or {}) do given[name] = value end
    given.http = function(request)
      requests[#requests + 1] = request
      if #requests == 1 then return status(421, '{"error":"user out of region, use base URL: ' .. named .. ', see docs"}') end
      return seam.answer(seam.done)
    end
    return fleet.new(given), requests
  end

  it("that names a host of the service is followed once and remembered", function()
    local store = fleet.store.memory()
    local c, requests = client(eu, { store = store })
    assert(c:vehicle(seam.vin):honk_horn())
    assert.equal(2, #requests)
    assert.equal(eu .. "/api/1/vehicles/" .. seam.vin .. "/command/honk_horn", requests[2].url)
    assert(c:vehicle(seam.vin):honk_horn())
    assert.equal(3, #requests)
    assert.matches("^" .. eu:gsub("%p", "%%%0"), requests[3].url)
    local _, later = client(eu, { store = store })
    local another = fleet.new { token = "t", store = store, http = function(r) later[1] = r return seam.answer(seam.done) end }
    another:vehicle(seam.vin):honk_horn()
    assert.matches("^" .. eu:gsub("%p", "%%%0"), later[1].url)
  end)

  it("after a 421 is the end: hosts that name each other are not followed in a circle", function()
    local count, na = 0, "https://fleet-api.prd.na.vn.cloud.tesla.com"
    local c = fleet.new { token = "a-token", http = function()
      count = count + 1
      if count > 5 then error "followed in a circle" end
      return seam.answer { status = 421, body = '{"error":"use base URL: ' .. (count % 2 == 1 and eu or na) .. '"}' }
    end }
    assert.equal("region", select(3, c:vehicle(seam.vin):honk_horn()))
    assert.equal(2, count)
  end)

  local hostile = {
    "https://eviltesla.com", "https://fleet-api.prd.eu.vn.cloud.tesla.com.evil.example", "https://evil.example",
    "http://fleet-api.prd.eu.vn.cloud.tesla.com", "https://fleet-api.tesla.com@evil.example", "https://tesla.com:8443",
    "https://evil.example/.tesla.com", "https://evil.example#.tesla.com", "https://evil.example\\\\.tesla.com",
    "https://127.0.0.1", "https://.tesla.com", "",
  }
  for _, named in ipairs(hostile) do
    it("that names " .. (named ~= "" and named or "nothing") .. " is not followed, and the token stays here", function()
      local c, requests = client(named)
      local _, err, kind = c:vehicle(seam.vin):honk_horn()
      assert.equal("region", kind)
      assert.equal("refused", err.outcome)
      assert.equal(1, #requests)
    end)
  end

  it("with an address of the caller's own is followed only to the hosts that the caller listed", function()
    local own = { base_url = "https://one.example" }
    local c, requests = client("https://two.example", own)
    assert.is_nil((c:vehicle(seam.vin):honk_horn()))
    assert.equal(1, #requests)
    own.hosts = { "two.example" }
    c, requests = client("https://two.example", own)
    assert(c:vehicle(seam.vin):honk_horn())
    assert.matches("^https://two.example/", requests[2].url)
  end)

  it("that names the host that was asked is not followed", function()
    local _, requests = client("https://one.example", { base_url = "https://one.example", hosts = { "one.example" } })
    assert.equal(0, #requests)
    local c
    c, requests = client("https://one.example", { base_url = "https://one.example", hosts = { "one.example" } })
    assert.is_nil((c:vehicle(seam.vin):honk_horn()))
    assert.equal(1, #requests)
  end)
end)

describe("a host's own HTTP", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  local function call(http, method)
    local count = 0
    local client = fleet.new {
      token = "a-token", base_url = seam.host, max_response = 1000,
      http = function(...)
        count = count + 1
        return http(...)
      end,
    }
    local car = client:vehicle(seam.vin)
    local value, err, kind = car[method or "honk_horn"](car)
    fleet.drain()
    return { value = value, err = err, kind = kind, count = count }
  end

  it("gets method, address, headers, body and time, and nothing else", function()
    local names = {}
    call(function(request)
      for name in pairs(request) do names[#names + 1] = name end
      assert.equal("POST", request.method)
      assert.equal(seam.host .. "/api/1/vehicles/" .. seam.vin .. "/command/honk_horn", request.url)
      assert.same({ ["content-type"] = "application/json", authorization = "Bearer a-token" }, request.headers)
      assert.equal("{}", request.body)
      return seam.answer(seam.done)
    end)
    table.sort(names)
    assert.same({ "body", "headers", "method", "timeout", "url" }, names)
  end)

  it("that says it did not send leaves nothing in doubt, and a write is tried once more", function()
    local got = call(function() return nil, "no route", false end)
    assert.equal("not_sent", got.err.outcome)
    assert.equal("network", got.kind)
    assert.matches("no route", got.err.message)
    assert.equal(2, got.count)
  end)

  it("that does not say, or says it did, leaves a write in doubt, and it is not tried again", function()
    for _, sent in ipairs { "nil", true } do
      local got = call(function()
        if sent == "nil" then return nil, "broken" end
        return nil, "broken", sent
      end)
      assert.equal("unknown", got.err.outcome)
      assert.equal(1, got.count)
    end
  end)

  it("that fails leaves a write in doubt and a sentence", function()
    local got = call(function() error("oops") end)
    assert.equal("unknown", got.err.outcome)
    assert.matches("oops", got.err.message)
    assert.equal(1, got.count)
  end)

  it("that returns an invalid reply fails with that reason", function()
    for _, answer in ipairs { { status = "x" }, { status = 200, body = {} }, { status = 200, headers = { a = {} } }, "text", 5, true,
      { status = 2 ^ 32 + 200, headers = {}, body = seam.done }, { status = -1, body = "" }, { status = 200.5, body = seam.done },
      { status = 0 / 0, body = seam.done }, { status = math.huge, body = seam.done } } do
      local got = call(function() return answer end)
      assert.equal("unknown", got.err.outcome)
      assert.matches("no reply", got.err.message)
    end
  end)

  it("that returns too much is not believed", function()
    local got = call(function() return seam.answer(seam.done .. (" "):rep(1000)) end)
    assert.equal("protocol", got.kind)
    assert.equal("unknown", got.err.outcome)
  end)

  it("may leave body and headers out", function()
    assert.equal("protocol", call(function() return { status = 200 } end).kind)
    assert.equal("not_found", call(function() return { status = 404 } end).kind)
    assert.equal("service", call(function() return {} end).kind)
  end)

  it("may wait inside a task", function()
    local got
    fleet.run(function()
      got = call(function()
        fleet.sleep(3)
        return seam.answer(seam.done)
      end)
    end)
    assert.is_true(got.value.changed)
  end)

  -- ---- in pieces ----

  local function pieces(list, observed)
    local i = 0
    return {
      status = 200,
      body = function()
        i = i + 1
        if observed then observed.read = i end
        if type(list[i]) == "table" then return nil, list[i].err end
        return list[i]
      end,
      close = function() observed.closed = (observed.closed or 0) + 1 end,
    }
  end

  it("may give the body in pieces, and learns when no more is read", function()
    local observed = {}
    local got = call(function() return pieces({ seam.done:sub(1, 5), "", seam.done:sub(6) }, observed) end)
    assert.is_true(got.value.changed)
    assert.same({ read = 4, closed = 1 }, observed)
  end)

  it("whose pieces end in the middle leaves a write in doubt, as a reply that is cut", function()
    local observed = {}
    local got = call(function() return pieces({ '{"resp', { err = "reset by peer" } }, observed) end)
    assert.equal("protocol unknown 1 1", table.concat({ got.kind, got.err.outcome, got.count, observed.closed }, " "))
    assert.matches("reset by peer", got.err.message, 1, true)
  end)

  it("whose pieces are no text, or raise, fails with that reason and is closed", function()
    for _, bad in ipairs { function() return {} end, function() error("oops") end, function() return 5 .. "", 5 end } do
      local observed = {}
      local got = call(function()
        return { status = 200, body = bad, close = function() observed.closed = true end }
      end)
      assert.equal("unknown", got.err.outcome)
      assert.is_true(observed.closed)
    end
  end)

  it("whose pieces do not end is read to max_response, and no further", function()
    local observed, text = {}, ("x"):rep(300)
    local got = call(function() return pieces({ text, text, text, text, text, text }, observed) end)
    assert.equal("protocol", got.kind)
    assert.matches("max_response", got.err.message, 1, true)
    assert.same({ read = 4, closed = 1 }, observed)
  end)

  -- ---- later ----

  it("may answer from a callback, in a task and outside", function()
    local function later_by(seconds)
      return function(_, later)
        fleet.spawn(function()
          fleet.sleep(seconds)
          later(seam.answer(seam.done))
          later(nil, "a second time", true)
        end)
        return later
      end
    end
    assert.is_true(call(later_by(3)).value.changed)
    fleet.run(function() assert.is_true(call(later_by(3)).value.changed) end)
    assert.is_true(call(function(_, later)
      later(seam.answer(seam.done)) -- before it returns
      return later
    end).value.changed)
  end)

  it("that says later what it did not send leaves nothing in doubt", function()
    local got = call(function(_, later)
      later(nil, "no route", false)
      return later
    end)
    assert.equal("not_sent", got.err.outcome)
    assert.equal(2, got.count)
  end)

  -- ---- deadlines and cancellation ----

  it("that never answers is abandoned when the time has passed, and what comes then is too late", function()
    for _, in_a_task in ipairs { true, false } do
      local abandoned, kept, got = 0, nil, nil
      local function ask()
        got = call(function(_, later)
          kept, later.abandon = later, function() abandoned = abandoned + 1 end
          return later
        end)
      end
      local before = fleet.loop.clock()
      if in_a_task then fleet.run(ask) else ask() end
      assert.equal("timeout unknown 1 1", table.concat({ got.kind, got.err.outcome, got.count, abandoned }, " "))
      local took = fleet.loop.clock() - before
      assert.is_true(took >= 29 and took < 31, took)
      kept(seam.answer(seam.done))
    end
  end)

  it("that waits too long in a task ends there with timeout, while its pieces come, too", function()
    local observed, got = {}, nil
    fleet.run(function()
      got = call(function()
        local answer = pieces({}, observed)
        answer.body = function()
          fleet.sleep(12)
          return "x"
        end
        return answer
      end)
    end)
    assert.equal("timeout unknown 1 1", table.concat({ got.kind, got.err.outcome, got.count, observed.closed }, " "))
    fleet.run(function()
      fleet.sleep(40) -- the task's own waits have no end
    end)
  end)

  it("that is in time is not hurried", function()
    local got
    fleet.run(function()
      got = call(function()
        for _ = 1, 9 do fleet.sleep(3) end
        return seam.answer(seam.done)
      end)
      fleet.sleep(60)
    end)
    assert.is_true(got.value.changed)
  end)

  it("is abandoned when the task is cancelled, and closed", function()
    local abandoned, observed = false, {}
    local client = fleet.new { token = "a-token", base_url = seam.host, http = function(request, later)
      if request.method == "POST" then
        later.abandon = function() abandoned = true end
        return later
      end
      local answer = pieces({}, observed)
      answer.body = function() fleet.sleep(1000) end
      return answer
    end }
    local car = client:vehicle(seam.vin)
    for _, method in ipairs { "honk_horn", "info" } do
      local task = fleet.spawn(function() return car[method](car) end)
      for _ = 1, 3 do fleet.loop.step() end
      task:cancel()
      local ran, err = pcall(task.wait, task)
      assert.is_true(not ran and err.kind == "cancelled", tostring(err))
    end
    assert.is_true(abandoned)
    assert.equal(1, observed.closed)
    assert.same({ "unknown" }, (function()
      local outcomes = {}
      for _, err in ipairs(fleet.drain()) do outcomes[#outcomes + 1] = err.outcome end
      return outcomes
    end)())
  end)
end)

describe("the log", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  it("gets one event per attempt", function()
    local events = {}
    local car = seam.car({ status(503, "", { ["x-txid"] = "tx-1" }), seam.done }, { log = function(e) events[#events + 1] = e end })
    assert(car:set_charge_limit { percent = 80 })
    assert.equal(2, #events)
    assert.same({
      time = events[1].time, method = "POST", path = "/api/1/vehicles/{vin}/command/set_charge_limit", vin = "0001", status = 503,
      ms = events[1].ms, request_id = "tx-1", attempt = 1, billing = "command", kind = "service", message = events[1].message,
    }, events[1])
    assert.equal(1774746000, events[1].time)
    assert.equal(2, events[2].attempt)
    assert.equal(200, events[2].status)
    assert.is_nil(events[2].kind)
  end)

  it("that fails disturbs nothing", function()
    local car = seam.car(seam.done, { log = function() error("full") end })
    assert(car:honk_horn())
  end)

  it("is nowhere else: nothing is printed", function()
    local write, print_ = io.stderr, print
    local printed = false
    _G.print = function() printed = true end
    local car = seam.car { status(500, "x") }
    car:honk_horn()
    _G.print = print_
    assert.is_false(printed)
    assert.equal(write, io.stderr)
  end)
end)

describe("secrets", function()
  local time
  before_each(function() time = virtual.install() end)
  after_each(function() time.restore() end)

  local function all_text(value, found, seen)
    found, seen = found or {}, seen or {}
    if type(value) == "table" and not seen[value] then
      seen[value] = true
      for k, v in pairs(value) do
        all_text(k, found, seen)
        all_text(v, found, seen)
      end
    elseif type(value) ~= "table" then
      found[#found + 1] = tostring(value)
    end
    return table.concat(found, "\n")
  end

  local function handle_of(row, client)
    if row.handle == "client" then return client end
    if row.handle == "vehicle" then return client:vehicle(seam.vin) end
    if row.handle == "site" then return client:energy_site("1234567890") end
    return client[row.handle]
  end

  -- Every text parameter that may hold anything gets a canary; of PINs the digits are the canary.
  local function with_canaries(row, params)
    for _, param in ipairs(row.params) do
      if param.place == "body" and type(params[param.name]) ~= "table" then
        if param.pin then params[param.name] = "7391" end
        if param.type == "string" and not param.pin and not param.choices then
          params[param.name] = "canary-" .. param.name .. (param.name == "domain" and ".example" or "")
        end
      end
    end
    return params
  end

  local function params_of(row)
    local list = table.pack(load("return " .. row.example)())
    for i = 1, list.n do
      if type(list[i]) == "table" and not list[i][1] then with_canaries(row, list[i]) end
    end
    return list
  end

  local function run_row(row, answer)
    local events = {}
    local client, requests = seam.client(answer, {
      token = "canary-access-token", client_id = "x", client_secret = "canary-client-secret", store_key = ("c0ffee5e"):rep(8),
      log = function(event) events[#events + 1] = event end,
    })
    local handle, list = handle_of(row, client), params_of(row)
    if #list == 0 then list[1] = {} end
    list[#list + 1] = { timeout = 0.1, force = true }
    local value, err = handle[row.method](handle, table.unpack(list))
    if type(value) == "table" and value.collect then value, err = value:collect() end
    return { text = all_text { events = events, err = err or {} }, message = tostring(err), value = value, requests = requests, err = err }
  end

  local function skipped(row)
    return row.name == "time_of_use_settings" or row.name == "charging.invoice"
  end

  it("and what the caller says stay out of logs and errors, on every row", function()
    for _, row in ipairs(rows.all()) do
      if not skipped(row) then
        local got = run_row(row, { status(400, '{"error":"no"}') })
        assert.is_truthy(got.err, row.name)
        assert.is_nil(got.text:find("canary", 1, true), row.name)
        assert.is_nil(got.text:find("7391", 1, true), row.name)
        assert.is_nil(got.message:find("canary", 1, true), row.name)
      end
    end
  end)

  it("stay out even when the service sends them back", function()
    for _, row in ipairs(rows.all()) do
      local secret = next(row.secrets) ~= nil
      if not skipped(row) then
        local got = run_row(row, function(request)
          local echo = core.json_encode {
            error = "bad request", error_description = request.headers.authorization .. " canary-client-secret " .. ("c0ffee5e"):rep(8)
              .. (secret and " " .. (request.body or "") or ""),
          }
          return status(400, echo)
        end)
        local text = got.text
        for _, word in ipairs { "access-token", "client-secret", "store-key" } do
          assert.is_nil(text:find("canary-" .. word, 1, true), row.name)
        end
        for name in pairs(row.secrets) do assert.is_nil(text:find("canary-" .. name, 1, true), row.name) end
        if secret then assert.is_nil(text:find("7391", 1, true), row.name) end
      end
    end
  end)

  it("that look like tokens are taken out of what the service says", function()
    local jwt = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlY2FuYXJ5"
    local got = run_row(rows.by_name.honk_horn, { status(401, '{"error":"token ' .. jwt .. ' expired","x":"Bearer abc.DEF-123_~+/="}') })
    assert.is_nil(got.text:find("c2lnbmF0", 1, true))
    assert.is_nil(got.text:find("abc.DEF", 1, true))
    assert.matches("%[redacted%]", got.err.raw)
  end)
end)

describe("what is in flight", function()
  it("is counted down when a call raises inside: drain returns", function()
    fleet.drain()
    local access = tokens.access
    tokens.access = function() error("broken") end
    local car = seam.car(seam.done)
    assert.has_error(function() car:honk_horn() end)
    tokens.access = access
    assert.same({}, fleet.drain())
  end)

  it("is counted down when what a call adds up cannot be kept, so that its client can close", function()
    local car = seam.car(seam.done)
    local context = core.context(car)
    local after_call = lifetime.after_call
    lifetime.after_call = function() error("not enough memory", 0) end
    assert.error_matches(function() car:honk_horn() end, "not enough memory")
    lifetime.after_call = after_call
    assert.equal(0, context.under_way)
    assert.same({}, fleet.drain())
  end)

  it("is counted down when its task is cancelled between two attempts", function()
    local time = virtual.install()
    local err, task
    local car = seam.car(function()
      task:cancel()
      return status(503)
    end)
    task = fleet.spawn(function()
      local ok, failure = pcall(car.set_charge_limit, car, { percent = 80 })
      assert(not ok)
      err = failure
    end)
    fleet.run(function() end)
    local unknown = fleet.drain()
    time.restore()
    assert.equal("cancelled", err.kind)
    assert.equal("unknown", err.outcome)
    assert.equal(1, #unknown)
    assert.equal(err, unknown[1])
    assert.same({}, fleet.drain())
  end)
end)
