local control = require("fleet.sim.control")
local core = require("fleet.core")
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")

local CAR, OLD = simulated.CAR, simulated.OLD

describe("the simulated service", function()
  local sim

  before_each(function() sim = simulated.new() end)

  describe("rows", function()
    local handlers, commands = require("fleet.sim.handlers"), require("fleet.sim.commands")

    it("are all that handlers exist for", function()
      local known = {}
      for _, row in ipairs(core.endpoints()) do known[row.name] = true end
      for name in pairs(handlers) do assert.is_true(known[name], name) end
      known = {}
      for _, row in ipairs(core.commands()) do known[row.name] = true end
      for name in pairs(commands) do assert.is_true(known[name], name) end
    end)
  end)

  describe("routes", function()
    it("answer 404 to an unknown path and 405 to an unknown method", function()
      assert.equal(404, sim:get("/api/1/nothing").status)
      assert.equal(405, sim:call("DELETE", "/api/1/vehicles").status)
    end)

    it("answer 400 to an unknown command", function()
      local reply = sim:call("POST", "/api/1/vehicles/" .. OLD .. "/command/fly", {})
      assert.same({ 400, "invalid_command" }, { reply.status, reply.json.error })
    end)

    it("are the same however often and for however many paths they were asked", function()
      for i = 1, 1200 do assert.equal(404, sim:get("/api/1/nothing/" .. i).status) end
      for _ = 1, 2 do
        assert.equal(OLD, sim:get("/api/1/vehicles/" .. OLD).response.vin)
        assert.equal(CAR, sim:get("/api/1/vehicles/" .. CAR).response.vin)
        assert.equal(404, sim:get("/api/1/vehicles/5YJ3FLEE9RF00000%32").status)
        assert.equal(OLD, sim:get("/api/1/vehicles/" .. OLD:sub(1, -2) .. "%32").response.vin)
        assert.equal(405, sim:call("DELETE", "/api/1/vehicles/" .. OLD).status)
      end
    end)

    it("distinguish two histories by their kind", function()
      local site = "/api/1/energy_sites/2252147638651584/calendar_history"
      assert.is_table(sim:get(site .. "?kind=backup").response.events)
      assert.is_table(sim:get(site .. "?kind=energy").response.time_series)
      assert.equal(400, sim:get(site .. "?kind=other").status)
    end)
  end)

  describe("tokens", function()
    it("are needed", function()
      assert.equal(401, sim:get("/api/1/vehicles", "").status)
      assert.equal(401, sim:get("/api/1/vehicles", "made-up").status)
    end)

    it("age with virtual time", function()
      local token = sim:login().access_token
      sim:advance(8 * 3600 - 1)
      assert.equal(200, sim:get("/api/1/vehicles", token).status)
      sim:advance(1)
      local reply = sim:get("/api/1/vehicles", token)
      assert.equal(401, reply.status)
      assert.matches("expired", reply.json.error)
    end)

    it("give what their scopes say, and 403 names what is missing", function()
      local token = sim:login({ scope = "openid user_data" }).access_token
      assert.equal(200, sim:get("/api/1/users/me", token).status)
      local reply = sim:get("/api/1/vehicles", token)
      assert.equal(403, reply.status)
      assert.matches("vehicle_device_data", reply.json.error_description)
    end)

    it("of charging allow charging commands and no others", function()
      local token = sim:login({ scope = "openid vehicle_charging_cmds" }).access_token
      assert.equal("", sim:command("set_charging_amps", { charging_amps = 8 }, OLD, token))
      assert.equal(403, (sim:command("honk_horn", {}, OLD, token)))
    end)

    it("of a partner are for partner calls, those of a user for the others", function()
      local partner = sim:partner()
      assert.equal(200, sim:get("/api/1/vehicles/" .. CAR .. "/specs", partner).status)
      assert.equal(403, sim:get("/api/1/vehicles/" .. CAR .. "/specs").status)
      assert.equal(403, sim:get("/api/1/vehicles", partner).status)
    end)
  end)

  describe("bodies", function()
    local path = "/api/1/vehicles/" .. OLD .. "/command/set_charge_limit"

    it("must be JSON objects with the right types", function()
      assert.equal(200, sim:call("POST", path, { percent = 70 }).status)
      assert.equal(400, sim:call("POST", path, "{").status)
      assert.equal(400, sim:call("POST", path, "[1]").status)
      assert.matches("missing percent param", sim:call("POST", path, {}).body)
      assert.matches("invalid percent param", sim:call("POST", path, { percent = "70" }).body)
    end)

    it("must be announced as JSON", function()
      assert.equal(406, sim:call("POST", path, "percent=70", nil, {}).status)
    end)

    it("may be missing or null where nothing is needed", function()
      assert.equal(200, sim:call("POST", "/api/1/vehicles/" .. OLD .. "/wake_up").status)
      assert.equal(200, sim:call("POST", "/api/1/vehicles/" .. OLD .. "/wake_up", "null").status)
    end)
  end)

  describe("vehicles", function()
    it("are listed with a pagination object", function()
      local reply = sim:get("/api/1/vehicles?per_page=1")
      assert.same({ 1, CAR, 2, 2 }, {
        #reply.response, reply.response[1].vin, reply.json.pagination.next, reply.json.count,
      })
      reply = sim:get("/api/1/vehicles?per_page=1&page=2")
      assert.same({ OLD, json.null }, { reply.response[1].vin, reply.json.pagination.next })
    end)

    it("come in pages of 100", function()
      local list = {}
      for i = 1, 130 do list[i] = { vin = ("5YJ3FLEE9RF%06d"):format(i) } end
      local many = simulated.new({ vehicles = list })
      assert.equal(100, #many:get("/api/1/vehicles").response)
      assert.equal(30, #many:get("/api/1/vehicles?page=2").response)
      assert.equal(0, #many:get("/api/1/vehicles?page=3").response)
    end)

    it("are found by VIN and by id, and not when they belong to another account", function()
      local record = sim:get("/api/1/vehicles/" .. CAR).response
      assert.equal(CAR, sim:get("/api/1/vehicles/" .. record.id_s).response.vin)
      assert.equal(404, sim:get("/api/1/vehicles/5YJ3FLEE9RF999999").status)
      local two = simulated.new({
        accounts = { { email = "a@x" }, { email = "b@x" } }, vehicles = { { vin = CAR, owner = "b@x" } },
      })
      assert.equal(404, two:get("/api/1/vehicles/" .. CAR).status)
    end)

    it("return their status; the discount only of a single one", function()
      local one = sim:call("POST", "/api/1/vehicles/fleet_status", { vins = json.list({ CAR }) }).response
      assert.is_false(one.vehicle_info[CAR].discounted_device_data)
      assert.same({ CAR }, one.unpaired_vins)
      local both = sim:call("POST", "/api/1/vehicles/fleet_status", { vins = json.list({ CAR, OLD }) }).response
      assert.is_nil(both.vehicle_info[CAR].discounted_device_data)
      assert.is_false(both.vehicle_info[OLD].vehicle_command_protocol_required)
    end)

    it("give live data by section, without the place unless asked", function()
      local data = sim:get("/api/1/vehicles/" .. CAR .. "/vehicle_data").response
      assert.equal(62, data.charge_state.battery_level)
      assert.is_nil(data.drive_state.latitude)
      assert.is_nil(data.charge_schedule_data)
      data = sim:get("/api/1/vehicles/" .. CAR .. "/vehicle_data?endpoints=location_data%3Bcharge_state").response
      assert.equal(52.52, data.drive_state.latitude)
      assert.is_nil(data.climate_state)
      assert.equal(400, sim:get("/api/1/vehicles/" .. CAR .. "/vehicle_data?endpoints=charge_state,climate_state").status)
    end)

    it("keep the place from who has no scope or whose share hides it", function()
      local target = "/api/1/vehicles/" .. CAR .. "/vehicle_data?endpoints=location_data%3Bdrive_state"
      local token = sim:login({ scope = "openid vehicle_device_data" }).access_token
      assert.is_nil(sim:get(target, sim:login({ client_id = "c2", scope = "openid vehicle_device_data" }).access_token)
        .response.drive_state.latitude)
      assert.is_string(token)
      local hidden = simulated.new({ vehicles = { { vin = CAR, granular_access = { hide_private = true } } } })
      assert.is_nil(hidden:get(target).response.drive_state.latitude)
    end)

    it("that sleep answer 408 to live calls and commands, and 200 to the record", function()
      sim.service:now()
      sim:car().record.state = "asleep"
      assert.equal(408, sim:get("/api/1/vehicles/" .. OLD .. "/vehicle_data").status)
      assert.equal(408, (sim:command("honk_horn")))
      assert.equal("asleep", sim:get("/api/1/vehicles/" .. OLD).response.state)
    end)

    it("wake after some time, offline ones do not", function()
      sim:car().record.state = "asleep"
      assert.equal("asleep", sim:call("POST", "/api/1/vehicles/" .. OLD .. "/wake_up").response.state)
      sim:advance(11)
      assert.equal("asleep", sim:get("/api/1/vehicles/" .. OLD).response.state)
      sim:advance(49)
      assert.equal("online", sim:get("/api/1/vehicles/" .. OLD).response.state)
      sim:car().record.state = "offline"
      sim:call("POST", "/api/1/vehicles/" .. OLD .. "/wake_up")
      sim:advance(60)
      assert.equal("offline", sim:get("/api/1/vehicles/" .. OLD).response.state)
    end)

    it("that need the protocol refuse plain commands and do nothing", function()
      local status, reply = sim:command("door_unlock", {}, CAR)
      assert.equal(403, status)
      assert.matches("^Vendor Vehicle Command Protocol required", reply.json.error)
      assert.is_true(sim:section("vehicle_state", CAR).locked)
      assert.equal(403, (sim:command("set_vehicle_name", { vehicle_name = "X" })))
    end)

    it("in service answer 405 to live calls", function()
      sim:car().record.in_service = true
      assert.equal(405, sim:get("/api/1/vehicles/" .. OLD .. "/vehicle_data").status)
    end)
  end)

  describe("signed_command", function()
    it("is 422 where the vehicle does not speak the protocol, and says so where nothing can verify it", function()
      local body = { routable_message = "AAAA" }
      assert.equal(422, sim:call("POST", "/api/1/vehicles/" .. OLD .. "/signed_command", body).status)
      assert.is_true(sim:call("POST", "/api/1/vehicles/" .. CAR .. "/signed_command", body).status >= 400)
    end)
  end)

  describe("users", function()
    it("have a summary, orders and a region", function()
      assert.equal("driver@example.com", sim:get("/api/1/users/me").response.email)
      assert.equal("[]", json.encode(sim:get("/api/1/users/orders").response))
      assert.same({ region = "na", fleet_api_base_url = "http://base" }, sim:get("/api/1/users/region").response)
    end)

    it("of another region are sent there", function()
      local other = simulated.new({ accounts = { { email = "a@x", region = "na" }, { email = "b@x", region = "eu" } } },
        { vendor = { title = "V", regions = { eu = "https://eu.example" } } })
      local reply = other:get("/api/1/vehicles", other:login({ login_hint = "b@x" }).access_token)
      assert.equal(421, reply.status)
      assert.matches("use base URL: https://eu.example", reply.json.error, 1, true)
    end)

    it("of another region get the address of their own region everywhere", function()
      local other = simulated.new({ accounts = { { email = "a@x", region = "na" }, { email = "b@x", region = "eu" } } },
        { vendor = { title = "V", regions = { eu = "https://eu.example" } } })
      local reply = other:get("/api/1/users/region", other:login({ login_hint = "b@x" }).access_token)
      assert.same({ 200, { region = "eu", fleet_api_base_url = "https://eu.example" } }, { reply.status, reply.response })
      assert.equal(401, other:get("/api/1/users/region", "").status)
    end)

    it("without a region live where the service is", function()
      for _, garage in ipairs({
        { region = "eu", accounts = { { email = "a@x" } } },
        { accounts = { { email = "b@x", region = "eu" }, { email = "a@x" } } },
      }) do
        local other = simulated.new(garage)
        local token = other:login({ login_hint = "a@x" })
        assert.equal(200, other:get("/api/1/vehicles", token.access_token).status)
        assert.equal("eu", other:get("/api/1/users/region", token.access_token).response.region)
        assert.equal("EU_", token.refresh_token:sub(1, 3))
      end
    end)
  end)

  it("lists among the products what the scopes are for", function()
    local function kinds(scope)
      local reply = sim:get("/api/1/products", sim:login({ scope = scope, client_id = scope:gsub("%W", "") }).access_token)
      if reply.status ~= 200 then return reply.status end
      local list = {}
      for i, item in ipairs(reply.response) do list[i] = item.device_type end
      assert.equal(#list, reply.json.count)
      return table.concat(list, " ")
    end
    assert.equal("vehicle vehicle", kinds("openid vehicle_device_data"))
    assert.equal("energy", kinds("openid energy_device_data"))
    assert.equal("vehicle vehicle energy", kinds("openid energy_device_data vehicle_device_data"))
    assert.equal(403, kinds("openid vehicle_cmds energy_cmds"))
  end)

  it("refuses calls that would reach a vehicle without mobile access", function()
    control.set(sim.service, OLD, { mobile_enabled = false })
    local reply = sim:get("/api/1/vehicles/" .. OLD .. "/vehicle_data")
    assert.same({ 401, "mobile_access_disabled" }, { reply.status, reply.json.error })
    assert.equal(401, (sim:command("honk_horn")))
    assert.equal(200, sim:get("/api/1/vehicles/" .. OLD).status)
    control.set(sim.service, OLD, { mobile_enabled = true })
    assert.equal("", (sim:command("honk_horn")))
  end)

  it("bills what it answers, not where it fails", function()
    local function billed() return sim.service.billing:state().data end
    local path = "/api/1/vehicles/" .. OLD .. "/vehicle_data"
    local before = billed()
    sim.service.faults:add("executed_503")
    assert.same({ 503, before }, { sim:get(path).status, billed() })
    assert.same({ 200, before + 1 }, { sim:get(path).status, billed() })
  end)

  describe("charging", function()
    it("has a history and an invoice that is a PDF", function()
      local entry = sim:get("/api/1/dx/charging/history?pageNo=1").json.data[1]
      local reply = sim:get("/api/1/dx/charging/invoice/" .. entry.invoices[1].contentId)
      assert.equal("application/pdf", reply.headers["Content-Type"])
      assert.matches("^%%PDF%-1%.4", reply.body)
      assert.matches("%%%%EOF\n$", reply.body)
      assert.equal(404, sim:get("/api/1/dx/charging/invoice/nothing").status)
    end)

    it("sessions are for business accounts", function()
      assert.equal(403, sim:get("/api/1/dx/charging/sessions").status)
      local fleet = simulated.new({
        accounts = { { email = "f@x", business = true, auth_code = "B1" } }, vehicles = { { vin = CAR } },
        charging_history = { { vin = CAR } },
      })
      local token = fleet:partner("vehicle_charging_cmds vehicle_device_data user_data", { auth_code = "B1" })
      assert.equal(CAR, fleet:get("/api/1/dx/charging/sessions", token).json.data[1].vin)
      assert.equal(403, fleet:get("/api/1/users/me", token).status)
    end)
  end)
end)
