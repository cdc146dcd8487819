-- Makes clients: turns options into a context, the table that every call of the client works on.

local closing = require "fleet.client.closing"
local config = require "fleet.client.config"
local contexts = require "fleet.client.context"
local core = require "fleet.core"
local environment = require "fleet.client.environment"
local errors = require "fleet.util.errors"
local region = require "fleet.region"
local storage = require "fleet.client.storage"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

-- Loads a key, a key file, or two of them, the new one first (rotation).
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

--- Makes a client from options, see fleet.new. Returns nil, err, kind when the key or the store cannot be opened.
function M.new(options)
  local read, vendor, addresses = config.read(options or {})
  local keys, err, kind = load_keys(read.key, read)
  if err then return nil, err, kind end
  local store
  store, err, kind = storage.of(read)
  if err then return nil, err, kind end
  tasks.reopen_after_fork()
  local context = contexts.new(read, vendor, addresses, store, keys)
  if store then region.recall(context) end
  closing.opened(context)
  return core.client(context)
end

--- Makes a client from a configuration file and the variables FLEET_…, which override it; see fleet.from_config. Without path, the file may
--- be absent when variables are set.
function M.from_config(path)
  local variables, message = environment.read(os.getenv, environment.value)
  if not variables then return errors.failure("invalid", "from_config: " .. message) end
  local options, err, kind = require("fleet.client.config_file").read(path)
  if err and (path or not err.absent or next(variables) == nil) then return nil, err, kind end
  if options ~= nil and type(options) ~= "table" then return M.new(options) end -- raises a message about the wrong type
  return M.new(tables.copy(options, variables))
end

return M
