-- Commands, calls, events and hours in random order: no state is ever reached that doc/protocol.md#states-and-moves forbids. Beside the
-- simulator runs a ledger that knows the lines of section 3 and nothing else; after every step it compares what was with what is.
local commands = require("fleet.sim.commands")
local control = require("fleet.sim.control")
local core = require("fleet.core")
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")

local DAY = 86400
local VIN = simulated.OLD
local PATH = "/api/1/vehicles/" .. VIN

-- ---- chance that repeats itself ----

local function dice(seed)
  local function roll(n)
    seed = (seed * 1103515245 + 12345) % 2147483648
    return math.floor(seed / 65536) % n + 1
  end
  return roll, function(list) return #list > 0 and list[roll(#list)] or nil end
end

-- ---- what is looked at: one vehicle, as section 3 sees it ----

local function look(car)
  local vs, cs = car.sections.vehicle_state, car.sections.charge_state
  local drivers = {}
  for _, driver in ipairs(car.drivers) do drivers[driver.email] = true end
  return {
    pin = car.pins.pin_to_drive, pin_on = vs.pin_to_drive_enabled, valet = vs.valet_mode, valet_pin = car.pins.valet,
    parental = vs.parental_controls.active, parental_pin = car.pins.parental,
    settings = json.encode({ vs.parental_controls.settings, vs.parental_controls.speed_limit_mph }),
    limit_on = vs.speed_limit_mode.active, limit_pin = car.pins.speed_limit,
    update = vs.software_update.status, guest = car.guest, code = car.guest_code and car.guest_code.code,
    drivers = drivers, driver_count = #car.drivers, cable = car:cable() ~= nil, charging = cs.charging_state, level = cs.battery_level,
    limit = cs.charge_limit_soc, least = cs.charge_limit_soc_min, most = cs.charge_limit_soc_max, energy = car.energy_percent,
    keys = #car.keys, parked = car:parked(),
  }
end

local function four(pin) return type(pin) == "string" and pin:match("^%d%d%d%d$") ~= nil end

-- What may not be, whatever happened.
local function check_state(now)
  assert(not now.parental or now.parental_pin, "parental controls are active without a PIN")
  assert(not now.valet or now.valet_pin, "valet mode is on without a PIN")
  assert(not now.limit_on or now.limit_pin, "the speed limit is active without a PIN")
  for _, name in ipairs({ "pin", "valet_pin", "parental_pin", "limit_pin" }) do
    assert(now[name] == nil or four(now[name]), name .. " is no PIN of four digits")
  end
  assert(now.level >= 0 and now.level <= 100 and now.limit >= now.least and now.limit <= now.most)
  assert(now.charging ~= "Charging" or (now.cable and now.energy <= now.limit + 0.01), "charges without a cable or above the limit")
  assert((now.charging == "Disconnected") == not now.cable, "the cable and " .. now.charging)
  assert(now.cable == false or now.parked, "drives with a cable")
  assert(now.driver_count <= 5 and now.keys <= 20)
end

-- For each subject: what = the step's name, p = its parameters; true when section 3 has such a move.
local MOVES = {
  pin = function(was, now, what, p)
    if not was.pin then return what == "set_pin_to_drive" and now.pin == p.password end
    if now.pin then return false end
    return what == "clear_pin_to_drive_admin" or (what == "reset_pin_to_drive_pin" and not was.pin_on and not was.valet)
  end,
  parental = function(was, now, what, p)
    if now.parental then return what == "parental_controls_activate" and p.pin == (was.parental_pin or p.pin) end
    return what == "parental_controls_clear_pin_admin"
      or ((what == "parental_controls_deactivate" or what == "parental_controls_clear_pin") and p.pin == was.parental_pin)
  end,
  parental_pin = function(was, now, what, p)
    if now.parental_pin then return was.parental_pin == nil and what == "parental_controls_activate" and now.parental_pin == p.pin end
    return what == "parental_controls_clear_pin_admin" or (what == "parental_controls_clear_pin" and p.pin == was.parental_pin)
  end,
  settings = function(was, _, what)
    return not was.parental and (what == "parental_controls_enable_setting" or what == "parental_controls_set_speed_limit")
  end,
  valet = function(was, now, what, p)
    return what == "set_valet_mode" and p.on == now.valet and (not now.valet or p.password == (was.valet_pin or p.password))
  end,
  valet_pin = function(was, now, what)
    if now.valet_pin then return was.valet_pin == nil and what == "set_valet_mode" end
    return what == "reset_valet_pin" and not was.valet
  end,
  update = function(was, now, what)
    local move = was.update .. ">" .. now.update
    if move == ">available" then return what == "software_available" end
    if move == "available>scheduled" then return what == "schedule_software_update" end
    if move == "scheduled>available" then return what == "cancel_software_update" end
    return what == "time" and (move == "scheduled>installing" or move == "installing>" or move == "scheduled>")
  end,
  guest = function(_, now, what, p)
    if now.guest then return what == "qr_scan" and now.guest == p.guest end
    return what == "key_card" or what == "erase_user_data" or what == "remove_driver" or (what == "guest_mode" and not p.enable)
  end,
}

