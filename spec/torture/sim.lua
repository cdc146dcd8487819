-- A simulator in a process of its own under very many requests of every kind, the good ones and the others: it answers all, and its
-- memory stays what it was. `make torture` sends a million, torture_spec.lua some thousands.
local cjson = require "cjson"
local client = require "spec.support.harness.miniclient"
local core = require "fleet.core"
local flood = require "spec.support.servers.flood"
local sims = require "spec.support.servers.sim_process"
local text = require "fleet.sim.text"

local M = {}

local OLD = "5YJSFLEE9KF000002"
local FORM = { ["Content-Type"] = "application/x-www-form-urlencoded" }

local function port_of(url)
  return tonumber(url:match(":(%d+)$"))
end

-- ---- signing in, by hand: the client of the module is not what is measured ----

local function code_of(sim)
  local reply = client.request({ port = port_of(sim.auth_url) }, "GET", "/oauth2/v3/authorize?" .. text.query {
    { "response_type", "code" }, { "client_id", "c" }, { "redirect_uri", "http://app/cb" }, { "state", "s" },
    { "scope", "openid offline_access vehicle_device_data vehicle_cmds energy_device_data" },
  })
  return text.form(reply.headers.location:match("%?(.*)$")).code
end

local function exchange(sim, fields)
  local reply = client.request({ port = port_of(sim.token_url) }, "POST", "/oauth2/v3/token", FORM, text.query(fields))
  assert(reply.status == 200, reply.body)
  return cjson.decode(reply.body)
end

local function sign_in(sim)
  return exchange(sim, {
    { "grant_type", "authorization_code" }, { "client_id", "c" }, { "client_secret", "x" }, { "code", code_of(sim) },
    { "audience", sim.base_url }, { "redirect_uri", "http://app/cb" },
  })
end

-- ---- the requests ----

local function command(name, body)
  return { "POST", "/api/1/vehicles/" .. OLD .. "/command/" .. name, body }
end

local function kinds()
  local vehicle = "/api/1/vehicles/" .. OLD
  return {
    { "GET", "/api/1/vehicles" }, { "GET", vehicle }, { "GET", vehicle .. "/vehicle_data" }, { "GET", "/api/1/products" },
    { "POST", "/api/1/vehicles/fleet_status", cjson.encode { vins = { OLD } } }, { "GET", vehicle .. "/nearby_charging_sites" },
    { "GET", "/api/1/energy_sites/2252147638651584/live_status" }, command("set_charge_limit", '{"percent":60}'),
    command("set_charge_limit", '{"percent":70}'), command("honk_horn", ""), command("add_charge_schedule", cjson.encode {
      id = 1, days_of_week = "Mon", enabled = true, start_enabled = true, end_enabled = false, lat = 1, lon = 2 }),
    { "POST", vehicle .. "/invitations" }, -- refused from the thousandth on
    { "GET", "/api/1/nowhere/" .. ("x"):rep(500) }, { "DELETE", "/api/1/vehicles" }, command("set_charge_limit", '{"percent":'),
    command("fly", "{}"),
  }
end

local function batch_of(token)
  local list = {}
  for i, kind in ipairs(kinds()) do
    list[i] = client.bytes(kind[1], kind[2], { Authorization = "Bearer " .. token, ["Content-Type"] = "application/json" }, kind[3])
  end
  list[#list + 1] = client.bytes("GET", "/api/1/vehicles", { Authorization = "Bearer made.up.token" })
  return list
end

-- ---- figures ----

local contents = require("spec.support.harness.files").read

local function megabytes(pid)
  return tonumber(contents("/proc/" .. pid .. "/status"):match("VmRSS:%s*(%d+) kB")) / 1024
end

local function cpu_seconds(pid)
  local user, system = contents("/proc/" .. pid .. "/stat"):match("%) %S+ " .. ("%S+ "):rep(10) .. "(%d+) (%d+)")
  return (tonumber(user) + tonumber(system)) / 100
end

-- Ten minutes pass, somebody looks, a call fails, a code is given that nobody fetches; a pair is refreshed and the old one forgotten.
local function now_and_then(sim)
  local token = { Authorization = "Bearer " .. sim.control_token }
  for _, order in ipairs { '{"advance":600}', '{"fault":"error_500"}' } do
    assert(client.request({ port = port_of(sim.base_url) }, "POST", "/control", token, order).status == 200)
  end
  client.request({ port = port_of(sim.base_url) }, "GET", "/control", token)
  client.request({ port = port_of(sim.base_url) }, "GET", "/garage.json")
  code_of(sim)
  local pair = exchange(sim, {
    { "grant_type", "refresh_token" }, { "client_id", "c" }, { "refresh_token", sign_in(sim).refresh_token },
  })
  return batch_of(pair.access_token)
end

--- Returns { requests =, seconds =, cpu =, early = MB after a fifth, late = MB at the end, statuses = }.
function M.run(options)
  local sim, started = sims.start("--log /dev/null"), core.clock()
  local early, batches = nil, 0
  local ok, result = pcall(function()
    local batch = now_and_then(sim)
    local seen = flood.run(port_of(sim.base_url), function() return batch end, {
      count = options.requests,
      progress = function(done)
        batches = batches + 1
        if batches % 50 == 0 then batch = now_and_then(sim) end
        if not early and done >= options.requests / 5 then early = megabytes(sim.pid) end
      end,
    })
    return { requests = options.requests, statuses = seen, early = early, late = megabytes(sim.pid), cpu = cpu_seconds(sim.pid) }
  end)
  sim.stop()
  if not ok then error(result, 0) end
  result.seconds = core.clock() - started
  return result
end

--- Raises when memory grew or a reply was none that the requests ask for.
function M.check(figures)
  local wanted = { [200] = true, [400] = true, [401] = true, [404] = true, [405] = true, [500] = true }
  for status in pairs(figures.statuses) do assert(wanted[status], "HTTP " .. status .. " came") end
  local grown = figures.late - figures.early
  assert(grown < math.max(2, figures.early * 0.1), ("memory grew from %.1f to %.1f MB"):format(figures.early, figures.late))
end

if arg and arg[0] and arg[0]:find("spec/torture/sim.lua$") then
  local figures = M.run { requests = tonumber(arg[1] or "1000000") }
  print(("%d requests in %.0f s; the simulator's CPU %.0f s, %.0f us each; memory %.1f MB after a fifth, %.1f MB at the end"):format(
    figures.requests, figures.seconds, figures.cpu, figures.cpu / figures.requests * 1e6, figures.early, figures.late))
  M.check(figures)
end

return M
