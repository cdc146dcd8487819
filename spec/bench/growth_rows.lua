-- The rows of growth.lua: what there may be many of, and the act that is measured beside it. As a script it measures one row and
-- prints its seconds per unit, one for each count; a process that measured another row before has its heap to look through.
-- The other side is a function in the same process; what its vehicles take is taken off, because it knows as many as the client.
--
--   lua5.4 spec/bench/growth_rows.lua vehicles|clients|tasks|accounts|sessions|pages|periods|opening

local core = require "fleet.core"
local fleet = require "fleet"
local tariffs = require "spec.bench.tariff"

local key, vehicle_key = core.key.generate(), core.key.generate()
local batches, batch = 4, 2000

-- ---- the other side ----

local receivers = {}

local function receiver_of(vin)
  if not receivers[vin] then
    receivers[vin] = assert(core.receiver { key = vehicle_key, vin = vin, domain = "infotainment", keys = { key:public_bytes() } })
  end
  return receivers[vin]
end

local elsewhere = 0 -- seconds that the vehicles took

local function signed(request)
  local before = os.clock()
  local vin = string.match(request.url, "/vehicles/(%w+)/signed_command")
  local message = core.unbase64(string.match(request.body, '"routable_message":"([^"]+)"'))
  local reply = '{"response":"' .. core.base64((receiver_of(vin):handle(message))) .. '"}'
  elsewhere = elsewhere + os.clock() - before
  return reply
end

local page_size = 10

local function page(request)
  local number = tonumber(string.match(request.url, "pageNo=(%d+)"))
  local records = {}
  for i = 1, page_size do
    local id = number * page_size + i
    records[i] = string.format('{"sessionId":%d,"vin":"5YJ3FLEE9RF000001","chargeStartDateTime":"2026-01-01T00:00:00Z"}', id)
  end
  return '{"response":{"data":[' .. table.concat(records, ",") .. "]}}"
end

local last_page

local function http(request)
  local body = '{"response":[],"count":0}'
  if string.find(request.url, "signed_command", 1, true) then body = signed(request) end
  if string.find(request.url, "charging/history", 1, true) then
    local beyond = tonumber(string.match(request.url, "pageNo=(%d+)")) > last_page
    body = beyond and '{"response":{"data":[]}}' or page(request)
  end
  return { status = 200, headers = { ["Content-Type"] = "application/json" }, body = body }
end

local function new_client(options)
  options.http, options.base_url = http, "https://fleet.example"
  if not options.store then options.token = "a-token" end
  return fleet.new(options)
end

local function vin_of(i)
  return string.format("5YJ3FLEE9RF%06d", i)
end

-- Any of n, in an order in which neighbours do not follow each other.
local function one_of(n)
  local i = 0
  return function()
    i = (i + 7919) % n
    return i + 1
  end
end

local function temporary()
  local directory = os.tmpname()
  os.remove(directory)
  return directory
end

-- ---- what there may be many of: each gives the act that is measured, how many units it counts for, and what ends it ----

local M = { rows = {} }