local function check_moves(was, now, what, params)
  for subject, allowed in pairs(MOVES) do
    if was[subject] ~= now[subject] then
      assert(allowed(was, now, what, params or {}), ("%s: %s went from %s to %s"):format(
        what, subject, tostring(was[subject]), tostring(now[subject])))
    end
  end
  for email in pairs(now.drivers) do assert(was.drivers[email] or what == "redeem", email .. " drives without an invitation") end
  for email in pairs(was.drivers) do assert(now.drivers[email] or what == "remove_driver", email .. " lost access by " .. what) end
end

-- ---- steps: each returns its name and its parameters ----

local ROWS = core.commands()
table.sort(ROWS, function(a, b) return a.name < b.name end)

local VALUES = {
  string = { "1234", "9999", "12", "front", "rear", "vent", "close", "SpeedLimit", "Curfew", "x" }, boolean = { true, false },
  integer = { -1, 0, 1, 2, 50, 60, 80, 100, 3600 }, number = { 0, 3, 22, 60, 600 }, days = { "Mon", "All", "Tue" }, id = { 1, 2 },
  object = { {} },
}

local steps = {}

function steps.command(world)
  local row, params = world.pick(ROWS), {}
  for _, param in ipairs(row.params) do
    local wanted = param.place == "body" and (param.required or world.roll(2) == 1)
    if wanted and VALUES[param.type] then params[param.name] = world.pick(VALUES[param.type]) end
    if wanted and param.pin then params[param.name] = world.pick({ "1234", "1234", "9999", "12" }) end
  end
  world.sim.service:obey(world.car, row.name, params, { now = world.sim.service:now() })
  return row.name, params
end

local PINS = {
  "set_pin_to_drive", "reset_pin_to_drive_pin", "set_valet_mode", "reset_valet_pin", "parental_controls_activate",
  "parental_controls_deactivate", "parental_controls_enable_setting", "guest_mode", "schedule_software_update", "cancel_software_update",
}

-- The moves of section 3 are few among all commands: they get a larger share.
function steps.move(world)
  local name = world.pick(PINS)
  local on, pin = world.roll(2) == 1, world.pick({ "1234", "1234", "9999", "12" })
  local params = { on = on, enable = on, pin = pin, password = pin, setting = "SpeedLimit", offset_sec = 600 }
  world.sim.service:obey(world.car, name, params, world.sim.service:command_context({ now = world.sim.service:now() }))
  return name, params
end

local EVENTS = {
  "plug", "unplug", "power_lost", "power_back", "key_card", "qr_scan", "drive", "park", "software_available", "sleep", "online", "offline",
}

-- Some cannot happen just now, and say so.
function steps.event(world)
  local name, params = world.pick(EVENTS), { guest = "guest" .. world.roll(3) }
  local code = world.car.guest_code
  local ok = pcall(control.event, world.sim.service, name, VIN, params)
  if name == "qr_scan" and ok then
    assert(code and code.expires_at > world.sim.service:now(), "a code was used that is not shown")
    assert(world.car.guest_code == nil, "a code can be used twice")
  end
  return name, params
end

function steps.time(world)
  world.sim:advance(world.pick({ 1, 1, 60, 60, 599, 600, 601, 601, 3600, 3600, 7200, DAY - 1, DAY, world.roll(6) == 1 and 30 * DAY or 60 }))
  return "time"
end

