local core = require "fleet.core"
local accounts = require "spec.support.fixtures.accounts"
local memory = require("fleet.store").memory
local tokens = require "fleet.oauth.tokens"

describe("tokens", function()
  local clock, store, server, account

  local function again(config) -- the same account in another process
    return accounts.account(server, store, clock, config)
  end

  local function signed_in(config, options)
    clock = accounts.clock()
    store, server = memory { clock = clock.read }, accounts.server(options)
    account = accounts.account(server, store, clock, config)
    assert(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
  end

  local function stored(slot)
    local text = store:get("token/home/" .. (slot or "user"))
    return text and core.json_decode(text)
  end

  -- a store that does what the real one does, except where a function is given
  local function broken(acts)
    return setmetatable(acts, { __index = function(_, name)
      return function(_, ...) return store[name](store, ...) end
    end })
  end

  local function store_failure()
    return nil, core.err { kind = "store", message = "cannot write 'x': No space left on device" }, "store"
  end

  before_each(function() signed_in() end)

  -- ---- choosing ----

  it("uses the stored token while it lives, without any call", function()
    assert.equal("a1", tokens.access(account, "user"))
    clock.advance(28800 - 61)
    assert.equal("a1", tokens.access(account, "user"))
    assert.equal("a1", tokens.access(again(), "user"))
    assert.equal(1, #server.requests)
  end)

  it("exchanges when less than a minute is left, and saves the new pair", function()
    clock.advance(28800 - 60)
    assert.equal("a2", tokens.access(account, "user"))
    assert.equal("a2", stored().access_token)
    assert.equal("r2", stored().refresh_token)
    assert.equal("a2", tokens.access(again(), "user"))
    assert.equal(2, #server.requests)
  end)

  it("says of a token without a refresh token that it has none, not that it was refused", function()
    local text = stored()
    text.refresh_token = nil
    assert(store:put("token/home/user", core.json_encode(text), { durable = true }))
    local token, err, kind = tokens.refresh(again())
    assert.is_nil(token)
    assert.equal("auth not_sent", kind .. " " .. err.outcome)
    assert.matches("has no refresh token, which the scope offline_access gives: sign in", err.message, 1, true)
    assert.equal(1, #server.requests)
    assert.equal("a1", tokens.access(again(), "user"))
  end)

  it("sends what the interface asks of a refresh, and no secret", function()
    tokens.refresh(account)
    assert.equal("grant_type=refresh_token&client_id=app&refresh_token=r1", server.requests[2].body)
    assert.equal("https://token.example/oauth2/v3/token", server.requests[2].url)
    assert.same({ "Content-Type: application/x-www-form-urlencoded", "Accept: application/json" }, server.requests[2].headers)
  end)

  it("sends an open-source app's exchange to the authorization server", function()
    signed_in({ client_secret = false }, { single_use = true })
    tokens.refresh(account)
    assert.equal("https://auth.example/oauth2/v3/token", server.requests[2].url)
  end)

  it("keeps the refresh token where the reply has none", function()
    server.faults = { { status = 200, body = { access_token = "b", expires_in = 300 } } }
    assert.is_true(tokens.refresh(account))
    assert.equal("r1", stored().refresh_token)
    assert.equal("b", tokens.access(account, "user"))
    assert.is_true(tokens.refresh(account))
  end)

  it("takes any token text, and a lifetime that is missing or text", function()
    server.faults = { { status = 200, body = { access_token = "{not a jwt}", refresh_token = "x" } } }
    assert.is_true(tokens.refresh(account))
    clock.advance(1e6)
    assert.equal("{not a jwt}", tokens.access(account, "user"))
    server.faults = { { status = 200, body = { access_token = "t", refresh_token = "y", expires_in = "600" } } }
    assert.is_true(tokens.refresh(account))
    assert.equal(600, tokens.info(account).user.expires_in)
  end)

  -- ---- a 401 on a call ----

  it("exchanges once for a rejected token, and takes a newer stored one without exchanging", function()
    local other = again()
    assert.equal("a1", tokens.access(other, "user"))
    assert.equal("a2", tokens.access(account, "user", { rejected = "a1" }))
    assert.equal("a2", tokens.access(other, "user", { rejected = "a1" }))
    assert.equal(2, #server.requests)
  end)

  -- ---- what fails ----

  local survivable = {
    { "no name server", { "unreachable" }, "network", "not_sent" },
    { "time-outs", { "dropped", "dropped" }, "timeout", "unknown" },
    { "a 500", { { status = 500 } }, "service", "unknown" },
    { "a 503 page", { { status = 503, body = "<html>" } }, "service", "unknown" },
    { "server_error", { { status = 400, body = { error = "server_error" } } }, "service", "unknown" },
    { "a 401 without a reason", { { status = 401 } }, "invalid", "refused" },
    { "a 403 page of a firewall", { { status = 403, body = "blocked" } }, "forbidden", "refused" },
    { "an unknown reason", { { status = 400, body = { error = "moon_phase" } } }, "invalid", "refused" },
    { "unauthorized_client", { { status = 400, body = { error = "unauthorized_client" } } }, "invalid", "refused" },
    { "a 429", { { status = 429, headers = { date = "x", ["Retry-After"] = "17" } } }, "rate_limited", "refused" },
    { "replies that are no JSON", { { status = 200, body = "ok" }, { status = 200, body = "ok" } }, "protocol", "unknown" },
    { "a reply without token", { { status = 200, body = { access_token = "" } }, { status = 200, body = {} } }, "protocol", "unknown" },
  }
  for _, case in ipairs(survivable) do
    it("keeps the pair through " .. case[1] .. ", and tries again at the next call", function()
      local before = store:get("token/home/user")
      clock.advance(30000)
      server.faults = case[2]
      local token, err, kind = tokens.access(account, "user")
      assert.is_nil(token)
      assert.equal(case[3], kind)
      assert.equal(case[4], err.outcome)
      assert.equal(before, (store:get("token/home/user")))
      assert.equal("a2", tokens.access(account, "user"))
    end)
  end

  it("names what refused in place of the server, and the pair stays", function()
    clock.advance(30000)
    local before = store:get("token/home/user")
    for _, body in ipairs { "<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD></HTML>", "\n <!doctype html>invalid_grant" } do
      server.faults = { { status = 403, body = body } }
      local _, err, kind = tokens.access(account, "user")
      assert.equal("forbidden", kind)
      assert.matches("a firewall or proxy before the authorization server refused, not the account", err.message, 1, true)
      assert.matches("token_url", err.message, 1, true)
    end
    assert.equal(before, (store:get("token/home/user")))
  end)

  it("names the exchange for the vendor's support", function()
    clock.advance(30000)
    server.faults = { { status = 400, body = { error = "server_error", referenceID = "r-1" } } }
    assert.equal("r-1", (select(2, tokens.access(account, "user"))).request_id)
    server.faults = { { status = 403, body = "<html>", headers = { ["X-Request-Id"] = "r-2" } } }
    assert.equal("r-2", (select(2, tokens.access(account, "user"))).request_id)
  end)

  it("says what to do about each word of the server", function()
    clock.advance(30000)
    local remedies = {
      { { error = "invalid_audience" }, "hours or days" }, { { error = "invalid_target" }, "base_url" },
      { { error = "login_cancelled" }, "start a new one" }, { { error = "consent_required" }, "consent" },
      { { error = "interaction_required" }, "prompt" }, { { error = "temporarily_unavailable" }, "later" },
      { { error = "invalid_request", error_description = "Invalid code_verifier" }, "Invalid code_verifier. The code belongs" },
      { { error = "invalid_request", error_description = "something" }, "audience" },
    }
    for _, case in ipairs(remedies) do
      server.faults = { { status = 400, body = case[1] } }
      local _, err = tokens.access(account, "user")
      assert.matches(case[2], err.message, 1, true)
      assert.equal(case[1].error, err.reason)
      local verifier = case[1].error_description == "Invalid code_verifier"
      assert.is_true(not verifier or not err.message:find("audience", 1, true))
    end
  end)

  it("says how long to wait after a 429", function()
    server.faults = { { status = 429, headers = { ["Retry-After"] = "17" } } }
    local _, err = tokens.refresh(account)
    assert.equal(17, err.retry_after)
  end)

  it("uses the old token to its last second when it cannot be renewed", function()
    clock.advance(28800 - 30)
    server.faults = { "unreachable", { status = 500 } }
    assert.equal("a1", tokens.access(account, "user"))
    assert.same({ "token_not_renewed" }, accounts.events(account))
    assert.is_nil((tokens.access(account, "user", { rejected = "a1" })))
  end)

  it("asks for a new sign-in only when the newest token was refused", function()
    server.newest, server.before = "elsewhere", nil
    clock.advance(30000)
    local token, err, kind = tokens.access(account, "user")
    assert.is_nil(token)
    assert.equal("auth", kind)
    assert.equal("login_required", err.reason)
    assert.equal("r1", stored().refresh_token)
  end)

  it("offers a refused token again after a minute, not at every call", function()
    server.newest, server.before = "elsewhere", nil
    clock.advance(30000)
    for _ = 1, 5 do assert.equal("auth", select(3, tokens.access(account, "user"))) end
    assert.equal(2, #server.requests)
    clock.advance(61)
    server.newest = "r1"
    assert.equal("a2", tokens.access(account, "user"))
  end)

  it("takes a pair that another process stored while its own was being refused", function()
    local inner = server.send
    server.newest, server.before = "r9", nil
    account.send = function(request, seconds)
      local answer = inner(request, seconds)
      local newer = stored()
      newer.access_token, newer.refresh_token, newer.expires_at = "a9", "r9", clock.wall + 28800
      store:put("token/home/user", core.json_encode(newer))
      return answer
    end
    clock.advance(30000)
    assert.equal("a9", tokens.access(account, "user"))
    assert.equal("a9", stored().access_token)
  end)

  -- ---- lost replies ----

  it("repeats an exchange without answer once, with the same token", function()
    for _, fault in ipairs { "lost", "dropped", "garbled" } do
      signed_in()
      server.faults = { fault }
      assert.is_true(tokens.refresh(account))
      assert.equal(3, #server.requests)
      assert.equal("r1", server.field(2, "refresh_token"))
      assert.equal("r1", server.field(3, "refresh_token"))
      assert.equal(server.newest, stored().refresh_token)
    end
  end)

  it("repeats nothing once its lease is lost: another process may be exchanging", function()
    server.faults = { "lost" }
    account.store = broken {
      lease = function(_, key, ttl)
        local lease = assert(store:lease(key, ttl))
        lease.renew = store_failure
        return lease
      end,
    }
    assert.is_nil((tokens.refresh(account)))
    assert.equal(2, #server.requests)
  end)

  it("does not repeat what was never sent", function()
    server.faults = { "unreachable" }
    assert.equal("network", select(3, tokens.refresh(account)))
    assert.equal(2, #server.requests)
  end)

  it("is locked out by a lost reply only where a token is single use", function()
    signed_in({ client_secret = false }, { single_use = true })
    server.faults = { "lost" }
    assert.equal("auth", select(3, tokens.refresh(account)))
    assert.equal("r1", stored().refresh_token)
  end)

  it("tries a third-party app's previous token for a day when the newest is refused", function()
    tokens.refresh(account)
    server.newest, server.before = "r1", nil -- the service forgot the exchange
    assert.is_true(tokens.refresh(account))
    assert.equal("r2", server.field(3, "refresh_token"))
    assert.equal("r1", server.field(4, "refresh_token"))
    assert.equal(server.newest, stored().refresh_token)
  end)

  it("does not try it after a day, nor a single-use one at all", function()
    tokens.refresh(account)
    clock.advance(86400)
    server.newest, server.before = "r1", nil
    assert.equal("auth", select(3, tokens.refresh(account)))
    signed_in({ client_secret = false }, { single_use = true })
    tokens.refresh(account)
    server.newest = "r1"
    assert.equal("auth", select(3, tokens.refresh(account)))
  end)

  -- ---- the store ----

  it("does not exchange when the store cannot take the new pair", function()
    account.store = broken { reserve = store_failure }
    clock.advance(30000)
    local token, err, kind = tokens.access(account, "user")
    assert.is_nil(token)
    assert.equal("store", kind)
    assert.matches("No space left", err.message)
    assert.equal(1, #server.requests)
    account.store = store
    assert.equal("a2", tokens.access(account, "user"))
  end)

  it("uses a pair that could not be saved, reports it, and saves it as soon as it can", function()
    account.store = broken { put = store_failure }
    clock.advance(30000)
    assert.equal("a2", tokens.access(account, "user"))
    assert.same({ "token_unsaved" }, accounts.events(account))
    assert.equal("store", account.events[1].kind)
    assert.is_true(tokens.info(account).user.unsaved)
    assert.equal("a1", stored().access_token)
    assert.equal("a2", tokens.access(account, "user"))
    account.store = store
    clock.advance(2)
    assert.equal("a2", tokens.access(account, "user"))
    assert.equal("a2", stored().access_token)
    assert.is_false(tokens.info(account).user.unsaved)
    assert.same({ "token_unsaved", "token_saved" }, accounts.events(account))
  end)

  it("refreshes an unsaved pair with its own refresh token", function()
    account.store = broken { put = store_failure }
    assert.same({ true }, { (tokens.refresh(account)) })
    account.store = store
    clock.advance(30000)
    assert.equal("a3", tokens.access(account, "user"))
    assert.equal("r2", server.field(3, "refresh_token"))
  end)

  it("refreshes an unsaved pair while the store still fails", function()
    account.store = broken { put = store_failure }
    assert.is_true((tokens.refresh(account)))
    assert.is_true((tokens.refresh(account)))
    assert.equal("r2", server.field(3, "refresh_token"))
    account.store = broken { get = store_failure, put = store_failure }
    assert.is_true((tokens.refresh(account)))
    assert.equal("r3", server.field(4, "refresh_token"))
  end)

  it("reports to a sign-in that its pair is not saved yet", function()
    account.store = broken { put = store_failure }
    server.code = "good-code"
    local done, err = tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" })
    assert.is_true(done)
    assert.equal("store", err.kind)
  end)

  it("gives way to a newer pair when an unsaved one is saved at last", function()
    account.store = broken { put = store_failure }
    tokens.refresh(account)
    account.store = store
    clock.advance(10)
    server.code = "good-code"
    assert(tokens.exchange_code(again(), { code = "good-code", redirect_uri = "https://x.example/cb" }))
    assert.equal("a3", tokens.access(account, "user"))
    assert.equal("a3", stored().access_token)
  end)

  it("says so when the store cannot be read", function()
    local other = again()
    other.store = broken { get = store_failure }
    assert.equal("store", select(3, tokens.access(other, "user")))
    assert.equal("store", select(3, tokens.info(other)))
    assert.is_false(tokens.holds(other, "user"))
    account.store = other.store
    clock.advance(100)
    assert.equal("a1", tokens.access(account, "user"))
  end)

  it("takes an unreadable record for none, and says so", function()
    store:put("token/home/user", "{")
    local other = again()
    assert.equal("auth", select(3, tokens.access(other, "user")))
    assert.same({ "token_unreadable" }, accounts.events(other))
  end)

  it("takes over when its lease was lost and no other process wrote", function()
    account.store = broken { put = function(_, key, value, options)
      if options.lease then return nil, core.err { kind = "conflict", message = "lost" }, "conflict" end
      return store:put(key, value, options)
    end }
    assert.is_true(tokens.refresh(account))
    assert.equal("a2", stored().access_token)
  end)

  it("keeps a new sign-in when its lease was lost and another refreshed the old pair", function()
    local lost = false
    account.store = broken { put = function(_, key, value, options)
      if lost then return store:put(key, value, options) end
      lost = true
      local theirs = stored()
      theirs.access_token = "theirs"
      store:put(key, core.json_encode(theirs))
      return nil, core.err { kind = "conflict", message = "lost" }, "conflict"
    end }
    server.code = "good-code"
    assert.is_true(tokens.exchange_code(account, { code = "good-code", redirect_uri = "https://x.example/cb" }))
    assert.equal("a2", stored().access_token)
  end)

  it("waits for exchanges under way when asked to, and keeps what they bring", function()
    local order = {}
    function account.spawn(work)
      return { wait = function() order[#order + 1] = "waited"; return work() end }
    end
    function account.ended_within() return false end
    clock.advance(30000)
    assert.equal("timeout", select(3, tokens.access(account, "user")))
    assert.equal("timeout", select(3, tokens.access(account, "user", { deadline = core.clock() + 1 })))
    tokens.finish(account)
    assert.same({ "waited" }, order)
    assert.equal("a2", stored().access_token)
    assert.equal("a2", tokens.access(account, "user"))
  end)

  it("takes the other's pair when its lease was lost and the other wrote", function()
    account.store = broken { put = function()
      local theirs = stored()
      theirs.access_token = "theirs"
      store:put("token/home/user", core.json_encode(theirs))
      return nil, core.err { kind = "conflict", message = "lost" }, "conflict"
    end }
    assert.is_true(tokens.refresh(account))
    assert.equal("theirs", tokens.access(account, "user"))
    assert.equal("theirs", stored().access_token)
  end)

  it("leaves no lease and no reservation behind, whatever happens", function()
    local open = 0
    local function counted(object, method)
      open = open + 1
      local original = object[method]
      object[method] = function(...)
        open = open - 1
        return original(...)
      end
      return object
    end
    account.store = broken {
      lease = function(_, ...) return counted(store:lease(...), "release") end,
      reserve = function(_, ...) return counted(store:reserve(...), "close") end,
    }
    local refusal = { status = 401, body = { error = "login_required" } }
    for _, fault in ipairs { "unreachable", "lost", "garbled", { status = 500 }, refusal } do
      server.faults = { fault }
      tokens.refresh(account)
      assert.equal(0, open)
    end
    local inner = account.send
    account.send = function() error("cancelled", 0) end
    assert.error_matches(function() tokens.refresh(account) end, "cancelled")
    assert.equal(0, open)
    account.send = inner
    assert.is_true(tokens.refresh(account))
  end)

  -- ---- others at the same time ----

  it("waits for another process's exchange and takes the new pair", function()
    local other = again()
    clock.advance(30000)
    local lease = assert(store:lease("token/home/user", 60))
    local naps = 0
    other.sleep = function(seconds)
      naps = naps + 1
      clock.advance(seconds)
      if naps < 3 then return end
      local newer = stored()
      newer.access_token, newer.refresh_token, newer.expires_at = "theirs", "r7", clock.wall + 28800
      store:put("token/home/user", core.json_encode(newer), { lease = lease })
    end
    assert.equal("theirs", tokens.access(other, "user"))
    assert.equal(1, #server.requests)
    lease:release()
  end)

  it("does not wait for another process's exchange while its token is valid", function()
    clock.advance(28800 - 30)
    local lease = assert(store:lease("token/home/user", 90)) -- its holder may be dead
    for _ = 1, 2 do assert.equal("a1", tokens.access(account, "user", { deadline = core.clock() + 30 })) end
    assert.same({ 0, {} }, { account.slept, accounts.events(account) })
    clock.advance(26)
    assert.equal("a1", tokens.access(account, "user", { deadline = core.clock() + 3 })) -- it may end on the way: another is worth waiting
    assert.is_true(account.slept > 0)
    assert.is_nil((tokens.access(account, "user", { rejected = "a1", deadline = core.clock() + 1 })))
    lease:release()
    assert.equal("a2", tokens.access(account, "user"))
    assert.equal(2, #server.requests)
  end)

  it("takes the pair that another process stored just before it had the lease", function()
    clock.advance(30000)
    account.store = broken {
      lease = function(_, key, ttl)
        local newer = stored()
        newer.access_token, newer.refresh_token, newer.expires_at = "theirs", "r7", clock.wall + 28800
        store:put(key, core.json_encode(newer))
        return store:lease(key, ttl)
      end,
    }
    assert.equal("theirs", tokens.access(account, "user"))
    assert.equal(1, #server.requests)
  end)

  it("asks the store to keep a pair for good", function()
    local durable
    account.store = broken {
      put = function(_, key, value, options)
        durable = options.durable
        return store:put(key, value, options)
      end,
    }
    assert.is_true(tokens.refresh(account))
    assert.is_true(durable)
  end)

  it("gives up waiting within the time it is given", function()
    clock.advance(30000)
    local lease = assert(store:lease("token/home/user", 1e6))
    local token, err, kind = tokens.access(account, "user", { deadline = core.clock() + 5 })
    assert.is_nil(token)
    assert.equal("busy", kind)
    assert.equal("not_sent", err.outcome)
    assert.is_true(account.slept <= 5)
    lease:release()
  end)

  it("exchanges once for many tasks, even when the one that began gives up", function()
    local work_list = {}
    function account.spawn(work) -- a scheduler in small
      local task = {}
      task.run = coroutine.wrap(function() task.results = { work() } end)
      work_list[#work_list + 1] = task
      function task.wait()
        while not task.results do coroutine.yield() end
        return task.results[1], task.results[2], task.results[3]
      end
      return task
    end
    local inner = account.send
    function account.send(...)
      coroutine.yield()
      return inner(...)
    end
    clock.advance(30000)
    function account.ended_within(task) -- the third caller's time is up
      while not task.results and not account.impatient do coroutine.yield() end
      return task.results ~= nil
    end
    local found, callers = {}, {}
    for i = 1, 5 do
      callers[i] = coroutine.wrap(function() found[i] = tokens.access(account, "user") end)
      callers[i]()
    end
    callers[1] = nil -- cancelled: never resumed
    account.impatient = true
    callers[3]()
    assert.is_nil(found[3])
    account.impatient = false
    assert.equal(1, #work_list)
    work_list[1].run()
    work_list[1].run()
    for _, i in ipairs { 2, 4, 5 } do callers[i]() end
    assert.same({ nil, "a2", nil, "a2", "a2" }, found)
    assert.equal(2, #server.requests)
    assert.equal("a2", stored().access_token)
  end)

  it("separates accounts and slots", function()
    local other = again { account = "other" }
    assert.equal("auth", select(3, tokens.access(other, "user")))
    assert.is_false(tokens.holds(other, "user"))
    assert.is_false(tokens.holds(account, "business"))
    assert.is_true(tokens.holds(account, "user"))
  end)

  -- ---- clocks ----

  it("tries a token that was saved in the clock's future, and refreshes when it is rejected", function()
    clock.wall = clock.wall - 1e8
    local restarted = again()
    assert.equal("a1", tokens.access(restarted, "user"))
    assert.equal("a2", tokens.access(restarted, "user", { rejected = "a1" }))
  end)

  it("measures age by the monotonic clock while the process lives", function()
    clock.wall = clock.wall + 1e8
    assert.equal("a1", tokens.access(account, "user"))
    clock.wall = clock.wall - 2e8
    clock.mono = clock.mono + 28800
    assert.equal("a2", tokens.access(account, "user"))
  end)

  for _, jump in ipairs { -1e8, -3600, 3600, 1e8 } do
    it(("ages a token read from the store by the monotonic clock, when the wall clock is set by %d s"):format(jump), function()
      clock.advance(800)
      local restarted = again()
      assert.equal("a1", tokens.access(restarted, "user"))
      clock.wall = clock.wall + jump
      clock.advance(27000)
      assert.equal("a1", tokens.access(restarted, "user"))
      assert.equal(1000, tokens.info(restarted).user.expires_in)
      assert.equal(1, #server.requests)
      clock.advance(1000)
      assert.equal("a2", tokens.access(restarted, "user"))
    end)
  end

  it("takes a token for expired that had when the process read it", function()
    clock.mono, clock.wall = 5, clock.wall + 40000
    local restarted = again()
    assert.is_true(tokens.info(restarted).user.expires_in < 0)
    clock.wall = clock.wall - 40000
    assert.is_true(tokens.info(restarted).user.expires_in < 0)
    assert.equal("a2", tokens.access(restarted, "user"))
  end)

  it("tries the previous token for a day by the monotonic clock, whatever the wall clock", function()
    tokens.refresh(account)
    clock.wall = clock.wall + 1e8
    server.newest, server.before = "r1", nil
    assert.is_true(tokens.refresh(account))
    assert.equal("r1", server.field(4, "refresh_token"))
  end)

  it("says that the clock was never set when TLS fails in 1970", function()
    clock.wall = 1000
    account.send = function() return accounts.failed("tls", false) end
    local _, err, kind = tokens.refresh(account)
    assert.equal("tls", kind)
    assert.matches("the clock of this machine was never set", err.message)
  end)

  -- ---- the other slots ----

  it("gets a partner token by client credentials when one is needed", function()
    assert.equal("a2", tokens.access(account, "partner"))
    assert.equal("grant_type=client_credentials&client_id=app&client_secret=shh&audience=https%3A%2F%2Fapi.example",
      server.requests[2].body)
    assert.equal("a2", tokens.access(account, "partner"))
    clock.advance(28800)
    assert.equal("a3", tokens.access(account, "partner"))
    assert.equal("a4", tokens.access(account, "partner", { rejected = "a3" }))
  end)

  it("asks for the partner scopes that were asked for last", function()
    assert.is_true(tokens.partner_login(account, { scopes = { "vehicle_specs", "openid" } }))
    assert.equal("vehicle_specs openid", server.field(2, "scope"))
    assert.same({ "vehicle_specs", "openid" }, tokens.info(account).partner.scopes)
    clock.advance(28800)
    tokens.access(account, "partner")
    assert.equal("vehicle_specs openid", server.field(3, "scope"))
  end)

  it("gets a business token with its code and scopes", function()
    assert.is_true(tokens.business_login(account, { auth_code = "b-code", scopes = { "vehicle_cmds" } }))
    assert.equal("b-code", server.field(2, "auth_code"))
    assert.equal("vehicle_cmds", server.field(2, "scope"))
    assert.equal("a2", tokens.access(account, "business"))
    clock.advance(28800)
    local _, err, kind = tokens.access(account, "business")
    assert.equal("auth", kind)
    assert.matches("a new auth_code is needed", err.message)
    assert.matches("business_login{ auth_code", err.message, 1, true)
  end)

  it("has no partner or business token without a secret", function()
    signed_in({ client_secret = false }, { single_use = true })
    for _, found in ipairs { { tokens.access(account, "partner") }, { tokens.partner_login(account) },
      { tokens.business_login(account, { auth_code = "x", scopes = "y" }) } } do
      assert.is_nil(found[1])
      assert.equal("unsupported", found[3])
      assert.equal("not_sent", found[2].outcome)
    end
    assert.equal(1, #server.requests)
  end)

  it("raises for mistakes", function()
    assert.error_matches(function() tokens.business_login(account, {}) end, "bad option 'auth_code'")
    assert.error_matches(function() tokens.business_login(account, { auth_code = "x" }) end, "bad option 'scopes'")
    assert.error_matches(function() tokens.partner_login(account, { scopes = 1 }) end, "bad option 'scopes'")
  end)

  it("removes the tokens of the account: of all kinds, or of one", function()
    assert(tokens.partner_login(account))
    assert.is_true(tokens.logout(account, { auth = "partner" }))
    assert.is_nil(stored "partner")
    assert.is_table(stored "user")
    assert.equal("a1", tokens.access(account, "user"))
    assert.is_true(tokens.logout(account))
    assert.is_nil(stored "user")
    for _, one in ipairs { account, again() } do
      local _, err, kind = tokens.access(one, "user")
      assert.equal("auth not_sent", kind .. " " .. err.outcome)
    end
    assert.is_true(tokens.logout(account))
    assert.error_matches(function() tokens.logout(account, { auth = "owner" }) end, "auth")
    assert.error_matches(function() tokens.logout(account, { all = true }) end, "unknown option 'all'")
  end)

  it("keeps them where the store cannot remove them", function()
    account.store = broken { delete = store_failure }
    local _, _, kind = tokens.logout(account)
    assert.equal("store", kind)
    assert.equal("a1", tokens.access(account, "user"))
  end)

  it("says which scopes are asked for and which were granted", function()
    local found = assert(tokens.scopes(account))
    assert.equal("openid", found.asked[1])
    assert.is_nil(found.granted)
    local text = stored()
    text.scope, text.scopes = "openid vehicle_cmds", nil
    text.access_token = accounts.jwt { scp = { "openid", "offline_access" } }
    assert(store:put("token/home/user", core.json_encode(text), { durable = true }))
    found = assert(tokens.scopes(again { scopes = { "openid", "vehicle_location" } }))
    assert.same({ "openid", "vehicle_location" }, found.asked)
    assert.same({ "vehicle_location" }, found.missing)
  end)

  it("uses a ready token for everything and renews it never", function()
    local ready = again { token = "ready" }
    for _, slot in ipairs { "user", "partner", "business" } do
      assert.equal("ready", tokens.access(ready, slot))
      assert.is_true(tokens.holds(ready, slot))
    end
    assert.equal("auth", select(3, tokens.access(ready, "user", { rejected = "ready" })))
    assert.equal("unsupported", select(3, tokens.refresh(ready)))
  end)

  it("says what to do without client_id", function()
    local _, err, kind = tokens.refresh(again { client_id = false })
    assert.equal("auth", kind)
    assert.matches("set client_id", err.message)
  end)

  -- ---- information ----

  it("reports times and deadlines, without the tokens", function()
    local claims = { scp = { "openid", "vehicle_cmds" }, ou_code = "EU", aud = { "https://x" }, sub = "me", exp = 1 }
    local body = { access_token = accounts.jwt(claims), refresh_token = "r", expires_in = 100 }
    server.faults = { { status = 200, body = body } }
    assert.is_true(tokens.refresh(account))
    clock.advance(40)
    local info = tokens.info(account)
    assert.same({
      expires_at = clock.wall + 60, expires_in = 60, refreshed_at = clock.wall - 40, refresh_by = clock.wall - 40 + 90 * 86400,
      unsaved = false, scopes = { "openid", "vehicle_cmds" }, subject = "me", audience = { "https://x" }, region = "eu",
    }, info.user)
    assert.is_nil(info.partner)
  end)

  it("keeps a pair alive that was not used for 30 days", function()
    assert.is_false(tokens.keep_alive(account))
    clock.advance(30 * 86400 + 1)
    assert.is_true(tokens.keep_alive(account))
    assert.is_false(tokens.keep_alive(account))
    assert.equal(2, #server.requests)
  end)

  -- ---- secrets ----

  it("puts no token, code or secret into an error or event", function()
    account.store = broken { put = store_failure }
    local said = {}
    local function note(...)
      for i = 1, select("#", ...) do
        local value = select(i, ...)
        if type(value) == "table" then said[#said + 1] = core.json_encode(value) end
      end
    end
    server.newest = "canary-refresh-token"
    local record = stored()
    record.refresh_token, record.access_token = "canary-refresh-token", "canary-access-token"
    store:put("token/home/user", core.json_encode(record))
    local fresh = again { client_secret = "canary-secret" }
    fresh.store = account.store
    local echo = { error = "invalid_request", error_description = "bad canary-refresh-token" }
    for _, fault in ipairs { { status = 400, body = echo }, { status = 500, body = "canary-refresh-token" }, "lost" } do
      server.faults = { fault }
      note(tokens.refresh(fresh))
    end
    note(tokens.business_login(fresh, { auth_code = "canary-code", scopes = "x" }))
    note(fresh.events, (tokens.info(fresh)))
    assert.equal(6, #said, table.concat(said, '\n'))
    assert.is_nil(table.concat(said):find("canary", 1, true), table.concat(said, "\n"))
  end)
end)
