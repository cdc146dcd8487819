-- Writes down what calls decide, one line a call, so that two versions of the driver can be compared:
--
--   eval "$(make -s env)"; LUA_PATH="./?.lua;$LUA_PATH" lua5.4 spec/decisions/record.lua FILE [plain signed network]
--
-- A line has what was sent and with which token, the attempts that the log and the metrics got, what the vehicle did and with which
-- counters, the result, what was counted, and the pauses. The seeds are fixed; plain, signed and network are how many sequences of each.

local cjson = require "cjson"
local core = require "fleet.core"
local fleet = require "fleet"
local forward = require "fleet.proxy.forward"
local rows = require("fleet.call.rows").by_name
local seam = require "spec.support.fixtures.host_http"
local signed_world = require "spec.support.fixtures.signed_world"
local virtual = require "spec.support.harness.virtual"

local plain_count, signed_count, network_count = tonumber(arg[2]) or 100000, tonumber(arg[3]) or 8000, tonumber(arg[4]) or 8000
local out = assert(io.open(arg[1], "w"))

-- ---- random, the same on every machine ----

local seed

local function random(n)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return math.floor(seed / 65536) % n + 1
end

local function one_of(list)
  return list[random(#list)]
end

local function sometimes(n, value)
  return random(n) == 1 and value or nil
end

-- ---- texts of what happened ----

local function sorted(t)
  local names = {}
  for name in pairs(t) do names[#names + 1] = tostring(name) end
  table.sort(names)
  return names
end

local function text_of(value, depth)
  if type(value) == "number" then return string.format("%.4g", value) end
  if type(value) ~= "table" then return tostring(value) end
  if (depth or 0) > 4 then return "{...}" end
  local parts = {}
  for _, name in ipairs(sorted(value)) do
    local member = value[name]
    if member == nil then member = value[tonumber(name)] end
    parts[#parts + 1] = name .. "=" .. text_of(member, (depth or 0) + 1)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local members = { "kind", "outcome", "reason", "status", "fault", "retry_after", "scope", "vin", "site", "request", "state", "paced",
  "message", "raw", "final" }

local function result_of(ran, value, err, kind)
  if not ran then
    if type(value) ~= "table" then return "raised " .. tostring(value) end
    err, kind = value, "raised"
  elseif not err then
    return "ok " .. text_of(value)
  end
  local parts = { tostring(kind) }
  for _, name in ipairs(members) do parts[#parts + 1] = name .. "=" .. text_of(rawget(err, name)) end
  return table.concat(parts, ";")
end

local lines, masked = 0, false -- masked: messages have random parts

local function write(parts)
  lines = lines + 1
  local text = table.concat(parts, " | "):gsub("[%c]", "?")
  if masked then text = text:gsub("[%w+/=]+", function(run) return #run > 24 and "BASE64" or nil end) end
  out:write(text, "\n")
end

local function note(state, event)
  state.log[#state.log + 1] = string.format("%s %s %s %s", tostring(event.status), tostring(event.attempt), tostring(event.kind),
    tostring(event.billing))
end

-- ---- what is called ----

local vin = seam.vin

local calls = {
  { "info", function(s, o) return s.car:info(o) end },
  { "vehicle_data", function(s, o) return s.car:vehicle_data({}, o) end },
  { "drivers", function(s, o) return s.car:drivers(o) end },
  { "nearby", function(s, o) return s.car:nearby_charging_sites({}, o) end },
  { "products", function(s, o) return s.client:products(o) end },
  { "specs", function(s, o) return s.car:specs(o) end },
  { "me", function(s, o) return s.client.user:me(o) end },
  { "site", function(s, o) return s.site:live_status(o) end },
  { "vehicles", function(s) return s.client:vehicles():collect() end },
  { "status", function(s, o) return s.client:fleet_status({ vin }, o) end },
  { "honk", function(s, o) return s.car:honk_horn(o) end },
  { "limit", function(s, o) return s.car:set_charge_limit({ percent = 80 }, o) end },
  { "trunk", function(s, o) return s.car:actuate_trunk({ which_trunk = "rear" }, o) end },
  { "lock", function(s, o) return s.car:door_lock(o) end },
  { "wake_up", function(s, o) return s.car:wake_up(o) end },
  { "backup", function(s, o) return s.site:backup({ backup_reserve_percent = 30 }, o) end },
  { "request", function(s, o)
    return s.client:request("POST", "/api/1/anything", { a = 1 }, { timeout = o.timeout, idempotent = o.idempotent })
  end },
  { "request_get", function(s, o) return s.client:request("GET", "/api/1/vehicles/anything", nil, { timeout = o.timeout }) end },
  { "forward", function(s)
    local row = one_of { rows.vehicle_data, rows.info, rows.honk_horn }
    local code, headers, body, err = forward.call(s.client, row, { vin = vin }, "a=1", nil, 20)
    return { code = code, headers = headers, body = body, kind = err and err.kind, outcome = err and err.outcome }
  end },
  { "invoice", function(s, o)
    local file = "/tmp/decisions-" .. tostring(out):match "0x%x+"
    local value, err, kind = s.client.charging:invoice("1", { to = file, overwrite = true }, o)
    os.remove(file)
    return value and "file", err, kind
  end },
  { "partner", function(s, o) return s.client.partner:public_key({ domain = "example.com" }, o) end },
}

local acts = { honk = true, limit = true, trunk = true, lock = true, vehicle_data = true, backup = true }
local idempotent_takes = { honk = true, limit = true, trunk = true, lock = true, backup = true }

local function options_for(name)
  local o = {}
  o.timeout = sometimes(4, one_of { 0.2, 1, 5, 30, 100 })
  if idempotent_takes[name] and random(4) == 1 then o.idempotent = random(2) == 1 end
  if acts[name] and name ~= "backup" then o.wake = sometimes(4, true) end
  o.force = sometimes(10, true)
  o.auth = sometimes(12, one_of { "user", "business", "partner" })
  return o
end

-- ---- what is answered ----

local function status(code, body, headers)
  return { status = code, headers = headers or {}, body = body or "" }
end

local function fitting(request)
  local target = request.path
  if target:find "/command/" then return seam.answer(seam.done) end
  if target:find "fleet_status" then
    return seam.answer('{"response":{"key_paired_vins":[],"unpaired_vins":[],"vehicle_info":{"' .. vin
      .. '":{"firmware_version":"2024.14.1"}}}}')
  end
  if target:find "backup" then return seam.answer '{"response":{"code":201,"message":"Updated"}}' end
  if target:find "products" then return seam.answer('{"response":[{"vin":"' .. vin .. '","state":"online"}],"count":1}') end
  if target:find "/vehicles%?" or target:find "/vehicles$" then
    return seam.answer('{"response":[{"vin":"' .. vin .. '","id":1,"state":"online"}],"pagination":{"next":null,"current":1,'
      .. '"per_page":100,"count":1,"pages":1},"count":1}')
  end
  if target:find "invoice" then return seam.answer "%PDF-1.4 x" end
  if target:find "/drivers" then return seam.answer '{"response":[{"driver_first_name":"A","user_id":5}],"count":1}' end
  return seam.answer('{"response":{"id_s":"1","vin":"' .. vin .. '","state":"online","public_key":"04aa"}}')
end

local unavailable = '{"error":"vehicle unavailable: vehicle is offline or asleep"}'
local replies = {
  { 12, fitting },
  { 3, function() return status(503) end },
  { 1, function() return status(500) end },
  { 1, function() return status(502, "<html>bad</html>") end },
  { 1, function() return status(504) end },
  { 1, function() return status(540, '{"error":"car says no"}') end },
  { 2, function() return status(503, "", { ["retry-after"] = tostring(random(4)) }) end },
  { 1, function() return status(503, "", { ["retry-after"] = "60" }) end },
  { 4, function() return status(401) end },
  { 1, function() return status(401, '{"error":"token a-token is bad: a1 a2 a3"}') end },
  { 2, function() return status(403, '{"error":"Unauthorized missing scopes"}') end },
  { 1, function() return status(403, "Tesla Vehicle Command Protocol required") end },
  { 1, function() return status(403, '{"error":"account disabled: EXCEEDED_LIMIT"}') end },
  { 1, function() return status(403, "no") end },
  { 1, function() return status(404, "{}") end },
  { 1, function() return status(400, '{"error":"bad"}') end },
  { 1, function() return status(402) end },
  { 1, function() return status(405) end },
  { 1, function() return status(406) end },
  { 1, function() return status(412, '{"error":"Account must be registered in the current region."}') end },
  { 1, function() return status(422, '{"error":"x"}') end },
  { 1, function() return status(423) end },
  { 1, function() return status(451) end },
  { 2, function() return status(421, '{"error":"user out of region, use base URL: https://two.example, see docs"}') end },
  { 1, function() return status(421, '{"error":"user out of region, use base URL: https://evil.example, see docs"}') end },
  { 2, function() return status(429, "Retry in 90 seconds") end },
  { 1, function() return status(429, "", { ["retry-after"] = "2", ["ratelimit-limit"] = "7" }) end },
  { 3, function() return status(408, unavailable) end },
  { 1, function() return status(408, "vehicle unavailable") end },
  { 1, function() return status(408, "slow") end },
  { 1, function() return status(500, "the vehicle is asleep, perhaps") end },
  { 1, function() return seam.answer(seam.refused "disconnected") end },
  { 2, function() return seam.answer(seam.refused "already_set") end },
  { 1, function() return seam.answer(seam.refused "could_not_wake_buses") end },
  { 1, function() return seam.answer '{"response":{"result":false,"reason":"unsigned_cmds_hardlocked"}}' end },
  { 1, function() return seam.answer "<html>" end },
  { 1, function() return seam.answer "" end },
  { 1, function() return seam.answer '{"response":null,"error":"mobile_access_disabled","error_description":"d"}' end },
  { 1, function() return seam.answer '{"response":{"id_s":"1","vin":"5YJ3E1EA7KF999999","state":"asleep"}}' end },
  { 1, function() return seam.answer '{"response":{"id_s":"1","state":"asleep"}}' end },
  { 1, function() return seam.answer '{"response":false}' end },
  { 2, function() return nil, "broken", true end },
  { 2, function() return nil, "no connection", false end },
  { 1, function() return nil end },
  { 1, function() return nil, "timeout" end },
  { 1, function() error("the host fails", 0) end },
  { 1, function() return { status = "odd", body = 5 } end },
  { 2, function(request)
    fleet.sleep(random(30))
    return fitting(request)
  end },
}
local weighted = {}
for _, reply in ipairs(replies) do
  for _ = 1, reply[1] do weighted[#weighted + 1] = reply[2] end
end

-- ---- plain calls over a host's own HTTP ----

local function token_answer(state)
  local way = random(8)
  if way == 1 then return nil, "no connection", false end
  if way == 2 then return status(401, '{"error":"login_required"}') end
  if way == 3 then return status(503) end
  state.refreshed = state.refreshed + 1
  return seam.answer(string.format('{"access_token":"a%d","refresh_token":"r%d","expires_in":%d}', state.refreshed, state.refreshed,
    one_of { 300, 3600, 28800 }))
end

local function put_pair(store, state, wall)
  local left = one_of { -100, 3, 20, 3600 }
  store:put("token/default/" .. state.token_kind, core.json_encode {
    access_token = "a1", refresh_token = "r1", saved_at = wall - 5000, refreshed_at = wall - 5000, expires_at = wall + left })
end

local function new_state(time)
  local state = { refreshed = 1, token_kind = random(6) == 1 and "business" or "user", log = {}, requests = {} }
  local _, wall = fleet.loop.clock()
  local options = { base_url = "https://one.example", hosts = { "two.example" }, client_id = "app" }
  options.client_secret = random(6) > 1 and "s" or nil
  if random(2) == 1 then
    options.token = "a-token"
  else
    options.store = fleet.store.memory()
    options.auth_url, options.token_url = "https://auth.example", "https://token.example"
    if random(10) > 1 then put_pair(options.store, state, wall) end
  end
  if random(3) > 1 then
    options.log = function(event)
      local copy = {}
      for name, value in pairs(event) do copy[name] = value end
      copy.ms, copy.time, copy.usd = nil, nil, nil
      state.log[#state.log + 1] = text_of(copy)
    end
  end
  if random(4) == 1 then
    options.metrics = function(event)
      local copy = {}
      for name, value in pairs(event) do copy[name] = value end
      if event.name == "attempt" then copy.seconds = nil end
      state.log[#state.log + 1] = text_of(copy)
    end
  end
  if random(4) == 1 then
    options.budgets = one_of { { per_day = { command = 2, data = 2 } }, { usd_per_month = 0.005 },
      { per_vehicle_day = { wake = 1, data = 1 } }, { per_day = { command = 0 } } }
  end
  if random(5) == 1 then options.pacing = one_of { { command = 1, data = 2 }, { data = 1, wake = 1 } } end
  if random(6) == 1 then options.commands, options.proxy_url = "proxy", "https://proxy.example" end
  if random(6) == 1 then options.audit = function(event)
    state.log[#state.log + 1] = "audit " .. tostring(event.outcome or event.kind or event.result)
  end end
  function options.http(request)
    request.path = request.url:gsub("^https?://[^/]+", "")
    local token = request.headers.authorization or "-"
    state.requests[#state.requests + 1] = string.format("%s %s %s %s", request.method, request.url, token,
      request.body and #request.body or "-")
    if request.url:find("token.example", 1, true) then return token_answer(state) end
    if #state.requests > 40 then return status(404, "{}") end
    return one_of(weighted)(request)
  end
  local made, failure = pcall(fleet.new, options)
  if not made then
    options.audit = nil
    state.client = fleet.new(options)
    state.made = tostring(failure)
  else
    state.client = failure
  end
  state.car, state.site = state.client:vehicle(vin), state.client:energy_site("1234567890")
  state.time = time
  return state
end

local function one_call(state, title, name, fn, options)
  state.requests, state.log = {}, {}
  local before = state.time.now()
  local ran, value, err, kind
  if random(2) == 1 then
    ran, value, err, kind = pcall(fn, state, options)
  else
    ran, value, err, kind = pcall(fleet.run, fn, state, options)
  end
  local took = state.time.now() - before
  local doubts = {}
  for _, doubt in ipairs(assert(fleet.drain())) do doubts[#doubts + 1] = doubt.kind end
  write { title, name, text_of(options), table.concat(state.requests, " & "), table.concat(state.log, " & "),
    result_of(ran, value, err, kind), "doubts " .. table.concat(doubts, " "), string.format("%.1f", took + 0.02) }
end

-- A call in a task that is cancelled after a while.
local function one_cancelled(state, title, name, fn, options)
  one_call(state, title, name .. " cancelled", function()
    local task = fleet.spawn(fn, state, options)
    fleet.sleep(random(8) / 2)
    task:cancel()
    return task:wait()
  end, options)
end

local function one_closed(state, title, name, fn, options)
  one_call(state, title, name .. " closed", function()
    local task = fleet.spawn(fn, state, options)
    fleet.sleep(random(6) / 2)
    state.client:close()
    return task:wait()
  end, options)
end

local function cost_of(client)
  local ran, cost, err = pcall(client.cost, client, {})
  if not ran or not cost then return "cost fails " .. tostring(err or cost) end
  return text_of(cost.calls) .. string.format("%.6f", cost.usd)
end

local function plain()
  local number = 0
  while number < plain_count do
    seed = number * 7919 + 17
    local time = virtual.install()
    local state = new_state(time)
    for _ = 1, random(5) do
      number = number + 1
      local call = one_of(calls)
      local options, title = options_for(call[1]), "plain " .. number
      local how = random(40)
      if how == 1 then
        one_cancelled(state, title, call[1], call[2], options)
      elseif how == 2 then
        one_closed(state, title, call[1], call[2], options)
      else
        one_call(state, title, call[1], call[2], options)
      end
      if random(3) == 1 then time.advance(random(100)) end
    end
    write { "cost", cost_of(state.client), tostring(state.made) }
    state.client:close()
    time.restore()
  end
end

-- ---- signed commands ----

local faults = { "rate_limit", "region", "unregistered", "error_500", "error_502", "error_504", "error_540", "drop_before", "revoked",
  "executed_503", "drop_after", "slow", "truncated", "wrong_type", "asleep", "offline", "clock_step", "corrupted_tag",
  "counter_lowered", "duplicated", "epoch_change", "lost", "no_protocol", "reordered", "unpaired", "vehicle_key_change" }
local variants = {
  clock_step = { {}, { seconds = -600 } }, corrupted_tag = { {}, { of = "request" } }, slow = { { seconds = 20 }, { seconds = 3 } },
  duplicated = { {}, { of = "request" }, { of = "request", answer = "second" } }, lost = { {}, { of = "request" } },
  truncated = { {}, { cut = true } }, epoch_change = { {}, { seconds = 0 } },
}

local signed_calls = {
  { "honk", function(s, o) return s.car:honk_horn(o) end },
  { "limit", function(s, o) return s.car:set_charge_limit({ percent = 50 + random(40) }, o) end },
  { "trunk", function(s, o) return s.car:actuate_trunk({ which_trunk = "rear" }, o) end },
  { "lock", function(s, o) return s.car:door_lock(o) end },
  { "flash", function(s, o) return s.car:flash_lights(o) end },
  { "sunroof", function(s, o) return s.car:sun_roof_control({ state = "vent" }, o) end },
  { "volume", function(s, o) return s.car:adjust_volume({ volume = 5.5 }, o) end },
  { "data", function(s, o) return s.car:signed_data({ "charge" }, { timeout = o.timeout }) end },
  { "schedule", function(s, o)
    local value, err, kind = s.car:add_charge_schedule({ days_of_week = { "mon" }, enabled = true, lat = 1, lon = 1, start_enabled = true,
      start_time = 60, end_enabled = false }, o)
    if type(value) == "table" then value.id = nil end
    return value, err, kind
  end },
}

local function signed_http(world, state)
  local last, last_command
  return function(request)
    local kind = world:kind(request) or "unreadable"
    local target, query = request.url:match("^https?://[^/]+([^?]*)%??(.*)$")
    local asked = { method = request.method, path = target, query = query, headers = request.headers, body = request.body or "" }
    if state.pause == #state.requests + 1 then fleet.sleep(state.seconds) end
    local code, headers, body, manner = world.service:handle(asked)
    local said = asked.note and string.format(":%s#%s!%s", tostring(asked.note.accepted), tostring(asked.note.counter),
      tostring(asked.note.fault)) or ""
    state.requests[#state.requests + 1] = kind .. "/" .. target:match "[^/]*$" .. said .. "=" .. tostring(code)
    if manner and manner.delay then fleet.sleep(manner.delay) end
    if manner and (manner.drop or manner.cut) then return nil, "the connection was closed" end
    local answer = { status = code, headers = headers, body = body }
    local stray = state.stray == #state.requests and (kind == "command" and last_command or last)
    if kind == "command" then last_command = answer end
    last = answer
    return stray or answer
  end
end

local function signed()
  masked = true
  for number = 1, signed_count do
    seed = number * 104729 + 5
    local world = signed_world.new { keys = random(8) == 1 and 2 or 1 }
    local state = { requests = {}, log = {}, time = world.time }
    local options = { http = signed_http(world, state), timeout = one_of { 60, 20, 5 }, log = function(event)
      note(state, event)
    end }
    if random(2) == 1 then options.store = fleet.store.memory() end
    if random(6) == 1 then options.key = { core.key.generate(), world.keys[1] } end
    if random(6) == 1 then options.commands = "signed" end
    if random(6) == 1 then options.budgets = { per_day = { command = 1 + random(3) } } end
    if random(8) == 1 then options.pacing = { command = random(3) } end
    state.client = world:client(options)
    state.car = state.client:vehicle(signed_world.VIN)
    local title = "signed " .. number
    for _ = 1, random(3) - 1 do one_call(state, title, "warm", one_of(signed_calls)[2], {}) end
    for _ = 1, random(2) do
      for _ = 1, random(3) do
        local name = one_of(faults)
        local more = { message = one_of { "command", "command", "handshake" } }
        for key, value in pairs(variants[name] and one_of(variants[name]) or {}) do more[key] = value end
        world:fault(name, random(4) == 1 and 2 or 1, more)
      end
      state.stray = random(6) == 1 and random(3) or nil
      state.pause, state.seconds = random(6) == 1 and random(3) or nil, random(30)
      local call = one_of(signed_calls)
      local given = { timeout = sometimes(5, random(40)), wake = sometimes(5, true) }
      if random(5) == 1 then given.idempotent = random(2) == 1 end
      if call[1] == "data" then given.idempotent, given.wake = nil, nil end
      local how = random(30)
      world.ran = {}
      if how == 1 then
        one_cancelled(state, title, call[1], call[2], given)
      elseif how == 2 then
        one_call(state, title, call[1] .. " many", function()
          local results = fleet.map({ 1, 2, 3 }, function() return call[2](state, given) end)
          local texts = {}
          for i, result in ipairs(results) do texts[i] = result_of(true, result.value, result.err, result.err and result.err.kind) end
          return texts
        end, given)
      else
        one_call(state, title, call[1], call[2], given)
      end
      write { "ran", table.concat(world.ran, " ") }
      world.service.faults:clear()
      if random(3) == 1 then world.time.advance(random(60)) end
    end
    write { "cost", cost_of(state.client) }
    state.client:close()
    world:close()
  end
end

-- ---- the same over the core's own HTTP ----

local function network()
  masked = false
  local server = require "fleet.server"
  local state
  local listening = assert(server.new { loop = fleet.loop, on_request = function(request)
    local asked = { path = request.path .. (request.query and request.query ~= "" and "?" .. request.query or "") }
    state.requests[#state.requests + 1] = string.format("%s %s %s %s", request.method, asked.path,
      tostring(request.headers.authorization), request.body and #request.body or "-")
    local answer
    repeat answer = one_of(state.answers)(asked) until type(answer) == "table" and type(answer.body) == "string"
    request:respond(answer.status, answer.headers, answer.body)
  end })
  local base = "http://127.0.0.1:" .. listening:port()
  local quick = {}
  for i, reply in ipairs(replies) do
    if i < #replies and i ~= #replies - 1 and i ~= #replies - 2 then
      for _ = 1, reply[1] do quick[#quick + 1] = reply[2] end
    end
  end
  local time = virtual.install()
  for number = 1, network_count do
    seed = number * 15485863 + 3
    state = { requests = {}, log = {}, time = time, answers = quick }
    local options = { base_url = base, timeout = 10 }
    if random(2) == 1 then
      options.token = "a-token"
    else
      options.client_id, options.client_secret, options.store = "app", "s", fleet.store.memory()
      options.auth_url, options.token_url = base, base
      local _, wall = fleet.loop.clock()
      options.store:put("token/default/user", core.json_encode {
        access_token = "a1", refresh_token = "r1", saved_at = wall, refreshed_at = wall, expires_at = wall + 36000 })
    end
    if random(3) == 1 then
      options.log = function(event)
        note(state, event)
      end
    end
    state.client = fleet.new(options)
    state.car, state.site = state.client:vehicle(vin), state.client:energy_site("1234567890")
    for _ = 1, random(3) do
      local call = one_of(calls)
      local given = options_for(call[1])
      given.timeout = nil
      state.requests, state.log = {}, {}
      local ran, value, err, kind = pcall(random(2) == 1 and fleet.run or function(fn, ...) return fn(...) end, call[2], state, given)
      write { "network " .. number, call[1], text_of(given), table.concat(state.requests, " & "), table.concat(state.log, " & "),
        (result_of(ran, value, err, kind):gsub("127%.0%.0%.1:%d+", "HOST")) }
    end
    write { "cost", cost_of(state.client) }
    state.client:close()
  end
  time.restore()
  listening:close()
end

-- The service of `request` is called by name; what a client prints would disturb.
cjson.encode_sparse_array(true)
if plain_count > 0 then plain() end
if signed_count > 0 then signed() end
if network_count > 0 then network() end
out:close()
print(lines .. " lines in " .. arg[1])
