-- The clients that the proxy calls with: one per account, and one for each token that a caller brings.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local session_pool = require "fleet.signing.session_pool"

local M = {}
M.__index = M

local most_tokens, most_cars = 256, 1024

local function check(name, client)
  local known, context = pcall(core.context, client)
  if not known or type(context) ~= "table" then errors.usage("fleet.proxy.new: '%s' is not a client", name) end
  if not context.keys then
    errors.usage("fleet.proxy.new: the client has no key, and cannot sign: set 'key' (FLEET_KEY); 'fleet setup' makes one")
  end
  if context.config.commands == "proxy" then
    errors.usage("fleet.proxy.new: the client sends its commands to a proxy itself: commands = \"auto\" signs them")
  end
  context.serves_others = true -- their callers choose deprecated commands
  return context
end

-- Each vehicle has one session with one key in this process, whichever account a command comes from.
local function share_sessions(first, other)
  if first.keys[1]:fingerprint() == other.keys[1]:fingerprint() then session_pool.share(first, other) end
end

--- new(client, accounts): the client for callers that name no account, and further ones by name, or nil.
function M.new(client, accounts)
  local first = check("client", client)
  local self = setmetatable({ first = client, by_account = {}, by_token = {}, tokens = 0, cars = {}, car_count = 0, users = 0 }, M)
  self.by_account[first.config.account] = client
  self.key, self.store = first.keys[1], first.store
  for name, other in pairs(accounts or {}) do
    share_sessions(first, check(name, other))
    self.by_account[name] = other
  end
  return self
end

--- The client of an account, or nil for an unknown one; without a name, the first client.
function M:of_account(name)
  if name == nil or name == "" then return self.first end
  return self.by_account[name]
end

--- A client's handle of a vehicle, with a cache for frequent ones.
function M:car(client, vin)
  local cars = self.cars[client]
  local car = cars and cars[vin]
  if car then return car end
  if self.car_count >= most_cars then self.cars, self.car_count, cars = {}, 0, nil end
  if not cars then
    cars = {}
    self.cars[client] = cars
  end
  car = client:vehicle(vin)
  cars[vin], self.car_count = car, self.car_count + 1
  return car
end

-- A client with everything of the base client except its token. It stores nothing of the caller's.
local function with_token(base, token)
  local context = core.context(base)
  local config = setmetatable({ token = token, account = "pass-through" }, { __index = context.config })
  return core.client(setmetatable({ config = config }, { __index = context }))
end

--- The client for a caller's own token. digest: of the token, if it is known.
function M:of_token(token, digest)
  digest = digest or core.sha256(token)
  local client = self.by_token[digest]
  if client then return client end
  if self.tokens >= most_tokens then self.by_token, self.tokens, self.cars, self.car_count = {}, 0, {}, 0 end
  client = with_token(self.first, token)
  self.by_token[digest], self.tokens = client, self.tokens + 1
  return client
end

-- ---- closing ----

local function close(self)
  for name, client in pairs(self.by_account) do
    if not self.successor or self.successor.by_account[name] ~= client then client:close() end
  end
end
M.close = close

--- Counts a request that uses them.
function M:enter()
  self.users = self.users + 1
end

--- Counts the end of a request; the last request of retired clients closes them.
function M:leave()
  self.users = self.users - 1
  if self.successor and self.users == 0 then close(self) end
end

--- Retires these clients: they are closed once the last request that uses them has ended.
function M:retire(successor)
  self.successor = successor
  if self.users == 0 then close(self) end
end

-- ---- metrics of tokens ----

--- { { account =, token =, age = seconds, left = seconds }, … }, sorted by name.
function M:tokens_known(wall)
  local names, list = {}, {}
  for name in pairs(self.by_account) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local info = self.by_account[name]:token_info()
    for _, token_kind in ipairs(info and { "user", "partner", "business" } or {}) do
      local token = info[token_kind]
      if token then
        local age = token.refreshed_at and wall - token.refreshed_at
        list[#list + 1] = { account = name, token = token_kind, age = age, left = token.expires_in }
      end
    end
  end
  return list
end

return M
