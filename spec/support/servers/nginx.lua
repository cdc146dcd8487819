-- nginx on loopback, for specs and benches: one worker, a temporary directory below build/, gone with the spec.
--
-- nginx.start { tls =, http2 =, requests =, body =, keepalive = } -> { url, unix, directory, logged(lines), stop() }
--   tls        "server" or "other": serves https with this certificate, see nginx.certificates
--   http2      true: offers HTTP/2 as well; what was asked is logged
--   logs       true: what was asked is logged
--   requests   how many a connection takes before it is ended, 100000000 by default
--   body       what /file gives, 1 KB of JSON by default
--   keepalive  how long an idle connection lives, "60s" by default
-- Paths: /file, /api/… (the same), …/command/… (a command that was done), /slow (a byte a second), /paced (takes a second or
-- two), /two_lengths, /headers (large ones), /connection (the number of the connection and that of the request on it).
-- logged(lines) waits for so many requests and gives those since it was last called, a line each: protocol, method, path,
-- connection, "r" where its TLS session was resumed.

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

-- Below the ports that the kernel gives to connections and to listeners that name none: between now and the start of the
-- server nobody gets it by accident.
local lowest, ports = 20000, 12000

local function random_port()
  local file = assert(io.open("/dev/urandom", "rb"))
  local high, low = string.byte(file:read(2), 1, 2)
  file:close()
  return lowest + (high * 256 + low) % ports
end

function M.free_port()
  local socket = require "cqueues.socket"
  for _ = 1, 100 do
    local port = random_port()
    local listener = assert(socket.listen { host = "127.0.0.1", port = port })
    local free, listens = pcall(listener.listen, listener) -- it raises where the port is taken
    listener:close()
    if free and listens then return port end
  end
  error("no port is free")
end

local configuration = [[
user root; daemon on; worker_processes 1; pid nginx.pid; error_log error.log; worker_rlimit_nofile 8192;
events { worker_connections 4096; }
http {
  log_format asked '$server_protocol $request_method $request_uri $connection $ssl_session_reused';
  access_log LOG; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi;
  uwsgi_temp_path uwsgi; scgi_temp_path scgi;
  keepalive_requests REQUESTS; keepalive_timeout KEEPALIVE; default_type application/json; tcp_nodelay on;
  server {
    ssl_session_cache shared:sessions:1m; ssl_protocols TLSv1.2 TLSv1.3;
    listen 127.0.0.1:PORT SSL PROTOCOL; listen unix:DIRECTORY/socket; server_name localhost; CERTIFICATE
    location = /file { alias DIRECTORY/file.json; open_file_cache max=10; }
    location ~ /command/ { return 200 '{"response":{"result":true,"reason":""}}'; }
    location ~ ^/api/ { alias DIRECTORY/file.json; open_file_cache max=10; }
    location = /slow { limit_rate 1; alias DIRECTORY/file.json; }
    location = /paced { limit_rate 600; alias DIRECTORY/file.json; }
    location = /two_lengths { add_header Content-Length 1; return 200 "two"; }
    location = /headers { LARGE return 200 "headers"; }
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
  values.REQUESTS, values.PROTOCOL = options.requests or "100000000", options.http2 and "http2" or ""
  values.LOG = (options.http2 or options.logs) and "asked.log asked" or "off"
  values.LARGE = ('add_header X-Large "%s";'):format(string.rep("x", 3900)):rep(20)
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
  local offset = 0
  function server.logged(lines)
    local looks, text = 0
    repeat -- nginx logs a request after its reply
      local file = assert(io.open(directory .. "/asked.log"))
      file:seek("set", offset)
      text = file:read "*a"
      file:close()
      local _, count = text:gsub("\n", "")
      looks = looks + 1
      assert(looks < 1500, "nginx was asked less:\n" .. text)
      if count < lines then process.execute "sleep 0.02" end
    until count >= lines
    offset = offset + #text
    return text
  end
  function server.stop()
    stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  return server
end

return M
