-- Messages with commands: <topic>/<id>/command/<name> with JSON, and <topic>/<id>/<entity>/set with the payloads of hosts.
--
-- A message is carried out at most once. It is rejected when it was retained, is too old, or repeats an earlier one. Its request is claimed
-- in the store before the command is sent, and a claim without an answer is never sent again.

local core = require "fleet.core"
local compat = require "fleet.util.compat"
local discovery = require "fleet.mqtt.discovery"
local requests = require "fleet.mqtt.requests"
local rows = require "fleet.call.rows"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"
local things = require "fleet.mqtt.things"
local values = require "fleet.mqtt.values"

local M = {}

local most_waiting = 20 -- commands of one car or site
local longest_payload = 65536 -- bytes, as src/mqtt/broker.c keeps them
local longest_id, longest_topic = 128, 128 -- bytes; the store's key has the id, and the answer's topic is longer than the request's

-- ---- reading a message ----

local function decoded(payload)
  if not string.find(payload, "^%s*{") then return nil end
  local ok, value = pcall(core.json_decode, payload)
  return ok and type(value) == "table" and value or nil
end

local known_members = { id = true, at = true, value = true, params = true, wake = true }

-- Identifies a request without an id by its topic and a digest of its payload.
local function bare_id(topic, payload)
  return core.sha256(topic .. "\n" .. payload)
end

local function value_text(value)
  if value == nil then return nil end
  return values.plain(value) or tostring(value)
end

