-- Making and closing clients: options into an account, the table that every call of the client works on.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local config = require "fleet.client.config"
local region = require "fleet.region"
local run = require "fleet.call"
local sessions = require "fleet.signing.session_pool"
local tasks = require "fleet.async.task"

local M = {}

local flushed_at_once = 16 -- records that one turn of the loop writes

local open_accounts = setmetatable({}, { __mode = "k" })

local function open_store(given, log)
  local function warn(text)
    local _, now = tasks.loop.clock()
    if log then pcall(log, { time = now, kind = "store", message = text }) end
  end
  local store = require "fleet.store"
  store.clock = function() return tasks.loop.clock() end
  if given == nil then return store.memory() end
  if type(given) == "string" then return store.open(given, { warn = warn }) end
  return store.adapt(given)
end

-- A key that cannot be one is a mistake of the caller's; a file that cannot be read is the world's.
local function read_store_key(read)
  local text = read.store_key
  if not text then return nil end
  local key, err, kind = core.store_key(text, read.insecure_key_mode)
  if not key and kind == "invalid" and string.sub(text, 1, 1) ~= "@" then errors.usage("fleet.new: %s", err.message) end
  return key, err, kind
end

-- The store of these options; nil where a client's own memory will do; nil, err, kind.
local function store_for(read)
  local key, err, kind = read_store_key(read)
  if err then return nil, err, kind end
  if read.store == nil and not key then return nil end
  local store
  store, err, kind = open_store(read.store, read.log)
  if not store then return nil, err, kind end
  return require("fleet.store").seal(store, key)
end

-- What tokens and other layers may use of the world; nothing below this line knows the loop. Each part is made when it is
-- first used: most of thousands of accounts are idle.
local parts = {}

local function clock()
  return tasks.loop.clock()
end

local shared = {
  agent = "fleet/0.1", clock = clock, sleep = tasks.sleep, spawn = tasks.spawn, ended_within = tasks.ended_within,
  wake = function(car, options) return car:wake(options) end,
}

function parts.store()
  return (open_store(nil))
end

function parts.send(account)
  return function(request, seconds)
    return run.send_raw(account, request, seconds)
  end
end

function parts.report(account)
  return function(event)
    if account.config.log then pcall(account.config.log, event) end
  end
end

function parts.after_call(account)
  return function()
    local store = account.store
    if store:due() == 0 then store:flush(flushed_at_once) end
  end
end

local function fresh_table()
  return {}
end
parts.states, parts.waking, parts.sessions, parts.zones = fresh_table, fresh_table, fresh_table, fresh_table

local account_mt = {}

function account_mt.__index(account, name)
  local value = shared[name]
  if value ~= nil then return value end
  local make = parts[name]
  if not make then return nil end
  value = make(account)
  rawset(account, name, value)
  return value
end

-- A key, the name of its file, or two of them: the new one first (rotation).
local function load_keys(given, options)
  if given == nil then return nil end
  local list, keys = type(given) == "table" and given or { given }, {}
  for i, key in ipairs(list) do
    local err, kind
    if type(key) == "string" then
      key, err, kind = core.key.load(key, nil, { insecure_key_mode = options.insecure_key_mode })
      if not key then return nil, err, kind end
    end
    keys[i] = key
  end
  return keys
end

--- A new client from options, see fleet.new. Returns nil, err, kind when the key or the store cannot be opened.
function M.new(options)
  local read, vendor, addresses = config.read(options or {})
  local keys, err, kind = load_keys(read.key, read)
  if err then return nil, err, kind end
  local store
  store, err, kind = store_for(read)
  if err then return nil, err, kind end
  tasks.reopen_after_fork()
  local account = setmetatable({
    config = read, vendor = vendor, generation = tasks.generation, base_url = addresses.base_url,
    auth_url = addresses.auth_url, token_url = addresses.token_url, audience = addresses.audience, unix_path = addresses.unix_path,
    proxy_url = addresses.proxy_url, proxy_unix_path = addresses.proxy_unix_path, store = store, keys = keys,
    owns_store = type(read.store) ~= "table" and type(read.store) ~= "userdata",
  }, account_mt)
  if store then region.recall(account) end
  local client = core.client(account)
  open_accounts[account] = true
  return client
end

--- Ends the client: what its store still holds back is written. Idempotent.
function M.close(client)
  if not core.is_open(client) then return end
  local account = core.account(client)
  if rawget(account, "sessions") then sessions.close(account) end
  if rawget(account, "tokens") then require("fleet.oauth.token_cache").save(account) end
  core.close(client)
  open_accounts[account] = nil
  if not rawget(account, "store") then return end
  if account.owns_store then account.store:close() else account.store:flush() end
end

function tasks.save()
  local failed
  for account in pairs(open_accounts) do
    local saved, flushed, err, why = true, true, nil, nil
    if rawget(account, "tokens") then saved, err = require("fleet.oauth.tokens").finish(account) end
    if rawget(account, "store") then flushed, why = account.store:flush() end
    failed = failed or not saved and err or not flushed and why or nil
  end
  if failed then return nil, failed, failed.kind end
  return true
end

local function config_path()
  local base = os.getenv("XDG_CONFIG_HOME")
  if not base or base == "" then base = (os.getenv("HOME") or ".") .. "/.config" end
  return base .. "/fleet/config.json"
end
M.config_path = config_path

--- The options that a configuration file holds, or nil, err, kind. It is data, never code.
function M.read_config(path)
  path = path or config_path()
  local file, why = io.open(path, "rb")
  if not file then
    local message = "no configuration: " .. tostring(why) .. "; 'fleet setup' writes it: the options of fleet.new as JSON"
    return errors.failure("store", message)
  end
  local text = file:read(1e6)
  file:close()
  local options, err, kind = core.json_decode(text or "")
  if not options then return nil, err, kind end
  return options
end

--- A client from a configuration file, see fleet.from_config.
function M.from_config(path)
  local options, err, kind = M.read_config(path)
  if not options then return nil, err, kind end
  return M.new(options)
end

return M