function steps.invite(world)
  local made = world.sim:call("POST", PATH .. "/invitations", nil, world.token("owner@x")).response
  world.invitations[#world.invitations + 1] = { id = made.id_s, code = made.code, at = world.sim.service:now(), state = "created" }
  return "invite"
end

local function lives(world, invitation)
  return invitation.state == "created" and world.sim.service:now() - invitation.at < DAY
end

function steps.redeem(world)
  local invitation, email = world.pick(world.invitations), world.pick({ "a@x", "b@x" })
  if not invitation then return "nothing" end
  local good = lives(world, invitation)
  local status = world.sim:call("POST", "/api/1/invitations/redeem", { code = invitation.code }, world.token(email)).status
  assert.equal(good and 200 or 404, status)
  if good then invitation.state = "redeemed" end
  return "redeem"
end

function steps.revoke(world)
  local invitation = world.pick(world.invitations)
  if not invitation then return "nothing" end
  local good = lives(world, invitation)
  local target = ("%s/invitations/%s/revoke"):format(PATH, invitation.id)
  assert.equal(good and 200 or 404, world.sim:call("POST", target, nil, world.token("owner@x")).status)
  if good then invitation.state = "revoked" end
  return "revoke"
end

function steps.remove_driver(world)
  local email = world.pick({ "owner@x", "a@x", "b@x" })
  local guest = email == "owner@x"
  if guest and not world.car.guest then return "nothing" end
  world.sim:call("DELETE", PATH .. "/drivers" .. (guest and "?share_user_id=guest" or ""), nil, world.token(email))
  return "remove_driver"
end

-- A refresh with any token that was ever given: the ledger says whether it may work.
function steps.refresh(world)
  local token, now = world.pick(world.tokens), world.sim.service:now()
  local newest, last = world.newest, world.last_used
  local may = token.value == newest.value or (token == last and now - token.used_at <= DAY)
  may = may and now - token.at < 90 * DAY and token.at > world.reset_at
  local reply = world.sim:token({ grant_type = "refresh_token", client_id = "c1", refresh_token = token.value })
  assert.same(may and { 200 } or { 401, "login_required" }, { reply.status, reply.json.error })
  if may then world.given(reply.json.refresh_token, token) end
  return "refresh"
end

function steps.password(world)
  if world.roll(20) > 1 then return "nothing" end
  control.event(world.sim.service, "password_reset")
  world.reset_at = world.sim.service:now()
  return "password"
end

-- When the pair is gone for good, a person signs in again.
function steps.sign_in(world)
  local now = world.sim.service:now()
  if now - world.newest.at < 90 * DAY and world.newest.at > world.reset_at then return "nothing" end
  world.sim:advance(1)
  world.given(world.sim:login().refresh_token, nil)
  return "time"
end

local SHARES = {
  { 30, "command" }, { 40, "move" }, { 12, "event" }, { 6, "time" }, { 4, "invite" }, { 4, "redeem" }, { 2, "revoke" },
  { 3, "remove_driver" }, { 6, "refresh" }, { 1, "password" }, { 2, "sign_in" },
}

local function names_by_share()
  local list = {}
  for _, share in ipairs(SHARES) do
    for _ = 1, share[1] do list[#list + 1] = share[2] end
  end
  return list
end

local function new_world(seed)
  local world = { invitations = {}, tokens = {}, reset_at = 0 }
  world.roll, world.pick = dice(seed)
  local garage = simulated.garage({ charge_state = { conn_charge_cable = "IEC" } })
  garage.accounts = { { email = "owner@x" }, { email = "a@x" }, { email = "b@x" } }
  world.sim = simulated.new(garage)
  world.car = world.sim:car()
  function world.token(email)
    local all = world.sim.service.oauth
    return all:issue_access({ kind = "user", client_id = "c2", account = world.sim.service:account(email), scopes = {
      vehicle_device_data = true, vehicle_cmds = true } })
  end
  function world.given(value, from)
    local now = world.sim.service:now()
    if from then
      from.used_at = from.used_at or now
      world.last_used = from
    else
      world.last_used = nil
    end
    world.newest = { value = value, at = now }
    world.tokens[#world.tokens + 1] = world.newest
  end
  world.given(world.sim:login().refresh_token, nil)
  return world
end

local STEPS = tonumber(os.getenv("FLEET_STEPS") or "") or 3000

describe("in any order of commands, calls, events and hours", function()
  it("every command is among the steps", function()
    local known = {}
    for _, row in ipairs(ROWS) do known[row.name] = true end
    for name in pairs(commands) do assert.is_true(known[name]) end
  end)

  for _, seed in ipairs({ 42, 7, 20260310, 99991 }) do
    it(("no state is reached that section 3 forbids, seed %d"):format(seed), function()
      local world, list, seen = new_world(seed), names_by_share(), {}
      local was = look(world.car)
      for number = 1, STEPS do
        local step = world.pick(list)
        local ok, what, params = pcall(steps[step], world)
        assert(ok, ("step %d, %s: %s"):format(number, step, tostring(what)))
        local now = look(world.car)
        local good, message = pcall(function()
          check_state(now)
          check_moves(was, now, what, params)
        end)
        assert(good, ("step %d, %s: %s"):format(number, step, tostring(message)))
        for subject in pairs(MOVES) do
          if was[subject] ~= now[subject] then seen[subject] = (seen[subject] or 0) + 1 end
        end
        was = now
      end
      for subject in pairs(MOVES) do
        assert.is_true((seen[subject] or 0) >= 2, subject .. " never moved: the steps prove nothing about it")
      end
    end)
  end
end)
