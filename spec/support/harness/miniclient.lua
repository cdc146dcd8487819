-- A client that says exactly what it is told and reports exactly what came back, for specs of servers.
local socket = require("cqueues.socket")

local M = {}

local function read_headers(s)
  local headers = {}
  for raw in function() return s:read("*l") end do
    local line = raw:gsub("\r$", "")
    if line == "" then return headers end
    local name, value = line:match("^([^:]+):%s*(.*)$")
    headers[name:lower()] = value
  end
  return headers
end

local function read_chunks(s)
  local parts = {}
  while true do
    local size = tonumber((s:read("*l") or ""):match("^%x+") or "", 16)
    if not size then return table.concat(parts), false end
    if size == 0 then return table.concat(parts), true, s:read("*l") end
    parts[#parts + 1] = s:read(size) or ""
    s:read("*l")
  end
end

local function read_body(s, headers)
  if headers["transfer-encoding"] == "chunked" then return read_chunks(s) end
  local size = tonumber(headers["content-length"] or "0")
  if size == 0 then return "", true end
  local parts, got = {}, 0
  while got < size do
    local part = s:read(-(size - got))
    if not part then break end
    parts[#parts + 1], got = part, got + #part
  end
  return table.concat(parts), got == size
end

-- connect { port = } or { path = }
function M.connect(where)
  local s = assert(socket.connect(where.path and { path = where.path } or { host = "127.0.0.1", port = where.port }))
  s:setmode("b", "bn")
  s:onerror(function(_, _, code) return code end)
  assert(s:connect(30))
  s:settimeout(30)
  return s
end

-- Sends bytes and reads one reply: { status =, headers =, body =, whole = }, or nil when the connection ended first.
function M.exchange(s, bytes)
  s:write(bytes)
  s:flush()
  local line = s:read("*l")
  if not line then return nil end
  local reply = { status = tonumber(line:match("^HTTP/1%.1 (%d+)")) }
  if reply.status == 100 then
    read_headers(s)
    line = s:read("*l")
    reply.status = tonumber(line:match("^HTTP/1%.1 (%d+)"))
  end
  reply.headers = read_headers(s)
  reply.body, reply.whole = read_body(s, reply.headers)
  return reply
end

function M.bytes(method, target, headers, body)
  local lines = { method .. " " .. target .. " HTTP/1.1", "Host: localhost" }
  for name, value in pairs(headers or {}) do lines[#lines + 1] = name .. ": " .. value end
  if body then lines[#lines + 1] = "Content-Length: " .. #body end
  return table.concat(lines, "\r\n") .. "\r\n\r\n" .. (body or "")
end

-- One request on a connection of its own.
function M.request(where, method, target, headers, body)
  local s = M.connect(where)
  local reply = M.exchange(s, M.bytes(method, target, headers, body))
  s:close()
  return reply
end

return M
