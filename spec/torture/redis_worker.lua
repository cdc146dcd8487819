-- A worker of spec/torture/redis.lua: commands to vehicles at random, signed here or by a proxy, refreshes and additions, for a
-- time. It writes down what it is about to do, and what became of it: lines of "<number> <what> <vehicle>" and
-- "<number> = <outcome> <kind>".
--   lua5.4 spec/torture/redis_worker.lua FILE      FILE: JSON, see redis.lua

local core = require "fleet.core"
local fleet = require "fleet"

local file = assert(io.open(arg[1]))
local given = core.json_decode(file:read("a"))
file:close()

local log = assert(io.open(given.log, "a"))
log:setvbuf("line")
local number = 0

local function begin(what, vin)
  number = number + 1
  log:write(number, " ", what, " ", vin or "-", "\n")
  return number
end

local function finish(id, outcome, kind)
  log:write(id, " = ", outcome, " ", kind or "-", "\n")
end

local client = assert(fleet.new {
  base_url = given.base_url, auth_url = given.auth_url, token_url = given.token_url, client_id = "app", client_secret = "app-secret",
  redirect_uri = "https://app.example.com/callback", store = given.store, store_key = given.store_key, key = given.key,
  commands = "signed", timeout = 10, budgets = given.budgets, pacing = given.pacing,
})
local ways = { client } -- to a vehicle: signed here, or by a proxy
for _, url in ipairs(given.proxies) do
  ways[#ways + 1] = assert(fleet.new { base_url = url, proxy_url = url, commands = "proxy", token = "held by the proxy", timeout = 12 })
end
local store = assert(fleet.store.open(given.store))
local stop_at = fleet.loop.clock() + given.seconds
local horns = { "honk_horn", "flash_lights", "actuate_trunk" } -- none of them may run twice

local function command()
  local vin, what = given.vins[math.random(#given.vins)], horns[math.random(#horns)]
  local id = begin(what, vin)
  local car = ways[math.random(#ways)]:vehicle(vin)
  local done, err
  if what == "actuate_trunk" then done, err = car:actuate_trunk { which_trunk = "rear" } else done, err = car[what](car) end
  finish(id, done and "done" or err.outcome or "not_sent", err and err.kind)
end

local function refresh()
  local id = begin("refresh")
  local done, err = client:refresh()
  finish(id, done and "done" or "failed", err and err.kind)
end

local function add()
  local id = begin("add")
  local totals, err = store:add("count/torture", { n = 1 })
  finish(id, totals and "done" or "failed", err and err.kind)
end

math.randomseed(given.seed)
fleet.run(function()
  for _ = 1, given.tasks do
    fleet.spawn(function()
      while fleet.loop.clock() < stop_at do
        local dice = math.random(100)
        fleet.sleep(math.random() * 2 * given.rest)
        if dice <= 1 then refresh() elseif dice <= 20 then add() else command() end
      end
    end)
  end
end)
store:close()
for _, way in ipairs(ways) do way:close() end
log:write("end\n")
