-- `fleet setup` against `fleet sim`: a person at a terminal, then the same unattended; pairing and the doctor afterwards; the page
-- at which the browser ends, in a browser.

local browsers = require "spec.support.harness.browser"
local core = require "fleet.core"
local fleet = require "fleet"
local process = require "spec.support.harness.process"
local recorder = require "spec.support.servers.recorder"
local services = require "spec.support.servers.service"
local sims = require "spec.support.servers.sim_process"
local terminal = require "spec.support.harness.terminal"
local test_browser = require "fleet.sim.test_browser"

local NEW, OLD = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"
local quote, shell = process.quote, sims.shell
local preload = os.getenv("LD_PRELOAD")
local ours = preload and "LD_PRELOAD=" .. quote(preload) .. " " or ""

-- What needs a pseudo-terminal is pending where there is none.
local function at_terminal(name, fn)
  if terminal.available() then it(name, fn) else pending(name .. " (no pseudo-terminal here)") end
end

describe("setting up against the simulator", function()
  local service, web, directory, environment, pem

  -- The key that will be found: hosted, known to the service as the application's, and not yet registered.
  setup(function()
    directory = process.temporary("setup")
    local key = fleet.key.generate()
    assert(key:save(directory .. "/key.pem"))
    pem = key:public_pem()
    service = services.start {
      vehicles = { { vin = NEW, display_name = "Blue" }, { vin = OLD, display_name = "Red", vehicle_command_protocol_required = false } },
      apps = { { client_id = "app", client_secret = "canary-secret-4711", domain = "example.com", public_key = pem, registered = false,
        redirect_uris = { "https://app.example.com/back" } } },
    }
    web = recorder.start()
  end)
  teardown(function()
    service:stop()
    web:stop()
    process.execute("rm -rf " .. quote(directory))
  end)

  local function host(body)
    web:script { { body = body, status = body and 200 or 404, times = 0 } }
  end

  -- home: a fresh one has no configuration and no tokens.
  local function enter(home)
    local at = service.addresses
    environment = ours .. string.format(
      "FLEET_BASE_URL=%s FLEET_AUTH_URL=%s FLEET_TOKEN_URL=%s FLEET_KEY_URL=%s XDG_CONFIG_HOME=%s XDG_STATE_HOME=%s FLEET_KEY=%s ",
      at.base_url, at.auth_url, at.token_url, web.url .. "/key.pem", quote(directory .. "/" .. home .. "/config"),
      quote(directory .. "/" .. home .. "/state"), quote(directory .. "/key.pem"))
  end

  local function content(path)
    local file = assert(io.open(directory .. "/" .. path, "rb"))
    local text = file:read("a")
    file:close()
    return text
  end

  at_terminal("asks a person, who ends with a first read; the secret is not shown", function()
    enter "person"
    host(pem)
    local text, status = terminal.run(environment .. sims.fleet .. " setup", {
      { "client id[^\n]*: ", "app" },
      { "kind of application[^\n]*%[third_party%]: ", "" },
      { "client_secret: ", "canary-secret-4711" },
      { "redirect address[^\n]*: ", "app.example.com/back" }, -- no address: asked again
      { "a whole address.*redirect address[^\n]*: ", "https://app.example.com/back" },
      { "domain that hosts[^\n]*: ", "https://app.example.com" },
      { "did you mean 'app.example.com'.*domain that hosts[^\n]*: ", "app.example.com" },
      { "Open this address to sign in: (http%S+)", test_browser.consent },
    })
    assert.equal(0, status, text)
    for _, words in ipairs {
      "exactly this redirect address: https://app.example.com/back", "nothing to do: the key is at " .. web.url,
      "done: app.example.com in http", "done: signed in; granted: openid", NEW .. " Blue", OLD .. " Red",
      "to do: the key is not on " .. NEW, "/_ak/app.example.com?vin=" .. NEW, "ready to read; still to do: pairing",
    } do
      assert.is_truthy(string.find(text, words, 1, true), words .. " is not in:\n" .. text)
    end
    assert.is_nil(string.find(text, "canary-secret", 1, true))
  end)

  at_terminal("has written a configuration that is its owner's alone, and that scripts and later commands use", function()
    local path = directory .. "/person/config/fleet/config.json"
    local out = shell("stat -c '%a' " .. quote(path) .. " " .. quote(directory .. "/person/config/fleet"))
    assert.equal("600\n700\n", out)
    local members = core.json_decode(content "person/config/fleet/config.json")
    assert.same({ "app", "canary-secret-4711", "app.example.com" }, { members.client_id, members.client_secret, members.domain })
    local client <close> = assert(fleet.from_config(path))
    assert.equal(2, #client:vehicles():collect())
    local status
    out, status = shell("XDG_CONFIG_HOME=" .. quote(directory .. "/person/config") .. " " .. ours .. sims.fleet .. " honk_horn " .. OLD)
    assert.same({ "done (plain)\n", 0 }, { out, status })
  end)

  at_terminal("does nothing twice: a second run asks nothing and skips what is done", function()
    enter "person"
    local before = content "person/config/fleet/config.json"
    local out, status = shell(environment .. sims.fleet .. " setup --yes </dev/null 2>&1")
    assert.equal(0, status, out)
    for _, words in ipairs {
      "nothing to do: " .. directory .. "/key.pem", "nothing to do: app.example.com in", "nothing to do: signed in already",
      "nothing to do: " .. directory .. "/person/config/fleet/config.json",
    } do
      assert.is_truthy(string.find(out, words, 1, true), words .. " is not in:\n" .. out)
    end
    assert.equal(before, content "person/config/fleet/config.json")
  end)

  at_terminal("keeps the budgets that its owner wrote into the configuration", function()
    enter "person"
    local name = "person/config/fleet/config.json"
    local members = core.json_decode(content(name))
    members.budgets = { usd_per_month = 5 }
    local file = assert(io.open(directory .. "/" .. name, "wb"))
    file:write(core.json_encode(members, "scopes"))
    file:close()
    local out, status = shell(environment .. sims.fleet .. " setup --yes </dev/null 2>&1")
    assert.equal(0, status, out)
    assert.same({ usd_per_month = 5 }, core.json_decode(content(name)).budgets)
  end)

  -- `consent` reads what setup prints and pastes where the browser went.
  local function unattended(words)
    local input, consent = directory .. "/input", ours .. "lua5.4 " .. quote(process.root .. "/spec/support/fixtures/consent.lua")
    process.execute("rm -f " .. quote(input) .. "; mkfifo " .. quote(input))
    local log, ended = directory .. "/log", directory .. "/ended"
    shell(string.format("(%s %s setup %s <%s 2>&1; echo $? >%s) | %s %s >%s", environment, sims.fleet, words, quote(input), quote(ended),
      consent, quote(log), quote(input)))
    return content "log", tonumber(content "ended")
  end

  it("runs unattended, every answer by option or environment, and resumes after what was missing", function()
    enter "robot"
    host(nil)
    environment = environment .. "FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=canary-secret-4711 FLEET_DOMAIN=app.example.com "
    local out, status = unattended("--app third_party --redirect-uri https://app.example.com/back --paste")
    assert.equal(0, status, out)
    assert.is_truthy(string.find(out, "no file is there (HTTP 404)", 1, true), out)
    assert.is_truthy(string.find(out, "key.public.pem", 1, true), out)
    assert.is_truthy(string.find(out, "still to do: hosting, pairing", 1, true), out)
    assert.equal(pem, content "key.public.pem")
    host(content "key.public.pem")
    out, status = shell(environment .. sims.fleet .. " setup --yes --json </dev/null 2>/dev/null")
    assert.equal(0, status)
    local value = core.json_decode(out)
    assert.same({ "pairing" }, value.todo)
    local states = { pairing = "todo", application = "done", region = "done", ["first read"] = "done" }
    for _, step in ipairs(value.steps) do assert.equal(states[step.name] or "skipped", step.state, step.name) end
  end)

  it("says which answer is missing without a terminal", function()
    enter "nobody"
    for _, case in ipairs {
      { "", "--client-id or FLEET_CLIENT_ID" }, { "--client-id app", "FLEET_CLIENT_SECRET" },
      { "--client-id app --app other", "third_party or open_source" },
      { "--client-id app --app open_source --domain HTTP://x", "leave out the scheme" },
      { "--client-id app --client-secret plain", "not taken as plain text" },
    } do
      local out, status = shell(environment .. sims.fleet .. " setup " .. case[1] .. " </dev/null 2>&1")
      assert.equal(2, status, out)
      assert.is_truthy(string.find(out, case[2], 1, true), out)
    end
  end)

  it("leaves an application without secret to the vendor's onboarding", function()
    enter "open"
    local out = shell(environment .. sims.fleet .. " setup --client-id app --app open_source --paste </dev/null 2>&1")
    assert.is_truthy(string.find(out, "nothing to do: an open-source app has no partner token", 1, true), out)
    assert.is_nil(core.json_decode(content "open/config/fleet/config.json").client_secret)
  end)

  at_terminal("the doctor finds every line well once the owner has accepted the key, and pair says so", function()
    enter "person"
    host(pem)
    local doctor = environment .. sims.fleet .. " doctor --key-url " .. web.url .. "/key.pem"
    local out, status = shell(doctor .. " 2>&1")
    assert.equal(34, status, out)
    assert.is_truthy(string.find(out, "FIX pairing " .. NEW, 1, true), out)
    out, status = shell(environment .. sims.fleet .. " pair " .. NEW .. " --wait 0.01 2>&1")
    assert.equal(12, status, out)
    service:control { event = "pair_key", vin = NEW, public_key = pem }
    out, status = shell(environment .. sims.fleet .. " pair " .. NEW .. " --wait 5")
    assert.equal(0, status, out)
    assert.is_truthy(string.find(out, "paired: " .. NEW, 1, true), out)
    out, status = shell(doctor .. " --json")
    assert.equal(0, status, out)
    for _, line in ipairs(core.json_decode(out).checks) do assert.is_true(line.ok, line.name .. ": " .. line.message) end
  end)

  it("the manual's example runs", function()
    if preload then return pending("its other programs do not run with a preloaded sanitizer") end
    local out, status = shell("PATH=" .. quote(process.root .. "/lua/fleet/cli") .. ":$PATH sh "
      .. quote(process.root .. "/examples/setup.sh") .. " 2>&1")
    assert.equal(0, status, out)
    assert.is_truthy(string.find(out, "[8/9] first read: the list of vehicles\n      done: ", 1, true), out)
    assert.is_truthy(string.find(out, "\nok  sign-in", 1, true), out)
  end)

  -- ---- the page at which the browser ends ----

  local function fact(name, fn)
    if browsers.path() then it(name, fn) else pending(name .. " (no browser here)") end
  end

  fact("the browser ends at a page that says so, without code or token", function()
    local own = services.start {}
    local browser = browsers.start()
    finally(function()
      browser:close()
      own:stop()
    end)
    local port = 20000 + tonumber(string.match(own.addresses.base_url, ":(%d+)$")) % 20000
    local log, ended = directory .. "/login", directory .. "/login.status"
    local command = ours .. string.format(
      "FLEET_BASE_URL=%s FLEET_AUTH_URL=%s FLEET_TOKEN_URL=%s FLEET_STORE=%s FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=s "
      .. "FLEET_REDIRECT_URI=http://localhost:%d/back XDG_CONFIG_HOME=/nowhere %s login --scopes openid,offline_access,vehicle_cmds",
      own.addresses.base_url, own.addresses.auth_url, own.addresses.token_url, quote(directory .. "/login.store"), port, sims.fleet)
    local pipe = assert(io.popen("(" .. command .. " >" .. quote(log) .. " 2>&1; echo $? >" .. quote(ended) .. ")", "w"))
    local address
    for _ = 1, 800 do
      local file = io.open(log, "rb")
      address = file and string.match(file:read("a"), "sign in: (http%S+)\n")
      if file then file:close() end
      if address then break end
      core.pause(0.025)
    end
    browser:open(address)
    browser:click("form button", "Allow")
    browser:wait("document.title === 'Signed in'")
    assert.matches("return to the terminal", browser:text("body"), 1, true)
    local html = browser:evaluate("document.documentElement.outerHTML")
    local code = assert(string.match(table.concat(browser:visited(), " "), "[?&]code=([^&%s]+)"))
    assert.is_nil(string.find(html, code, 1, true))
    assert.is_nil(string.find(html, "eyJ", 1, true))
    assert.is_false(browser:evaluate("!!document.querySelector('script, form, img, link')"))
    pipe:close()
    assert.equal("0\n", content "login.status")
    assert.is_truthy(string.find(content "login", "signed in; granted: openid", 1, true))
  end)
end)
