-- Messages that ask for something: <topic>/<id>/command/<name> with JSON, and <topic>/<id>/<entity>/set with what hosts send.
--
-- A message is carried out at most once. It is refused where it lay at the broker (retained), is old, or came before; its
-- request is claimed in the store before the command is sent, and a claim without an answer is never sent again.

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
local longest_id, longest_topic = 128, 128 -- bytes; the store keeps the one, the answer's topic is longer than the other

-- ---- reading a message ----

local function decoded(payload)
  if not string.find(payload, "^%s*{") then return nil end
  local ok, value = pcall(core.json_decode, payload)
  return ok and type(value) == "table" and value or nil
end

local known_members = { id = true, at = true, value = true, params = true, wake = true }

-- What a request without an id is known by: its text may be long.
local function bare_id(topic, payload)
  return core.sha256(topic .. "\n" .. payload)
end

local function value_text(value)
  if value == nil then return nil end
  return values.plain(value) or tostring(value)
end

-- What is too long is not read at all, what is no text is not echoed.
local function check_payload(payload, size)
  if not payload or #payload > longest_payload then
    return nil, string.format("the payload has %d bytes: at most %d are taken", size or #payload, longest_payload)
  end
  if not core.utf8_valid(payload) then return nil, "the payload is not UTF-8" end
  return true
end

-- The members that every request has: { id =, at =, bare =, wake =, value =, params = }, or nil and why not.
local function envelope(topic, payload, size)
  local sound, wrong = check_payload(payload, size)
  if not sound then return nil, wrong end
  local given = decoded(payload)
  if not given then return { id = bare_id(topic, payload), bare = true, value = payload } end
  for name in pairs(given) do
    if not known_members[name] then
      return nil, "unknown member '" .. values.cut(tostring(name)) .. "': there are id, at, params, value and wake"
    end
  end
  local id = given.id
  local named = type(id) == "string" and id ~= "" or type(id) == "number"
  if named and #tostring(id) > longest_id then return nil, "'id' has more than " .. longest_id .. " bytes" end
  return {
    id = named and tostring(id) or bare_id(topic, payload), bare = not named or nil, at = given.at, params = given.params,
    value = value_text(given.value), wake = given.wake,
  }
end

-- Of a message that does not say its time it counts when it came.
local function check_times(bridge, request)
  local at = request.at == nil and request.came or request.at
  if type(at) ~= "number" then return nil, "'at' must be UTC seconds" end
  local age = bridge.now() - at
  if age > bridge.config.max_age then return nil, string.format("it is %.0f seconds old", age), "old" end
  if age < -requests.clock_slack then return nil, string.format("it is from %.0f seconds ahead", -age), "old" end
  return true
end

-- ---- which call ----

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
  if request.bare and request.value and request.value ~= "" then return nil, "the payload must be a JSON object" end
  if request.params ~= nil and type(request.params) ~= "table" then return nil, "'params' must be an object" end
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
  if not bridge.config.allowed(call.name) then
    return nil, "'" .. call.name .. "' is not among the bridge's 'commands'", "not_allowed"
  end
  call.row = row
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
  local result = { id = not request.bare and request.id or nil, command = request.command, at = math.floor(bridge.now()) }
  return tables.add(result, fields)
end

local function refuse(bridge, request, message, reason)
  bridge.tell(request.command .. ": refused, " .. message)
  say(bridge, request.topic, answer(bridge, request, {
    outcome = "not_sent", changed = false, reason = reason or "invalid", message = message,
  }))
end

-- ---- sending ----

local function send(thing, call, wake)
  local handle = thing.handle
  local ok, result, err = compat.pcall(handle[call.name], handle, call.params or {}, wake and { wake = true } or nil)
  if ok then return result, err end
  if type(result) ~= "string" then error(result, 0) end
  return nil, { kind = "invalid", outcome = "not_sent", message = (string.gsub(result, "^[^\n:]+:%d+: ", "")) }
end

local function outcome_of(bridge, request, result, err)
  if result then
    local told = type(result) == "table" and result or {}
    return answer(bridge, request, {
      outcome = "done", changed = told.changed ~= false, reason = told.reason ~= "" and told.reason or nil, via = told.via,
    })
  end
  local outcome, changed = err.outcome or "not_sent", nil
  if outcome ~= "unknown" then changed = false end
  return answer(bridge, request, {
    outcome = outcome, changed = changed, reason = err.kind == "refused" and err.reason or err.kind,
    message = err.message and tostring(err.message) or nil,
  })
end

-- After an unknown outcome the state is unknown, until a look says more.
local function settle(bridge, thing, call, request, err)
  local topic = call.row and call.becomes and discovery.state_topic(bridge.config, thing, call.row)
  if topic then things.tell(bridge, thing, topic, nil) end
  local shown = thing.handle:settle(err)
  if shown == nil then return end
  if topic then things.tell(bridge, thing, topic, shown and call.becomes or values.text(call.row, thing.data)) end
  return answer(bridge, request, { outcome = shown and "done" or "not_done", changed = shown, settled = true })
end

local function after(bridge, thing, call, request, result, err)
  local topic = call.row and call.becomes and discovery.state_topic(bridge.config, thing, call.row)
  if topic then thing.held[topic] = bridge.now() end
  local answered = outcome_of(bridge, request, result, err)
  requests.finish(bridge.context, thing.id, request, answered)
  say(bridge, request.topic, answered)
  bridge.tell(request.command .. ": " .. answered.outcome .. (answered.message and ", " .. answered.message or ""))
  if result then return bridge.look_soon(thing) end
  if err.kind == "asleep" or err.kind == "offline" then bridge.rouse "list" end
  if err.outcome ~= "unknown" then
    if topic then things.tell_known(bridge, thing, call.row) end
    return
  end
  local settled = settle(bridge, thing, call, request, err)
  if not settled then return end
  requests.finish(bridge.context, thing.id, request, settled)
  say(bridge, request.topic, settled)
end

local function again(bridge, request, entry)
  if not entry.result then return end -- it is under way, and will be answered
  say(bridge, request.topic, tables.add(answer(bridge, request, entry.result), { duplicate = true }))
end

local function may_wake(bridge, request)
  return request.wake == true and bridge.config.wake or bridge.config.wake == "always"
end

local function carry_out(bridge, thing, call, request)
  if bridge.stopped then return refuse(bridge, request, "the bridge ends", "closed") end
  local timely, old, reason = check_times(bridge, request) -- it may have waited for those before it
  if not timely then return refuse(bridge, request, old, reason) end
  local claimed, err, kind = requests.claim(bridge.context, thing.id, request, bridge.now(), bridge.config.max_age)
  if kind == "busy" then return refuse(bridge, request, err.message, kind) end
  if not claimed then return refuse(bridge, request, "it could not be noted in the store: " .. err.message, "store") end
  if claimed ~= true then return again(bridge, request, claimed) end
  if call.row and call.becomes then
    local topic = discovery.state_topic(bridge.config, thing, call.row)
    thing.held[topic] = math.huge
    things.tell(bridge, thing, topic, call.becomes)
  end
  local result, failed = send(thing, call, may_wake(bridge, request))
  after(bridge, thing, call, request, result, failed)
end

-- ---- one at a time ----

local function work(bridge, thing)
  while thing.queue[1] do
    local entry = table.remove(thing.queue, 1)
    carry_out(bridge, thing, entry.call, entry.request)
  end
  thing.working = false
end

local function enqueue(bridge, thing, call, request)
  thing.queue = thing.queue or {}
  if #thing.queue >= most_waiting then
    return refuse(bridge, request, most_waiting .. " commands wait already", "busy")
  end
  thing.queue[#thing.queue + 1] = { call = call, request = request }
  if thing.working then return end
  thing.working = true
  bridge.spawn(function() work(bridge, thing) end)
end

-- What needs no vehicle and no site is done at once.
local function act(bridge, call, request)
  local done, why = call.act(call.value)
  if not done then return refuse(bridge, request, why) end
  say(bridge, request.topic, answer(bridge, request, { outcome = "done", changed = true }))
end

local function take_request(bridge, thing, request, name, suffix)
  local timely, old, reason = check_times(bridge, request)
  if not timely then return refuse(bridge, request, old, reason) end
  local find = name and generic or of_entity
  local call, why, kind = find(bridge, thing, name or suffix, request)
  if not call then return refuse(bridge, request, why, kind) end
  if call.act then return act(bridge, call, request) end
  request.command = call.name
  enqueue(bridge, thing, call, request)
end

--- A message has come; never waits. payload is nil where it was too long to keep: then size tells its bytes.
function M.take(bridge, topic, payload, retained, size)
  local thing, rest = target(bridge, topic)
  if not thing or #rest > longest_topic then return end
  local name = string.match(rest, "^command/([%w_.]+)$")
  local suffix = not name and string.match(rest, "^([%w_/]+)/set$")
  if not name and not suffix then return end
  local request, why = envelope(topic, payload, size)
  if not request then return refuse(bridge, { topic = topic, command = name or suffix, bare = true }, why) end
  request.topic, request.command, request.came = topic, name or suffix, bridge.now()
  if retained then return refuse(bridge, request, "it was retained: it may be of any age", "retained") end
  take_request(bridge, thing, request, name, suffix)
end

--- Answers what was claimed before a crash: whether it was sent is not known, and it is not sent again.
function M.answer_abandoned(bridge, thing)
  local found, err = requests.abandoned(bridge.context, thing.id, function(entry)
    return answer(bridge, { id = entry.id, bare = entry.bare, command = entry.command }, {
      outcome = "unknown", reason = "crash", message = "the bridge ended before the answer; it is not sent again",
    })
  end)
  if not found then return nil, err end
  for _, one in ipairs(found) do say(bridge, one.entry.topic, one.result) end
  return true
end

--- Waits until no command is under way, for at most so many seconds.
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
