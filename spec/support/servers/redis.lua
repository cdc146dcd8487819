-- redis-server on a Unix socket, for specs and benches: a temporary directory below build/, gone with the spec.
--
-- redis.start { settings = { "appendonly yes", … }, tls =, directory =, port = } -> { address, path, directory, stop(), kill(), again() }
--   settings   lines of its configuration; without them it keeps nothing
--   tls        serves TLS on a port, with the certificates of nginx.certificates: `address` is rediss://localhost:port
--   port       plain TCP on 127.0.0.1, too: `tcp`
-- kill() ends it as a power cut would its process; again() starts it with what its directory holds.

local files = require "spec.support.harness.files"
local nginx = require "spec.support.servers.nginx"
local process = require "spec.support.harness.process"

local M = {}

--- Why it cannot be used, or nil.
function M.missing()
  if not os.execute("command -v redis-server >/dev/null") then return "redis-server is not installed" end
  if not pcall(require, "fleet.redis") then return "fleet/redis.so was not built: hiredis is missing" end
end

local serve = [[
cd "$(dirname "$0")"
redis-server ./redis.conf >>server.log 2>&1 &
server=$!
echo $server >pid
tries=0
until redis-cli -s ./socket $CLI ping 2>/dev/null | grep -q -e PONG -e NOAUTH; do
  tries=$((tries + 1)); [ $tries -lt 1500 ] || exit 1; sleep 0.02
done
echo ready >"$1"
cat >/dev/null
kill $server 2>/dev/null
wait $server
]]

local function configuration(options, directory, port)
  local lines = { "unixsocket ./socket", "unixsocketperm 600", "daemonize no", "dir .", "loglevel warning", "port 0" }
  if not options.settings then table.insert(lines, "save \"\"") end
  for _, line in ipairs(options.settings or {}) do table.insert(lines, line) end
  if options.tls then
    for _, line in ipairs { "tls-port " .. port, "tls-cert-file ./server.pem", "tls-key-file ./server.key", "tls-ca-cert-file ./ca.pem",
      "tls-auth-clients no" } do table.insert(lines, line) end
  elseif port then
    table.insert(lines, "port " .. port)
    table.insert(lines, "bind 127.0.0.1")
  end
  files.write(directory .. "/redis.conf", table.concat(lines, "\n") .. "\n")
end

function M.start(options)
  options = options or {}
  local directory = options.directory or process.temporary("redis")
  local port = (options.tls or options.port) and (options.port ~= true and options.port or nginx.free_port()) or nil
  if options.tls then nginx.certificates(directory) end
  configuration(options, directory, port)
  files.write(directory .. "/serve", serve)
  local server = { directory = directory, path = directory .. "/socket", port = port }
  server.address = options.tls and "rediss://localhost:" .. port or "redis+unix:" .. server.path
  server.tcp = port and "redis://127.0.0.1:" .. port
  local running
  local function pid()
    return files.read(directory .. "/pid"):match("%d+")
  end
  function server.again()
    running = process.start("sh " .. process.quote(directory .. "/serve"))
  end
  function server.kill()
    process.execute("kill -9 " .. pid())
    running.stop()
  end
  function server.signal(name)
    process.execute("kill -" .. name .. " " .. pid())
  end
  function server.stop()
    running.stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  --- What redis-cli prints for a command.
  function server.cli(command)
    local pipe = io.popen("redis-cli -s " .. process.quote(server.path) .. " " .. command)
    local text = pipe:read("a")
    pipe:close()
    return text
  end
  server.again()
  return server
end

return M
