local json = require("fleet.sim.json")
local miniloop = require("spec.support.harness.miniloop")
local client = require("spec.support.harness.miniclient")
local sims = require("fleet.sim")
local text = require("fleet.sim.text")

describe("fleet.sim", function()
  local loop, sim

  local function open(options)
    options = options or {}
    options.loop = loop
    sim = assert(sims.new(options))
    return sim
  end

  before_each(function() loop = miniloop.new() end)

  after_each(function()
    if sim then sim:close() end
    sim = nil
  end)

  local function at(url)
    return { port = tonumber(url:match(":(%d+)$") or url:match(":(%d+)/")) }
  end

  local function ask(url, method, target, headers, body)
    return loop:run(function() return client.request(at(url), method, target, headers, body) end)
  end

  local function control(body)
    return ask(sim.base_url, "POST", "/control", { Authorization = "Bearer " .. sim.control_token }, json.encode(body))
  end

  local function login()
    local reply = ask(sim.auth_url, "GET", "/oauth2/v3/authorize?" .. text.query({
      { "response_type", "code" }, { "client_id", "c" }, { "redirect_uri", "http://app/cb" }, { "state", "s" },
      { "scope", "openid offline_access vehicle_device_data vehicle_cmds" },
    }))
    local code = text.form(reply.headers.location:match("%?(.*)$")).code
    reply = ask(sim.token_url, "POST", "/oauth2/v3/token", { ["Content-Type"] = "application/x-www-form-urlencoded" },
      text.query({
        { "grant_type", "authorization_code" }, { "client_id", "c" }, { "client_secret", "x" }, { "code", code },
        { "audience", sim.base_url }, { "redirect_uri", "http://app/cb" },
      }))
    return json.decode(reply.body).access_token
  end

  local function call(method, target, token, body)
    return ask(sim.base_url, method, target, { Authorization = "Bearer " .. token, ["Content-Type"] = "application/json" }, body)
  end

  it("prints its addresses as one line of JSON", function()
    open()
    local line = json.decode(sim:first_line())
    for _, name in ipairs({ "base_url", "auth_url", "token_url", "control_url" }) do
      assert.matches("^http://127%.0%.0%.1:%d+", line[name])
    end
    assert.matches("^%x+$", line.control_token)
    assert.is_nil(sim:first_line():find("\n"))
  end)

  it("serves sign-in, reads and commands over HTTP", function()
    open()
    local token = login()
    assert.equal(2, json.decode(call("GET", "/api/1/vehicles", token).body).count)
    local path = "/api/1/vehicles/5YJSFLEE9KF000002/command/set_charge_limit"
    assert.is_true(json.decode(call("POST", path, token, '{"percent":70}').body).response.result)
    assert.equal("already_set", json.decode(call("POST", path, token, '{"percent":70}').body).response.reason)
    assert.equal("ok", ask(sim.base_url, "GET", "/status").body)
  end)

  it("takes no token that it did not issue", function()
    open()
    assert.equal(401, call("GET", "/api/1/vehicles", "eyJhbGciOiJSUzI1NiJ9.e30.real").status)
  end)

  it("serves only who names this machine", function()
    open()
    local reply = loop:run(function()
      return client.exchange(client.connect(at(sim.base_url)), "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
    end)
    assert.equal(403, reply.status)
  end)

  describe("the control address", function()
    it("needs its token", function()
      open()
      assert.equal(401, ask(sim.base_url, "GET", "/control").status)
      assert.equal(401, ask(sim.base_url, "POST", "/control", { Authorization = "Bearer x" }, "{}").status)
    end)

    it("shows the newest hundred calls, in their order", function()
      open()
      for i = 1, 230 do ask(sim.base_url, "GET", "/api/1/users/" .. i) end
      local calls = sim:state().calls
      assert.same({ 100, "/api/1/users/131", "/api/1/users/230" }, { #calls, calls[1].path, calls[100].path })
    end)

    it("lets time pass, sets fields, makes events and faults, and shows the state", function()
      open()
      local vin = "5YJSFLEE9KF000002"
      local before = sim:state().now
      assert.equal(200, control({ advance = 3600 }).status)
      assert.is_true(sim:state().now - before >= 3600)
      assert.equal(200, control({ set = { [vin] = { charge_state = { battery_level = 20 }, state = "asleep" } } }).status)
      assert.equal(200, control({ event = "online", vin = vin }).status)
      assert.equal(200, control({ fault = "error_500", times = 2 }).status)
      local state = json.decode(ask(sim.base_url, "GET", "/control", { Authorization = "Bearer " .. sim.control_token }).body)
      assert.same({ 20, "online" }, {
        state.vehicles[vin].sections.charge_state.battery_level, state.vehicles[vin].record.state,
      })
      assert.same({ { fault = "error_500", times = 2 } }, { { fault = state.faults[1].fault, times = state.faults[1].times } })
    end)

    for name, case in pairs({
      ["nothing known"] = { {}, "advance, fault" },
      ["an unknown fault"] = { { fault = "rain" }, "unknown fault 'rain'" },
      ["an unknown event"] = { { event = "rain" }, "unknown event 'rain'" },
      ["an unknown vehicle"] = { { event = "park", vin = "X" }, "no vehicle X: the simulator has Blue (5YJ" },
      ["an event without its vehicle"] = { { event = "park" }, "name the vehicle after the event: the simulator has Blue" },
      ["an unknown section"] = { { set = { ["5YJSFLEE9KF000002"] = { wheels = 3 } } }, "no such member" },
      ["time that runs backwards"] = { { advance = -1 }, "0 or more" },
    }) do
      it("refuses " .. name .. " with a sentence", function()
        open()
        local reply = control(case[1])
        assert.equal(400, reply.status)
        assert.matches(case[2], json.decode(reply.body).error_description, 1, true)
      end)
    end
  end)

  describe("options", function()
    for name, case in pairs({
      ["an unknown name"] = { { sped = 1 }, "did you mean 'speed'" },
      ["a wrong type"] = { { speed = "fast" }, "'speed' is a number" },
      ["a negative speed"] = { { speed = -1 }, "'speed'" },
      ["a limit that is no whole number"] = { { config_limit = 1.5 }, "'config_limit'" },
      ["a garage with a misspelt member"] = { { garage = { vehicels = {} } }, "did you mean 'vehicles'" },
      ["a garage that is not there"] = { { garage = "/nonexistent.json" }, "cannot be read" },
      ["a log that cannot be written"] = { { log = "/nonexistent/log" }, "cannot be written" },
      ["an unknown fault"] = { { faults = { "rain" } }, "unknown fault 'rain'" },
    }) do
      it("with " .. name .. " raise", function()
        case[1].loop = loop
        local ok, message = pcall(sims.new, case[1])
        assert.is_false(ok)
        assert.matches(case[2], message, 1, true)
      end)
    end

    it("with a port take it and the two after it, and say when one is in use", function()
      open()
      local port = at(sim.base_url).port
      local other, err, kind = sims.new({ loop = loop, port = port })
      assert.same({ nil, "network" }, { other, kind })
      assert.matches("in use", tostring(err))
    end)

    it("with faults have them from the start", function()
      open({ faults = { "error_502:2" } })
      local token = login()
      assert.equal(502, call("GET", "/api/1/vehicles", token).status)
      assert.equal(502, call("GET", "/api/1/vehicles", token).status)
      assert.equal(200, call("GET", "/api/1/vehicles", token).status)
    end)

    it("with a speed let time run faster than the clock", function()
      local mono = 0
      open({ speed = 60, clock = function() return mono, 1773136800 end })
      mono = 10
      assert.equal(1773136800 + 600, sim:state().now)
    end)

    it("with a log write one line of JSON per call, without tokens and whole VINs", function()
      local path = os.tmpname()
      open({ log = path })
      local token = login()
      call("GET", "/api/1/vehicles/5YJSFLEE9KF000002", token)
      sim:close()
      local file = io.open(path)
      local lines, all = {}, file:read("a")
      file:close()
      os.remove(path)
      for line in all:gmatch("[^\n]+") do lines[#lines + 1] = json.decode(line) end
      assert.same({ "info", 200, "0002", "/api/1/vehicles/{vin}" },
        { lines[#lines].row, lines[#lines].status, lines[#lines].vin, lines[#lines].path })
      assert.is_nil(all:find(token, 1, true))
      assert.is_nil(all:find("5YJS", 1, true))
    end)
  end)

  describe("a bad line", function()
    local token

    local function with(fault, options, method)
      open()
      token = login()
      sim:fault(fault, 1, options)
      local limit = { [true] = '{"percent":55}' }
      return call(method or "POST", "/api/1/vehicles/5YJSFLEE9KF000002/command/set_charge_limit", token, limit[true])
    end

    local function limit()
      return sim:state().vehicles["5YJSFLEE9KF000002"].sections.charge_state.charge_limit_soc
    end

    it("drop_before closes the connection and nothing happens", function()
      assert.is_nil(with("drop_before"))
      assert.equal(80, limit())
    end)

    it("drop_after closes the connection when it has happened", function()
      assert.is_nil(with("drop_after"))
      assert.equal(55, limit())
    end)

    it("slow and trickle are whole in the end", function()
      assert.is_true(with("slow", { seconds = 0.01 }).whole)
      sim:close()
      assert.is_true(with("trickle", { every = 0.001 }).whole)
    end)

    it("truncated with cut ends the connection early", function()
      assert.is_false(with("truncated", { cut = true }).whole)
    end)
  end)

  it("closes twice and says so", function()
    open()
    sim:close()
    sim:close()
    assert.equal("fleet.sim (closed)", tostring(sim))
  end)
end)
