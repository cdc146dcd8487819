-- sim:client(): a client that is signed in and paired, in the program that runs the simulator.
local fleet = require "fleet"
local sims = require "fleet.sim"

local RED, BLUE = "5YJ3FLEE9RF000001", "5YJ3FLEE9RF000002"

describe("sim:client", function()
  local sim, opened

  local function start(garage)
    sim = assert(sims.new { garage = garage })
    return sim
  end

  local function client(options)
    local made, err, kind = sim:client(options)
    opened[#opened + 1] = made
    return made, err, kind
  end

  before_each(function() opened = {} end)

  after_each(function()
    for _, one in ipairs(opened) do one:close() end
    sim:close()
  end)

  it("is signed in, reads, and commands signed and plain vehicles", function()
    start { vehicles = { { vin = RED }, { vin = BLUE, vehicle_command_protocol_required = false } } }
    local c = assert(client())
    assert.equal("signed", assert(c:vehicle(RED):set_charge_limit { percent = 70 }).via)
    assert.equal("plain", assert(c:vehicle(BLUE):set_charge_limit { percent = 70 }).via)
    assert.equal(70, sim:state().vehicles[RED].sections.charge_state.charge_limit_soc)
    assert.is_table(assert(c:vehicle(RED):locate()))
    assert.is_table(assert(c:energy_sites()))
  end)

  it("goes on when its access token has ended", function()
    start { vehicles = { { vin = RED } } }
    local c = assert(client())
    sim:advance(9 * 3600)
    assert.equal(RED, assert(c:vehicle(RED):info()).vin)
  end)

  it("is made inside of a task, too", function()
    start { vehicles = { { vin = RED } } }
    assert.equal("signed", fleet.run(function() return assert(assert(client()):vehicle(RED):flash_lights()).via end))
  end)

  it("shares key and counters with the others of the simulator: commands in turn, and more clients than a vehicle has keys", function()
    start { vehicles = { { vin = RED } } }
    local first = assert(client())
    for i = 1, 25 do assert(assert(client()):vehicle(RED):set_charge_limit { percent = 50 + i }) end
    assert(first:vehicle(RED):honk_horn())
    assert.equal(1, #sim:state().vehicles[RED].keys)
    local sign_ins = 0
    for _, list in pairs(sim.service.oauth.families) do sign_ins = sign_ins + #list end
    assert.equal(1, sign_ins)
  end)

  it("is another account's where that is named: its vehicles, its key, its rights", function()
    start { accounts = { { email = "a@x" }, { email = "b@x" } },
      vehicles = { { vin = RED }, { vin = BLUE, owner = "b@x", drivers = { { email = "a@x" } } } } }
    assert(client())
    local other = assert(client { account = "b@x" })
    assert.equal("not_found", select(3, other:vehicle(RED):info()))
    assert(other:vehicle(BLUE):door_lock())
    assert.equal("forbidden", select(3, assert(client()):vehicle(BLUE):drivers()))
    assert(other:vehicle(BLUE):drivers())
  end)

  it("takes the options of fleet.new: a key of yours, none, scopes, a token", function()
    start { vehicles = { { vin = RED } } }
    local key = fleet.key.generate()
    assert(assert(client { key = key }):vehicle(RED):honk_horn())
    assert.equal("key_not_paired", select(3, assert(client { key = false, store = fleet.store.open "memory" }):vehicle(RED):honk_horn()))
    local reader = assert(client { scopes = { "openid", "vehicle_device_data" }, store = fleet.store.open "memory" })
    assert.equal("scope", select(3, reader:vehicle(RED):honk_horn()))
    assert.equal("auth", select(3, assert(client { token = "no.such.token" }):vehicle(RED):info()))
    assert.error_matches(function() client { colour = "red" } end, "unknown option 'colour'")
    key:close()
  end)

  it("signs in as the garage's application, with or without a secret", function()
    for _, secret in ipairs { "s", "" } do
      start { apps = { { client_id = "a", client_secret = secret ~= "" and secret or nil, redirect_uris = { "https://a/cb" },
        scopes = { "openid", "offline_access", "vehicle_device_data" } } }, vehicles = { { vin = RED } } }
      local c = assert(client())
      assert.equal(RED, assert(c:vehicle(RED):info()).vin)
      sim:close()
    end
  end)

  it("raises for an account that is not in the garage, and says what failed", function()
    start { accounts = { { email = "owner@x" } }, vehicles = { { vin = RED } } }
    assert.error_matches(function() client { account = "ownr@x" } end, "unknown account 'ownr@x', did you mean 'owner@x'")
    sim:fault("error_500", 1, { row = "token" })
    local made, err, kind = client()
    assert.same({ nil, "service" }, { made, kind })
    assert.is_string(err.message)
    assert(client())
  end)
end)
