-- The configuration file: the options of fleet.new as JSON. It is data, never code.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local most_bytes = 1e6

--- $XDG_CONFIG_HOME/fleet/config.json, or the same below ~/.config.
M.path = core.config_path

local function missing(path, err)
  return errors.failure("store", string.format("no configuration: %s: 'fleet setup' writes %s, the options of fleet.new as JSON",
    err.message, path), { absent = err.kind == "not_found" })
end

--- The options in the file, or nil, err, kind; err.absent: there is none.
function M.read(path)
  path = path or M.path()
  local text, facts = core.file_read(core.real_path(path) or path, most_bytes)
  if not text then return missing(path, facts) end
  local options, fault = core.json_decode(text)
  if fault then return errors.failure("invalid", core.config_json_fault(path, text, core.json_fault(text))) end
  if type(options) ~= "table" then return options end
  local unsafe = core.config_mode_fault(path, facts.mode, options)
  if unsafe then return errors.failure("store", unsafe) end
  return options
end

return M
