-- Opens the store of a client by name, or adapts the caller's own; seals it when there is a key for that.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tasks = require "fleet.async"

local M = {}

--- Opens a store. given: a store, its name, or nil for memory; log: takes its warnings.
function M.open(given, log)
  local function warn(text)
    local _, now = tasks.loop.clock()
    if log then pcall(log, { time = now, kind = "store", message = text }) end
  end
  local store = require "fleet.store"
  store.clock = function() return tasks.loop.clock() end
  if given == nil then return store.memory() end
  if type(given) == "string" then return store.open(given, { warn = warn }) end
  return require("fleet.store.adapted")(given)
end

-- An invalid key raises, because it is a usage error. An unreadable key file is returned as a failure.
local function read_store_key(config)
  local text = config.store_key
  if not text then return nil end
  local key, err, kind = core.store_key(text, config.insecure_key_mode)
  if not key and kind == "invalid" and string.sub(text, 1, 1) ~= "@" then errors.usage("fleet.new: %s", err.message) end
  return key, err, kind
end

--- The store of these options; nil when the client's own memory is enough; or nil, err, kind.
function M.of(config)
  local key, err, kind = read_store_key(config)
  if err then return nil, err, kind end
  if config.store == nil and not key then return nil end
  local store
  store, err, kind = M.open(config.store, config.log)
  if not store then return nil, err, kind end
  return require("fleet.store.sealed")(store, key)
end

return M