local function row(name, unit, counts, prepare)
  M.rows[#M.rows + 1] = { name = name, unit = unit, counts = counts, prepare = prepare }
end

local usual = { 1, 100, 10000 }

row("vehicles", "signed command", usual, function(n)
  local client, next_one = new_client { key = key, commands = "signed" }, one_of(n)
  for i = 1, n do assert(client:vehicle(vin_of(i)):honk_horn()) end
  return function() assert(client:vehicle(vin_of(next_one())):honk_horn()) end, 1, function() client:close() end
end)

row("clients", "read", usual, function(n)
  local clients, next_one = {}, one_of(n)
  for i = 1, n do clients[i] = new_client { account = "a" .. i } end
  return function() assert(clients[next_one()]:products()) end, 1, function()
    for _, client in ipairs(clients) do client:close() end
  end
end)

row("tasks", "task", { 1, 100, 10000, 100000 }, function(n)
  local tasks = {}
  for i = 1, n do tasks[i] = fleet.spawn(function() fleet.sleep(3600 + i % 1000) end) end
  return function()
    local done = false
    fleet.spawn(function()
      fleet.sleep(0)
      done = true
    end)
    while not done do fleet.loop.step() end
  end, 1, function()
    for _, task in ipairs(tasks) do task:cancel() end
  end
end)

local token = core.json_encode {
  access_token = ("a"):rep(1000), refresh_token = ("r"):rep(80), saved_at = 1700000000, refreshed_at = 1700000000,
  expires_at = 4000000000, scope = "openid offline_access vehicle_device_data vehicle_cmds",
}

local function with_accounts(n)
  local directory = temporary()
  local store = assert(fleet.store.file(directory))
  for i = 1, n do assert(store:put("token/a" .. i .. "/user", token, {})) end
  assert(store:flush())
  return store, directory
end

row("accounts", "first read", usual, function(n)
  local store, directory = with_accounts(n)
  local next_one = one_of(n)
  return function()
    local client = new_client { account = "a" .. next_one(), client_id = "app", store = store }
    assert(client:products())
  end, 1, function() os.execute("rm -r " .. directory) end
end)

local function session_key(i)
  return "session/" .. key:fingerprint() .. "/" .. vin_of(i) .. "/infotainment"
end

-- The vehicles that are asked have sessions of their own; the others' records are copies of one, under their own names.
row("sessions", "first command", usual, function(n)
  local directory, asked = temporary(), math.min(n, 100)
  local function open()
    return new_client { key = key, commands = "signed", store = directory, token = "a-token" }
  end
  local client, next_one = open(), one_of(asked)
  for i = 1, asked do assert(client:vehicle(vin_of(i)):honk_horn()) end
  client:close()
  local store = assert(fleet.store.file(directory))
  local record = assert(store:get(session_key(1)))
  for i = asked + 1, n do assert(store:put(session_key(i), record, {})) end
  assert(store:flush())
  return function()
    local again = open()
    assert(again:vehicle(vin_of(next_one())):honk_horn())
    again:close()
  end, 1, function() os.execute("rm -r " .. directory) end
end)

-- A walk ends with an error after 1,000 pages, so that more are not measured.
row("pages", "page", { 1, 100, 999 }, function(n)
  local client = new_client {}
  last_page = n
  return function() assert(#assert(client.charging:history { page_size = page_size }:collect()) == n * page_size) end, n
end)

-- A row of a day each is the least: none goes over midnight.
row("periods", "period", { 7, 100, 10000 }, function(n)
  local tariff = tariffs.one_season(n)
  assert(fleet.tariff.check(tariff).valid)
  return function() fleet.tariff.check(tariff) end, n
end)

-- ---- measuring ----

-- Seconds of the processor per unit, the least of some batches: what else the machine does only adds.
local function cost(prepare, n)
  local act, units, ending = prepare(n)
  local rounds, best = math.max(1, math.floor(batch / units)), math.huge
  act()
  for _ = 1, batches do
    collectgarbage()
    local before, before_elsewhere = os.clock(), elsewhere
    for _ = 1, rounds do act() end
    best = math.min(best, (os.clock() - before - elsewhere + before_elsewhere) / (rounds * units))
  end
  if ending then ending() end
  collectgarbage()
  return best
end

-- Seconds that a store with 10,000 accounts takes to be opened.
local function opening()
  local _, directory = with_accounts(10000)
  local best = math.huge
  for _ = 1, 10 do
    local before = core.clock()
    assert(fleet.store.file(directory))
    best = math.min(best, (core.clock()) - before)
  end
  os.execute("rm -r " .. directory)
  return best
end

local function run(name)
  if name == "opening" then return print(string.format("%.9f", opening())) end
  for _, one in ipairs(M.rows) do
    if one.name == name then
      for _, n in ipairs(one.counts) do print(string.format("%.9f", cost(one.prepare, n))) end
    end
  end
end

--- The seconds that a row costs at each of its counts, or the opening; measured in a process of its own.
function M.measured(name)
  local pipe = assert(io.popen("lua5.4 spec/bench/growth_rows.lua " .. name))
  local seconds = {}
  for line in pipe:lines() do seconds[#seconds + 1] = tonumber(line) end
  assert(pipe:close() and #seconds > 0, "spec/bench/growth_rows.lua did not measure " .. name)
  return seconds
end

if arg and arg[0] == "spec/bench/growth_rows.lua" then run(arg[1]) end

return M
