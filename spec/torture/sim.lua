-- Calls without end against the simulator over HTTP: sign-ins, refreshes, reads, commands, faults and time. Memory must stay
-- flat. lua5.4 spec/torture/sim.lua [calls]
local client = require("spec.support.miniclient")
local json = require("fleet.sim.json")
local miniloop = require("spec.support.miniloop")
local sims = require("fleet.sim")

local total = tonumber(arg[1] or 1000000)
local loop = miniloop.new()
local sim = assert(sims.new({ loop = loop }))
local VIN = "5YJSFLEE9KF000002"

local function resident_kib()
  for line in io.lines("/proc/self/status") do
    local kib = line:match("^VmRSS:%s+(%d+)")
    if kib then return tonumber(kib) end
  end
end

local function port(url) return { port = tonumber(url:match("(%d+)$")) } end

local function form(fields)
  local list = {}
  for name, value in pairs(fields) do list[#list + 1] = { name, value } end
  return require("fleet.sim.text").query(list)
end

local FORM = { ["Content-Type"] = "application/x-www-form-urlencoded" }

local function token(fields)
  fields.client_id = "c"
  return json.decode(client.request(port(sim.token_url), "POST", "/oauth2/v3/token", FORM, form(fields)).body)
end

local function login()
  local reply = client.request(port(sim.auth_url), "GET", "/oauth2/v3/authorize?" .. form({
    response_type = "code", client_id = "c", redirect_uri = "http://a/c", state = "s",
    scope = "openid offline_access vehicle_device_data vehicle_cmds energy_device_data",
  }))
  return token({ grant_type = "authorization_code", client_secret = "s", audience = sim.base_url, redirect_uri = "http://a/c",
    code = reply.headers.location:match("code=([^&]+)") })
end

local CALLS = {
  { "GET", "/api/1/vehicles" }, { "GET", "/api/1/vehicles/" .. VIN }, { "GET", "/api/1/products" },
  { "POST", "/api/1/vehicles/" .. VIN .. "/command/honk_horn", "{}" },
  { "POST", "/api/1/vehicles/" .. VIN .. "/command/set_charge_limit", '{"percent":70}' },
  { "GET", "/api/1/energy_sites/2252147638651584/live_status" }, { "GET", "/nothing" },
}

local warm, done = nil, 0
local function worker()
  local pair = login()
  local c = client.connect(port(sim.base_url))
  while done < total do
    done = done + 1
    if done == math.floor(total / 4) then
      collectgarbage()
      warm = resident_kib()
    end
    if done % 1000 == 0 then sim:advance(600) end
    if done % 50 == 0 then
      pair = token({ grant_type = "refresh_token", refresh_token = pair.refresh_token })
      sim:fault("error_500")
    end
    local call = CALLS[done % #CALLS + 1]
    local headers = { Authorization = "Bearer " .. pair.access_token, ["Content-Type"] = "application/json" }
    assert(client.exchange(c, client.bytes(call[1], call[2], headers, call[3])), "the connection ended")
  end
  c:close()
end

local workers = {}
for i = 1, 16 do workers[i] = worker end
loop:all(workers, 7200)
collectgarbage()
local now = resident_kib()
sim:close()
print(("%d calls, resident %d KiB after a quarter, %d KiB at the end"):format(done, warm, now))
assert(now < warm * 1.05 + 1024, "memory grows")
