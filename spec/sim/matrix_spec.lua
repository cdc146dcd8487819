-- What a client makes of every fault: fault × kind of call → result, once. The table stands in the manual; with
-- FLEET_WRITE=1 this spec writes it there.
local faults = require("fleet.sim.faults")
local fleet = require("fleet")
local manual_table = require("spec.support.harness.manual_table")
local sims = require("fleet.sim")

require("spec.support.harness.quick")(fleet)

local VIN = "5YJSFLEE9KF000002"

-- What manual and help promise; a fault that is missing here is not proved.
local PROMISED = {
  "asleep", "offline", "rate_limit", "region", "unregistered", "revoked", "error_500", "error_502", "error_504", "error_540",
  "executed_503", "drop_before", "drop_after", "slow", "trickle", "truncated", "wrong_type", "token_error",
}

-- Happens to every call until the user consents again, not once.
local LASTING = { revoked = true }

local OPTIONS = { slow = { seconds = 0.02 }, trickle = { every = 0.001, piece = 200 }, rate_limit = { retry_after = 60 } }

local function open()
  local sim = assert(sims.new({ garage = { vehicles = {
    { vin = "5YJ3FLEE9RF000001" }, { vin = VIN, vehicle_command_protocol_required = false },
  } } }))
  local client = fleet.new({
    base_url = sim.base_url, auth_url = sim.auth_url, token_url = sim.token_url, client_id = "c", client_secret = "s",
    redirect_uri = "http://localhost/cb", timeout = 30000,
    scopes = { "openid", "offline_access", "vehicle_device_data", "vehicle_cmds" },
  })
  local url, pending = client:authorize_url()
  local query = require("fleet.sim.text").form(url:match("%?(.*)$"))
  local _, headers = sim.service.oauth:authorize(query, false)
  assert(client:authorize(headers.Location, pending))
  return sim, client
end

local CALLS = {
  { "read", function(_, client) return client:vehicle(VIN):vehicle_data({}, { timeout = 3000 }) end },
  { "idempotent write", function(_, client) return client:vehicle(VIN):set_charge_limit({ percent = 55 }, { timeout = 3000 }) end },
  { "other write", function(_, client) return client:vehicle(VIN):actuate_trunk({ which_trunk = "rear" }, { timeout = 3000 }) end },
  { "page walk", function(_, client) return client:vehicles({ page_size = 1 }, { timeout = 3000 }):collect() end },
  { "refresh", function(_, client) return client:refresh() end, "token" },
}

-- "ok", or kind and outcome; with the number of times that the trunk moved, where that is not what the result says.
local function result(fault, call)
  local sim, client = open()
  local moves, commands = 0, require("fleet.sim.commands")
  local real = commands.actuate_trunk
  commands.actuate_trunk = function(...)
    moves = moves + 1
    return real(...)
  end
  local options = { row = call[3] }
  for name, value in pairs(OPTIONS[fault] or {}) do options[name] = value end
  if fault == "token_error" or fault == "revoked" then options.row = nil end
  local times = LASTING[fault] and 100 or 1
  sim:fault(fault, times, options)
  local ok, err = call[2](sim, client)
  commands.actuate_trunk = real
  local untouched = sim.service.faults.list[1] and sim.service.faults.list[1].left == times
  client:close()
  sim:close()
  assert(moves <= 1, "the trunk moved twice")
  if untouched then return "-" end
  if ok then return "ok" end
  return err.outcome and ("%s, %s"):format(err.kind, err.outcome) or err.kind
end

-- What happens between the service and a vehicle that verifies signatures is in signed_matrix_spec, what happens to cars that stream
-- in telemetry_spec.
local function names()
  local list, others = {}, require("fleet.sim.text").set(faults.PROTOCOL)
  for _, name in ipairs(faults.TELEMETRY) do others[name] = true end
  for _, name in ipairs(faults.names()) do
    if not others[name] then list[#list + 1] = name end
  end
  return list
end

local function matrix()
  local lines = { "| Fault, once |", "|---|" }
  for _, call in ipairs(CALLS) do
    lines[1] = lines[1] .. " " .. call[1] .. " |"
    lines[2] = lines[2] .. "---|"
  end
  for _, fault in ipairs(names()) do
    local cells = { fault .. (LASTING[fault] and " (lasts)" or "") }
    for i, call in ipairs(CALLS) do cells[i + 1] = result(fault, call) end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n") .. "\n"
end

describe("the fault matrix", function()
  it("has a line for every fault that is promised", function()
    local known = require("fleet.sim.text").set(faults.names())
    for _, name in ipairs(PROMISED) do assert.is_true(known[name], name) end
  end)

  it("in the manual is what the client does", function()
    local made = matrix()
    assert.equal(made, manual_table.of("doc/manual/simulator-faults.md", "matrix", made))
  end)
end)
