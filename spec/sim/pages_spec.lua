-- Both pages, clicked through in a real browser. Where there is none, these facts are pending; `make deps` installs one.
local browsers = require("spec.support.harness.browser")
local fleet = require("fleet")
local process = require("spec.support.harness.process")
local services = require("spec.support.servers.service")

local NEW, OLD = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"

local GARAGE = {
  vehicles = { { vin = NEW, display_name = "Blue" }, { vin = OLD, display_name = "Red", vehicle_command_protocol_required = false } },
  energy_sites = { { energy_site_id = 1000001, site_name = "Home" } },
  apps = { { client_id = "app", client_secret = "app-secret" }, { client_id = "own", client_secret = "s" } },
}

describe("in a browser", function()
  local browser, service

  local function fact(name, fn)
    if browsers.path() then it(name, fn) else pending(name .. " (no browser here)") end
  end

  setup(function() browser = browsers.start() end)
  teardown(function()
    if browser then browser:close() end
  end)

  before_each(function() service = services.start(GARAGE) end)
  after_each(function()
    if service then service:stop() end
    service = nil
  end)

  local SCOPES = { "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_cmds" }

  -- An address that stands for the application's: something answers there.
  local function back() return service.addresses.base_url .. "/status" end

  local function app(more)
    local options = { redirect_uri = back(), scopes = SCOPES }
    for name, value in pairs(more or {}) do options[name] = value end
    return service:client(options)
  end

  -- Where the browser was sent by the page.
  local function callback()
    for _ = 1, 1500 do
      for _, address in ipairs(browser:visited()) do
        if address:find(back(), 1, true) == 1 then return address end
      end
      fleet.sleep(0.02)
    end
    error("the browser was not sent back: " .. table.concat(browser:visited(), " "))
  end

  describe("the consent page", function()
    fact("sends back a code when its first button is clicked, and the code is good", function()
      local client = app()
      local address, pending_sign_in = client:authorize_url({ show_keypair_step = true })
      browser:open(address)
      assert.equal("Allow", browser:text("form button"))
      assert.matches("virtual key", browser:text("body"), 1, true)
      assert.equal(#SCOPES, browser:evaluate("document.querySelectorAll('input[type=checkbox]:checked').length"))
      browser:click("form button")
      assert.matches("[?&]code=NA_%x+", callback())
      assert(client:authorize(callback(), pending_sign_in))
      assert.equal("driver@example.com", assert(client.user:me()).email)
      client:close()
    end)

    fact("grants what stays ticked, and the rest is refused by the service", function()
      local client = app()
      local address, pending_sign_in = client:authorize_url()
      browser:open(address)
      browser:click("label", "user_data")
      browser:click("form button", "Allow")
      assert(client:authorize(callback(), pending_sign_in))
      assert(client:vehicle(OLD):info())
      assert.same({ nil, "scope" }, { client.user:me(), (select(3, client.user:me())) })
      client:close()
    end)

    fact("leaves no box to untick where all scopes are required", function()
      browser:open((app():authorize_url({ require_requested_scopes = true })))
      browser:click("label", "user_data")
      assert.equal(#SCOPES, browser:evaluate("document.querySelectorAll('input[type=checkbox]:checked').length"))
    end)

    fact("sends back access_denied when the second button is clicked", function()
      local client = app()
      local address, pending_sign_in = client:authorize_url()
      browser:open(address)
      browser:click("form button", "Refuse")
      local ok, err = client:authorize(callback(), pending_sign_in)
      assert.same({ nil, "access_denied" }, { ok, err.reason })
      client:close()
    end)

    fact("shows a name as text, and no form to an application that it does not know", function()
      browser:open((app({ client_id = "<b>x</b>" }):authorize_url()))
      assert.matches("client_id is not known", browser:text("body"), 1, true)
      assert.is_false(browser:evaluate("!!document.querySelector('form, b')"))
    end)

    fact("of an application's access takes it away", function()
      local client = service:sign_in(app())
      browser:open(client:consent_url({ back_url = back() }))
      assert.matches("vehicle_cmds", browser:text("form"), 1, true)
      browser:click("form button", "Revoke all")
      assert.equal(back(), callback())
      local ok, _, kind = client:vehicle(OLD):info()
      assert.same({ nil, "auth" }, { ok, kind })
      client:close()
    end)
  end)

  describe("the garage page", function()
    local function garage()
      browser:open(service.addresses.base_url .. "/")
      browser:wait("document.querySelectorAll('#cars .card').length === 2")
    end

    fact("shows vehicles, energy and prices, and no secret", function()
      garage()
      local shown = browser:text("body")
      for _, words in ipairs({ "Blue", "Red", NEW, "62 %", "Battery", "Home", "reserve 20 %", "No call yet" }) do
        assert.matches(words, shown, 1, true)
      end
      assert.is_nil(browser:evaluate("document.documentElement.outerHTML"):find(service.addresses.control_token, 1, true))
    end)

    fact("shows what a script does, while it does it", function()
      garage()
      local client = service:sign_in(app())
      assert(client:vehicle(OLD):auto_conditioning_start())
      assert(client:vehicle(OLD):set_charge_limit({ percent = 55 }))
      browser:wait("document.querySelector('#calls').innerText.includes('set_charge_limit')")
      browser:wait("document.querySelectorAll('.chips')[1].innerText.includes('to 21 °C')")
      service:control({ event = "drive", vin = OLD })
      browser:wait("document.querySelectorAll('.chips')[1].innerText.includes('driving')")
      browser:wait("document.querySelector('#cost').innerText.includes('USD')")
      client:close()
    end)

    fact("shows the calls of the vehicle whose button is clicked, and all again", function()
      local client = service:sign_in(app())
      assert(client:vehicle(OLD):vehicle_data())
      assert(client:vehicle(NEW):info())
      garage()
      browser:wait("document.querySelectorAll('#who button').length === 3")
      local function rows() return browser:evaluate("[...document.querySelectorAll('#calls tr')].map(r => r.cells[3].innerText).join()") end
      browser:click("#who button", "Red")
      assert.equal("...0002", rows())
      assert.equal("Red", browser:text("#who [aria-pressed=true]"))
      browser:click("#who button", "Blue")
      assert.equal("...0001", rows())
      browser:click("#who button", "All calls")
      assert.matches("%.%.%.0001,%.%.%.0002,", rows())
      client:close()
    end)

    fact("says that the simulator has ended", function()
      garage()
      service:stop()
      service = nil
      browser:wait("document.querySelector('#now').innerText.includes('has ended')")
    end)
  end)

  describe("the page of fleet login", function()
    fact("says in the browser that the sign-in is done, and shows no code", function()
      if process.no_command then return pending(process.no_command) end
      local port, directory = 21000 + math.floor(fleet.loop.clock() * 1000) % 10000, process.temporary("login")
      local input = directory .. "/in"
      process.execute("mkfifo " .. process.quote(input))
      local a = service.addresses
      local pipe = assert(io.popen(("FLEET_BASE_URL=%s FLEET_AUTH_URL=%s FLEET_TOKEN_URL=%s FLEET_CLIENT_ID=own FLEET_CLIENT_SECRET=s " ..
        "FLEET_STORE=%s FLEET_REDIRECT_URI=http://localhost:%d/back %s login <%s 2>&1"):format(a.base_url, a.auth_url, a.token_url,
        process.quote(directory .. "/store"), port, process.quote(process.root .. "/lua/fleet/cli/fleet"), process.quote(input))))
      local writer = assert(io.open(input, "w")) -- an open input: the answer comes through the browser
      local address
      repeat address = assert(pipe:read("l")):match("(http%S+authorize%S+)$") until address
      browser:open(address)
      browser:click("form button", "Allow")
      browser:wait("location.port === '" .. port .. "' && document.body.innerText.includes('Signed in')")
      assert.is_nil(browser:evaluate("document.documentElement.outerHTML"):find("code=", 1, true))
      writer:close()
      assert.matches("signed in", pipe:read("a"), 1, true)
      pipe:close()
      process.execute("rm -rf " .. process.quote(directory))
    end)
  end)
end)
