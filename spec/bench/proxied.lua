-- What the benches of the proxy share: a key and its directory, the two programs in front of the same vehicles, and their callers.

local core = require "fleet.core"
local cqueues = require "cqueues"
local miniclient = require "spec.support.harness.miniclient"

local M = {}

local build = os.getenv("FLEET_BUILD") or "build/plain"

local directory = os.tmpname()
os.remove(directory)
assert(core.directory_make(directory))
M.directory = directory
M.key = core.key.generate()
assert(M.key:save(directory .. "/key.pem"))
M.certificates = directory .. "/certificates"
assert(require("fleet.telemetry.private_authority").issue(M.certificates, "localhost"))

--- Takes the directory away.
function M.remove()
  os.execute("rm -rf " .. directory)
end

--- The programs by name, each for vehicles at an address: its command, and the function that reads its port from its first line.
M.subjects = {}

--- The program in C of spec/bench/proxy.c.
function M.subjects.yardstick(url)
  return string.format("%s/bench/proxy %s %s/key.pem", build, url, directory), tonumber
end

--- `fleet proxy` as its page has it for any program on this machine: a file store, a token that it holds, a secret of the callers,
--- an audit, and a service over TLS. LUA names its interpreter.
function M.subjects.proxy(url)
  local file = assert(io.open(directory .. "/config.json", "w"))
  file:write(core.json_encode {
    base_url = url, key = directory .. "/key.pem", token = "t", commands = "signed", store = directory .. "/store",
    ca_file = M.certificates .. "/authority.pem",
  })
  file:close()
  os.execute("chmod 600 " .. directory .. "/config.json")
  return string.format("env XDG_STATE_HOME=%s %s lua/fleet/cli/fleet proxy --listen 127.0.0.1:0 --config %s/config.json --audit %s/audit",
    directory, os.getenv("LUA") or "lua5.4", directory, directory), function(line)
      local proxy = core.json_decode(line)
      local secret = assert(io.open(proxy.secret_file))
      M.secret = secret:read("l")
      secret:close()
      return proxy.port
    end
end

M.secret = "t" -- of the callers

local request = "POST /api/1/vehicles/5YJ3FLEE9RF%06d/command/adjust_volume HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer %s\r\n"
  .. "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"

-- Every command has another body.
local function request_of(vehicle, port, number)
  local body = string.format('{"volume":%.6f}', number % 1000000 / 100000)
  return string.format(request, vehicle, port, M.secret, #body, body)
end

--- So many commands of so many callers, each over a connection of its own that stays open and for its own vehicle. Returns the
--- seconds of each, sorted, and of all.
function M.load(port, callers, count)
  local loop, times, left = cqueues.new(), {}, count
  local function caller(i)
    local s = miniclient.connect { port = port }
    while left > 0 do
      left = left - 1
      local before = cqueues.monotime()
      local reply = miniclient.exchange(s, request_of(i, port, left))
      assert(reply and reply.status == 200, reply and reply.body or "no answer")
      times[#times + 1] = cqueues.monotime() - before
    end
    s:close()
  end
  for i = 1, callers do loop:wrap(caller, i) end
  local before = cqueues.monotime()
  assert(loop:loop())
  table.sort(times)
  return times, cqueues.monotime() - before
end

return M
