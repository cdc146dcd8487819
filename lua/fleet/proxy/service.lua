-- The proxy without a socket: it turns a caller and a request into an answer. Routes come from the rows; commands are signed, everything
-- else is forwarded.

local callers = require "fleet.proxy.callers"
local core = require "fleet.core"
local forward = require "fleet.proxy.forward"
local metrics = require "fleet.proxy.metrics"
local once = require "fleet.proxy.once"
local queries = require "fleet.proxy.query"
local queues = require "fleet.proxy.queue"
local replies = require "fleet.proxy.replies"
local routes = require "fleet.proxy.routes"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local vehicle_security = require "fleet.signing.vehicle_security"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}
M.__index = M

local floor = math.floor
local largest_command = 4096 -- bytes of its body
local largest_ignored = 4096 -- bytes of the body of a GET: some clients send "{}" with each
local telemetry = "create_fleet_telemetry_config"

--- new { clients = fleet.proxy.clients, timeout = seconds, limits = of the queue, audit = function(entry) or nil; it fails when it raises
--- or returns nil and why }
function M.new(options)
  return setmetatable({
    clients = options.clients, timeout = options.timeout, audit = options.audit, queue = queues.new(options.limits),
    metrics = metrics.new(),
  }, M)
end

-- ---- the target of a request ----

-- "/account/<name>/api/…" → name, "/api/…"; a header may name the account too.
local function account_of(asked)
  local path = asked.path
  if string.sub(path, 1, 9) == "/account/" then
    local name, rest = string.match(path, "^/account/([^/]+)(/.*)$")
    if name then return name, rest end
  end
  return asked.headers["x-fleet-account"], path
end

local function has_param(row, place, kind)
  for _, param in ipairs(row.params) do
    if param.place == place and param.type == kind then return param.name end
  end
end

-- A vehicle in the form of a caller's list.
local function listed(vin)
  return routes.vin(vin) or vin
end

-- Clients of a Bluetooth proxy say whether a request waits and wakes. Here commands always wait, and reads never wake.
local ignored = { wait = true, wakeup = true }

local function has_named(row, name)
  for _, param in ipairs(row.params) do
    if param.place == "query" and param.name == name then return true end
  end
  return false
end

local nothing = {} -- an empty body; read-only

local function decoded(call)
  local text = call.asked.body
  if text == "" or text == "{}" or text == "null" then return nothing end
  return string.find(text, "^%s*{") and core.json_decode(text) or nil
end

