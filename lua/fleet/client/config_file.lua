-- The configuration file: the options of fleet.new as JSON. It is data, never code.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local most_bytes = 1e6

--- $XDG_CONFIG_HOME/fleet/config.json, or the same below ~/.config.
function M.path()
  local base = os.getenv "XDG_CONFIG_HOME"
  if not base or base == "" then base = (os.getenv "HOME" or ".") .. "/.config" end
  return base .. "/fleet/config.json"
end

local function holds_secret(options)
  for _, row in ipairs(core.options()) do
    if row.secret and options[row.name] ~= nil then return true end
  end
  return false
end

-- A sentence when others may write the file and so redirect tokens, or may read the secrets in it; else nil.
local function mode_fault(path, mode, options)
  local others_write = math.floor(mode / 2) % 2 == 1 or math.floor(mode / 16) % 2 == 1
  local others_have_access = mode % 64 ~= 0
  if others_write then return string.format("%s can be written by others: chmod 600 %s", path, path) end
  if others_have_access and holds_secret(options) then
    return string.format("%s holds a secret and can be read by others: chmod 600 %s", path, path)
  end
end

-- "path:line: this is not JSON: expected …"
local function json_fault(path, text)
  local expected, good = core.json_fault(text)
  local _, lines_before = string.gsub(string.sub(text, 1, good), "\n", "")
  return string.format("%s:%d: this is not JSON: expected %s", path, lines_before + 1, expected)
end

local function missing(path, err)
  local text = "no configuration: %s: 'fleet setup' writes %s, the options of fleet.new as JSON. To try it without an account: "
    .. "eval \"$(fleet sim --env)\""
  return errors.failure("store", string.format(text, err.message, path), { absent = err.kind == "not_found" })
end

--- The options in the file, or nil, err, kind; err.absent = true: the file does not exist.
function M.read(path)
  path = path or M.path()
  local text, facts = core.file_read(core.real_path(path) or path, most_bytes)
  if not text then return missing(path, facts) end
  local options, fault = core.json_decode(text)
  if fault then return errors.failure("invalid", json_fault(path, text)) end
  if type(options) ~= "table" then return options end
  local unsafe = mode_fault(path, facts.mode, options)
  if unsafe then return errors.failure("store", unsafe) end
  return options
end

return M
