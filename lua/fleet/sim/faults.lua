-- Injected faults by name, each for a number of calls. A fault may be limited to one row or one vehicle.
local errors = require "fleet.util.errors"
local json = require("fleet.sim.json")
local reply = require("fleet.sim.reply")
local text = require("fleet.sim.text")

local M = {}
M.__index = M

-- Faults that replace the call, and faults that change its reply.
M.BEFORE = {
  "rate_limit", "region", "unregistered", "error_500", "error_502", "error_504", "error_540", "drop_before", "revoked",
}
M.AFTER = { "executed_503", "drop_after", "slow", "trickle", "truncated", "wrong_type" }
M.VEHICLE = { "asleep", "offline" }
M.TOKEN = { "token_error", "revoked" }
-- Faults between the service and the vehicle: see signed/faults.lua.
M.PROTOCOL = {
  "clock_step", "corrupted_tag", "counter_lowered", "duplicated", "epoch_change", "lost", "no_protocol", "reordered", "unpaired",
  "vehicle_key_change",
}

-- Faults of cars that stream: see telemetry/init.lua.
M.TELEMETRY = {
  "drop_connection", "flood", "future_clock", "garbage", "huge", "invalid_fields", "late_disconnect", "lost_last_value", "no_ack_wait",
  "slow_reader", "text_values", "two_sockets", "unknown_fields", "wrong_authority",
}

local known = {}
for _, group in ipairs({ M.BEFORE, M.AFTER, M.VEHICLE, M.TOKEN, M.PROTOCOL, M.TELEMETRY }) do
  for _, name in ipairs(group) do known[name] = true end
end

-- All names, sorted.
function M.names()
  local list = {}
  for name in pairs(known) do list[#list + 1] = name end
  table.sort(list)
  return list
end

-- rows: a table with the names of the rows as keys.
function M.new(rows)
  return setmetatable({ list = {}, rows = rows }, M)
end

local OPTIONS = text.set({
  "row", "vin", "message", "retry_after", "base_url", "region", "seconds", "piece", "every", "cut", "status", "error", "of", "answer",
})
local MESSAGES = { "handshake", "command" }

local function check_options(self, options)
  for name in pairs(options) do
    if not OPTIONS[name] then error(errors.unknown("option of a fault", tostring(name), OPTIONS), 0) end
  end
  local row, message = options.row, options.message
  if row ~= nil and row ~= "token" and not self.rows[row] then error(errors.unknown("row", tostring(row), self.rows), 0) end
  if message ~= nil and message ~= MESSAGES[1] and message ~= MESSAGES[2] then
    error(errors.unknown("message", tostring(message), MESSAGES), 0)
  end
end

-- add(name, times = 1, options). options: row (name of a row, which also covers its signed form, or "token" for the token endpoint), vin,
-- message (of a signed command: "handshake" or "command"), and the options of the fault itself. Raises for unknown ones.
function M:add(name, times, options)
  if not known[name] then
    error(errors.unknown("fault", tostring(name), M.names()), 0)
  end
  times = times or 1
  if type(times) ~= "number" or times < 1 or times % 1 ~= 0 then error("times must be a whole number above 0", 0) end
  options = options or {}
  check_options(self, options)
  table.insert(self.list, { name = name, left = times, options = options })
end

function M:clear()
  self.list = {}
end

local function fits(fault, names, context)
  local options = fault.options
  local wanted = false
  for _, name in ipairs(names) do wanted = wanted or fault.name == name end
  if not wanted then return false end
  if options.row and options.row ~= context.row.name and options.row ~= context.command then return false end
  if options.message and options.message ~= context.message then return false end
  return not options.vin or (context.vehicle ~= nil and context.vehicle.vin == options.vin) or
    (context.args ~= nil and context.args.vin == options.vin)
end

-- Consumes one use of the first fault that fits. named = true: only a fault that names this row.
function M:take(names, context, named)
  if not self.list[1] then return nil end
  for i, fault in ipairs(self.list) do
    if fits(fault, names, context) and (fault.options.row or not named) then
      fault.left = fault.left - 1
      if fault.left == 0 then table.remove(self.list, i) end
      return fault
    end
  end
  return nil
end

-- ---- faults that replace the call ----

local before = {}

function before.rate_limit(_, options)
  return reply.too_many(options.retry_after or 30)
end

function before.region(service, options)
  local host = options.base_url or service:region_url(options.region or service.region)
  return reply.json(421, {
    response = json.null, error = ("user out of region, use base URL: %s, see %s/regions"):format(host, service.auth_url),
    error_description = "",
  }, { ["Alt-Svc"] = "h2=" .. host })
end

function before.unregistered(service)
  return reply.error(412, "Account must be registered in the current region " .. service.base_url)
end

function before.error_500()
  return reply.error(500, "internal server error")
end

-- The edge of the service replies in HTML (doc/protocol.md#envelope).
local function edge(status, name)
  return reply.html(status, ("<html><body><h1>%d %s</h1></body></html>\n"):format(status, name))
end

function before.error_502()
  return edge(502, "Bad Gateway")
end

function before.error_504()
  return edge(504, "Gateway Time-out")
end

function before.error_540()
  return reply.error(540, "device_error", "the device answered unexpectedly")
end

function before.drop_before()
  return 0, {}, "", { drop = true }
end

function before.revoked()
  return reply.error(401, "invalid bearer token", "the user revoked the consent")
end

function M.reply(service, fault)
  return before[fault.name](service, fault.options)
end

-- ---- faults that change the reply ----

local after = {}

function after.executed_503()
  return reply.error(503, "vehicle is not available", "the reply was lost")
end

function after.drop_after()
  return 0, {}, "", { drop = true }
end

function after.slow(options, status, headers, body)
  return status, headers, body, { delay = options.seconds or 2 }
end

function after.trickle(options, status, headers, body)
  return status, headers, body, { piece = options.piece or 16, every = options.every or 0.05 }
end

-- The document ends in the middle; with cut = true the connection closes there as well.
function after.truncated(options, status, headers, body)
  local half = math.floor(#body / 2)
  if options.cut then return status, headers, body, { cut = half } end
  return status, headers, body:sub(1, half)
end

function after.wrong_type(_, status)
  return reply.html(status, "<html><body>an intermediary answers</body></html>\n")
end

function M.spoil(_, fault, status, headers, body)
  return after[fault.name](fault.options, status, headers, body)
end

-- ---- at the token endpoint ----

-- Returns a reply, or nil when no fault is due; then a function that changes the real reply.
function M:at_token(service)
  local context = { row = { name = "token" } }
  local own = self:take({ "token_error" }, context)
  if own then
    return reply.json(own.options.status or 500, {
      error = own.options.error or "server_error", error_description = "the authorization server failed",
    })
  end
  local revoked = self:take({ "revoked" }, context)
  if revoked then return reply.json(401, { error = "login_required", error_description = "the user revoked the consent" }) end
  local other = self:take(M.BEFORE, context, true)
  if other then return before[other.name](service, other.options) end
  return nil, self:take(M.AFTER, context, true)
end

return M
