-- Virtual time: sim:advance, the control address, --speed and the clock of the loop move everything that ages, all at once.
local control = require("fleet.sim.control")
local fleet = require("fleet")
local services = require("spec.support.servers.service")
local sims = require("fleet.sim")
local virtual = require("spec.support.harness.virtual")
local browser = require("fleet.sim.test_browser")

local OLD = "5YJSFLEE9KF000002"
local HOUR, DAY = 3600, 86400

-- A client of a simulator in this process, signed in; its store is its own.
local function client_of(sim, email)
  local client = fleet.new {
    base_url = sim.base_url, auth_url = sim.auth_url, token_url = sim.token_url, client_id = "c", client_secret = "s",
    redirect_uri = "http://localhost/cb",
    scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds", "energy_device_data" },
  }
  local address, pending = assert(client:authorize_url { login_hint = email })
  assert(client:authorize(assert(browser.consent(address)), pending))
  return client
end

describe("virtual time", function()
  local sim, client, time

  before_each(function()
    time = virtual.install()
    sim = assert(sims.new({ garage = {
      accounts = { { email = "owner@x" }, { email = "friend@x" } },
      vehicles = { { vin = OLD, vehicle_command_protocol_required = false, state = "asleep",
        charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped", battery_level = 20 } } },
      energy_sites = { { energy_site_id = 1000001 } },
    } }))
    client = client_of(sim)
  end)

  after_each(function()
    client:close()
    sim:close()
    time.restore()
    client, sim = nil, nil
  end)

  it("is the time of the loop: a client that sleeps eight hours finds its token expired and gets another", function()
    local token = client:token_info().user
    assert.is_true(token.expires_in > 7 * HOUR)
    local now = sim:state().now
    fleet.run(function() fleet.sleep(9 * HOUR) end)
    assert.near(now + 9 * HOUR, sim:state().now, 60)
    assert(client:vehicle(OLD):info())
    assert.is_true(client:token_info().user.expires_in > 7 * HOUR)
  end)

  it("that only the service has passed makes a token old all the same: 401, refreshed, repeated", function()
    sim:advance(9 * HOUR)
    assert(client:vehicle(OLD):info())
  end)

  it("of three months without a refresh ends the pair, and no hour less", function()
    sim:advance(90 * DAY - HOUR)
    assert(client:refresh())
    sim:advance(90 * DAY)
    local ok, err, kind = client:refresh()
    assert.same({ nil, "auth", "login_required" }, { ok, kind, err.reason })
  end)

  it("wakes a vehicle in twelve seconds of it, and a client that waits has waited them", function()
    local before = time.now()
    assert(client:vehicle(OLD):wake({ timeout = 60 }))
    assert.is_true(time.now() - before >= 12)
    assert.equal("online", client:vehicle(OLD):info().state)
  end)

  it("ends an invitation after 24 hours", function()
    local friend = client_of(sim, "friend@x")
    local car = client:vehicle(OLD)
    local late, early = assert(car:create_invitation()), assert(car:create_invitation())
    sim:advance(DAY - 60)
    assert.equal(OLD, assert(friend:redeem_invitation({ code = early.code })).vin)
    sim:advance(60)
    local ok, _, kind = friend:redeem_invitation({ code = late.code })
    assert.same({ nil, "not_found" }, { ok, kind })
    assert.same({}, car:invitations():collect())
    friend:close()
  end)

  it("ends a guest code after ten minutes", function()
    sim:event("online", OLD)
    assert(client:vehicle(OLD):guest_mode({ enable = true }))
    sim:advance(599)
    assert.is_string(sim:state().vehicles[OLD].guest_code)
    sim:advance(1)
    assert.has_error(function() sim:event("qr_scan", OLD) end)
    assert(client:vehicle(OLD):guest_mode({ enable = true }))
    sim:event("qr_scan", OLD)
  end)

  it("ends a code of the sign-in after ten minutes", function()
    local address, pending = client:authorize_url()
    local callback = assert(browser.consent(address))
    sim:advance(600)
    local ok, err = client:authorize(callback, pending)
    assert.same({ nil, "invalid_auth_code" }, { ok, err.reason })
  end)

  it("of a month passes in moments, and all of it happens: charging, sleep, every day of the history", function()
    sim:set(OLD, { sleep_after = HOUR, state = "online" })
    assert(client:vehicle(OLD):charge_start())
    for _ = 1, 31 do sim:advance(DAY) end
    local car = sim:state().vehicles[OLD]
    assert.same({ "asleep", "Complete", 80 }, { car.record.state, car.sections.charge_state.charging_state,
      car.sections.charge_state.battery_level })
    local site, now = client:energy_site("1000001"), sim:state().now
    local days = assert(site:energy_history({ period = "month", time_zone = "Etc/UTC",
      start_date = os.date("!%Y-%m-%dT00:00:00Z", math.floor(now) - 30 * DAY),
      end_date = os.date("!%Y-%m-%dT23:59:59Z", math.floor(now)) }))
    assert.equal(31, #days.time_series)
  end)
end)

describe("virtual time of a process", function()
  local service

  after_each(function()
    if service then service:stop() end
    service = nil
  end)

  it("is moved by the control address, and its clients see it", function()
    service = services.start({ vehicles = { { vin = OLD, vehicle_command_protocol_required = false,
      charge_state = { conn_charge_cable = "IEC", charging_state = "Stopped", battery_level = 20 } } } })
    local client = service:sign_in(service:client())
    assert(client:vehicle(OLD):charge_start())
    local before = service:control().now
    local reply = service:control({ advance = 3600 })
    assert.is_true(reply.now - before >= 3600)
    assert.equal(30, assert(client:vehicle(OLD):vehicle_data()).charge_state.battery_level) -- 7.68 of 75 kWh
    service:control({ advance = 30 * DAY })
    assert(client:vehicle(OLD):info(), "the pair survives a month")
    client:close()
  end)

  it("runs as fast as --speed says, and stops at 0", function()
    service = services.start({}, "--speed 1000000")
    local first = service:control().now
    local second = service:control().now
    assert.is_true(second - first > 100, "a request takes longer than 0.1 ms")
    service:stop()
    service = services.start({}, "--speed 0")
    assert.equal(service:control().now, service:control().now)
  end)

  it("refuses what is no time", function()
    for _, wrong in ipairs({ -1, "1", 0 / 0, math.huge, 1e12 }) do
      assert.error_matches(function() control.run({}, { advance = wrong }) end, "advance is seconds")
    end
  end)
end)