-- All vehicles that a request names; nil when they are unknown. A body that names vehicles is encoded again, so that the checked values are
-- the ones that are sent.
local function vins_of(call)
  local row, list = call.row, { call.values.vin }
  for _, name in ipairs { "vin", "vins" } do
    if call.fields[name] then list[#list + 1] = listed(call.fields[name]) end
  end
  if not has_param(row, "body", "vins") then return list end
  call.body = decoded(call)
  if not call.body or type(call.body.vins) ~= "table" then return nil end
  local kept = {}
  for _, param in ipairs(row.params) do kept[param.name] = call.body[param.name] end
  kept.vins = {}
  for i, vin in ipairs(call.body.vins) do
    kept.vins[i] = listed(tostring(vin))
    list[#list + 1] = kept.vins[i]
  end
  call.asked = tables.copy(call.asked, { body = core.json_encode(kept, "vins") })
  return list
end

-- ---- refusals ----

local function check_route(call)
  local asked = call.asked
  local fields, why = queries.read(asked.query)
  if not fields then return replies.error(400, "invalid_request", why) end
  call.fields = fields
  local row, found = routes.find(asked.method, call.path, call.fields)
  call.row, call.values = row, row and found
  local verbs = not row and found
  if verbs then return replies.error(405, "Method Not Allowed", verbs .. " is possible here", { Allow = verbs }) end
  if row then return nil end
  if string.find(call.path, "^/api/1/vehicles/[^/]+/command/[^/]+$") and asked.method == "POST" then
    return replies.error(400, "invalid_command", "there is no such command")
  end
  return replies.error(404, "not_found", "there is no such path")
end

local function check_size(call)
  if call.row.verb == "GET" and #call.asked.body > largest_ignored then
    return replies.error(400, "invalid_request", "a GET takes no body")
  end
  if not call.row.flags.command and call.row ~= routes.body_controller_state then return nil end
  if #call.asked.body > largest_command then
    return replies.error(413, "body too large", string.format("a command has %d bytes at most", largest_command))
  end
  if not core.is_vin(call.values.vin) then
    return replies.error(404, "not_found", "a command needs the vehicle's VIN: 17 letters and digits, without I, O and Q")
  end
end

-- A name that the row does not know is rejected: for the service it may name another vehicle or another row.
local function unknown_name(row, fields)
  local fixed = row.query and string.match(row.query, "^[^=]+")
  for name in pairs(fields) do
    if name ~= fixed and not ignored[name] and not has_named(row, name) then return name end
  end
end

local function check_permission(call)
  local caller, vins = call.caller, nil
  if not caller.vins and not caller.rows and not call.row.flags.by_name_only then return nil end
  local unknown = not call.row.flags.command and unknown_name(call.row, call.fields)
  if unknown then
    return replies.error(403, "forbidden", string.format("the query names '%s', which %s does not know", unknown, call.row.name))
  end
  if caller.vins then
    vins = vins_of(call)
    if not vins then return replies.error(403, "forbidden", "the request does not say which vehicles it is about") end
  end
  local allowed, why = callers.allowed(caller, call.row, vins)
  if not allowed then return replies.error(403, "forbidden", why) end
end

local function too_many(text, seconds)
  return replies.error(429, "too_many_requests", text,
    { ["Retry-After"] = string.format("%d", math.ceil(seconds)), ["x-fleet-outcome"] = "not_sent" })
end

local function check_rate(call)
  if not call.caller.per_minute then return nil end
  local taken, seconds = callers.take(call.caller, tasks.now())
  if not taken then return too_many("the caller's calls of this minute are used up", seconds) end
end

-- The network of a caller with a service token: tokens can be invented, networks cannot.
local function source_of(call)
  local address = call.token and call.from and call.from:peer()
  return address and callers.network(address) or call.caller.name
end

local function check_room(call)
  local queue, vin = call.service.queue, call.values.vin
  if not call.row.flags.command or not queue:is_busy(vin) then return nil end
  call.source = source_of(call)
  if not queue:has_room(vin, call.source) then return too_many("too many commands wait for this vehicle", 1) end
end

local function find_client(call)
  local clients = call.service.clients
  if call.token then
    call.client = clients:of_token(call.token, call.digest)
  else
    call.client = clients:of_account(call.account)
  end
  if not call.client then return replies.error(404, "not_found", "this proxy holds no such account") end
end

local checks = { check_route, check_size, check_permission, check_rate, check_room, find_client }

-- ---- commands ----

local takes_params = setmetatable({}, {
  __mode = "k",
  __index = function(known, row)
    local found = false
    for _, param in ipairs(row.params) do found = found or param.place ~= "path" end
    known[row] = found
    return found
  end,
})

local of_text = { ["true"] = true, ["false"] = false }

-- Clients of other signing proxies send numbers and flags as text, {"charging_amps": "16"}. A fraction stays text.
local function value_of(param, value)
  if type(value) ~= "string" then return value end
  if param.type == "boolean" and of_text[value] ~= nil then return of_text[value] end
  local amount = param.type == "integer" or param.type == "number"
  return amount and string.find(value, "^%-?%d+$") and tonumber(value) or value
end

-- Defaults of the vendor's proxy.
local left_out = { actuate_trunk = { which_trunk = "rear" } }

-- The members of the body that the row knows: the service ignores others too.
local function params_of(row, body)
  local params = tables.copy(left_out[row.name] or nothing)
  for _, param in ipairs(row.params) do
    local value = body[param.name]
    if value == nil and param.former then value = body[param.former] end
    if param.place == "body" and value ~= nil then params[param.name] = value_of(param, value) end
  end
  return params
end

local function refuse_text(raised)
  local text = type(raised) == "string" and string.gsub(raised, "^[^\n:]+:%d+: ", "")
  if not text or string.find(raised, "attempt to ", 1, true) or raised == "not enough memory" then error(raised, 0) end
  return text
end

local function send_command(call)
  local row = call.row
  local body = decoded(call)
  if not body then return { replies.error(400, "invalid_request", "the body is not a JSON object") } end
  local car = call.service.clients:car(call.client, call.values.vin)
  local options = { timeout = math.max(call.deadline - tasks.now(), 0.001) }
  local ran, value, err
  if takes_params[row] then
    ran, value, err = pcall(car[row.method], car, params_of(row, body), options)
  else
    ran, value, err = pcall(car[row.method], car, options)
  end
  if not ran then
    call.err = { kind = "invalid", outcome = "not_sent" }
    return { replies.error(400, "invalid_request", refuse_text(value), { ["x-fleet-outcome"] = "not_sent" }) }
  end
  call.err = err
  if err then return { replies.failure(err, true) } end
  local status, headers, text = replies.command(value)
  if text ~= replies.done then text = forward.without_token(call.client, row.tokens[1], text) end
  return { status, headers, text }
end

-- ---- everything else ----

local function forwarded_query(call)
  local kept = {}
  for field in string.gmatch(call.asked.query, "[^&]+") do
    local name, value = string.match(field, "^([^=]*)=?(.*)$")
    if name == "vin" and routes.vin(value) then field = "vin=" .. routes.vin(value) end
    if not ignored[name] then kept[#kept + 1] = field end
  end
  return table.concat(kept, "&")
end

local function pass_on(call)
  local asked = call.asked
  if call.row.name == telemetry then
    local body = call.body or decoded(call)
    if not body then return { replies.error(400, "invalid_request", "the body is not a JSON object") } end
    return { forward.telemetry(call.client, call.service.clients.key, body, call.deadline - tasks.now()) }
  end
  local body = call.row.verb ~= "GET" and asked.body ~= "" and asked.body or nil
  local seconds = math.max(call.deadline - tasks.now(), 0.001)
  local answer = { forward.call(call.client, call.row, call.values, forwarded_query(call), body, seconds) }
  call.err = answer[4]
  if answer[1] == 200 and string.find(call.path, "/command/", 1, true) then answer[3] = replies.done end -- wake_up
  return answer
end

-- Whether the body is forwarded unchanged: a command with undocumented parameters has no signed form.
local function is_forwarded(row)
  return not row.message and not takes_params[row]
end

local function through_queue(call)
  local queue, vin = call.service.queue, call.values.vin
  if not queue:enter(vin, call.caller.name, call.deadline - tasks.now(), call.source) then
    call.err = { kind = "busy", outcome = "not_sent" }
    return { too_many("other commands for this vehicle took all the time", 1) }
  end
  local ran, answer = pcall(is_forwarded(call.row) and pass_on or send_command, call)
  queue:leave(vin)
  if not ran then error(answer, 0) end
  return answer
end

-- A request to the vehicle's security computer; the session pool queues it with the vehicle's signed messages.
local function body_controller_state(call)
  local car = call.service.clients:car(call.client, call.values.vin)
  local status
  status, call.err = vehicle_security.status(car, { timeout = math.max(call.deadline - tasks.now(), 0.001) })
  if not status then return { replies.failure(call.err, true) } end
  return { replies.body_controller_state(call.values.vin, status) }
end

local function act(call)
  if call.row.flags.command then return through_queue(call) end
  if call.row == routes.body_controller_state then return body_controller_state(call) end
  return pass_on(call)
end

-- ---- idempotency keys ----

-- The digest of a request, by which a reused key is recognised. It includes the token, because callers of one socket may share a name.
-- Bodies that may contain a secret are left out: a short secret could be guessed from its digest.
local function digest_of(call)
  local asked = call.asked
  local body = next(call.row.secrets) == nil and asked.body or ""
  local sender = call.token and (call.digest or core.sha256(call.token)) or call.account or ""
  return core.sha256(table.concat({ asked.method, asked.path, asked.query, sender, body }, "\n"))
end

local function first_result(call, key)
  if not once.is_key(key) then return { replies.error(400, "invalid_request", "an Idempotency-Key has 1 to 255 characters") } end
  local fresh = false
  local answer, err = once.perform(call.service.clients.store, call.caller.name, key, digest_of(call), call.deadline - tasks.now(),
    function()
      fresh = true
      local made = act(call)
      return { made[1], made[2], core.base64(made[3]) }, call.err ~= nil and call.err.outcome == "not_sent"
    end)
  if not answer then
    call.err = err
    return { replies.failure(err, call.row.flags.command) }
  end
  if not fresh then call.repeated = true end
  return { answer[1], answer[2], core.unbase64(answer[3]) }
end

-- ---- one request ----

local function outcome_of(status, err)
  if err then return err.outcome or "refused", err.kind end
  return status == 200 and "done" or "refused", ""
end

-- The caller's text for an unknown account: printable characters only, and of bounded length.
local function printable_account(call)
  return (string.gsub(string.sub(call.account, 1, 64), "[^\32-\126]", "?"))
end

local function entry_of(call, status, outcome, kind, seconds, wall)
  local entry = {
    time = floor(wall * 1000 + 0.5) / 1000, who = call.caller.name, vin = string.sub(call.values.vin, -4), command = call.row.name,
    outcome = outcome, status = status, ms = floor(seconds * 1000 + 0.5),
  }
  if kind ~= "" then entry.kind = kind end -- most have none; a field for it would double the table
  if call.account then entry.account = printable_account(call) end
  if call.repeated then entry.repeated = call.repeated end
  return entry
end

--- Counts and records a finished command.
function M:record(call, status, err, seconds, wall)
  local outcome, kind = outcome_of(status, err)
  self.metrics:command(outcome, kind, seconds)
  if not self.audit then return end
  local ran, written, why = pcall(self.audit, entry_of(call, status, outcome, kind, seconds, wall))
  if ran then written, why = why == nil, why else written, why = false, written end
  if self.metrics:audited(written, why) and self.note then self.note("the audit cannot be written: " .. tostring(why)) end
end

local kinds_of_refusal = { [403] = "forbidden", [404] = "not_found", [429] = "rate_limited" }

local function refusal_of(call)
  for _, check in ipairs(checks) do
    local status, headers, body = check(call)
    if status then return { status, headers, body } end
  end
end

--- Serves one request: { method, path, query, headers, body }. token: a service token to pass through, or nil; digest: of it; from: an
--- object whose peer() is the caller's address, or nil. Runs in a task. Returns status, headers, body.
function M:handle(caller, asked, token, digest, from)
  local began = tasks.now()
  local task = tasks.current()
  if task then task.call_deadline = tasks.real() + self.timeout end -- limits waiting for the store
  local call = {
    service = self, caller = caller, asked = asked, token = token, digest = digest, from = from, deadline = began + self.timeout,
    account = nil, path = nil, row = nil, values = nil, client = nil, err = nil, source = nil, -- preallocated fields
  }
  call.account, call.path = account_of(asked)
  local answer = refusal_of(call)
  local command = call.row and call.row.flags.command
  if answer then
    if command then call.err = { kind = kinds_of_refusal[answer[1]] or "invalid", outcome = "not_sent" } end
  else
    local key = call.row.write and asked.headers["idempotency-key"]
    answer = key and first_result(call, key) or act(call)
  end
  if command then
    local now, wall = tasks.loop.clock()
    self:record(call, answer[1], call.err, now - began, wall)
  end
  return answer[1], answer[2], answer[3]
end

return M
