-- The budget `crossings`: calls into the C core for one warm signed command with the file store, counted by a call hook. The
-- service is a function in this process, and what it does is not counted.

local core = require "fleet.core"
local fleet = require "fleet"

local VIN = "5YJ30123456789ABC"
local BUDGET = 20

-- Every C function of the module: the core's own and the methods of its objects.
local function core_functions()
  local found = {}
  local function add(list)
    for _, value in pairs(list) do
      if type(value) == "function" then found[value] = true end
    end
  end
  add(core)
  for _, value in pairs(debug.getregistry()) do
    if type(value) == "table" and type(rawget(value, "__index")) == "table" and rawget(value, "__gc") then add(value.__index) end
  end
  return found
end

local counted = core_functions()
local count = 0

local function hook()
  local info = debug.getinfo(2, "Sf")
  if info.what == "C" and counted[info.func] then count = count + 1 end
end

local key, vehicle = fleet.key.generate(), fleet.key.generate()
local receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
local counting = false

local function service(request)
  debug.sethook()
  local message = core.unbase64(string.match(request.body, '"routable_message":"([^"]+)"'))
  local reply = { status = 200, headers = {}, body = '{"response":"' .. core.base64((receiver:handle(message))) .. '"}' }
  if counting then debug.sethook(hook, "c") end
  return reply
end

local directory = os.tmpname()
os.remove(directory)
local client = fleet.new {
  token = "t", key = key, store = fleet.store.file(directory), base_url = "https://service.example", http = service,
}
local car = client:vehicle(VIN)
for percent = 60, 63 do assert(car:set_charge_limit { percent = percent }) end

counting = true
debug.sethook(hook, "c")
local done, err = car:set_charge_limit { percent = 64 }
debug.sethook()
counting = false
client:close()
os.execute("rm -rf '" .. directory .. "'")
assert(done, tostring(err))
assert(count > 0, "the hook counted nothing")
print(string.format("crossings %d %d %s", count, BUDGET, count <= BUDGET and "ok" or "over"))
