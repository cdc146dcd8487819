-- The callers and their permissions: secrets, client certificates and user ids; the rows and vehicles that each caller may use; and the
-- calls per minute.
--
-- Secrets are looked up by their digests, so that the lookup time reveals nothing about the secret. The last Authorization header is cached
-- as it came.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local routes = require "fleet.proxy.routes"
local rows = require "fleet.call.rows"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}
M.__index = M

local shortest_secret = 16 -- bytes
local most_per_minute = 1e6
local own_secret = "secret" -- the caller that has the proxy's own secret
local where = "fleet.proxy.new"

-- ---- the table of callers ----

local members = {
  secret = "string", secret_sha256 = "string", certificate = "string", uid = "number", rows = "table", vins = "table",
  per_minute = "number",
}

local function check_rows(name, list)
  for _, row in ipairs(list) do
    if not rows.by_name[row] and row ~= routes.body_controller_state.name then
      errors.unknown_name(where .. ": caller '" .. name .. "'", "row", tostring(row), rows.all_by_name())
    end
  end
end

local function check_vins(name, list)
  for _, vin in ipairs(list) do
    if type(vin) ~= "string" or not core.is_vin(string.upper(vin)) then
      errors.usage("%s: caller '%s': '%s' is not a VIN", where, name, tostring(vin))
    end
  end
end

local function check_member(name, member, value)
  local wanted = members[member]
  if not wanted then errors.unknown_name(where .. ": caller '" .. name .. "'", "member", tostring(member), members) end
  if type(value) ~= wanted then errors.usage("%s: caller '%s': '%s' is a %s", where, name, member, wanted) end
end

local function check_per_minute(whose, value)
  if value and not (value > 0 and value < most_per_minute) then
    errors.usage("%s: %s'per_minute' is a number above 0 and below %d", where, whose, most_per_minute)
  end
end

local function check(name, given)
  if type(name) ~= "string" or not string.find(name, "^[%w_%.%-]+$") or #name > 64 then
    errors.usage("%s: a caller's name is 1 to 64 letters, digits, '_', '.' or '-', not '%s'", where, tostring(name))
  end
  if type(given) ~= "table" then errors.usage("%s: caller '%s' is a table", where, name) end
  for member, value in pairs(given) do check_member(name, member, value) end
  if given.rows then check_rows(name, given.rows) end
  if given.vins then check_vins(name, given.vins) end
  if given.secret and #given.secret < shortest_secret then
    errors.usage("%s: caller '%s': a secret has %d bytes or more", where, name, shortest_secret)
  end
  if given.secret_sha256 and not string.find(given.secret_sha256, "^%x+$") or given.secret_sha256 and #given.secret_sha256 ~= 64 then
    errors.usage("%s: caller '%s': 'secret_sha256' is 64 hexadecimal digits", where, name)
  end
  check_per_minute("caller '" .. name .. "': ", given.per_minute)
end

local function set_of_vins(list)
  local vins = {}
  for _, vin in ipairs(list) do vins[string.upper(vin)] = true end
  return vins
end

local function new_caller(name, given, per_minute)
  return {
    name = name, rows = given.rows and tables.set(given.rows), vins = given.vins and set_of_vins(given.vins),
    per_minute = given.per_minute or per_minute, credit = nil, seen = nil,
  }
end

local function add(self, name, given, per_minute)
  local caller = new_caller(name, given, per_minute)
  local digest = given.secret and core.sha256(given.secret) or given.secret_sha256 and string.lower(given.secret_sha256)
  if digest then self.by_secret[digest] = caller end
  if given.certificate then self.by_certificate[given.certificate] = caller end
  if given.uid then self.by_uid[given.uid] = caller end
  self.by_name[name] = caller
end

--- new { callers = { name = … } or nil, secret = of a caller with all permissions, or nil, per_minute = for each, or nil }
function M.new(options)
  check_per_minute("option ", options.per_minute)
  local self = setmetatable({
    by_secret = {}, by_certificate = {}, by_uid = {}, by_name = {}, tokens = 0, networks = {}, network_count = 0,
  }, M)
  self.per_minute, self.named = options.per_minute, options.callers ~= nil
  for name, given in pairs(options.callers or {}) do
    check(name, given)
    if name == own_secret then errors.usage("%s: caller '%s': the name is that of the proxy's own secret", where, name) end
    add(self, name, given, options.per_minute)
  end
  if options.secret then
    check(own_secret, { secret = options.secret })
    add(self, own_secret, { secret = options.secret }, options.per_minute)
  end
  self.default_caller = self.by_name["local"] or new_caller("local", {}, options.per_minute)
  return self
end

-- ---- identifying the caller ----

local function bearer(authorization)
  return authorization and string.match(authorization, "^[Bb]earer +([%w%-%._~%+/]+=*) *$")
end

-- Whether the header equals the previous request's, as it mostly does. It is compared in constant time, and then not parsed again.
local function said_again(self, authorization)
  local last = self.last
  if last and authorization and core.same_secret(last.authorization, authorization) then return last end
end

local function read_again(self, authorization)
  local secret = bearer(authorization)
  if not secret then return nil end
  local digest = core.sha256(secret)
  self.last = { authorization = authorization, secret = secret, digest = digest, name = "token-" .. string.sub(digest, 1, 16) }
  return self.last
end

-- Parses a bearer header: { secret, digest, name: of a caller that the secret alone identifies }; nil for other headers.
local function bearer_of(self, authorization)
  return said_again(self, authorization) or read_again(self, authorization)
