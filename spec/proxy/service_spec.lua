-- The proxy without a socket, before the simulated service: what it signs, refuses and answers.
local callers = require "fleet.proxy.callers"
local clients = require "fleet.proxy.clients"
local core = require "fleet.core"
local fleet = require "fleet"
local services = require "fleet.proxy.service"
local signed_world = require "spec.support.fixtures.signed_world"

describe("the proxy's service", function()
  local world, service, caller, audited, opened

  local function serving(options)
    audited, options = {}, options or {}
    local made = clients.new(options.client or world:client(options.of_client), options.accounts)
    opened[#opened + 1] = made
    return services.new {
      clients = made, timeout = options.timeout or 30,
      limits = options.limits, audit = function(entry) audited[#audited + 1] = entry end,
    }
  end

  local function ask(method, path, body, more)
    more = more or {}
    local asked = { method = method, path = path, query = more.query or "", headers = more.headers or {}, body = body or "" }
    return fleet.run(function()
      local status, headers, text = service:handle(more.caller or caller, asked, more.token)
      return { status = status, headers = headers, body = text, json = core.json_decode(text) }
    end)
  end

  local function command(name, body, more)
    return ask("POST", "/api/1/vehicles/" .. signed_world.VIN .. "/command/" .. name, body, more)
  end

  before_each(function()
    world, opened = signed_world.new(), {}
    caller = callers.new({}).default_caller
    service = serving()
  end)

  after_each(function()
    for _, made in ipairs(opened) do made:close() end
    service, opened = nil, nil
    world:close()
  end)

  describe("takes what clients of other signing proxies send", function()
    local vehicle = "/api/1/vehicles/" .. signed_world.VIN

    it("an amount as text where it is a whole number, and refuses a fraction", function()
      for body, percent in pairs { ['{"percent":"80"}'] = 80, ['{"percent":80.0}'] = 80, ['{"percent":75}'] = 75 } do
        assert.equal(200, command("set_charge_limit", body).status, body)
        local data = ask("GET", vehicle .. "/vehicle_data", nil, { query = "endpoints=charge_state" })
        assert.equal(percent, data.json.response.charge_state.charge_limit_soc, body)
      end
      local sent = #world.messages
      for _, body in ipairs { '{"percent":"80.5"}', '{"percent":"8e1"}', '{"percent":" 80"}', '{"percent":""}', '{"percent":"0x50"}',
        '{"percent":80.5}', '{"percent":"eighty"}', '{"percent":["80"]}', '{"percent":"9999999999999999999"}' } do
        local reply = command("set_charge_limit", body)
        assert.same({ 400, "not_sent" }, { reply.status, reply.headers["x-fleet-outcome"] }, body)
        assert.matches("percent", reply.json.error_description, 1, true)
      end
      assert.equal(sent, #world.messages)
    end)

    it("the former name of a seat's position, and the present one before it", function()
      local function heat(body) return command("remote_seat_heater_request", body).status end
      assert.equal(200, heat('{"heater":0,"level":1}'))
      assert.equal(200, heat('{"heater":"1","level":"1"}'))
      assert.equal(400, heat('{"heater":99,"level":1}'))
      assert.equal(200, heat('{"heater":99,"seat_position":0,"level":1}'))
      assert.equal(400, heat('{"level":1}'))
    end)

    it("a flag as text", function()
      assert.equal(200, command("set_sentry_mode", '{"on":"true"}').status)
      assert.equal(400, command("set_sentry_mode", '{"on":"maybe"}').status)
    end)

    it("wake_up as a command, with the answer of one", function()
      local reply = command("wake_up", "null")
      assert.same({ 200, '{"response":{"result":true,"reason":""}}' }, { reply.status, reply.body })
      assert.equal(405, ask("GET", vehicle .. "/command/wake_up").status)
      world:fault("rate_limit", 1, { retry_after = 60 })
      assert.same({ 429, "60" }, { command("wake_up").status, command("wake_up").headers["Retry-After"] or "60" })
      local one = callers.new({ callers = { one = { rows = { "honk_horn" } } } }).by_name.one
      assert.equal(403, command("wake_up", nil, { caller = one }).status)
    end)

    it("a body that is empty, {} or null, and what it is asked to wait for", function()
      for _, body in ipairs { "", "{}", "null" } do assert.equal(200, command("honk_horn", body, { query = "wait=true" }).status) end
      assert.equal(400, command("honk_horn", "[]").status)
      assert.equal(200, ask("GET", vehicle .. "/vehicle_data", nil, { query = "endpoints=charge_state&wakeup=true" }).status)
    end)

    it("the trunk without saying which: the rear one", function()
      assert.equal(200, command("actuate_trunk", "{}").status)
      assert.same({ "actuate_trunk" }, world.ran)
    end)

    it("a VIN in small letters, and says what is wrong with an id", function()
      local path = "/api/1/vehicles/" .. signed_world.VIN:lower()
      assert.equal(200, ask("POST", path .. "/command/honk_horn").status)
      assert.equal(200, ask("GET", path .. "/vehicle_data").status)
      assert.equal("0001", audited[1].vin)
      local reply = ask("POST", "/api/1/vehicles/1234567890/command/honk_horn")
      assert.equal(404, reply.status)
      assert.matches("without I, O and Q", reply.json.error_description, 1, true)
    end)

    it("no query that gives a name twice or is badly encoded, and says so", function()
      local function read(query) return ask("GET", vehicle .. "/vehicle_data", nil, { query = query }) end
      for query, why in pairs {
        ["endpoints=charge_state&endpoints=drive_state"] = "the query gives 'endpoints' twice", ["endpoints=%4"] = "badly encoded",
        ["a%zz=1"] = "badly encoded",
      } do
        local reply = read(query)
        assert.same({ 400, "invalid_request" }, { reply.status, reply.json.error })
        assert.matches(why, reply.json.error_description, 1, true)
      end
      assert.equal(200, read("endpoints=charge_state%3Bdrive_state").status)
    end)
  end)

  describe("names a fault of the protocol as the vendor's proxy does:", function()
    local function answered(err)
      service.clients.car = function() return { honk_horn = function() return nil, core.err(err) end } end
      return command("honk_horn")
    end

    it("its name with 500, and the outcome", function()
      local reply = answered { kind = "forbidden", fault = 7, reason = "INSUFFICIENT_PRIVILEGES", outcome = "refused", message = "no" }
      assert.same({ 500, "MESSAGEFAULT_ERROR_INSUFFICIENT_PRIVILEGES", "refused" },
        { reply.status, reply.json.error, reply.headers["x-fleet-outcome"] })
      assert.equal(core.null, reply.json.response or core.null)
      reply = answered { kind = "timeout", fault = 2, reason = "TIMEOUT", outcome = "unknown", message = "no" }
      assert.same({ 500, "MESSAGEFAULT_ERROR_TIMEOUT", "unknown" }, { reply.status, reply.json.error, reply.headers["x-fleet-outcome"] })
    end)

    it("its number, where it has no name", function()
      local reply = answered { kind = "protocol", fault = 77, outcome = "unknown", message = "no" }
      assert.same({ 500, "unrecognized error code 77" }, { reply.status, reply.json.error })
    end)

    it("a key that is not on the vehicle in its own words", function()
      local reply = answered { kind = "key_not_paired", fault = 3, reason = "UNKNOWN_KEY_ID", outcome = "refused", message = "no" }
      assert.equal(500, reply.status)
      assert.matches("your public key has not been paired with the vehicle", reply.json.error, 1, true)
    end)

    it("and the vehicle's own refusal with 200", function()
      local reply = answered { kind = "refused", reason = "not_charging", outcome = "refused", message = "no" }
      assert.same({ 200, false, "not_charging" }, { reply.status, reply.json.response.result, reply.json.response.reason })
    end)

    it("and what it cannot do with 501", function()
      local reply = answered { kind = "unsupported", outcome = "not_sent", message = "no" }
      assert.same({ 501, "unsupported", "not_sent" }, { reply.status, reply.json.error, reply.headers["x-fleet-outcome"] })
    end)
  end)

  describe("an audit that fails", function()
    for name, audit in pairs {
      ["by raising"] = function() error("no room", 0) end, ["by saying so"] = function() return nil, "no room" end,
    } do
      it(name .. " loses its lines, not the commands: it is counted, and reported once", function()
        local notes, fails = {}, true
        service.audit = function(...) if fails then return audit(...) end end
        service.note = function(text) notes[#notes + 1] = text end
        for _ = 1, 3 do assert.equal(200, command("honk_horn").status) end
        assert.same({ "the audit cannot be written: no room" }, notes)
        assert.equal("no room", service.metrics.audit_problem)
        fails = false
        command("honk_horn")
        assert.is_nil(service.metrics.audit_problem)
        fails = true
        command("honk_horn")
        assert.equal(2, #notes)
        local text = service.metrics:text { waiting = 0, connections = 0, tokens = {} }
        assert.matches("\nfleet_proxy_audit_failures_total 4\n", text)
      end)
    end
  end)

  describe("ignores", function()
    it("the body of a GET, and refuses one that is large", function()
      for _, body in ipairs { "{}", "no JSON", (" "):rep(4096) } do
        assert.equal(200, ask("GET", "/api/1/vehicles", body).status)
      end
      local reply = ask("GET", "/api/1/vehicles", (" "):rep(4097))
      assert.same({ 400, "invalid_request" }, { reply.status, reply.json.error }, reply.body)
    end)
  end)

  describe("answers", function()
    it("a command that was done as the service does", function()
      local reply = command("honk_horn")
      assert.same({ 200, '{"response":{"result":true,"reason":""}}' }, { reply.status, reply.body })
      assert.same({ "honk_horn" }, world.ran)
      assert.equal(1, world:sent("command"))
    end)

    it("a vehicle's refusal as the service does", function()
      local reply = command("charge_stop")
      assert.same({ 200, false, "not_charging" }, { reply.status, reply.json.response.result, reply.json.response.reason })
    end)

    it("a sleeping vehicle with 408, and says that nothing was done", function()
      world:fault("asleep", 1)
      local reply = command("honk_horn")
      assert.same({ 408, "not_sent" }, { reply.status, reply.headers["x-fleet-outcome"] })
      assert.matches("vehicle unavailable: vehicle is offline or asleep", reply.body, 1, true)
      assert.same({}, world.ran)
    end)

    it("502 for a status that is none", function()
      for _, status in ipairs { 600, 999 } do
        world:close()
        world = signed_world.new()
        local answered = { status = status, headers = {}, body = "{}" }
        service = serving { client = world:client { http = function() return answered end } }
        assert.equal(502, command("honk_horn").status)
        assert.equal(502, ask("GET", "/api/1/vehicles").status)
        answered.status = 599
        assert.equal(599, ask("GET", "/api/1/vehicles").status)
      end
    end)

    it("429 with Retry-After as the service gives it", function()
      world:fault("rate_limit", 1, { retry_after = 60 })
      local reply = command("honk_horn")
      assert.same({ 429, "60" }, { reply.status, reply.headers["Retry-After"] })
    end)

    it("429 and until when, where the client's budget is used up, whatever the command", function()
      for name, body in pairs { honk_horn = "", set_scheduled_charging = '{"enable":false,"time":0}' } do
        service = serving { of_client = { budgets = { per_day = { command = 2 } }, account = name } }
        for _ = 1, 2 do command(name, body) end -- the first may take a handshake
        local sent = #world.messages
        local reply = command(name, body)
        assert.same({ 429, "budget", "not_sent" }, { reply.status, reply.json.error, reply.headers["x-fleet-outcome"] }, reply.body)
        assert.is_truthy(reply.headers["Retry-After"])
        assert.equal(sent, #world.messages)
      end
    end)

    it("412 as the service does", function()
      world:fault("unregistered", 1)
      assert.equal(412, command("honk_horn").status)
    end)

    it("421 as the service does, where the host that it names is none of the vendor's or says the same", function()
      for _, host in ipairs { "https://elsewhere.example.com", "https://base" } do
        world:fault("region", 1, { base_url = host, row = "signed_command", message = "handshake" })
        local reply = command("honk_horn")
        assert.same({ 421, "not_sent" }, { reply.status, reply.headers["x-fleet-outcome"] }, reply.body)
        assert.matches("use base URL: " .. host, reply.body, 1, true)
        world:fault("region", 1, { base_url = host })
        reply = ask("GET", "/api/1/vehicles")
        assert.equal(421, reply.status)
        assert.matches("use base URL: " .. host, reply.body, 1, true)
        world:forget()
      end
      assert.same({}, world.ran)
    end)

    it("a key that is not on the vehicle in the words that clients know", function()
      world:fault("unpaired", 5)
      local reply = command("honk_horn")
      assert.equal(500, reply.status)
      assert.matches("your public key has not been paired with the vehicle", reply.json.error, 1, true)
    end)

    it("an unknown outcome as such, with the reason in the body", function()
      world:fault("executed_503", 1, { row = "signed_command", message = "command" })
      local reply = command("honk_horn")
      assert.same({ 503, "unknown", "unknown" }, { reply.status, reply.headers["x-fleet-outcome"], reply.json.outcome })
      assert.matches("honk_horn", reply.json.error_description)
      assert.same({ "honk_horn" }, world.ran)
      assert.equal(1, world:sent("command"))
    end)

    it("404 for an unknown path, 405 with Allow for a wrong method, 400 for an unknown command", function()
      assert.equal(404, ask("GET", "/api/1/vehicle").status)
      assert.equal(404, ask("GET", "/api/1/vehicles/../users/me").status)
      assert.equal(404, ask("GET", "/api/1//vehicles").status)
      assert.equal(404, ask("GET", "/api/1/vehicles/%2e%2e").status)
      assert.equal(404, ask("GET", "/api/1/energy_sites/1/calendar_history", nil, { query = "kind=unheard" }).status)
      local reply = ask("DELETE", "/api/1/vehicles/" .. signed_world.VIN .. "/drivers/")
      assert.equal(404, reply.status)
      reply = ask("PUT", "/api/1/vehicles/" .. signed_world.VIN .. "/drivers")
      assert.same({ 405, "GET, DELETE" }, { reply.status, reply.headers.Allow })
      reply = command("honk_hron")
      assert.same({ 400, "invalid_command" }, { reply.status, reply.json.error })
      assert.same({}, world.messages)
    end)

    it("404 for a command whose vehicle is no VIN", function()
      assert.equal(404, ask("POST", "/api/1/vehicles/1492931520123457/command/honk_horn").status)
    end)

    it("413 for a command above 4 KiB, and takes one of just that", function()
      assert.equal(413, command("honk_horn", "{" .. (" "):rep(4095) .. "}").status)
      assert.equal(200, command("honk_horn", "{" .. (" "):rep(4094) .. "}").status)
    end)

    it("400 for a body that is no object, or misses a parameter", function()
      for _, body in ipairs { "[1]", "nonsense", "3", "null" } do
        assert.equal(400, command("set_charge_limit", body).status, body)
      end
      local reply = command("set_charge_limit", "{}")
      assert.equal(400, reply.status)
      assert.matches("'percent'.*missing", reply.json.error_description)
      assert.same({}, world.messages)
    end)

    it("what a body holds besides is nothing to the command", function()
      assert.equal(200, command("set_charge_limit", '{"percent":70,"else":1}').status)
    end)

    it("a mistake of ours with an error that is not the caller's", function()
      local honk = core.methods("vehicle").honk_horn
      core.methods("vehicle").honk_horn = function(_, options) return options.timeout.x.y end
      local ok, raised = pcall(command, "honk_horn")
      core.methods("vehicle").honk_horn = honk
      assert.is_false(ok)
      assert.matches("attempt to index", raised)
    end)
  end)

  describe("a PIN", function()
    it("reaches the vehicle and nothing else", function()
      local reply = command("set_valet_mode", '{"on":true,"password":"4711"}')
      assert.equal(200, reply.status)
      reply = command("set_valet_mode", '{"on":true,"password":"47110"}')
      assert.equal(400, reply.status)
      assert.is_nil(reply.body:find("4711", 1, true))
      assert.is_nil(core.json_encode(audited):find("4711", 1, true))
    end)
  end)

  describe("the audit", function()
    it("has one line per command: who, the VIN's end, the name, the outcome", function()
      command("honk_horn")
      command("charge_start")
      command("set_charge_limit", "{}")
      world:fault("executed_503", 1, { row = "signed_command", message = "command" })
      command("honk_horn")
      local seen = {}
      for i, entry in ipairs(audited) do
        seen[i] = ("%s %s %s %s %s"):format(entry.who, entry.vin, entry.command, entry.outcome, entry.kind or "-")
      end
      assert.same({
        "local 0001 honk_horn done -", "local 0001 charge_start refused refused", "local 0001 set_charge_limit not_sent invalid",
        "local 0001 honk_horn unknown service",
      }, seen)
    end)

    it("writes a foreign account in plain characters and bounds", function()
      command("honk_horn", nil, { headers = { ["x-fleet-account"] = "\255\254" .. string.rep("x", 8000) } })
      assert.same({ "not_found", "??" .. string.rep("x", 62) }, { audited[1].kind, audited[1].account })
    end)

    it("has none for what is no command", function()
      ask("GET", "/api/1/vehicles/" .. signed_world.VIN)
      assert.same({}, audited)
    end)
  end)

  describe("a caller", function()
    local function named(rules)
      return callers.new({ callers = { one = rules } }).by_name.one
    end

    it("may use the rows and vehicles of his list only", function()
      local one = named { rows = { "honk_horn", "info", "fleet_status" }, vins = { signed_world.VIN } }
      assert.equal(200, command("honk_horn", nil, { caller = one }).status)
      assert.equal(403, command("flash_lights", nil, { caller = one }).status)
      assert.equal(200, ask("GET", "/api/1/vehicles/" .. signed_world.VIN, nil, { caller = one }).status)
      assert.equal(403, ask("GET", "/api/1/vehicles/5YJ3E1EA7KF000009", nil, { caller = one }).status)
      assert.equal(403, ask("GET", "/api/1/vehicles/1492931520123457", nil, { caller = one }).status)
    end)

    it("who may use some vehicles may not list all", function()
      local some, listing = named { vins = { signed_world.VIN } }, named { rows = { "vehicles" }, vins = { signed_world.VIN } }
      assert.equal(403, ask("GET", "/api/1/vehicles", nil, { caller = some }).status)
      assert.equal(200, ask("GET", "/api/1/vehicles", nil, { caller = listing }).status)
    end)

    it("may not slip a vehicle in by body or query", function()
      local one = named { rows = { "fleet_status", "options" }, vins = { signed_world.VIN } }
      local function status(body)
        return ask("POST", "/api/1/vehicles/fleet_status", body, { caller = one }).status
      end
      assert.equal(200, status('{"vins":["' .. signed_world.VIN .. '"]}'))
      assert.equal(403, status('{"vins":["' .. signed_world.VIN .. '","5YJ3E1EA7KF000009"]}'))
      assert.equal(403, status('{"vins":["5YJ3E1EA7KF000009"],"vins":["5YJ3E1EA7KF000009"]}'))
      assert.equal(403, status("{}"))
      local function option(query)
        return ask("GET", "/api/1/dx/vehicles/options", nil, { caller = one, query = query }).status
      end
      assert.equal(200, option("vin=" .. signed_world.VIN))
      assert.equal(403, option("vin=5YJ3E1EA7KF000009"))
      assert.equal(200, option("vin=" .. signed_world.VIN:lower()))
      assert.equal(400, option("vin=" .. signed_world.VIN .. "&vin=5YJ3E1EA7KF000009"))
      assert.equal(400, option("vin=" .. signed_world.VIN .. "&%76in=5YJ3E1EA7KF000009"))
      for _, name in ipairs { "VIN", "vin[]", "vin%5B%5D", "vins", "vehicle" } do
        assert.equal(403, option("vin=" .. signed_world.VIN .. "&" .. name .. "=5YJ3E1EA7KF000009"), name)
      end
      assert.equal(200, option("vin=" .. signed_world.VIN .. "&wait=true&wakeup=false"))
    end)

    it("may not have another row by a field that is given twice or written in escapes", function()
      local one = named { rows = { "backup_history" } }
      local path = "/api/1/energy_sites/1234567890/calendar_history"
      local function status(query, whose)
        return ask("GET", path, nil, { caller = whose, query = query }).status
      end
      assert.is_not.equal(403, status("kind=backup&period=day", one))
      assert.equal(403, status("kind=energy&period=day", one))
      for _, query in ipairs {
        "kind=energy&kind=backup", "kind=backup&kind=energy", "kind=backup&%6bind=energy", "kind=backup&kind=backup",
      } do
        assert.equal(400, status(query, one), query)
        assert.equal(400, status(query), query)
      end
      assert.equal(403, status("kind=backup&Kind=energy", one))
      assert.equal(403, status("%6Bind=energ%79", one))
    end)

    it("with vehicles may call a row about none only where the row is in the list, and none about a vehicle without naming it", function()
      local one = named { rows = { "products", "fleet_status", "options", "honk_horn" }, vins = { signed_world.VIN } }
      assert.equal(200, ask("GET", "/api/1/products", nil, { caller = one }).status)
      assert.equal(403, ask("GET", "/api/1/dx/vehicles/options", nil, { caller = one }).status)
      assert.equal(403, ask("GET", "/api/1/dx/vehicles/options", nil, { caller = one, query = "vin=5YJ3E1EA7KF000009" }).status)
      local only_vehicles = named { vins = { signed_world.VIN } }
      assert.equal(403, ask("GET", "/api/1/products", nil, { caller = only_vehicles }).status)
    end)

    it("has so many calls a minute", function()
      local one = named { per_minute = 2 }
      assert.equal(200, command("honk_horn", nil, { caller = one }).status)
      assert.equal(200, command("honk_horn", nil, { caller = one }).status)
      local reply = command("honk_horn", nil, { caller = one })
      assert.same({ 429, "not_sent" }, { reply.status, reply.headers["x-fleet-outcome"] })
      assert.is_true(tonumber(reply.headers["Retry-After"]) >= 1 and tonumber(reply.headers["Retry-After"]) <= 30)
      world.time.advance(31)
      assert.equal(200, command("honk_horn", nil, { caller = one }).status)
    end)
  end)

  describe("accounts", function()
    it("are chosen by header or by path; an unknown one is 404", function()
      local other = world:client { account = "other" }
      service = serving { accounts = { other = other } }
      assert.equal(200, command("honk_horn", nil, { headers = { ["x-fleet-account"] = "other" } }).status)
      assert.equal(200, ask("POST", "/account/other/api/1/vehicles/" .. signed_world.VIN .. "/command/honk_horn").status)
      assert.equal(404, command("honk_horn", nil, { headers = { ["x-fleet-account"] = "third" } }).status)
      assert.same({ "other", "other", "third" }, { audited[1].account, audited[2].account, audited[3].account })
      assert.equal(2, #world.ran)
    end)

    it("with one key share the session of a vehicle", function()
      service = serving { accounts = { other = world:client { account = "other" } } }
      command("honk_horn")
      command("honk_horn", nil, { headers = { ["x-fleet-account"] = "other" } })
      assert.equal(1, world:sent("handshake"))
    end)
  end)

  describe("a token that is passed through", function()
    it("goes to the service in place of the account's, and is not kept in the store", function()
      local store = fleet.store.memory()
      service = serving { of_client = { token = nil, client_id = "c", store = store } }
      assert.equal(200, command("honk_horn", nil, { token = world.token }).status)
      assert.equal(401, command("honk_horn", nil, { token = "another" }).status)
      assert.equal(1, world:sent("handshake"))
      assert.is_nil((store:get("token/default/user")))
      assert.is_nil((store:get("token/pass-through/user")))
    end)

    it("is not refreshed after a 401, nor is the account's used", function()
      local reply = command("honk_horn", nil, { token = "another" })
      assert.equal(401, reply.status)
      assert.same({}, world.ran)
    end)
  end)

  describe("a telemetry configuration", function()
    local config = '{"vins":["%s"],"config":{"hostname":"telemetry.example.com","port":443,"ca":"%s",'
      .. '"fields":{"Soc":{"interval_seconds":60}}}}'

    it("with a mistake is refused before it is sent", function()
      local reply = ask("POST", "/api/1/vehicles/fleet_telemetry_config", config:format(signed_world.VIN, "no chain"))
      assert.equal(400, reply.status)
      assert.matches("ca", reply.json.error_description)
      assert.same({}, world.messages)
    end)

    it("without vehicles or configuration is refused", function()
      assert.equal(400, ask("POST", "/api/1/vehicles/fleet_telemetry_config", "{}").status)
      assert.equal(400, ask("POST", "/api/1/vehicles/fleet_telemetry_config", '{"vins":["x"]}').status)
      assert.equal(400, ask("POST", "/api/1/vehicles/fleet_telemetry_config", "[]").status)
    end)
  end)

  describe("the queue of a vehicle", function()
    it("that is full is rejected at once, and nothing is sent", function()
      service = serving { limits = { per_vin = 1, waiting_per_vin = 2, waiting = 100 } }
      world.before = function(_, kind) if kind == "command" then fleet.sleep(1) end end
      local statuses = {}
      fleet.run(function()
        local tasks = {}
        for i = 1, 5 do
          tasks[i] = fleet.spawn(function()
            local status, headers = service:handle(caller, {
              method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/honk_horn", query = "", headers = {}, body = "",
            })
            statuses[#statuses + 1] = status .. (headers["Retry-After"] and " later" or "")
          end)
        end
        for _, task in ipairs(tasks) do task:wait() end
      end)
      table.sort(statuses)
      assert.same({ "200", "200", "200", "429 later", "429 later" }, statuses)
      assert.equal(3, #world.ran)
    end)

    it("is shared by the addresses that tokens come from, whatever tokens those are", function()
      service = serving { of_client = { token = nil, client_id = "c", store = fleet.store.memory() } }
      world.before = function() fleet.sleep(0.1) end
      local known, order = callers.new {}, {}
      local function send(tasks, address, name, token)
        local from = { peer = function() return address end }
        tasks[#tasks + 1] = fleet.spawn(function()
          local who, digest = known:by_token(token, address)
          service:handle(who, {
            method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/honk_horn", query = "", headers = {}, body = "",
          }, token, digest, from)
          order[#order + 1] = name
        end)
      end
      fleet.run(function()
        local tasks = {}
        for i = 1, 20 do send(tasks, "192.0.2.1", "many", "invented" .. i) end
        for _ = 1, 2 do send(tasks, "192.0.2.2", "one", world.token) end
        for _, task in ipairs(tasks) do task:wait() end
      end)
      local last = 0
      for place, name in ipairs(order) do
        if name == "one" then last = place end
      end
      assert.same({ 22, true }, { #order, last <= 5 }, "the last one of one came as number " .. last)
    end)

    it("that took all the time is a timeout, and nothing is sent", function()
      service = serving { timeout = 2 }
      local received
      fleet.run(function()
        assert(service.queue:enter(signed_world.VIN, "another", 10))
        local status, headers = service:handle(caller, {
          method = "POST", path = "/api/1/vehicles/" .. signed_world.VIN .. "/command/honk_horn", query = "", headers = {}, body = "",
        })
        received = { status, headers["x-fleet-outcome"] }
        service.queue:leave(signed_world.VIN)
      end)
      assert.same({ 429, "not_sent" }, received)
      assert.same({}, world.ran)
      assert.is_nil(next(service.queue.places))
    end)
  end)
end)
