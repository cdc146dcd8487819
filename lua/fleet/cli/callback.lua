-- Receives the callback of a sign-in: by a listener on this machine, or as an address that a person pastes.
--
-- The listener follows the rules for desktop OAuth (RFC 8252): loopback only, the exact path, the expected Host header, one callback, five
-- minutes, and an answer without code or token.

local unpack = require("fleet.util.compat").unpack

local M = {}

M.patience = 300 -- seconds until the listener gives up

local loopback = { ["127.0.0.1"] = { "127.0.0.1" }, ["[::1]"] = { "::1" }, localhost = { "127.0.0.1", "::1" } }

--- The parts of a redirect address that a listener here can serve: { authority =, hosts =, port =, path = }, else nil.
function M.parts(redirect_uri)
  local host, port, path = string.match(redirect_uri or "", "^http://(%[[%x:]+%]):(%d+)(/?[^?#]*)$")
  if not host then host, port, path = string.match(redirect_uri or "", "^http://([%w.]+):(%d+)(/?[^?#]*)$") end
  if not host or not loopback[host] or not tonumber(port) or tonumber(port) > 65535 then return nil end
  return { authority = host .. ":" .. port, hosts = loopback[host], port = tonumber(port), path = path == "" and "/" or path }
end

local page = [[
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<style>
body { font: 18px/1.5 system-ui, sans-serif; max-width: 32em; margin: 20vh auto; padding: 0 1em; color: #1b2a2e; background: #fff }
@media (prefers-color-scheme: dark) { body { color: #e8eef0; background: #11181b } }
</style></head>
<body><h1>%s</h1><p>%s</p></body></html>
]]

local function answer(request, status, title, text)
  request:respond(status, {
    ["Content-Type"] = "text/html; charset=utf-8", ["Cache-Control"] = "no-store", ["Referrer-Policy"] = "no-referrer",
    ["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'", ["X-Content-Type-Options"] = "nosniff",
  }, string.format(page, title, title, text))
end

local function refusal(parts, request)
  if string.lower(request.headers.host or "") ~= parts.authority then return 403, "Not here" end
  if request.path ~= parts.path then return 404, "Nothing here" end
  if request.method ~= "GET" then return 405, "Not this way" end
end

local titles = {
  [true] = { 200, "Signed in", "You may close this window and return to the terminal." },
  [false] = { 400, "Not signed in", "The terminal shows why. You may close this window." },
}

-- take(address) returns true or false when the sign-in has succeeded or failed, and nil when the address belongs to another sign-in.
local function serve(self, request)
  local status, title = refusal(self.parts, request)
  if status then return answer(request, status, title, "This address serves the end of one sign-in only.") end
  local done = self.take(self.redirect_uri .. "?" .. (request.query or ""))
  if done == nil then return answer(request, 400, "Not this sign-in", "Open the address that the terminal shows.") end
  answer(request, unpack(titles[done]))
  self.done = true
end

-- Requests and pasted lines are queued for the loop below, because finishing a sign-in makes requests of its own.
local function open_servers(self, loop)
  local server = require("fleet.util.optional_module").need "server"
  for _, host in ipairs(self.parts.hosts) do
    self.servers[#self.servers + 1] = server.new {
      loop = loop, host = host, port = self.parts.port,
      on_request = function(request) self.waiting[#self.waiting + 1] = request end,
    }
  end
end

--- A listener for the redirect address, or nil when there can be none (address of another machine, port in use).
function M.listen(loop, redirect_uri, take)
  local self = { parts = M.parts(redirect_uri), redirect_uri = redirect_uri, take = take, servers = {}, waiting = {} }
  if not self.parts or not pcall(open_servers, self, loop) or #self.servers == 0 then return nil end
  return self
end

local longest_line = 8192

-- Appends pasted lines to the list while the loop runs. Reads one byte at a time and without a buffer, so that polling the descriptor shows
-- whether more input waits, and half a line blocks nothing.
local function watch_input(environment, loop, lines)
  environment.stdin:setvbuf("no")
  local watch, typed = nil, {}
  local function stop()
    if watch then watch:close() end
    watch = nil
  end
  watch = loop:watch(0, "r", function()
    local byte = environment.stdin:read(1)
    if byte and byte ~= "\n" and #typed < longest_line then
      typed[#typed + 1] = byte
      return
    end
    if typed[1] then lines[#lines + 1] = table.concat(typed) end
    typed = {}
    if not byte then stop() end
  end)
  return stop, watch ~= nil
end

local function read_lines(environment, on_line)
  local line = environment.stdin:read("*l")
  while line and not on_line(line) do line = environment.stdin:read("*l") end
end

local function tick_until(loop, finished, seconds)
  local ends = loop.clock() + seconds
  while not finished() do
    local left = ends - loop.clock()
    if left <= 0 then return end
    loop.wait(math.min(loop.timeout() or left, left))
    loop.step()
  end
end

-- Waits until the callback comes by either way. A file or /dev/null cannot be polled: it is read at once.
local function wait_both(environment, loop, listener, on_line)
  local lines = {}
  local stop, watched = watch_input(environment, loop, lines)
  if not watched then read_lines(environment, on_line) end
  tick_until(loop, function()
    while listener.waiting[1] and not listener.done do serve(listener, table.remove(listener.waiting, 1)) end
    while lines[1] and not listener.done do on_line(table.remove(lines, 1)) end
    return listener.done
  end, M.patience)
  stop()
  for _, server in ipairs(listener.servers) do server:close() end
end

--- Waits for the callback. take(address) is called with every address that comes, see serve. Returns whether the callback came.
function M.wait(environment, loop, listener, take)
  local ended = false
  local function on_line(line)
    line = string.match(line, "^%s*(.-)%s*$")
    if line ~= "" and take(line) ~= nil then ended = true end
    if ended and listener then listener.done = true end
    return ended
  end
  if listener then
    wait_both(environment, loop, listener, on_line)
    return listener.done == true
  end
  read_lines(environment, on_line)
  return ended
end

return M
