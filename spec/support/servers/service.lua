-- `fleet sim` in a process of its own, which ends with the spec: the service as a program meets it.
--
--   local service = require("spec.support.servers.service").start(garage, "--fault name:2")
--   service.addresses    base_url, auth_url, token_url, control_url, control_token
--   service:client { … }            a client of it; app, secret and addresses are filled in
--   service:sign_in(client)         consents as a person would
--   service:control { advance = 5 } → its answer
--   service:stop()

local M = {}

local script = [[
announce="$0"; garage="$1"
%s %s lua/fleet/cli/fleet sim --port 0 --garage "$garage" %s >"$announce" &
simulator=$!
cat >/dev/null
kill $simulator 2>/dev/null
wait $simulator 2>/dev/null
]]

-- A sanitizer that the specs run with is for the simulator too.
local preload = os.getenv "LD_PRELOAD"
local ours = preload and "LD_PRELOAD='" .. preload .. "'" or ""

local methods = {}
methods.__index = methods

function methods:stop()
  self.process.stop()
  os.execute("rm -rf " .. self.directory)
end

function methods:client(more)
  local options = {
    base_url = self.addresses.base_url, auth_url = self.addresses.auth_url,
      token_url = self.addresses.token_url,
    client_id = "app", client_secret = "app-secret", redirect_uri = "https://app.example.com/callback",
    scopes = { "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location",
      "vehicle_cmds",
      "vehicle_charging_cmds", "energy_device_data", "energy_cmds" },
  }
  for name, value in pairs(more or {}) do options[name] = value end
  return require("fleet").new(options)
end

function methods.sign_in(_, client, options)
  local address, pending = assert(client:authorize_url(options))
  assert(client:authorize(assert(require("fleet.sim.test_browser").consent(address)), pending))
  return client
end

function methods:control(order)
  local cjson = require "cjson"
  local port = tonumber(string.match(self.addresses.control_url, ":(%d+)/"))
  local reply = require("spec.support.harness.miniclient").request({ port = port },
    order and "POST" or "GET", string.match(self.addresses.control_url, "//[^/]+(/.*)$"),
    { Authorization = "Bearer " .. self.addresses.control_token, ["Content-Type"] = "application/json" },
    order and cjson.encode(order) or nil)
  assert(reply and reply.status == 200, reply and reply.body)
  return cjson.decode(reply.body)
end

-- words: further arguments of `fleet sim`, as the shell takes them.
function M.start(garage, words)
  local cjson, process = require "cjson", require "spec.support.harness.process"
  local directory = process.temporary("garage")
  local path = directory .. "/garage.json"
  local file = assert(io.open(path, "w"))
  file:write(cjson.encode(garage or {}))
  file:close()
  local run = "sh -c " .. process.quote(string.format(script, ours, process.lua, words or ""))
  local child = process.start("cd " .. process.quote(process.root) .. " && " .. run, path)
  return setmetatable({ process = child, directory = directory, addresses = cjson.decode(child.line) }, methods)
end

return M
