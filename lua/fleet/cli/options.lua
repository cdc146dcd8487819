-- The options of the command line, and the sources of a client's options: flag, environment, configuration file, default.

local core = require "fleet.core"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"
local values = require "fleet.cli.values"
local argv = require "fleet.cli.argv"

local M = {}

--- The options that every verb takes.
M.own = {
  { name = "json", type = "boolean", doc = "print the result, or the failure, as one JSON value" },
  { name = "wide", type = "boolean", doc = "show all members of the records of a list" },
  { name = "help", type = "boolean", doc = "explain the verb; -h does too" },
  { name = "version", type = "boolean", doc = "print the version" },
  { name = "verbose", type = "boolean", doc = "log every request to standard error, without secrets" },
  {
    name = "config", type = "string",
    doc = "configuration file; by default $XDG_CONFIG_HOME/fleet/config.json, which may be absent",
  },
}

local function for_command_line(list)
  local found = {}
  for _, option in ipairs(list) do
    if not option.lua_only then found[#found + 1] = option end
  end
  return found
end

--- Options of the client, and of one call.
M.client = for_command_line(core.options())
M.call = for_command_line(core.call_options())

--- The options of a call that apply to a row.
function M.of_row(row)
  local concern, list = tables.set(core.row_options(core.row(row.name))), {}
  for _, option in ipairs(M.call) do
    if concern[option.name] then list[#list + 1] = option end
  end
  return list
end

--- The options that run a vehicle's verb for many vehicles.
M.bulk = require("fleet.cli.bulk.options").list

--- Those of many vehicles, when the row belongs to a vehicle.
function M.bulk_of_row(row)
  return row.handle == "vehicle" and M.bulk or {}
end

--- Lists of options as one table by name.
function M.by_name(...)
  local found = {}
  for _, list in ipairs { ... } do
    for _, option in ipairs(list) do found[option.name] = option end
  end
  return found
end

--- Rejects options that the verb does not take. allowed: by name.
function M.check(given, allowed, verb)
  for name in pairs(given) do
    if not allowed[name] then
      usage_error.raise(string.format("option '%s' is not one of '%s'", argv.written(name), verb), { verb })
    end
  end
end

--- The values of those options in the list that the command line gives.
function M.given(environment, list, texts)
  local found = {}
  for _, option in ipairs(list) do
    local text = texts[option.name]
    if type(text) == "table" then
      found[option.name] = {}
      for i, one in ipairs(text) do found[option.name][i] = values.read(environment, option, one, argv.written(option.name)) end
    elseif text ~= nil then
      found[option.name] = values.read(environment, option, text, argv.written(option.name))
    end
  end
  return found
end

-- ---- the options of the client ----

local function from_environment(environment)
  return require("fleet.client.environment").read(environment.getenv, function(option, text)
    return values.read(environment, option, text, option.environment)
  end)
end

local function directory(environment, variable, below_home)
  local base = environment.getenv(variable)
  if base and string.sub(base, 1, 1) == "/" then return base .. "/fleet" end
  local home = environment.getenv("HOME")
  return home and home ~= "" and home .. below_home .. "/fleet" or nil
end

--- Where the configuration file is, unless --config names another; nil without a home directory.
function M.config_path(environment)
  local place = directory(environment, "XDG_CONFIG_HOME", "/.config")
  return place and place .. "/config.json"
end

-- Reads the configuration file, which a person or `fleet setup` wrote. Its values are checked together with all other options.
local function from_file(environment, named, must_exist)
  local path = named or M.config_path(environment)
  if not path then return {} end
  local found, err = require("fleet.client.config_file").read(path)
  if err and err.absent and not must_exist then return {} end
  if err then usage_error.raise((named and "--config: " or "") .. err.message) end
  if type(found) ~= "table" then usage_error.raise("the configuration file " .. path .. " is not a JSON object") end
  return found
end

-- The default store is on disk, because each command line is a new process and must keep its tokens and sessions. A caller who passes the
-- token manages tokens alone and needs no store.
local function default_store(environment, found)
  if found.store or found.token then return found.store end
  return directory(environment, "XDG_STATE_HOME", "/.local/state")
end

--- The directory of the command's state; nil without a home directory.
function M.state_directory(environment)
  return directory(environment, "XDG_STATE_HOME", "/.local/state")
end

--- The options of fleet.new. texts: the options of the command line by name; writes_config = true: the named file need not exist.
function M.for_client(environment, texts, writes_config)
  local found = from_file(environment, texts.config, texts.config and not writes_config)
  for _, more in ipairs { from_environment(environment), M.given(environment, M.client, texts) } do tables.add(found, more) end
  found.store = default_store(environment, found)
  return found
end

return M
