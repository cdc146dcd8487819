-- An HTTP server in a process of its own that writes down what it received and answers as it was told: the
-- witness of every spec that asks what reached the service, and how often. It knows nothing of the service
-- and shares no code with the simulator or with fleet.server. It runs on 5.4 whatever the specs run on.
--
--   local server = require("spec.support.servers.recorder").start()
--   server:script { { status = 200, body = "{}" }, { drop = true } }     also forgets what was recorded
--   server:records() → { { method, path, query, headers = { [lower-case name] = value }, body, connection,
-- number }, … }
--
-- A script is a list of rules. The first rule that fits a request and is not used up answers it; without one
-- it is 200 {"response":{}}. A rule's members:
--   on      "POST /path": only for requests that begin so; method alone fits too
--   times   how many requests it answers: 1, 0 for any number
--   status, headers (list of lines), body      the reply
--   echo    an error of which every text is the request, behind so many other bytes; so is the request's id
--   hold    true: nothing is answered before server:release()
--   delay   seconds before the first byte;  trickle: seconds between two bytes of the body
--   cut     the connection closes after so many bytes of the body, although Content-Length says more
--   drop    closes without a byte;  reset: before the body was read;  silent: never answers;  raw: these
-- bytes, then closes
--   unasked bytes that are written when the client has read the reply
--   close   says that it will close after the reply, and does
-- Every rule is a server that has carried the request out: it is recorded before anything else happens.

local cjson = require "cjson"

local M = {}

-- ---- the spec's side ----

local methods = {}
methods.__index = methods

local function ask(server, method, path, body)
  local client = require "spec.support.harness.miniclient"
  local reply = client.request({ port = server.control }, method, path, {}, body)
  assert(reply and reply.status == 200, "the recorder did not answer")
  return reply.body
end

function methods:script(rules)
  ask(self, "POST", "/", cjson.encode(rules or {}))
end