end

--- The token of the header, or nil.
function M:token_of(authorization)
  local word = bearer_of(self, authorization)
  return word and word.secret
end

--- The caller that the secret identifies, or nil; and the digest of the secret.
function M:by_bearer(authorization)
  local word = bearer_of(self, authorization)
  if not word then return nil end
  return self.by_secret[word.digest], word.digest
end

--- The caller that a verified client certificate names. Without a list of callers, all certificates are one caller.
function M:by_common_name(name)
  if not name then return nil end
  if not self.named then
    self.certified = self.certified or new_caller("certificate", {}, self.per_minute)
    return self.certified
  end
  return self.by_certificate[name]
end

--- The caller on a Unix socket: by a listed secret, else by a listed user id, else the default caller, because access to the socket is
--- permission enough. Second result: the digest of the authorization.
function M:on_socket(authorization, uid)
  local caller, digest = self:by_bearer(authorization)
  return caller or self.by_uid[uid] or self.default_caller, digest
end

--- Whether the caller sends a secret that is not listed. Without listed secrets none is wrong: many clients always send a token.
function M:is_wrong(authorization)
  return authorization ~= nil and next(self.by_secret) ~= nil and not self:by_bearer(authorization)
end

-- ---- callers with a service token, which only the service can check ----

local most_tokens, most_networks = 256, 256

-- The owner of one IPv6 address can use 2^64 addresses, so its whole network counts as one.
local function network_of(address)
  local plain = string.match(address, "^::ffff:(%d+%.%d+%.%d+%.%d+)$")
  if plain or not string.find(address, ":", 1, true) then return plain or address end
  local head, tail = string.match(address, "^(.-)::(.*)$")
  local groups, behind = {}, {}
  for group in string.gmatch(head or address, "%x+") do groups[#groups + 1] = group end
  for group in string.gmatch(tail or "", "%x+") do behind[#behind + 1] = group end
  while #groups + #behind < 8 do groups[#groups + 1] = "0" end
  for _, group in ipairs(behind) do groups[#groups + 1] = group end
  return table.concat(groups, ":", 1, 4)
end

M.network = network_of

-- Forgets networks without a call for a minute: they have their full number of calls again.
local function forget_idle(self, now)
  for network, minute in pairs(self.networks) do
    if now - (minute.seen or -math.huge) >= 60 then self.networks[network], self.network_count = nil, self.network_count - 1 end
  end
end

-- The calls per minute of a network. Invented tokens give no further calls: all tokens of a network share one limit. Beyond a maximum of
-- networks, all others share one limit.
local function minute_of(self, address)
  local network = network_of(address)
  local found = self.networks[network]
  if found then return network, found end
  if self.network_count >= most_networks then forget_idle(self, tasks.now()) end
  if self.network_count >= most_networks then
    self.others = self.others or {}
    return "others", self.others
  end
  found = { seen = tasks.now() }
  self.networks[network], self.network_count = found, self.network_count + 1
  return network, found
end

--- The caller of a service token that is passed through: identified by the token's digest, which is the second result. address: of the
--- caller; its network's calls are counted.
function M:by_token(token, address)
  local word = self.last and core.same_secret(self.last.secret, token) and self.last or bearer_of(self, "Bearer " .. token)
  local digest, name = word.digest, word.name
  local key, minute = name, nil
  if self.per_minute and address then
    local network
    network, minute = minute_of(self, address)
    key = name .. "@" .. network
  end
  local caller = self.by_name[key]
  if caller then
    caller.minute = minute
    return caller, digest
  end
  if self.tokens >= most_tokens then -- callers come and go: the table is emptied
    for known in pairs(self.by_name) do
      if string.find(known, "^token%-") then self.by_name[known] = nil end
    end
    self.tokens = 0
  end
  caller = new_caller(name, {}, self.per_minute)
  caller.minute = minute
  self.by_name[key], self.tokens = caller, self.tokens + 1
  return caller, digest
end

-- ---- permissions ----

--- Whether the caller may use the row with these vehicles (a list, empty when the row concerns none). Returns true, or nil and why not.
function M.allowed(caller, row, vins)
  if row.flags.by_name_only and not caller.rows then
    return nil, string.format("%s is for callers whose 'rows' name it", row.name)
  end
  if caller.rows and not caller.rows[row.name] then
    return nil, string.format("the caller '%s' may not call %s", caller.name, row.name)
  end
  if not caller.vins then return true end
  if #vins == 0 and not (caller.rows and row.handle ~= "vehicle") then
    return nil, string.format("the caller '%s' may not call %s: it is not about a vehicle of the list", caller.name, row.name)
  end
  for _, vin in ipairs(vins) do
    if not caller.vins[vin] then return nil, string.format("the caller '%s' may not use this vehicle", caller.name) end
  end
  return true
end

--- Counts one call of the caller's minute. Returns true, or nil and the seconds until the next one is allowed.
function M.take(caller, now)
  local rate = caller.per_minute
  if not rate then return true end
  caller = caller.minute or caller
  local burst = math.max(rate, 1)
  caller.credit = math.min((caller.credit or burst) + (now - (caller.seen or now)) * rate / 60, burst)
  caller.seen = now
  if caller.credit < 1 then return nil, (1 - caller.credit) * 60 / rate end
  caller.credit = caller.credit - 1
  return true
end

return M
