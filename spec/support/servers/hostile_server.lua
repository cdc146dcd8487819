-- A misbehaving HTTP server in its own process. What it does is said by the path; what it carried out it counts.
-- `lua5.4 spec/support/servers/hostile_server.lua <announce> [unix path]` serves until standard input ends and writes its ports,
-- one line, to the file <announce>; `require("spec.support.servers.hostile_server").start(unix path or nil)` does that from a spec.

local M = {}

-- ---- the spec's side ----

local process = require "spec.support.harness.process"

function M.start(unix_path)
  local script = process.root .. "/spec/support/servers/hostile_server.lua"
  local server = process.start("lua5.4 " .. process.quote(script), unix_path)
  local port, rude_port, deaf_port, refused_port = server.line:match("^(%d+) (%d+) (%d+) (%d+)$")
  server.port, server.url = tonumber(port), "http://127.0.0.1:" .. port
  server.rude_url = "http://127.0.0.1:" .. rude_port -- closes every connection before it reads
  server.deaf_url = "http://127.0.0.1:" .. deaf_port -- takes connections and never reads
  server.refused_url = "http://127.0.0.1:" .. refused_port -- no server listens there
  function server.count(id) -- how often it was carried out, asked by a connection of its own
    local client = require "spec.support.harness.miniclient"
    return tonumber(client.request({ port = tonumber(port) }, "GET", "/count/" .. id, {}).body)
  end
  return server
end

if ... == "spec.support.servers.hostile_server" then return M end

-- ---- the server ----

local cqueues = require "cqueues"
local socket = require "cqueues.socket"

local executed, connections, gathered = {}, 0, 0

local function execute(id)
  executed[id] = (executed[id] or 0) + 1
end

local function gzip(size)
  local pipe = io.popen("head -c " .. size .. " /dev/zero | gzip -c")
  local data = pipe:read("a")
  pipe:close()
  return data
end

