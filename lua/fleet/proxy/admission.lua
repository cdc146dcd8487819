-- Checks a request before its path is read: whether a web page may have sent it, whether its body has the declared type, and which caller
-- it is from. On a Unix socket, the file's mode has restricted access already.

local replies = require "fleet.proxy.replies"

local M = {}

local names_of_loopback = { ["127.0.0.1"] = true, ["localhost"] = true, ["[::1]"] = true }

-- "name:port" → name in lower case.
local function host_name(host)
  return string.lower((string.gsub(host, ":%d+$", "")))
end

local function is_our_name(self, host)
  if host == nil or host == "" then return false end
  if host == self.last_host then return true end
  local name = host_name(host)
  if not (names_of_loopback[name] and self.loopback or self.names[name]) then return false end
  self.last_host = host -- callers of one address send the same text
  return true
end

local function is_json(content_type)
  if content_type == "application/json" then return true end
  return string.match(string.lower(content_type or "") .. ";", "^(.-)%s*;") == "application/json"
end

-- The refusal of a request that a web page in a browser may have sent, or nothing. A page sends its Origin, uses a host name that it made
-- resolve to this machine (Host), or sends a form.
local function objection(self, asked)
  local headers = asked.headers
  if headers.origin then return replies.error(403, "forbidden", "requests of web pages are refused") end
  if not is_our_name(self, headers.host) then
    return replies.error(403, "forbidden", "this proxy has another name: see --host")
  end
  if asked.body ~= "" and asked.method ~= "GET" and not is_json(headers["content-type"]) then
    return replies.error(415, "unsupported_media_type", "a body is application/json")
  end
end

local who_are_you = { ["WWW-Authenticate"] = 'Bearer realm="fleet proxy"' }

local function unauthorized(text)
  return replies.error(401, "unauthorized", text, who_are_you)
end

local function with_token(token, caller, digest)
  return caller, token, digest
end

local function secret_needed()
  return unauthorized("the proxy's secret is needed as bearer token")
end

local function on_tcp(self, request, asked)
  local callers, authorization = self.callers, asked.headers.authorization
  if self.pass_through then
    local token = callers:token_of(authorization)
    if token then return with_token(token, callers:by_token(token, callers.per_minute and (request:peer()))) end
    return nil, unauthorized("a token of the service is needed: it is passed on")
  end
  local caller = callers:by_bearer(authorization)
  if not caller and self.asks_certificates then
    local _, _, name = request:peer()
    caller = callers:by_common_name(name)
  end
  if caller then return caller, nil end
  return nil, secret_needed()
end

local function on_socket(self, request, asked)
  local _, uid = request:peer()
  local authorization = asked.headers.authorization
  local caller, digest = self.callers:on_socket(authorization, uid)
  if not self.pass_through then
    if self.callers:is_wrong(authorization) then return nil, secret_needed() end
    return caller, nil
  end
  local token = self.callers:token_of(authorization)
  if token then return caller, token, digest end
  return nil, unauthorized("a token of the service is needed: it is passed on")
end

--- new { socket = on a Unix socket, loopback = , names = set of further host names, pass_through =, asks_certificates =, callers = }
function M.new(facts)
  return setmetatable(facts, { __index = M })
end

--- Whether a web page may have sent it: returns status, headers, body of the refusal, or nothing.
function M:objection(asked)
  if self.socket then return nil end
  return objection(self, asked)
end

--- The caller of a request, and the service token to pass through with its digest, if any; or nil, status, headers, body.
function M:caller(request, asked)
  if self.socket then return on_socket(self, request, asked) end
  return on_tcp(self, request, asked)
end

--- Whether the caller may read the proxy's metrics. They name the proxy's accounts, which are not shown to callers with a token that is
--- passed through.
function M:shows_figures(asked)
  return self.socket or not self.pass_through or self.callers:by_bearer(asked.headers.authorization) ~= nil
end

return M
