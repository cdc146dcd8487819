-- The command as a process: found from anywhere, installed, at a terminal, signing in against the simulator.

local core = require "fleet.core"
local process = require "spec.support.harness.process"
local sims = require "spec.support.servers.sim_process"
local terminal = require "spec.support.harness.terminal"

local shell, quote = sims.shell, process.quote
local variant = string.match(process.build, "[^/]+$")
local no_paths = "env -u LUA_PATH -u LUA_CPATH "
-- A preloaded sanitizer is for our own code: it makes other programs hang or report their own leaks.
local preload = os.getenv("LD_PRELOAD")
local clean = "env -u LD_PRELOAD "
local curl = clean .. "curl -s -m 20 "
local ours = preload and "LD_PRELOAD=" .. quote(preload) .. " " or ""

describe("the command", function()
  it("finds its tree from any directory, without any path set", function()
    local out, status = shell("cd / && " .. no_paths .. sims.fleet .. " version --json")
    assert.equal(0, status)
    assert.truthy(core.json_decode(out).fleet)
    out, status = shell("cd " .. quote(process.root .. "/lua/fleet/cli") .. " && " .. no_paths .. "./fleet version")
    assert.equal(0, status, out)
  end)

  it("finds the module below the prefix where it is installed", function()
    local directory = process.temporary("install")
    finally(function() process.execute("rm -rf " .. quote(directory)) end)
    local out, status = shell(string.format(
      clean .. "env -u MAKEFLAGS -u MAKELEVEL make -s -C %s install VARIANT=%s DESTDIR=%s PREFIX=/opt/f 2>&1",
      quote(process.root), variant, quote(directory)))
    assert.equal(0, status, out)
    out, status = shell("cd / && env -u FLEET_BUILD -u LUA_PATH -u LUA_CPATH " .. quote(directory .. "/opt/f/bin/fleet")
      .. " commands --json")
    assert.equal(0, status)
    assert.equal(#core.commands(), #core.json_decode(out))
  end)

  it("is not installed for another Lua, which could not load it", function()
    local function made(folder, version)
      local line = clean .. "env -u MAKEFLAGS -u MAKELEVEL make -n -B -C %s build VARIANT=%s LUADIR=%s %s 2>&1"
      return shell(string.format(line, quote(process.root), variant, quote(folder), version and "LUA_VERSION=" .. version or ""))
    end
    for _, version in ipairs { "5.1", "5.3" } do
      for _, folder in ipairs { "/x/share/lua/" .. version, "/x/lib/luarocks/rocks-" .. version .. "/fleet/scm-1/lua" } do
        local out, status = made(folder, "5.4")
        assert.equal(2, status)
        assert.matches("fleet is built for Lua 5.4, and " .. folder .. " belongs to Lua " .. version, out, 1, true)
        out, status = made(folder)
        assert.equal(0, status, out)
        assert.matches("/lua" .. version, out, 1, true) -- what is built is for the Lua of the folder
      end
    end
    for _, folder in ipairs { "/opt/5.1/share/lua/5.4", "/x/lib/luarocks/rocks-5.4/fleet/scm-1/lua", "/x/lua" } do
      local out, status = made(folder)
      assert.equal(0, status, out)
    end
  end)

  it("ends with the status of what happened", function()
    local nowhere = "FLEET_TOKEN=a-token FLEET_BASE_URL=http://127.0.0.1:9 XDG_CONFIG_HOME=/nowhere "
    local _, status = shell(sims.fleet .. " vehicls 2>/dev/null")
    assert.equal(2, status)
    _, status = shell(nowhere .. sims.fleet .. " user me 2>/dev/null")
    assert.equal(10, status)
    _, status = shell(sims.fleet .. " commands >/dev/full 2>/dev/null")
    assert.equal(1, status)
  end)
end)

-- What needs a pseudo-terminal is pending where there is none.
local function at_terminal(name, fn)
  if terminal.available() then it(name, fn) else pending(name .. " (no pseudo-terminal here)") end
end

describe("the command with the simulator", function()
  local sim, env

  setup(function()
    sim = sims.start("--log " .. quote(process.directory .. "/sim.log"))
    env = sim.env .. "FLEET_CLIENT_ID=app FLEET_CLIENT_SECRET=canary-secret-4711 "
  end)
  teardown(function() sim.stop() end)

  local scopes = " --scopes openid,offline_access,user_data,vehicle_device_data,vehicle_cmds,energy_device_data"

  -- Starts a sign-in whose standard input comes from a pipe; returns the authorize address and finish(line) → output, status.
  local function login(more)
    local directory = process.temporary("login")
    local input, output = directory .. "/in", directory .. "/out"
    process.execute("mkfifo " .. quote(input))
    local pipe = assert(io.popen(env .. more .. "timeout 60 " .. sims.fleet .. " login" .. scopes .. " <" .. quote(input)
      .. " 2>&1 | " .. clean .. "tee " .. quote(output) .. "; echo done", "r"))
    local writer = assert(io.open(input, "w"))
    local lines = { pipe:read("l"), pipe:read("l") }
    local function finish(line)
      if line then writer:write(line, "\n"):flush() end
      writer:close()
      local rest = pipe:read("a")
      pipe:close()
      process.execute("rm -rf " .. quote(directory))
      return rest
    end
    local function write(text) writer:write(text):flush() end
    return string.match(lines[2], "(http%S+)$"), finish, lines[1], write
  end

  local function callback_of(url)
    local out = shell(curl .. "-o /dev/null -w '%{redirect_url}' " .. quote(url) .. "; echo")
    return string.match(out, "^%S+")
  end

  it("signs in with a pasted address, and the next process has the tokens", function()
    local url, finish = login("FLEET_REDIRECT_URI=https://app.example.com/back ")
    assert.equal(sim.auth_url .. "/", string.sub(url, 1, #sim.auth_url + 1))
    local rest = finish(callback_of(url))
    assert.truthy(string.find(rest, "signed in; granted: ", 1, true), rest)
    local out, status = shell(env .. sims.fleet .. " vehicles --json")
    assert.equal(0, status)
    assert.equal(2, #core.json_decode(out))
    out, status = shell(env .. sims.fleet .. " token info --json")
    assert.equal(0, status)
    assert.truthy(core.json_decode(out).user.refresh_by)
    assert.falsy(string.find(out, "eyJ", 1, true))
    out, status = shell(env .. sims.fleet .. " refresh")
    assert.equal("refreshed\n", out)
    assert.equal(0, status)
  end)

  it("signs in through the browser when the redirect address is on this machine, and takes nothing else for it", function()
    local port = 20000 + tonumber(sim.pid) % 20000
    local back = "http://localhost:" .. port .. "/back"
    local url, finish, invitation, write = login("FLEET_REDIRECT_URI=" .. back .. " ")
    assert.truthy(string.find(invitation, "Waiting for the browser", 1, true), invitation)
    local function status_of(arguments)
      return (shell(curl .. "-o /dev/null -w '%{http_code}' " .. arguments .. "; echo"))
    end
    assert.equal("404\n", status_of(quote("http://localhost:" .. port .. "/other")))
    assert.equal("403\n", status_of("-H 'Host: evil.example.com' " .. quote(back)))
    assert.equal("405\n", status_of("-d code=x " .. quote(back)))
    local state = string.match(url, "[?&]state=([^&]+)")
    for _, query in ipairs { "", "code=x&state=y", "state=a&state=b", "state=" .. state .. "&state=" .. state, "code=%zz", "%zz",
      "code=x&code=y&state=" .. state, "error=access_denied" } do
      assert.equal("400\n", status_of(quote(back .. "?" .. query)), query)
    end
    write("half a line")
    local page = shell(curl .. "-L " .. quote(url))
    assert.truthy(string.find(page, "Signed in", 1, true), page)
    assert.falsy(string.find(page, "code=", 1, true))
    assert.truthy(string.find(finish(), "signed in", 1, true))
    assert.equal("000\n", status_of(quote(back)))
  end)

  it("signs in with an address pasted in two parts while it waits for the browser", function()
    local port = 20000 + (tonumber(sim.pid) + 1) % 20000
    local url, finish, _, write = login("FLEET_REDIRECT_URI=http://localhost:" .. port .. "/back ")
    local address = callback_of(url)
    write(string.sub(address, 1, 20))
    shell("sleep 0.1")
    local rest = finish(string.sub(address, 21))
    assert.truthy(string.find(rest, "signed in; granted: ", 1, true), rest)
  end)

  it("an address of another sign-in is not taken; the end of the input ends the wait", function()
    local _, finish = login("FLEET_REDIRECT_URI=https://app.example.com/back ")
    local rest = finish("https://app.example.com/back?code=x&state=y")
    assert.truthy(string.find(rest, "another sign-in", 1, true), rest)
  end)

  at_terminal("asks for a PIN at a terminal without showing it", function()
    local out = terminal.run(env .. ours .. sims.fleet .. " speed_limit_activate 5YJSFLEE9KF000002", { { "pin: ", "8305" } })
    assert.truthy(string.find(out, "pin:", 1, true), out)
    assert.falsy(string.find(out, "8305", 1, true), out)
    assert.truthy(string.find(out, "done", 1, true), out)
  end)

  it("a command is done, a setting is read back, a chart is drawn", function()
    local out, status = shell(env .. sims.fleet .. " honk_horn 5YJSFLEE9KF000002")
    assert.equal("done (plain)\n", out)
    assert.equal(0, status)
    local products = core.json_decode((shell(env .. sims.fleet .. " products --json")))
    local site
    for _, product in ipairs(products) do site = site or product.energy_site_id end
    out, status = shell(env .. sims.fleet .. " chart " .. site .. " day=2026-01-01")
    assert.equal(0, status, out)
    assert.truthy(string.find(out, " 00    03    06    09    12    15    18    21", 1, true), out)
    local bars = assert(string.match(out, "\nsolar +(.-)  +[%d.]+ kWh"), out)
    assert.is_true(utf8.len(bars) >= 12, out)
  end)

  it("wakes a vehicle and says that it is online", function()
    local out, status = shell(env .. sims.fleet .. " wake 5YJSFLEE9KF000002 --timeout 60 --json")
    assert.equal(0, status, out)
    assert.same({ state = "online" }, core.json_decode(out))
  end)

  it("the manual's example runs", function()
    if preload then return pending("its other programs do not run with a preloaded sanitizer") end
    local out, status = shell("PATH=" .. quote(process.root .. "/lua/fleet/cli") .. ":$PATH XDG_CONFIG_HOME=/nowhere sh "
      .. quote(process.root .. "/examples/command_line.sh") .. " 2>&1")
    assert.equal(0, status, out)
    for _, line in ipairs {
      "signed in; granted: openid", "\ndone (plain)\nnothing to do: already_set (plain)\n", '"charge_limit_soc":70',
      "did you mean 'percent'?", "\nstatus 2\n",
    } do
      assert.truthy(string.find(out, line, 1, true), out)
    end
  end)

  it("the simulator ends by SIGTERM, and its log is whole", function()
    local own = sims.start("--log " .. quote(process.directory .. "/own.log"))
    shell(curl .. own.base_url .. "/status; echo")
    assert.equal("0", own.stop())
    local file = assert(io.open(process.directory .. "/own.log", "r"))
    local line = file:read("l")
    file:close()
    assert.equal("/status", core.json_decode(line).path)
  end)
end)
