-- The same work in every host: fifty reads and fifty signed commands in flight beside a ticker of ten milliseconds, work that
-- begins later, a close in flight, a cancelled task, an error in a task, and a host's own HTTP. Hosts whose program is missing
-- are pending.

local fleet = require "fleet"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"
local quote = process.quote

local vin = "5YJ3FLEE9RF000001"
local clean = "unset LD_PRELOAD FLEET_BUILD LUA_PATH LUA_CPATH MAKEFLAGS MAKELEVEL; cd " .. quote(process.root) .. "; "

local function shell(line)
  local pipe = io.popen(clean .. "{ " .. line .. "; } 2>&1; status=$?; echo; echo $status")
  local text = pipe:read "a"
  pipe:close()
  local out, status = string.match(text, "^(.-)\n*(%d+)\n$")
  return out, tonumber(status)
end

local function there(program) return select(2, shell("command -v " .. program)) == 0 end

-- The module of this tree for a Lua: "5.4", "5.3", "5.1" or "jit"; built when it is not.
local built = {}
local folders = { ["5.4"] = "plain", ["5.3"] = "lua5.3", ["5.1"] = "lua5.1", jit = "luajit" }
local function paths(version)
  if not built[version] then
    local out, status = shell("make -s build LUA_VERSION=" .. version)
    assert(status == 0, out)
    built[version] = true
  end
  local root = process.root
  return string.format("LUA_PATH=%s LUA_CPATH=%s ",
    quote(root .. "/lua/?.lua;" .. root .. "/lua/?/init.lua;" .. root .. "/?.lua;;"),
    quote(root .. "/build/" .. folders[version] .. "/lib/?.so;;"))
end

local function has(interpreter, module) return select(2, shell(interpreter .. " -e \"require '" .. module .. "'\"")) == 0 end

local function compiled(name, packages)
  local directory = process.temporary "host"
  local out, status = shell(string.format("make -s build/plain/lib/libfleet.a && cc -std=gnu11 -Wall -Wextra -Werror -O1 "
    .. "-Isrc/bind/lua -o %s/host examples/hosts/%s.c build/plain/lib/libfleet.a "
    .. "$(pkg-config --cflags --libs lua5.4 libcurl libcrypto libprotobuf-c %s) -lm -rdynamic", quote(directory), name, packages))
  assert(status == 0, out)
  return quote(directory .. "/host")
end

-- name → what must be there, and the command line of the host
local hosts = {
  { name = "plain Lua", needs = "lua5.4", line = function() return paths "5.4" .. "lua5.4 spec/hosts/plain.lua" end },
  { name = "cqueues", needs = "lua5.4", module = "cqueues", line = function() return paths "5.4" .. "lua5.4 spec/hosts/cqueues.lua" end },
  { name = "luv", needs = "lua5.4", module = "luv", line = function() return paths "5.4" .. "lua5.4 spec/hosts/luv.lua" end },
  { name = "LuaSocket's select", needs = "lua5.1", module = "socket", line = function()
    return paths "5.1" .. "lua5.1 spec/hosts/select.lua"
  end },
  { name = "Copas", needs = "lua5.1", module = "copas", line = function() return paths "5.1" .. "lua5.1 spec/hosts/copas.lua" end },
  { name = "lgi", needs = "lua5.3", module = "lgi", line = function() return paths "5.3" .. "lua5.3 spec/hosts/lgi.lua" end },
  { name = "a program in C with poll(2)", needs = "pkg-config --exists lua5.4", line = function()
    return paths "5.4" .. compiled("poll", "") .. " spec/hosts/c_host.lua"
  end },
  { name = "a program in C with GLib", needs = "pkg-config --exists glib-2.0", line = function()
    return paths "5.4" .. compiled("glib", "glib-2.0") .. " spec/hosts/c_host.lua"
  end },
  { name = "HAProxy", needs = "haproxy", line = function()
    return paths "5.3" .. "WORKLOAD=1 FORCED_YIELD=1000000000 HOST_SOCKET=" .. quote(process.temporary "haproxy" .. "/socket")
      .. " haproxy -db -f spec/hosts/haproxy.cfg"
  end },
  { name = "nginx", needs = "test -e /usr/lib/nginx/modules/ngx_http_lua_module.so", line = function()
    local directory = quote(process.temporary "nginx-host")
    return "-C " .. directory .. " " .. paths "jit" .. "WORKLOAD=1 nginx -e stderr -p " .. directory .. " -c "
      .. quote(process.root .. "/spec/hosts/nginx.conf")
  end },
  { name = "Neovim", needs = "nvim", line = function()
    return paths "jit" .. "XDG_STATE_HOME=/nowhere nvim --headless -u NONE -i NONE -n -c 'luafile spec/hosts/luv.lua' -c qa!"
  end },
}

