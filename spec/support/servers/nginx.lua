-- nginx on loopback, for specs and benches: one worker, a temporary directory below build/, gone with the spec.
--
-- nginx.start { tls =, body =, keepalive = } -> { url, unix, directory, stop() }
--   tls        "server" or "other": serves https with this certificate, see nginx.certificates
--   body       what /file gives, 1 KB of JSON by default
--   keepalive  how long an idle connection lives, "60s" by default
-- Paths: /file, /api/… (the same), …/command/… (a command that was done),
-- /connection (the number of the connection and that of the request on it).

local process = require "spec.support.harness.process"

local M = {}

local write = require("spec.support.harness.files").write

-- About 1 KB, with the shapes that replies have: strings, integers, fractions, booleans, null, nesting.
local function sample()
  local entries = {}
  for i = 1, 8 do
    entries[i] = ('{"id":%d,"vin":"5YJ3E1EA0KF00000%d","state":"online","battery_level":%d.5,"locked":true,'
      .. '"note":null}'):format(1000000 + i, i, 50 + i)
  end
  return '{"response":[' .. table.concat(entries, ",") .. '],"count":8}'
end

local function openssl(directory, arguments)
  process.execute(("cd %s && openssl %s 2>openssl.log"):format(process.quote(directory), arguments))
end

-- Two authorities, `ca` and `stranger`, and two certificates of the first: `server` for localhost and 127.0.0.1,
-- `other` for another name. Each is <name>.pem and <name>.key.
function M.certificates(directory)
  local function run(command, name)
    openssl(directory, (command:gsub("NAME", name)))
  end
  local request = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=NAME -keyout NAME.key "
  run(request .. "-x509 -days 2 -out NAME.pem", "ca")
  run(request .. "-x509 -days 2 -out NAME.pem", "stranger")
  for name, names in pairs { server = "DNS:localhost,IP:127.0.0.1", other = "DNS:elsewhere.invalid" } do
    write(directory .. "/" .. name .. ".ext", "subjectAltName=" .. names .. "\n")
    run(request .. "-out NAME.csr", name)
    run("x509 -req -days 2 -in NAME.csr -CA ca.pem -CAkey ca.key -CAcreateserial -extfile NAME.ext -out NAME.pem",
      name)
  end
end

function M.free_port()
  local socket = require "cqueues.socket"
  local listener = assert(socket.listen { host = "127.0.0.1", port = 0 })
  assert(listener:listen())
  local _, _, port = listener:localname()
  listener:close()
  return port
end

local configuration = [[
user root; daemon on; worker_processes 1; pid nginx.pid; error_log error.log; worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_requests 100000000; keepalive_timeout KEEPALIVE; default_type application/json; tcp_nodelay on;
  server {
    listen 127.0.0.1:PORT SSL; listen unix:DIRECTORY/socket; server_name localhost; CERTIFICATE
    location = /file { alias DIRECTORY/file.json; open_file_cache max=10; }
    location ~ /command/ { return 200 '{"response":{"result":true,"reason":""}}'; }
    location ~ ^/api/ { alias DIRECTORY/file.json; open_file_cache max=10; }
    location = /connection { return 200 "$connection $connection_requests"; }
  }
}
]]

function M.start(options)
  options = options or {}
  local directory, port = options.directory or process.temporary("nginx"), M.free_port()
  if options.tls then M.certificates(directory) end
  write(directory .. "/file.json", options.body or sample())
  local values = { KEEPALIVE = options.keepalive or "60s", PORT = port, DIRECTORY = directory }
  local certificate = "ssl_certificate NAME.pem; ssl_certificate_key NAME.key;"
  values.SSL = options.tls and "ssl" or ""
  values.CERTIFICATE = options.tls and certificate:gsub("NAME", options.tls) or ""
  write(directory .. "/nginx.conf", (configuration:gsub("%u+", values)))
  write(directory .. "/serve", [[
cd "$(dirname "$0")"
nginx -p . -e error.log -c nginx.conf >>error.log 2>&1 || exit 1
echo ready >"$1"
cat >/dev/null
kill "$(cat nginx.pid)"
]])
  local server = process.start("sh " .. process.quote(directory .. "/serve"))
  local stop = server.stop
  server.directory = directory
  server.url = (options.tls and "https://localhost:" or "http://127.0.0.1:") .. port
  server.unix = directory .. "/socket"
  function server.stop()
    stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  return server
end

return M
