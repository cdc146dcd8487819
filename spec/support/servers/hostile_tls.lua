-- A TLS server that misbehaves: `openssl s_server`, whose plain side is served here, record by record.
-- hostile_tls.start() -> { url, port, ca_file, later(), stop() }. Paths:
--   /answer     "done"
--   /later      "asked", and by later() a reply that nobody asked for
--   /record     "asked", and such a reply in the same TLS record as the end of the body

local M = {}

local files = require "spec.support.harness.files"
local process = require "spec.support.harness.process"

-- Whether bytes have come that nobody has read, to any socket of this process: /proc/net/tcp names them by inode.
local function unread()
  local id = files.read("/proc/self/stat"):match("%d+") -- a shell's $PPID may be another shell
  local pipe = io.popen(("ls -l /proc/%s/fd; cat /proc/net/tcp"):format(id))
  local own, found = {}, false
  for line in pipe:lines() do
    local inode = line:match("socket:%[(%d+)%]")
    if inode then own[inode] = true end
    local waiting, of = line:match("^ *%d+: %x+:%x+ %x+:%x+ %x+ %x+:(%x+) %S+ %S+ +%d+ +%d+ (%d+) ")
    found = found or waiting and own[of] and tonumber(waiting, 16) > 0
  end
  pipe:close()
  return found
end

function M.start()
  local nginx = require "spec.support.servers.nginx"
  local directory, port = process.temporary("tls"), nginx.free_port()
  nginx.certificates(directory)
  local script = process.quote(process.root .. "/spec/support/servers/hostile_tls.lua")
  files.write(directory .. "/serve", ([[
cd "$(dirname "$0")" && mkfifo in out
openssl s_server -quiet -accept 127.0.0.1:%d -cert server.pem -key server.key <in >out 2>s_server.log &
server=$!
lua5.4 %s >in <out &
answers=$!
until openssl s_client -connect 127.0.0.1:%d </dev/null >/dev/null 2>&1; do sleep 0.02; done
echo ready >"$1"
cat >/dev/null
kill $server $answers
]]):format(port, script, port))
  local server = process.start("sh " .. process.quote(directory .. "/serve"))
  local stop = server.stop
  server.url, server.port, server.ca_file = "https://localhost:" .. port, port, directory .. "/ca.pem"
  --- Sends what /later still holds, and waits until it is here.
  function server.later()
    process.execute("touch " .. process.quote(directory .. "/go"))
    for _ = 1, 1500 do
      if unread() then return end
      process.execute("sleep 0.01")
    end
    error "nothing has arrived"
  end
  function server.stop()
    stop()
    process.execute("rm -rf " .. process.quote(directory))
  end
  return server
end

if ... == "spec.support.servers.hostile_tls" then return M end

-- ---- the plain side: requests on standard input, replies on standard output, a record for each flush ----

local function write(text)
  io.write(text)
  io.flush()
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
  os.execute("until rm go 2>/dev/null; do sleep 0.01; done")
  write(head("unasked!") .. "unasked!")
end

function acts.record()
  write(head("asked"))
  os.execute("sleep 0.05")
  write("asked" .. head("unasked!") .. "unasked!")
end

local act, length
for line in io.lines() do
  local name = line:match("^%u+ /(%w+) HTTP")
  if name then act, length = acts[name], 0 end
  length = tonumber(line:match("^[Cc]ontent%-[Ll]ength: (%d+)")) or length
  if line == "\r" and act then
    if length > 0 then io.read(length) end
    act()
    act = nil
  end
end
