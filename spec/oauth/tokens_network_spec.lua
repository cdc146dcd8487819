-- A process that starts while the token address cannot be used: its pair survives, and the next process signs on with it
-- (doc/protocol.md#token-errors). Whole processes, a file store, real transport.

local core = require "fleet.core"
local process = require "spec.support.harness.process"
local recorder = require "spec.support.servers.recorder"
local sims = require "spec.support.servers.sim_process"
local stores = require "spec.support.fixtures.stores"

local quote = process.quote
local preload = os.getenv("LD_PRELOAD")
local ours = preload and "LD_PRELOAD=" .. quote(preload) .. " " or ""

describe("a process that starts with an expired access token", function()
  local server, directory

  setup(function() server = recorder.start() end)
  teardown(function() server:stop() end)
  before_each(function()
    directory = stores.directory()
    local store = assert(require("fleet.store").file(directory))
    local _, wall = core.clock()
    assert(store:put("token/default/user", core.json_encode {
      access_token = "old", refresh_token = "the-pair", saved_at = wall - 9000, refreshed_at = wall - 9000, expires_at = wall - 100,
    }, { durable = true }))
    store:close()
  end)
  after_each(function() stores.remove(directory) end)

  local function stored()
    local store = assert(require("fleet.store").file(directory))
    local text = store:get "token/default/user"
    store:close()
    return core.json_decode(text)
  end

  -- Runs `fleet user me`; returns the error kind or "done".
  local function run(token_url, words)
    local out = sims.shell(ours .. string.format(
      "FLEET_BASE_URL=%s FLEET_AUTH_URL=%s FLEET_TOKEN_URL=%s FLEET_STORE=%s FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=s "
      .. "XDG_CONFIG_HOME=/nowhere %s user me --json %s 2>/dev/null", server.url, server.url, token_url or server.url, quote(directory),
      sims.fleet, words or ""))
    local value = assert(core.json_decode(out), out)
    return value.kind or "done"
  end

  local cases = {
    { "no name server knows", "network", url = "https://" .. ("a"):rep(64) .. ".invalid" }, -- no label is that long
    { "no server listens at", "network", url = "http://127.0.0.1:9" },
    { "answers 500", "service", rule = { status = 500, body = "{}" } },
    { "answers 503 with a page", "service", rule = { status = 503, body = "<html>busy</html>" } },
    { "answers 504 twice", "service", rule = { status = 504, body = "" } },
    { "does not answer in time", "timeout", rule = { silent = true }, words = "--timeout 0.3" },
    { "closes without a word", "network", rule = { drop = true } },
    { "cuts its answer", "protocol", rule = { body = '{"access_token":"new","refresh_token":"other"}', cut = 20 } },
    { "answers with a page and 200", "protocol", rule = { body = "<html>sign in to this hotel's network</html>" } },
    { "is behind a firewall", "forbidden", rule = { status = 403, body = "blocked" } },
  }
  for _, case in ipairs(cases) do
    it("keeps its pair when the token address is one that " .. case[1] .. ", and the next process uses it", function()
      local rule = case.rule
      if rule then rule.on, rule.times = "POST /oauth2", 0 end
      server:script { rule }
      assert.equal(case[2], run(case.url, case.words))
      assert.equal("the-pair", stored().refresh_token)
      server:script { { on = "POST /oauth2", body = '{"access_token":"new","refresh_token":"next","expires_in":28800}' } }
      assert.equal("done", run())
      assert.equal("next", stored().refresh_token)
      local requests = server:records()
      assert.is_truthy(string.find(requests[1].body, "refresh_token=the-pair", 1, true))
      assert.equal("Bearer new", requests[#requests].headers.authorization)
    end)
  end

  it("asks for a new sign-in when, and only when, the server says so", function()
    server:script { { on = "POST /oauth2", status = 401, body = '{"error":"login_required"}', times = 0 } }
    assert.equal("auth", run())
    assert.equal("the-pair", stored().refresh_token)
  end)
end)
