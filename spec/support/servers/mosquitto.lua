-- A Mosquitto broker on loopback, for specs: gone with the spec.
--
-- mosquitto.start { tls =, password =, port = } -> { port, path, directory, signal(name), stop() }
--   tls        "server" or "other": the certificate, see nginx.certificates; the authority is <directory>/ca.pem
--   password   anna's; without it everybody is let in
--   port       to come back at; a free one otherwise
-- path is a Unix socket of the same broker.

local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"

local M = {}

local files = require "spec.support.harness.files"
local read, write = files.read, files.write

--- Whether there is one to start.
function M.installed()
  return os.execute("command -v mosquitto >/dev/null && command -v mosquitto_passwd >/dev/null") == true
end

--- What a pending spec says.
M.missing = "mosquitto is not installed"

local script = [[
mosquitto -c "$2/mosquitto.conf" >/dev/null 2>&1 & pid=$!
echo $pid >"$2/pid"
tries=0
until grep -q "running$" "$2/log" 2>/dev/null; do tries=$((tries+1)); [ $tries -lt 1500 ] || { cat "$2/log" >&2; exit 1; }; sleep 0.02; done
echo ready >"$1"
read -r line
kill $pid 2>/dev/null
kill -CONT $pid 2>/dev/null
wait $pid]]

local function configuration(given, port, directory)
  local lines = {
    "user root", "persistence false", "log_dest file " .. directory .. "/log", "allow_anonymous " .. tostring(not given.password),
    "max_queued_messages 100000", "listener " .. port .. " 127.0.0.1",
  }
  if given.tls then
    for option, file in pairs { cafile = "ca.pem", certfile = given.tls .. ".pem", keyfile = given.tls .. ".key" } do
      lines[#lines + 1] = option .. " " .. directory .. "/" .. file
    end
  end
  if given.password then lines[#lines + 1] = "password_file " .. directory .. "/passwords" end
  lines[#lines + 1] = "listener 0 " .. directory .. "/socket"
  return table.concat(lines, "\n") .. "\n"
end

-- Made once for all that a run starts: a key and its certificate take openssl a while.
local certificates
local names = { "ca.pem", "stranger.pem", "server.pem", "server.key", "other.pem", "other.key" }

local function write_certificates(directory)
  if certificates then
    for name, text in pairs(certificates) do write(directory .. "/" .. name, text) end
    return
  end
  nginx.certificates(directory)
  certificates = {}
  for _, name in ipairs(names) do certificates[name] = read(directory .. "/" .. name) end
end

function M.start(given)
  given = given or {}
  local directory, port = process.temporary("mosquitto"), given.port or nginx.free_port()
  if given.tls then write_certificates(directory) end
  if given.password then
    process.execute(("mosquitto_passwd -c -b %s anna %s"):format(process.quote(directory .. "/passwords"), process.quote(given.password)))
  end
  write(directory .. "/mosquitto.conf", configuration(given, port, directory))
  local running = process.start("sh -c " .. process.quote(script) .. " sh", directory)
  local broker = { port = port, path = directory .. "/socket", directory = directory }
  function broker.signal(name)
    process.execute("kill -" .. name .. " " .. string.match(read(directory .. "/pid"), "%d+"))
  end
  function broker.stop()
    running.stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  return broker
end

return M
