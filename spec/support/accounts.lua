-- An account as the token layer sees it, and an authorization server that answers it from a script.
local core = require "fleet.core"
local stores = require "spec.support.stores"

local M = {}

local function base64url(text)
  local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
  local out = {}
  for i = 1, #text, 3 do
    local a, b, c = text:byte(i, i + 2)
    local bits, count = a * 65536 + (b or 0) * 256 + (c or 0), c and 4 or b and 3 or 2
    for j = 1, count do
      local digit = math.floor(bits / 64 ^ (4 - j)) % 64 + 1
      out[#out + 1] = alphabet:sub(digit, digit)
    end
  end
  return table.concat(out)
end

--- An unsigned JSON Web Token with these claims.
function M.jwt(claims)
  return "eyJhbGciOiJub25lIn0." .. base64url(core.json_encode(claims)) .. ".c2ln"
end

local function reply(status, body, headers)
  return { status = status, headers = headers or "", body = type(body) == "table" and core.json_encode(body) or body, sent = true }
end

--- A server with the rules of interface section 3. single_use: of an open-source app, otherwise the token before stays good.
--- faults: what goes wrong in each of the next calls, in order: "unreachable" (nothing was sent), "dropped" (the server saw
--- nothing, no answer), "lost" (the server did it, no answer), "garbled" (it did it, the answer is no JSON), a reply of its own
--- ({ status, body, headers }), or false for none.
function M.server(options)
  local server = { count = 0, requests = {}, forms = {}, faults = {}, newest = "r0", before = nil }
  local lifetime = options and options.lifetime or 28800

  local function issue(extra)
    server.count = server.count + 1
    local body = { access_token = "a" .. server.count, expires_in = lifetime, token_type = "Bearer" }
    for name, value in pairs(extra) do body[name] = value end
    return reply(200, body)
  end

  local grants = {}
  function grants.refresh_token(field)
    local token = field "refresh_token"
    local good = token == server.newest or token == server.before and not (options and options.single_use)
    if not good then return reply(401, { error = "login_required", error_description = "The refresh_token is invalid" }) end
    server.before, server.newest = token, "r" .. (server.count + 1)
    return issue { refresh_token = server.newest }
  end
  function grants.authorization_code(field)
    if field "code" ~= (server.code or "good-code") then return reply(400, { error = "invalid_auth_code" }) end
    server.code = "used"
    server.before, server.newest = nil, "r" .. (server.count + 1)
    return issue { refresh_token = server.newest, id_token = server.id_token }
  end
  function grants.client_credentials(field)
    return issue { scope = field "scope" }
  end

  function server.send(request, seconds)
    assert(type(seconds) == "number" and request.method == "POST")
    server.requests[#server.requests + 1] = request
    local function field(name)
      return (core.oauth_field(request.body, name))
    end
    local fault = table.remove(server.faults, 1)
    if fault == "unreachable" then return { status = 0, headers = "", body = "", sent = false, failure = "resolve" } end
    if fault == "dropped" then return { status = 0, headers = "", body = "", sent = true, failure = "timeout" } end
    if type(fault) == "table" then return reply(fault.status, fault.body or "", fault.headers) end
    local answer = grants[field "grant_type"](field)
    if fault == "lost" then return { status = 0, headers = "", body = "", sent = true, failure = "empty" } end
    if fault == "garbled" then return reply(200, "<html>") end
    return answer
  end

  --- The fields of the nth request.
  function server.field(n, name)
    return (core.oauth_field(server.requests[n].body, name))
  end
  return server
end

--- An account on a store with a server behind it. config: options of fleet.new.
function M.account(server, store, clock, config)
  local account = { store = store, clock = clock.read, events = {}, slept = 0, send = server.send }
  account.config = { account = "home", client_id = "app", client_secret = "shh", timeout = 30 }
  for name, value in pairs(config or {}) do account.config[name] = value or nil end
  account.base_url, account.auth_url = "https://api.example", "https://auth.example"
  account.token_url = "https://token.example"
  account.vendor = { authorize_path = "/oauth2/v3/authorize", token_path = "/oauth2/v3/token",
    consent_path = "/user/revoke/consent", pairing_url = "https://vendor.example/_ak/" }
  function account.sleep(seconds)
    account.slept = account.slept + seconds
    clock.advance(seconds)
  end
  function account.report(event) account.events[#account.events + 1] = event end
  return account
end

local whole = require("spec.support.files").find

--- The same server for several processes: its state is a file in the directory. A lock orders the calls; in the build with
--- fault points the process can die before the server has acted and after.
function M.shared_server(directory, options)
  local server = M.server(options)
  local act = server.send
  function server.load()
    local text = whole(directory .. "/server")
    if text then server.newest, server.before, server.count = text:match("^(%S+) (%S+) (%d+)") end
    server.count = tonumber(server.count)
  end
  function server.send(request, seconds)
    local lock
    repeat
      lock = core.file_lock(directory .. "/server.lock")
      if not lock then core.pause(0.001) end
    until lock
    server.load()
    local answer = act(request, seconds)
    local file = assert(io.open(directory .. "/server", "wb"))
    file:write(("%s %s %d\n"):format(server.newest, server.before or "-", server.count))
    file:close()
    lock:close()
    return answer
  end
  return server
end

--- The names of the events reported so far.
function M.events(account)
  local names = {}
  for i, event in ipairs(account.events) do names[i] = event.name end
  return names
end

M.clock = stores.clock
return M