-- A row of the table in doc/manual/host-porting.md.
local function tell_figures(name, found)
  if not os.getenv "FLEET_FIGURES" then return end
  io.stderr:write(string.format("| %s | %s | %s | %.0f ms | %s of 5 | %s |\n", name, found.reads, found.signed, tonumber(found.worst_ms),
    found.closed, tonumber(found.reads) == 50 and "done" or "not done"))
end

local function missing(host)
  if string.find(host.needs, " ") then
    if select(2, shell(host.needs)) ~= 0 then return host.needs .. " fails" end
  elseif not there(host.needs) then
    return host.needs .. " is not installed"
  end
  if host.module and not has(host.needs, host.module) then return host.needs .. " has no module " .. host.module end
end

describe("in every host", function()
  local service, environment

  setup(function()
    local directory = process.temporary "hosts"
    local key = fleet.key.generate()
    assert(key:save(directory .. "/key.pem"))
    service = services.start { vehicles = { { vin = vin, keys = { key:public_pem() } } } }
    local store = fleet.store.memory()
    service:sign_in(service:client { store = store }):close()
    local token = require("cjson").decode((store:get "token/default/user")).access_token
    environment = string.format("FLEET_BASE_URL=%s FLEET_TOKEN=%s FLEET_KEY=%s FLEET_VIN=%s ", quote(service.addresses.base_url),
      quote(token), quote(directory .. "/key.pem"), vin)
  end)
  teardown(function() service:stop() end)

  for _, host in ipairs(hosts) do
    it("all work is done while the host goes on: " .. host.name, function()
      local why = missing(host)
      if why then return pending(why) end
      local out = shell(environment .. "timeout 60 env " .. host.line())
      local report = string.match(out, "report ([^\r\n]+)")
      assert.is_truthy(report, out)
      local found = {}
      for name, value in string.gmatch(report, "([%w_]+)=(%S+)") do found[name] = value end
      assert.equal("50 50 5", table.concat({ found.reads, found.signed, found.closed }, " "), report)
      local others = table.concat({ found.cancelled, found.raised, found.own_http or "" }, " ")
      assert.equal("true boom asleep,asleep,timeout,cancelled,2", others, report .. out)
      assert.is_true(tonumber(found.beside) >= 5, report)
      tell_figures(host.name, found)
    end)
  end

  -- ---- the examples, as they stand ----

  local example_hosts = {
    { name = "luv.lua", needs = "lua5.4", module = "luv", line = function() return paths "5.4" .. "lua5.4 examples/hosts/luv.lua" end,
      prints = "the host went on\ttrue" },
    { name = "own_http.lua", needs = "lua5.4", module = "luv", line = function()
      return paths "5.4" .. "lua5.4 examples/hosts/own_http.lua"
    end, prints = "" },
    { name = "luasocket.lua", needs = "lua5.1", module = "socket", line = function()
      return paths "5.1" .. "lua5.1 examples/hosts/luasocket.lua"
    end, prints = "done" },
    { name = "lgi.lua", needs = "lua5.3", module = "lgi", line = function() return paths "5.3" .. "lua5.3 examples/hosts/lgi.lua" end,
      prints = "" },
    { name = "neovim.lua", needs = "nvim", line = function()
      return paths "jit" .. "nvim --headless -u NONE -i NONE -n -c 'luafile examples/hosts/neovim.lua'"
        .. " -c 'lua vim.wait(20000, function() return vim.g.cars ~= nil end, 10)' -c 'lua io.stdout:write(vim.g.cars)' -c qa! </dev/null"
    end, prints = "" },
    { name = "poll.c", needs = "pkg-config --exists lua5.4", line = function()
      return paths "5.4" .. compiled("poll", "") .. " examples/hosts/script.lua"
    end, prints = "the host went on\ttrue" },
    { name = "glib.c", needs = "pkg-config --exists glib-2.0", line = function()
      return paths "5.4" .. compiled("glib", "glib-2.0") .. " examples/hosts/script.lua"
    end, prints = "the host went on\ttrue" },
  }

  for _, host in ipairs(example_hosts) do
    it("the example runs unchanged: " .. host.name, function()
      local why = missing(host)
      if why then return pending(why) end
      local out, status = shell(environment .. "timeout 60 env " .. host.line())
      assert.equal(0, status, out)
      assert.matches(vin .. "%s+online", out)
      assert.is_truthy(string.find(out, host.prints, 1, true), out)
    end)
  end

  -- Starts a server until the shell's input ends, asks it by curl, and ends it. lines: what curl is asked, joined by the shell.
  local function served(start, ready, asked)
    return shell(environment .. string.format("timeout 60 sh -c %s", quote("export FLEET_BASE_URL FLEET_TOKEN; " .. start
      .. " & server=$!; i=0; until " .. ready .. "; do i=$((i+1)); [ $i -lt 100 ] || break; sleep 0.1; done; " .. asked
      .. "; kill $server; wait $server 2>/dev/null; true")))
  end

  it("HAProxy answers from a fleet call, and from elsewhere meanwhile", function()
    if not there "haproxy" then return pending "haproxy is not installed" end
    local port = nginx.free_port()
    local at = "http://127.0.0.1:" .. port
    local start = paths "5.3" .. "CARS_PORT=" .. port .. " haproxy -f examples/hosts/haproxy.cfg"
    local out = served(start, "curl -s -o /dev/null " .. at .. "/",
      string.format("curl -s %s/car/%s & curl -s %s/; sleep 1; curl -s -w '%%{http_code}\\n' %s/car/x-y", at, vin, at, at))
    assert.matches("online\n", out)
    assert.matches("proxy\n", out)
    assert.matches("a car is /car/VIN\n404", out, 1, true)
  end)

  it("nginx answers from a fleet call, and from elsewhere meanwhile", function()
    if not there "nginx" or not io.open "/usr/lib/nginx/modules/ngx_http_lua_module.so" then return pending "nginx has no Lua module" end
    local directory = process.temporary "nginx-host"
    local socket = quote(directory .. "/nginx.sock")
    local at = "curl -s --unix-socket " .. socket .. " http://localhost"
    local start = "cd " .. quote(directory) .. "; " .. paths "jit" .. "nginx -g \"user $(id -un);\" -e stderr -p " .. quote(directory)
      .. " -c " .. quote(process.root .. "/examples/hosts/nginx.conf") -- nginx's own user may not enter the checkout's folder
    local out = served(start, at .. "/ >/dev/null", at .. "/car/" .. vin .. " & " .. at .. "/; sleep 1; " .. at .. "/car/nonsense")
    assert.matches("online\n", out)
    assert.matches("nginx\n", out)
    assert.matches("VIN", out, 1, true)
  end)

  -- ---- many requests at once in a server that runs Lua ----

  local function eight_at_once(ask)
    return "for i in 1 2 3 4 5 6 7 8; do " .. ask .. " & asked=\"$asked $!\"; done; wait $asked"
  end

  local function in_haproxy(forced_yield, asked)
    local socket = quote(process.temporary "haproxy" .. "/socket")
    local ask = "curl -s -m 30 --unix-socket " .. socket .. " http://localhost/"
    local start = "export FLEET_KEY FLEET_VIN; " .. paths "5.3" .. "FORCED_YIELD=" .. forced_yield .. " HOST_SOCKET=" .. socket
      .. " haproxy -db -f spec/hosts/haproxy.cfg"
    return served(start, "test -S " .. socket, asked(ask))
  end

  it("requests share tasks and sessions: HAProxy", function()
    if not there "haproxy" then return pending "haproxy is not installed" end
    local out = in_haproxy(1000000000, eight_at_once)
    assert.equal(8, select(2, string.gsub(out, "signed, 10 reads, nil", "")), out)
  end)

  it("HAProxy that interrupts Lua code gets an error with the setting to change", function()
    if not there "haproxy" then return pending "haproxy is not installed" end
    local out = in_haproxy(10000, function(ask) return ask end)
    assert.matches("put 'tune.lua.forced-yield 1000000000' into the section global", out, 1, true)
    assert.not_matches("10 reads", out)
  end)

  it("requests share tasks and sessions: nginx", function()
    if not io.open "/usr/lib/nginx/modules/ngx_http_lua_module.so" then return pending "nginx has no Lua module" end
    local directory = process.temporary "nginx-host"
    local ask = "curl -s -m 30 --unix-socket " .. quote(directory .. "/nginx.sock") .. " http://localhost/"
    local start = "export FLEET_KEY FLEET_VIN; cd " .. quote(directory) .. "; " .. paths "jit" .. "nginx -e stderr -p " .. quote(directory)
      .. " -c " .. quote(process.root .. "/spec/hosts/nginx.conf")
    local out = served(start, "test -S nginx.sock", eight_at_once(ask))
    assert.equal(8, select(2, string.gsub(out, "signed, 10 reads, nil", "")), out)
  end)
end)
