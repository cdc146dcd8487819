-- A TLS server that misbehaves: `openssl s_server`, whose plain side is served here, record by record.
-- hostile_tls.start() -> { url, port, ca_file, sent(id), stop() }. Paths:
--   /answer          "done"
--   /later/<id>      "asked", and after a while a reply that nobody asked for
--   /record/<id>     "asked", and such a reply in the same TLS record as the end of the body

local M = {}

local process = require "spec.support.harness.process"

function M.start()
  local nginx = require "spec.support.servers.nginx"
  local directory, port = process.temporary("tls"), nginx.free_port()
  nginx.certificates(directory)
  local script = process.quote(process.root .. "/spec/support/servers/hostile_tls.lua")
  require("spec.support.harness.files").write(directory .. "/serve", ([[
cd "$(dirname "$0")" && mkfifo in out
openssl s_server -quiet -accept 127.0.0.1:%d -cert server.pem -key server.key <in >out 2>s_server.log &
server=$!
lua5.4 %s . >in <out &
answers=$!
until openssl s_client -connect 127.0.0.1:%d </dev/null >/dev/null 2>&1; do sleep 0.02; done
echo ready >"$1"
cat >/dev/null
kill $server $answers
]]):format(port, script, port))
  local server = process.start("sh " .. process.quote(directory .. "/serve"))
  local stop = server.stop
  server.url, server.port, server.ca_file = "https://localhost:" .. port, port, directory .. "/ca.pem"
  -- Waits until what belongs to the id has been written.
  function server.sent(id)
    process.execute(("until [ -e %s/sent.%s ]; do sleep 0.01; done; sleep 0.05"):format(process.quote(directory), id))
  end
  function server.stop()
    stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  return server
end

if ... == "spec.support.servers.hostile_tls" then return M end

-- ---- the plain side: requests on standard input, replies on standard output, a record for each flush ----

local directory = ...

local function write(text)
  io.write(text)
  io.flush()
end

local function pause()
  os.execute("sleep 0.05")
end

local function head(body)
  return "HTTP/1.1 200 Fine\r\nContent-Length: " .. #body .. "\r\n\r\n"
end

local acts = {}

function acts.answer()
  write(head("done") .. "done")
end

function acts.later()
  write(head("asked") .. "asked")
  pause()
  write(head("unasked!") .. "unasked!")
end

function acts.record()
  write(head("asked"))
  pause()
  write("asked" .. head("unasked!") .. "unasked!")
end

local act, id, length
for line in io.lines() do
  local name, rest = line:match("^%u+ /(%w+)/?(%w*) HTTP")
  if name then act, id, length = acts[name], rest, 0 end
  length = tonumber(line:match("^[Cc]ontent%-[Ll]ength: (%d+)")) or length
  if line == "\r" and act then
    if length > 0 then io.read(length) end
    act()
    io.open(directory .. "/sent." .. id, "w"):close()
    act = nil
  end
end
