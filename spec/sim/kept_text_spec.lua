-- The text of a reply is kept while nothing can have changed what it says: whatever may, a reader sees at once, also where no time
-- passes between two reads.
local control = require("fleet.sim.control")
local simulated = require("spec.support.fixtures.simulated")

local PATH = "/api/1/vehicles/" .. simulated.OLD
local DATA = PATH .. "/vehicle_data"

describe("vehicle data that are read again", function()
  local sim

  before_each(function()
    sim = simulated.new({ accounts = { { email = "owner@x" }, { email = "friend@x" }, { email = "guest@x" } },
      vehicles = { { vin = simulated.OLD, vehicle_command_protocol_required = false,
        drivers = { { email = "friend@x", hide_private = true }, { email = "guest@x" } } } } })
  end)

  local function read(query, token)
    local reply = sim:get(DATA .. (query or ""), token)
    assert.equal(200, reply.status)
    return reply.response, reply.body
  end

  it("are the same text, and are written once", function()
    local _, first = read()
    local kept = sim:car().kept_text
    local _, second = read()
    assert.equal(first, second)
    assert.equal(kept, sim:car().kept_text)
  end)

  it("show a command at once", function()
    local before = read().charge_state.charge_limit_soc
    assert.equal("", sim:command("set_charge_limit", { percent = before - 5 }))
    assert.equal(before - 5, read().charge_state.charge_limit_soc)
  end)

  it("show what was set, and an event, at once", function()
    read()
    control.set(sim.service, simulated.OLD, { charge_state = { battery_level = 17 }, display_name = "Other" })
    assert.same({ 17, "Other" }, { read().charge_state.battery_level, read().display_name })
    control.event(sim.service, "drive", simulated.OLD)
    assert.equal("D", read().drive_state.shift_state)
  end)

  it("show that time has passed", function()
    local before = read().charge_state.timestamp
    sim:advance(60)
    assert.equal(before + 60000, read().charge_state.timestamp)
  end)

  it("are those that were asked for", function()
    assert.is_table(read().climate_state)
    assert.is_nil(read("?endpoints=charge_state").climate_state)
    assert.is_table(read("?endpoints=climate_state").climate_state)
    assert.equal(400, sim:get(DATA .. "?endpoints=nothing").status)
  end)

  it("show the place to whom it may be shown only, and to each what it may do", function()
    local function seen_by(token)
      local data = read("?endpoints=location_data", token)
      return { data.access_type, data.drive_state and type(data.drive_state.latitude) }
    end
    local friend = sim:login({ login_hint = "friend@x" }).access_token
    local guest = sim:login({ login_hint = "guest@x" }).access_token
    local blind = sim:login({ client_id = "c2", scope = "openid vehicle_device_data" }).access_token
    assert.same({ "OWNER", "number" }, seen_by())
    assert.same({ "DRIVER", "number" }, seen_by(guest))
    assert.same({ "DRIVER" }, seen_by(friend))
    assert.same({ "DRIVER", "number" }, seen_by(guest))
    assert.same({ "OWNER", "number" }, seen_by())
    assert.same({ "OWNER" }, seen_by(blind))
    assert.same({ "OWNER", "number" }, seen_by())
  end)
end)