-- A payload that is too long is not read; one that is not text is not repeated in the answer.
local function check_payload(payload, size)
  if not payload or #payload > longest_payload then
    return nil, string.format("the payload has %d bytes: at most %d are taken", size or #payload, longest_payload)
  end
  if not core.utf8_valid(payload) then return nil, "the payload is not UTF-8" end
  return true
end

-- A number with a single form in all JSON writers; two others could look the same.
local function whole_text(number)
  if number ~= math.floor(number) or math.abs(number) >= 2 ^ 53 then return nil end
  return string.format("%d", number)
end

-- The id of a request, or nil and why it is invalid. An invalid id is an error, because its sender relies on it.
local function id_text(id)
  if type(id) == "number" then id = whole_text(id) end
  if type(id) ~= "string" or id == "" then return nil, "'id' must be a text that is not empty, or a whole number below 2^53" end
  if #id > longest_id then return nil, "'id' has more than " .. longest_id .. " bytes" end
  return id
end

-- The common members of a request: { id =, at =, bare =, wake =, value =, params = }, or nil and why it is rejected.
local function envelope(topic, payload, size)
  local sound, wrong = check_payload(payload, size)
  if not sound then return nil, wrong end
  local given = decoded(payload)
  if not given then return { id = bare_id(topic, payload), bare = true, is_text = true, value = payload } end
  for name in pairs(given) do
    if not known_members[name] then
      return nil, "unknown member '" .. values.cut(tostring(name)) .. "': there are id, at, params, value and wake"
    end
  end
  if type(given.wake or false) ~= "boolean" then return nil, "'wake' must be true or false" end
  if type(given.value) == "table" then return nil, "'value' must be a text, a number, true or false" end
  local id, why
  if given.id ~= nil then
    id, why = id_text(given.id)
    if not id then return nil, why end
  end
  return {
    id = id or bare_id(topic, payload), bare = not id or nil, at = given.at, params = given.params, value = value_text(given.value),
    wake = given.wake,
  }
end

local function spelled(value)
  if type(value) ~= "table" then return type(value) .. " " .. tostring(value) end
  local names, parts = {}, {}
  for name in pairs(value) do names[#names + 1] = name end
  table.sort(names, function(a, b) return tostring(a) < tostring(b) end)
  for i, name in ipairs(names) do parts[i] = tostring(name) .. "=" .. spelled(value[name]) end
  return "{" .. table.concat(parts, "\0") .. "}"
end

-- What a request asks for: the same id with other content is another request.
local function what_of(request)
  local text = table.concat({ request.topic, spelled(request.value), spelled(request.params) }, "\n")
  return string.sub(core.sha256(text), 1, 8)
end

-- A message without a time counts from its arrival.
local function check_times(bridge, request)
  if type(request.at or 0) ~= "number" then return nil, "'at' must be UTC seconds" end
  local age = request.age + bridge.now() - request.came
  if age > bridge.config.max_age then return nil, string.format("it is %.0f seconds old", age), "old" end
  if age < -requests.clock_slack then return nil, string.format("it is from %.0f seconds ahead", -age), "old" end
  return true
end

-- ---- the call of a message ----

local function is_command(row, kind)
  if kind == "car" then return row.handle == "vehicle" and (row.flags.command or row.name == "wake_up") end
  return row.handle == "site" and row.flags.setting
end

local function generic(bridge, thing, name, request)
  local row = rows.by_name[name]
  if not row or not is_command(row, thing.kind) then return nil, "there is no command '" .. name .. "'" end
  if not bridge.config.allowed(name) then
    return nil, "'" .. name .. "' is not among the bridge's 'commands'", "not_allowed"
  end
  if request.is_text then return nil, "the payload must be a JSON object" end
  if request.params ~= nil and type(request.params) ~= "table" then return nil, "'params' must be an object" end
  if request.params and next(request.params) ~= nil and not rows.takes_params(row) then
    return nil, "'" .. name .. "' takes no parameters"
  end
  return { name = name, params = request.params }
end

local function row_of(bridge, thing, suffix)
  for _, row in ipairs(discovery.rows(bridge.config, thing)) do
    if values.topic(row) == suffix then return row end
  end
end

local function of_entity(bridge, thing, suffix, request)
  local row = row_of(bridge, thing, suffix)
  if not row then return nil, "there is no entity '" .. suffix .. "'" end
  if row.act then return { name = row.name, act = row.act, row = row, value = request.value } end
  local call, why = values.call(row, request.value or "")
  if not call then return nil, why end
  if call.instead and not bridge.config.allowed(call.name) then call = call.instead end
  if not bridge.config.allowed(call.name) then
    return nil, "'" .. call.name .. "' is not among the bridge's 'commands'", "not_allowed"
  end
  return call
end

-- The thing and the rest of a topic, or nothing.
local function target(bridge, topic)
  local prefix = bridge.config.topic .. "/"
  if string.sub(topic, 1, #prefix) ~= prefix then return nil end
  local id, rest = string.match(string.sub(topic, #prefix + 1), "^([^/]+)/(.+)$")
  return id and bridge.things[id], rest
end

-- ---- answering ----

local function say(bridge, topic, result)
  bridge.link:say(topic .. "/result", core.json_encode(result))
end

local function answer(bridge, request, fields)
  local result = { id = not request.bare and request.id or nil, command = request.command, at = math.floor(bridge.wall()) }
  return tables.add(result, fields)
end

-- Publishes the result of a command, for the sender and for a person at the host.
local function report(bridge, request, result)
  local thing = request.thing
  say(bridge, request.topic, result)
  local text = result.command .. ": " .. result.outcome .. (result.message and ", " .. result.message or "")
  bridge.log(thing.name .. ": " .. text)
  if thing.kind == "account" then return end
  local facts = { command = result.command, reason = result.reason, message = result.message, id = result.id }
  local event = discovery.state_topic(bridge.config, thing, { name = "event" })
  bridge.link:say(event, core.json_encode(tables.copy(facts, { event_type = result.outcome })))
  local at = os.date("!%Y-%m-%dT%H:%M:%SZ", result.at)
  things.learn(bridge, thing, "command", { text = text }, bridge.now(), tables.copy(facts, { outcome = result.outcome, at = at }))
end

local function refuse(bridge, request, message, reason)
  report(bridge, request, answer(bridge, request, {
    outcome = "not_sent", changed = false, reason = reason or "invalid", message = message,
  }))
end

-- Answers a repeated message: with its earlier answer, or not at all while it is in flight.
local function again(bridge, request, entry)
  if entry.what and entry.what ~= request.what then
    return refuse(bridge, request, "its id was that of another request: each needs an id of its own")
  end
  if not entry.result then return end
  say(bridge, request.topic, tables.add(answer(bridge, request, entry.result), { duplicate = true }))
end

-- The earlier message with the same id that waits or is in flight, or nil.
local function same_under_way(thing, request)
  local function is_same(other) return other ~= request and other.id == request.id and other.bare == request.bare end
  for _, entry in ipairs(thing.queue or {}) do
    if is_same(entry.request) then return entry.request end
  end
  return thing.current and is_same(thing.current) and thing.current or nil
end

-- Rejects a message. It may be a copy of one that was carried out, so the answer must not say that nothing was sent.
local function refuse_new(bridge, request, message, reason)
  local thing = request.thing
  local first = same_under_way(thing, request)
  if first then return again(bridge, request, { what = first.what }) end
  bridge.spawn(function()
    local entry, err = requests.find(bridge.context, thing.id, request)
    if entry then return again(bridge, request, entry) end
    if err then return refuse(bridge, request, message .. "; whether it came before is not known: " .. err.message, "store") end
    refuse(bridge, request, message, reason)
  end)
end

-- ---- sending ----

-- Calls the command. A call without parameters gets nil there, so that the message cannot set its options.
local function send(thing, call, wake)
  local handle, options = thing.handle, { wake = wake or nil, force = call.force }
  if call.once then options.idempotent = false end
  if next(options) == nil then options = nil end
  local method = handle[rows.by_name[call.name].method]
  local ok, result, err
  if rows.takes_params(rows.by_name[call.name]) then
    ok, result, err = compat.pcall(method, handle, call.params or {}, options)
  else
    ok, result, err = compat.pcall(method, handle, options)
  end
  if ok then return result, err end
  if type(result) ~= "string" then error(result, 0) end
  return nil, { kind = "invalid", outcome = "not_sent", message = (string.gsub(result, "^[^\n:]+:%d+: ", "")) }
end

local function outcome_of(bridge, request, result, err)
  if result then
    local reply = type(result) == "table" and result or {}
    return answer(bridge, request, {
      outcome = "done", changed = reply.changed ~= false, reason = reply.reason ~= "" and reply.reason or nil, via = reply.via,
    })
  end
  local outcome, changed = err.outcome or "not_sent", nil
  if outcome ~= "unknown" then changed = false end
  return answer(bridge, request, {
    outcome = outcome, changed = changed, reason = err.kind == "refused" and err.reason or err.kind,
    message = err.message and tostring(err.message) or nil,
  })
end

-- The state after a command that changed nothing: the one published before, or a newer reading. before: { shown =, at = }.
local function not_changed(thing, call, before)
  local read_at = thing.at[values.section(call.row)]
  if read_at and read_at > before.at then return values.text(call.row, thing.data) end
  return before.shown
end

-- After an unknown outcome the state is unknown, until the next reading.
local function settle(bridge, thing, call, request, err, before)
  local topic = call.row and call.becomes and discovery.state_topic(bridge.config, thing, call.row)
  if topic then things.publish_state(bridge, thing, topic, nil) end
  local is_done = thing.handle:settle(err)
  if is_done == nil then return end
  if topic then things.publish_state(bridge, thing, topic, is_done and call.becomes or not_changed(thing, call, before)) end
  return answer(bridge, request, { outcome = is_done and "done" or "not_done", changed = is_done, settled = true })
end

local function after(bridge, thing, call, request, result, err, before)
  local topic = call.row and call.becomes and discovery.state_topic(bridge.config, thing, call.row)
  if topic then thing.commanded[topic] = bridge.now() end
  local answered = outcome_of(bridge, request, result, err)
  requests.finish(bridge.context, thing.id, request, answered)
  report(bridge, request, answered)
  if result then return bridge.look_soon(thing) end
  if err.kind == "asleep" or err.kind == "offline" then bridge.rouse "list" end
  if err.outcome ~= "unknown" then
    if topic then things.publish_state(bridge, thing, topic, not_changed(thing, call, before)) end
    return
  end
  local settled = settle(bridge, thing, call, request, err, before)
  if not settled then return end
  requests.finish(bridge.context, thing.id, request, settled)
  report(bridge, request, settled)
end

local function may_wake(bridge, request)
  if request.thing.kind ~= "car" then return false end
  return request.wake == true and bridge.config.wake or bridge.config.wake == "always"
end

-- Why a call that needs a known state must not be sent, or nil.
local function not_known(call, shown)
  if not call.needed or shown == call.needed then return nil end
  return string.format("'%s' is not known to be %s", call.row.label, call.needed)
end

-- Sends the call, or its replacement when the car does not support it. shown: the entity's state before.
local function send_either(bridge, thing, call, request, shown)
  local result, err = send(thing, call, may_wake(bridge, request))
  local instead = call.instead
  if result or not instead or err.kind ~= "unsupported" or err.outcome == "unknown" then return result, err end
  if not bridge.config.allowed(instead.name) then return nil, err end
  local unknown = not_known(instead, shown)
  if unknown then return nil, { kind = "not_known", outcome = "not_sent", message = unknown } end
  request.command = instead.name
  return send(thing, instead, may_wake(bridge, request))
end

local function carry_out(bridge, thing, call, request)
  if bridge.stopped then return refuse_new(bridge, request, "the bridge ends", "closed") end
  local timely, old, reason = check_times(bridge, request) -- it may have waited in the queue
  if not timely then return refuse_new(bridge, request, old, reason) end
  local shown = call.row and bridge.link.wanted[discovery.state_topic(bridge.config, thing, call.row)]
  local unknown = not_known(call, shown)
  if unknown then return refuse_new(bridge, request, unknown, "not_known") end
  local claimed, err, kind = requests.claim(bridge.context, thing.id, request, bridge.config.max_age)
  if kind == "busy" then return refuse(bridge, request, err.message, kind) end
  if not claimed then return refuse(bridge, request, "it could not be noted in the store: " .. err.message, "store") end
  if claimed ~= true then return again(bridge, request, claimed) end
  if call.row and call.becomes then
    local topic = discovery.state_topic(bridge.config, thing, call.row)
    thing.commanded[topic] = math.huge
    things.publish_state(bridge, thing, topic, call.becomes)
  end
  local before = { shown = shown, at = bridge.now() }
  local result, failed = send_either(bridge, thing, call, request, shown)
  after(bridge, thing, call, request, result, failed, before)
end

-- ---- one at a time ----

local function work(bridge, thing)
  while thing.queue[1] do
    local entry = table.remove(thing.queue, 1)
    thing.current = entry.request
    carry_out(bridge, thing, entry.call, entry.request)
    thing.current = nil
  end
  thing.working = false
end

local function enqueue(bridge, thing, call, request)
  thing.queue = thing.queue or {}
  if #thing.queue >= most_waiting then
    return refuse_new(bridge, request, most_waiting .. " commands wait already", "busy")
  end
  thing.queue[#thing.queue + 1] = { call = call, request = request }
  if thing.working then return end
  thing.working = true
  bridge.spawn(function() work(bridge, thing) end)
end

-- Calls that concern no vehicle and no site run at once.
local function act(bridge, call, request)
  local done, why = call.act(call.value)
  if not done then return refuse(bridge, request, why) end
  say(bridge, request.topic, answer(bridge, request, { outcome = "done", changed = true }))
end

local function take_request(bridge, thing, request, name, suffix)
  local timely, old, reason = check_times(bridge, request)
  if not timely then return refuse_new(bridge, request, old, reason) end
  local find = name and generic or of_entity
  local call, why, kind = find(bridge, thing, name or suffix, request)
  if not call then return refuse_new(bridge, request, why, kind) end
  if call.act then return act(bridge, call, request) end
  request.command = call.name
  enqueue(bridge, thing, call, request)
end

--- Takes a message; never waits. payload is nil when it was too long to keep; size is then its length in bytes.
function M.take(bridge, topic, payload, retained, size)
  local thing, rest = target(bridge, topic)
  if not thing or #rest > longest_topic then return end
  local name = string.match(rest, "^command/([%w_.]+)$")
  local suffix = not name and string.match(rest, "^([%w_/]+)/set$")
  if not name and not suffix then return end
  local request, why = envelope(topic, payload, size)
  if not request then return refuse(bridge, { thing = thing, topic = topic, command = name or suffix, bare = true }, why) end
  if payload == "" then return end -- a retained message was cleared
  request.thing, request.topic, request.command, request.came = thing, topic, name or suffix, bridge.now()
  request.what = what_of(request)
  request.age = type(request.at) == "number" and bridge.wall() - request.at or 0
  if retained then return refuse(bridge, request, "it was retained: it may be of any age", "retained") end
  take_request(bridge, thing, request, name, suffix)
end

--- Answers requests that were claimed before a crash: whether they were sent is unknown, and they are not sent again.
function M.answer_abandoned(bridge, thing)
  local found, err = requests.abandoned(bridge.context, thing.id, function(entry)
    return answer(bridge, { id = entry.id, bare = entry.bare, command = entry.command }, {
      outcome = "unknown", reason = "crash", message = "the bridge ended before the answer; it is not sent again",
    })
  end)
  if not found then return nil, err end
  for _, one in ipairs(found) do report(bridge, { thing = thing, topic = one.entry.topic }, one.result) end
  return true
end

--- Waits until no command is in flight, for at most so many seconds.
function M.finish(bridge, seconds)
  local pauses = tasks.pauses(seconds, 0.01, 0.2)
  local function busy()
    for _, thing in pairs(bridge.things) do
      if thing.working then return true end
    end
    return false
  end
  while busy() and pauses:again() do end
end

return M
