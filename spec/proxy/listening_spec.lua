-- Where the proxy listens, whom it lets in, and how it ends: over real sockets, with the simulator behind it.
local core = require "fleet.core"
local files = require "spec.support.harness.files"
local fleet = require "fleet"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"
local proxies = require "fleet.proxy"
local served = require "spec.support.servers.signed_sim"

describe("fleet.proxy", function()
  local sim, directory, opened, certificates

  setup(function()
    sim = served.start()
    certificates = process.temporary("proxy-certificates")
    nginx.certificates(certificates)
  end)

  teardown(function()
    sim:close()
    sim = nil
  end)

  before_each(function()
    directory, opened = process.temporary("proxy"), {}
    os.execute("chmod 700 " .. process.quote(directory))
  end)

  after_each(function()
    for _, object in ipairs(opened) do object:close() end
    opened = nil
  end)

  local function open(options)
    options = options or {}
    options.client = options.client or sim:client()
    options.listen = options.listen or "127.0.0.1:0"
    options.secret_file = options.secret_file or directory .. "/secret"
    local proxy, err, kind = proxies.new(options)
    if not proxy then
      options.client:close()
      return nil, err, kind
    end
    opened[#opened + 1], opened[#opened + 2] = proxy, options.client
    return proxy
  end

  local function secret()
    return (files.read(directory .. "/secret"):gsub("%s", ""))
  end

  -- A request as it is written, to a proxy of this process.
  local function ask(proxy, lines, body)
    return served.raw(proxy, lines, body)
  end

  local function honk_lines(bearer)
    local line = "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1"
    return { line, "Host: localhost", "Authorization: Bearer " .. bearer }
  end

  local function honk(proxy, headers, body)
    local port = proxy.server:port()
    local lines = { "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1", headers.host or "Host: 127.0.0.1:" .. port }
    for _, line in ipairs(headers) do lines[#lines + 1] = line end
    return ask(proxy, lines, body)
  end

  describe("on TCP", function()
    it("uses the secret of another proxy that made the file at the same moment", function()
      local first = open()
      local read, asked = core.file_read, 0
      core.file_read = function(path, ...)
        if path == directory .. "/secret" then asked = asked + 1 end
        if path == directory .. "/secret" and asked == 1 then return nil, "there is no such file", "not_found" end
        return read(path, ...)
      end
      local ran, second = pcall(open)
      core.file_read = read
      assert.is_true(ran and second ~= nil, tostring(second))
      assert.is_true(asked > 1)
      for _, proxy in ipairs { first, second } do
        assert.equal(200, honk(proxy, { "Authorization: Bearer " .. secret() }).status)
      end
      local names = core.directory_list(directory)
      assert.same({ "secret" }, names) -- no draft is left
    end)

    it("makes a secret that only its owner can read, and requires it", function()
      local proxy = open()
      assert.matches("^http://127%.0%.0%.1:%d+$", proxy.url)
      local _, facts = core.file_read(directory .. "/secret", 1000)
      assert.equal(384, facts.mode) -- 0600
      assert.is_true(#secret() >= 32)
      assert.equal(401, honk(proxy, {}).status)
      assert.equal(401, honk(proxy, { "Authorization: Bearer " .. ("x"):rep(32) }).status)
      assert.equal(401, honk(proxy, { "Authorization: Basic " .. secret() }).status)
      assert.equal(200, honk(proxy, { "Authorization: Bearer " .. secret() }).status)
    end)

    it("takes the secret that is there, and refuses one that others can read", function()
      files.write(directory .. "/secret", ("s"):rep(20) .. "\n")
      os.execute("chmod 600 " .. process.quote(directory .. "/secret"))
      assert.equal(200, honk(open(), { "Authorization: Bearer " .. ("s"):rep(20) }).status)
      os.execute("chmod 644 " .. process.quote(directory .. "/secret"))
      local proxy, err = open()
      assert.is_nil(proxy)
      assert.matches("0600", tostring(err))
    end)

    it("refuses what a web page may have sent", function()
      local proxy = open()
      local with = "Authorization: Bearer " .. secret()
      assert.equal(403, honk(proxy, { with, "Origin: http://evil.example" }).status)
      assert.equal(403, honk(proxy, { with, "Origin: null" }).status)
      assert.equal(403, honk(proxy, { with, host = "Host: evil.example" }).status)
      assert.equal(403, honk(proxy, { with, host = "Host: 127.0.0.1.evil.example:80" }).status)
      assert.equal(200, honk(proxy, { with, host = "Host: localhost" }).status)
      assert.equal(415, honk(proxy, { with, "Content-Type: application/x-www-form-urlencoded" }, "a=b").status)
      assert.equal(415, honk(proxy, { with, "Content-Type: text/plain" }, "{}").status)
      assert.equal(415, honk(proxy, { with, "Content-Type: application/jsonp" }, "{}").status)
      assert.equal(415, honk(proxy, { with }, "{}").status)
      assert.equal(200, honk(proxy, { with, "Content-Type: application/json; charset=utf-8" }, "{}").status)
    end)

    it("returns its version as a Bluetooth proxy does, to allowed callers", function()
      local proxy = open()
      local lines = { "GET /api/proxy/1/version HTTP/1.1", "Host: localhost" }
      assert.equal(401, ask(proxy, lines).status)
      lines[3] = "Authorization: Bearer " .. secret()
      local reply = core.json_decode(ask(proxy, lines).body).response
      assert.same({ true, fleet._VERSION }, { reply.result, reply.response.version })
    end)

    it("returns its health to every caller, its metrics to allowed ones", function()
      local proxy = open()
      local port = proxy.server:port()
      local reply = ask(proxy, { "GET /health HTTP/1.1", "Host: 127.0.0.1:" .. port })
      assert.same({ 200, "OK" }, { reply.status, reply.body })
      assert.equal(401, ask(proxy, { "GET /metrics HTTP/1.1", "Host: 127.0.0.1:" .. port }).status)
      honk(proxy, { "Authorization: Bearer " .. secret() })
      reply = ask(proxy, { "GET /metrics HTTP/1.1", "Host: 127.0.0.1:" .. port, "Authorization: Bearer " .. secret() })
      assert.matches('fleet_proxy_commands_total{outcome="done",kind=""} 1\n', reply.body, 1, true)
      assert.matches('fleet_proxy_requests_total{status="401"} 1\n', reply.body, 1, true)
      assert.matches('fleet_proxy_command_seconds_bucket{le="+Inf"} 1\n', reply.body, 1, true)
      assert.matches("fleet_proxy_command_seconds_count 1\n", reply.body, 1, true)
      assert.matches('fleet_proxy_token_expires_seconds{account="default",token="user"} %d', reply.body)
    end)

    it("with tokens passed through shows its figures to who knows its secret, not to an invented token", function()
      local own = ("a"):rep(32)
      local proxy = open { pass_through = true, secret = own }
      local function figures(bearer)
        local host = "Host: 127.0.0.1:" .. proxy.server:port()
        return ask(proxy, { "GET /metrics HTTP/1.1", host, "Authorization: Bearer " .. bearer })
      end
      assert.equal(403, figures("invented").status)
      local reply = figures(own)
      assert.equal(200, reply.status)
      assert.matches("fleet_proxy_in_flight", reply.body, 1, true)
    end)

    it("passes the caller's own token on, with pass_through, and asks for no secret", function()
      local proxy = open { pass_through = true }
      assert.is_nil(files.find(directory .. "/secret"))
      assert.equal(401, honk(proxy, {}).status)
      assert.equal(401, honk(proxy, { "Authorization: Bearer unheard-of" }).status)
      assert.equal(200, honk(proxy, { "Authorization: Bearer " .. sim:token() }).status)
    end)
  end)

  describe("beyond loopback", function()
    local function refused(options, pattern)
      options.client, options.listen = options.client or sim:client(), options.listen or "0.0.0.0:0"
      local ok, message = pcall(proxies.new, options)
      options.client:close()
      assert.is_false(ok)
      assert.matches(pattern, message)
      assert.matches("0.0.0.0:0", message, 1, true)
    end

    it("is refused without TLS, and without authentication of callers", function()
      refused({ secret_file = directory .. "/secret" }, "certificate")
      refused({ secret = ("s"):rep(32) }, "certificate")
      refused({ certificate = certificates .. "/server.pem", certificate_key = certificates .. "/server.key",
        secret_file = directory .. "/secret" }, "callers would not be authenticated")
    end)

    it("serves with both", function()
      local proxy = open { listen = "0.0.0.0:0", secret = ("s"):rep(32), names = { "localhost" },
        certificate = certificates .. "/server.pem", certificate_key = certificates .. "/server.key" }
      assert.matches("^https://0%.0%.0%.0:%d+$", proxy.url)
    end)
  end)

  describe("with TLS", function()
    local function curl(proxy, arguments)
      return served.curl(("--cacert %s/ca.pem %s https://localhost:%d/api/1/vehicles/%s/command/honk_horn -X POST")
        :format(certificates, arguments, proxy.server:port(), served.VIN))
    end

    it("a client certificate is as good as a secret; a stranger's is none", function()
      local proxy = open { certificate = certificates .. "/server.pem", certificate_key = certificates .. "/server.key",
        client_ca = certificates .. "/ca.pem" }
      local with = ("--cert %s/NAME.pem --key %s/NAME.key"):format(certificates, certificates)
      assert.equal("401", (curl(proxy, "")))
      assert.equal("200", (curl(proxy, (with:gsub("NAME", "other")))))
      assert.equal("401", (curl(proxy, (with:gsub("NAME", "stranger")))))
    end)

    it("another certificate is shown after it was read again", function()
      local files_of = { secret = ("s"):rep(20) }
      files_of.certificate, files_of.certificate_key = certificates .. "/server.pem", certificates .. "/server.key"
      local proxy = open(files_of)
      local with = "-H 'Authorization: Bearer " .. ("s"):rep(20) .. "'"
      assert.equal("200", (curl(proxy, with)))
      local client = sim:client()
      opened[#opened + 1] = client
      assert(proxy:reload { client = client, secret = ("s"):rep(20), certificate = certificates .. "/other.pem",
        certificate_key = certificates .. "/other.key" })
      assert.equal("000", (curl(proxy, with))) -- it is of another name
      assert.equal("200", (curl(proxy, with .. " --insecure")))
    end)

    it("a certificate whose key others can read is refused", function()
      os.execute("chmod 644 " .. process.quote(certificates .. "/other.key"))
      local proxy, err = open { certificate = certificates .. "/other.pem", certificate_key = certificates .. "/other.key" }
      assert.is_nil(proxy)
      assert.matches("0600", tostring(err))
    end)
  end)

  describe("on a Unix socket", function()
    it("nothing is asked, and the file is private", function()
      local proxy = open { listen = "unix:" .. directory .. "/socket" }
      assert.equal("http+unix:" .. directory .. "/socket", proxy.url)
      assert.is_nil(files.find(directory .. "/secret"))
      local reply = ask(proxy, { "POST /api/1/vehicles/" .. served.VIN .. "/command/honk_horn HTTP/1.1", "Host: localhost" })
      assert.equal(200, reply.status)
      local pipe = io.popen("stat -c %a " .. process.quote(directory .. "/socket"))
      assert.equal("600", pipe:read("l"))
      pipe:close()
    end)

    it("another user than those listed is the default caller; the list's limits hold", function()
      local audited = {}
      local proxy = open { listen = "unix:" .. directory .. "/socket", audit = function(entry) audited[#audited + 1] = entry end,
        callers = { ["local"] = { rows = { "honk_horn" } }, full = { secret = ("f"):rep(20) } } }
      local function status(name, more)
        return ask(proxy, { "POST /api/1/vehicles/" .. served.VIN .. "/command/" .. name .. " HTTP/1.1", "Host: x", more }).status
      end
      assert.equal(200, status("honk_horn"))
      assert.equal(403, status("flash_lights"))
      assert.equal(200, status("flash_lights", "Authorization: Bearer " .. ("f"):rep(20)))
      assert.same({ "local", "local", "full" }, { audited[1].who, audited[2].who, audited[3].who })
    end)

    local function status_of(proxy, more)
      return ask(proxy, { "GET /api/1/vehicles HTTP/1.1", "Host: x", more }).status
    end

    it("a wrong secret is refused when one is listed, although the socket has a default caller", function()
      local proxy = open { listen = "unix:" .. directory .. "/socket", callers = { full = { secret = ("f"):rep(20) } } }
      for _, wrong in ipairs { "Bearer " .. ("g"):rep(20), "Bearer not, a; token", "Basic " .. ("f"):rep(20), "Bearer" } do
        assert.equal(401, status_of(proxy, "Authorization: " .. wrong))
      end
      assert.equal(200, status_of(proxy, "Authorization: Bearer " .. ("f"):rep(20)))
      assert.equal(200, status_of(proxy))
    end)

    it("a bearer says nothing where no secret is listed, nor where it is the service's to judge", function()
      local proxy = open { listen = "unix:" .. directory .. "/socket", callers = { ["local"] = { rows = { "vehicles" } } } }
      assert.equal(200, status_of(proxy, "Authorization: Bearer any"))
      proxy = open { listen = "unix:" .. directory .. "/other", pass_through = true, callers = { full = { secret = ("f"):rep(20) } } }
      assert.equal(200, status_of(proxy, "Authorization: Bearer " .. sim:token()))
    end)
  end)

  describe("our own client", function()
    it("comes through by base_url and commands = \"proxy\"", function()
      local proxy = open { listen = "unix:" .. directory .. "/socket" }
      local client = fleet.new { base_url = proxy.url, proxy_url = proxy.url, commands = "proxy", token = "any" }
      opened[#opened + 1] = client
      local car = client:vehicle(served.VIN)
      local result = assert(car:honk_horn())
      assert.same({ true, "proxy" }, { result.changed, result.via })
      assert.equal(served.VIN, assert(car:info()).vin)
      assert.is_true(assert(car:set_vehicle_name { vehicle_name = "Grey" }).changed)
      local _, err = car:charge_start()
      assert.same({ "refused", "refused" }, { err.kind, err.outcome })
    end)

    it("gets the outcome of a command", function()
      local proxy = open { listen = "unix:" .. directory .. "/socket" }
      local client = fleet.new { base_url = proxy.url, proxy_url = proxy.url, commands = "proxy", token = "any" }
      opened[#opened + 1] = client
      sim:fault("executed_503", 1, { row = "signed_command", message = "command" })
      local _, err = client:vehicle(served.VIN):honk_horn()
      assert.same({ "service", "unknown" }, { err.kind, err.outcome })
      sim:fault("error_502", 4, { row = "signed_command", message = "handshake" })
      proxy.service.clients.first:close()
      _, err = client:vehicle(served.VIN):honk_horn()
      assert.equal("not_sent", err.outcome)
      sim:clear()
    end)
  end)

  describe("reading again", function()
    it("takes a new secret and new clients without losing what is being served", function()
      local proxy = open()
      local first = secret()
      sim:fault("slow", 1, { seconds = 0.3, row = "signed_command", message = "command" })
      local slow
      local task = fleet.spawn(function() slow = served.raw_in_task(proxy, honk_lines(first)) end)
      served.wait(function() return proxy.in_flight == 1 end)
      files.write(directory .. "/secret", ("n"):rep(32))
      os.execute("chmod 600 " .. process.quote(directory .. "/secret"))
      local client = sim:client()
      opened[#opened + 1] = client
      assert(proxy:reload { client = client, secret_file = directory .. "/secret" })
      assert.equal(401, honk(proxy, { "Authorization: Bearer " .. first }).status)
      assert.equal(200, honk(proxy, { "Authorization: Bearer " .. ("n"):rep(32) }).status)
      task:wait()
      assert.equal(200, slow.status)
    end)

    it("keeps what runs when the new options are wrong", function()
      local proxy = open()
      local client = sim:client()
      opened[#opened + 1] = client
      local wrong = { client = client, secret_file = directory .. "/secret", callers = { one = { row = {} } } }
      assert.has_error(function() proxy:reload(wrong) end)
      assert.is_nil((proxy:reload { client = client, secret_file = directory .. "/secret",
        certificate = directory .. "/absent", certificate_key = directory .. "/absent" }))
      assert.equal(200, honk(proxy, { "Authorization: Bearer " .. secret() }).status)
    end)
  end)

  describe("draining", function()
    it("answers what is being served and takes nothing more", function()
      local proxy = open()
      sim:fault("slow", 1, { seconds = 0.3, row = "signed_command", message = "command" })
      local slow
      local task = fleet.spawn(function() slow = served.raw_in_task(proxy, honk_lines(secret())) end)
      served.wait(function() return proxy.in_flight == 1 end)
      assert.is_true(proxy:drain(10))
      task:wait()
      assert.same({ 200, "close" }, { slow.status, slow.headers.connection:lower() })
      assert.is_nil(ask(proxy, { "GET /health HTTP/1.1", "Host: localhost" }))
    end)
  end)

  describe("options", function()
    local function message(options)
      local ok, raised = pcall(proxies.new, options)
      assert.is_false(ok)
      return raised
    end

    it("that are wrong raise, naming the option", function()
      local client = sim:client()
      opened[#opened + 1] = client
      assert.matches("'client' is missing", message { listen = "127.0.0.1:0" })
      assert.matches("'listen' is missing", message { client = client })
      assert.matches("did you mean 'listen'", message { client = client, lisen = "x" })
      assert.matches("'listen' is unix:/path", message { client = client, listen = "localhost:80" })
      assert.matches("'listen' is unix:/path", message { client = client, listen = "127.0.0.1:70000" })
      assert.matches("'systemd' needs one socket", message { client = client, listen = "systemd", getenv = function() end })
      local open_file = io.open
      io.open = function(path, ...) -- luacheck: ignore 122
        if path == "/proc/self/stat" then return nil, path .. ": No such file or directory" end
        return open_file(path, ...)
      end
      local function getenv(name) return name == "LISTEN_FDS" and "1" or nil end
      local elsewhere = message { client = client, listen = "systemd", getenv = getenv }
      io.open = open_file -- luacheck: ignore 122
      assert.matches("this system has no /proc/self/stat", elsewhere)
      assert.matches("needs a 'secret_file'", message { client = client, listen = "127.0.0.1:0" })
      assert.matches("belong together", message { client = client, listen = "127.0.0.1:0", certificate = "x" })
      assert.matches("no certificate", message { client = client, listen = "unix:/x", certificate = "x", certificate_key = "y" })
      assert.matches("unknown row 'honk'", message { client = client, listen = "unix:/x", callers = { a = { rows = { "honk" } } } })
      assert.matches("is not a VIN", message { client = client, listen = "unix:/x", callers = { a = { vins = { "x" } } } })
      assert.matches("16 bytes", message { client = client, listen = "unix:/x", callers = { a = { secret = "short" } } })
      assert.matches("no key", message { client = sim:client { key = false }, listen = "unix:/x" })
    end)
  end)
end)