-- One line of JSON per request.
function methods:records()
  local list = {}
  for line in string.gmatch(ask(self, "GET", "/", nil), "[^\n]+") do list[#list + 1] = cjson.decode(line) end
  return list
end

--- What is held is answered, and nothing is held until the next script.
function methods:release()
  ask(self, "GET", "/release", nil)
end

--- Waits until so many unasked texts have reached the client's kernel; `meanwhile` is called between the looks.
function methods:wait_unasked(n, meanwhile)
  for _ = 1, 1500 do
    if tonumber(ask(self, "GET", "/unasked", nil)) >= n then return require "spec.support.harness.arrived"(self.port) end
    os.execute("sleep 0.02")
    meanwhile()
  end
  error("the recorder did not write it")
end

function methods:stop()
  self.process.stop()
end

function M.start()
  local process = require "spec.support.harness.process"
  local child = process.start("lua5.4 " .. process.quote(process.root .. "/spec/support/servers/recorder.lua"))
  local port, control = string.match(child.line, "^(%d+) (%d+)$")
  return setmetatable({ process = child, control = tonumber(control), port = tonumber(port),
    url = "http://127.0.0.1:" .. port }, methods)
end

-- An address of this machine where no server listens.
function M.unused()
  local socket = require "cqueues.socket"
  local listener = assert(socket.listen { host = "127.0.0.1", port = 0 })
  assert(listener:listen())
  local _, _, port = listener:localname()
  listener:close()
  return "http://127.0.0.1:" .. math.tointeger(port)
end

if ... == "spec.support.servers.recorder" then return M end

-- ---- the server ----

local cqueues = require "cqueues"
local socket = require "cqueues.socket"

local rules, used, lines, connections, unasked, released = {}, {}, {}, 0, 0, false

local function read_head(c)
  local method, target = string.match(c:read("*l") or "", "^(%S+) (%S+) HTTP/1%.1\r?$")
  if not method then return nil end
  local path, query = string.match(target, "^([^?]*)%??(.*)$")
  local request = { method = method, path = path, query = query, headers = {}, body = "" }
  for raw in c:lines("*l") do
    local line = string.gsub(raw, "\r$", "")
    if line == "" then return request end
    local name, value = string.match(line, "^([^:]+):%s*(.*)$")
    name = string.lower(name)
    local before = request.headers[name]
    request.headers[name] = before and before .. ", " .. value or value
  end
end

local function rule_for(request)
  local line = request.method .. " " .. request.path
  for i, rule in ipairs(rules) do
    local times = rule.times or 1
    if (times == 0 or used[i] < times) and (not rule.on or string.sub(line, 1, #rule.on) == rule.on) then
      used[i] = used[i] + 1
      return rule
    end
  end
  return {}
end

local function write_slowly(c, body, pause)
  for i = 1, #body do
    cqueues.sleep(pause)
    if not c:write(string.sub(body, i, i)) or not c:flush() then return end
  end
end

local function echo(rule, request)
  local authorization = request.headers.authorization or ""
  local text = string.gsub(authorization, "^Bearer ", "token=") .. " " .. authorization .. " " .. request.query ..
    " " .. request.body
  local words = string.rep(".", rule.echo) .. text
  return cjson.encode { error = words, error_description = text,
    response = { result = false, reason = words } }, "X-TxId: " .. text
end

local function reply(c, rule, request)
  local body, id = rule.body or '{"response":{}}', nil
  if rule.echo then body, id = echo(rule, request) end
  local head = { "HTTP/1.1 " .. (rule.status or 200) .. " Recorded", "Content-Length: " .. #body, id }
  for _, line in ipairs(rule.headers or {}) do head[#head + 1] = line end
  if rule.close then head[#head + 1] = "Connection: close" end
  c:write(table.concat(head, "\r\n"), "\r\n\r\n")
  if rule.trickle then return write_slowly(c, body, rule.trickle) end
  c:write(string.sub(body, 1, rule.cut or #body))
end

-- True when the connection is over.
local function answer(c, rule, request)
  while rule.hold and not released do cqueues.sleep(0.01) end
  if rule.delay then cqueues.sleep(rule.delay) end
  if rule.silent then cqueues.sleep(3600) end
  if rule.drop or rule.reset then return true end
  if rule.raw then
    c:write(rule.raw)
    return true
  end
  reply(c, rule, request)
  if rule.unasked then
    c:flush()
    cqueues.sleep(0.05)
    c:write(rule.unasked)
    c:flush()
    unasked = unasked + 1
  end
  return rule.cut or rule.close
end

local function receive(c, connection, number)
  local request = read_head(c)
  if not request then return nil end
  request.connection, request.number = connection, number
  local rule = rule_for(request)
  local size = tonumber(request.headers["content-length"] or 0)
  if size > 0 and not rule.reset then request.body = c:read(size) or "" end
  lines[#lines + 1] = cjson.encode(request)
  return request, rule
end

local function serve(c)
  connections = connections + 1
  local connection = connections
  c:setmode("b", "bf")
  c:onerror(function(_, _, code) return code end)
  for number = 1, math.huge do
    local request, rule = receive(c, connection, number)
    if not request or answer(c, rule, request) then break end
    c:flush()
  end
  c:flush()
  c:close()
end

local function control(c)
  c:setmode("b", "bf")
  c:onerror(function(_, _, code) return code end)
  local request = assert(read_head(c))
  local size = tonumber(request.headers["content-length"] or 0)
  for _ = 1, 5 do cqueues.sleep(0) end -- what has arrived before comes first, even when this process stood still meanwhile
  if request.method == "POST" then
    rules, used, lines, unasked, released = cjson.decode(c:read(size)), {}, {}, 0, false
    for i = 1, #rules do used[i] = 0 end
  end
  released = released or request.path == "/release"
  reply(c, { body = request.path == "/unasked" and tostring(unasked) or table.concat(lines, "\n") }, request)
  c:flush()
  c:close()
end

local function listen()
  local listener = assert(socket.listen { host = "127.0.0.1", port = 0 })
  assert(listener:listen())
  return listener, select(3, listener:localname())
end

local function accept_all(loop, listener, handle)
  loop:wrap(function()
    for c in listener:clients() do
      loop:wrap(function() handle(c) end)
    end
  end)
end

local loop = cqueues.new()
local listener, port = listen()
local control_listener, control_port = listen()
accept_all(loop, listener, serve)
accept_all(loop, control_listener, control)
loop:wrap(function()
  socket.fdopen(0):read("*a")
  os.exit(0)
end)
local out = assert(io.open(..., "w"))
out:write(port, " ", control_port, "\n")
out:close()
assert(loop:loop())