local function reply(c, status, headers, body)
  local head = { "HTTP/1.1 " .. status .. " Whatever" }
  for _, line in ipairs(headers or {}) do head[#head + 1] = line end
  head[#head + 1] = "Content-Length: " .. #body
  c:write(table.concat(head, "\r\n"), "\r\n\r\n", body)
end

-- Each takes the connection, the rest of the path, and the request; true closes the connection.
local acts = {}

function acts.ok(c)
  reply(c, 200, nil, "fine")
end

function acts.echo(c, _, request)
  reply(c, 200, nil, request.head .. "\n" .. request.body)
end

function acts.count(c, id)
  reply(c, 200, nil, tostring(executed[id] or 0))
end

function acts.connections(c)
  reply(c, 200, nil, tostring(connections))
end

-- The first request on a connection is answered; a later one is carried out and the connection dropped.
function acts.drop_if_reused(c, id, request)
  execute(id)
  if request.number > 1 then return true end
  reply(c, 200, nil, "done")
end

function acts.drop(_, id)
  execute(id)
  return true
end

function acts.answer(c, id)
  execute(id)
  reply(c, 200, nil, "done")
end

local unasked = {
  ["200"] = "HTTP/1.1 200 Fine\r\nContent-Length: 8\r\n\r\nunasked!",
  ["408"] = "HTTP/1.1 408 Too Late\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
  ["half"] = "HTTP/1.1 200 Fi",
  ["close"] = "",
}

-- Answers, and then writes what nobody asked for: at once, or after the client has read its reply. Counts when it is out.
function acts.unasked(c, rest)
  local when, what, id = rest:match("^(%w+)/(%w+)/(%w+)$")
  reply(c, 200, nil, "asked")
  if when == "later" then
    c:flush()
    cqueues.sleep(0.05)
  end
  c:write(unasked[what])
  c:flush()
  if what == "close" then c:shutdown("w") end
  execute(id)
end

function acts.truncated(c)
  c:write("HTTP/1.1 200 Fine\r\nContent-Length: 100\r\n\r\nonly this")
  return true
end

function acts.truncated_chunks(c)
  c:write("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
  return true
end

function acts.trickle(c)
  execute "trickle"
  c:write("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n")
  repeat cqueues.sleep(0.01) until not (c:write("1\r\nx\r\n") and c:flush())
  return true
end

function acts.trailers(c)
  c:write("HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\nX-True: 1\r\n\r\n",
    "2\r\nok\r\n0\r\nX-Trailer: 1\r\nHTTP/1.1: 500\r\n\r\n")
end

function acts.interim(c)
  c:write("HTTP/1.1 103 Early\r\nX-Early: 1\r\n\r\n")
  reply(c, 200, { "X-Late: 1", "X-Spaces:   a b  ", "X-Empty:" }, "fine")
end

function acts.large(c, size)
  reply(c, 200, nil, ("x"):rep(tonumber(size)))
end

function acts.unending(c)
  c:write("HTTP/1.1 200 Fine\r\n\r\n")
  repeat until not c:write(("x"):rep(65536))
  return true
end

function acts.gzip(c, size)
  reply(c, 200, { "Content-Encoding: gzip" }, gzip(size))
end

function acts.garbage(c)
  c:write("this is no HTTP at all\r\n\r\n")
  return true
end

function acts.broken_gzip(c)
  reply(c, 200, { "Content-Encoding: gzip" }, "this is no gzip at all")
end

function acts.headers(c)
  c:write("HTTP/1.1 200 Fine\r\n")
  repeat until not c:write("X-More: ", ("x"):rep(1000), "\r\n")
  return true
end

function acts.long_header(c, size)
  reply(c, 200, { "X-Long: " .. ("x"):rep(tonumber(size)) }, "fine")
end

function acts.lengths(c, lengths)
  c:write("HTTP/1.1 103 Early\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 Fine\r\n")
  for length in lengths:gmatch("[^/]+") do c:write("Content-Length: ", (length:gsub("_", ", ")), "\r\n") end
  c:write("\r\nfine")
end

function acts.late(c, seconds)
  cqueues.sleep(tonumber(string.match(seconds, "^[%d.]+")))
  reply(c, 200, nil, "late")
end

-- Nobody is answered before so many requests are waiting.
function acts.gather(c, count)
  gathered = gathered + 1
  repeat cqueues.sleep(0.01) until gathered >= tonumber(count)
  reply(c, 200, nil, "all here")
end

function acts.silent(_, id) -- carried out, never answered, the connection stays
  execute(id)
  cqueues.sleep(3600)
end

function acts.redirect(c, status, request)
  execute("redirect")
  reply(c, status, { "Location: /answer/redirected" }, request.method)
end

function acts.status(c, status)
  reply(c, status, { "Retry-After: 7" }, "status " .. status)
end

local function read_request(c, number)
  local first = c:read("*L")
  local method, path = (first or ""):match("^(%S+) (%S+) HTTP/1")
  if not method then return nil end
  local lines, length = { first }, 0
  for line in c:lines("*L") do
    if line == "\r\n" then break end
    lines[#lines + 1] = line
    length = tonumber(line:match("^[Cc]ontent%-[Ll]ength: (%d+)")) or length
  end
  local body = length > 0 and c:read(length) or ""
  return { method = method, path = path, number = number, head = table.concat(lines), body = body }
end

-- A proxy's tunnel, by turns in both directions.
local function tunnel(c, port)
  local server = assert(socket.connect { host = "127.0.0.1", port = port })
  assert(server:connect())
  server:setmode("b", "bn")
  server:onerror(function(_, _, code) return code end)
  reply(c, 200, nil, "")
  c:flush()
  local function pump(from, to)
    local data = from:read(-65536)
    while data and to:write(data) and to:flush() do data = from:read(-65536) end
    to:shutdown("w")
  end
  cqueues.running():wrap(pump, server, c)
  pump(c, server)
end

local function serve(c)
  connections = connections + 1
  c:setmode("b", "bf")
  c:onerror(function(_, _, code) return code end)
  for number = 1, math.huge do
    local request = read_request(c, number)
    if not request then break end
    if request.method == "CONNECT" then return tunnel(c, request.path:match(":(%d+)$")) end
    local name, rest = request.path:gsub("^http://[^/]*", ""):match("^/([^/]*)/?(.*)$")
    local act = acts[name]
    if not act then reply(c, 404, nil, "no such act")
    elseif act(c, rest, request) then break end
    if not c:flush() then break end
  end
  c:flush()
  c:close()
end

local function listen(options)
  local listener = assert(socket.listen(options))
  assert(listener:listen())
  return listener, select(3, listener:localname())
end

local function accept_all(loop, listener, handle)
  loop:wrap(function()
    for connection in listener:clients() do
      loop:wrap(function() handle(connection) end)
    end
  end)
end

local announce, unix_path = ...
local loop = cqueues.new()
local local_any = { host = "127.0.0.1", port = 0 }
local listener, port = listen(local_any)
local rude, rude_port = listen(local_any)
local deaf, deaf_port = listen(local_any)
local unused, refused_port = listen(local_any)
unused:close()
accept_all(loop, listener, serve)
accept_all(loop, rude, function(connection) connection:close() end)
if unix_path then accept_all(loop, listen { path = unix_path, unlink = true }, serve) end
loop:wrap(function()
  socket.fdopen(0):read("*a")
  os.exit(0)
end)
local out = assert(io.open(announce, "w"))
out:write(("%d %d %d %d\n"):format(port, rude_port, deaf_port, refused_port))
out:close()
assert(loop:loop())
deaf:close()
