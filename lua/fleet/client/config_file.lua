-- The configuration file: the options of fleet.new as JSON. It is data, never code.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = {}

local most_bytes = 1e6

--- $XDG_CONFIG_HOME/fleet/config.json, or the same below ~/.config.
function M.path()
  local base = os.getenv("XDG_CONFIG_HOME")
  if not base or base == "" then base = (os.getenv("HOME") or ".") .. "/.config" end
  return base .. "/fleet/config.json"
end

local secret = {}
for _, row in ipairs(core.options()) do secret[row.name] = row.secret end

local function holds_secret(options)
  for name in pairs(options) do
    if secret[name] then return true end
  end
  return false
end

-- Who may write the file decides where tokens are sent; who may read it has the secrets in it.
local function check_mode(path, mode, options)
  local writable, readable = math.floor(mode / 2) % 2 == 1 or math.floor(mode / 16) % 2 == 1, mode % 64 ~= 0
  if not writable and not (readable and holds_secret(options)) then return true end
  local text = writable and "%s can be written by others: chmod 600 %s" or "%s holds a secret and can be read by others: chmod 600 %s"
  return errors.failure("store", string.format(text, path, path))
end

local function unreadable(path, text)
  local fault = core.json_fault(text) or "it is not JSON"
  local at = tonumber(string.match(fault, "at character (%d+)$")) or 1
  local _, line = string.gsub(string.sub(text, 1, at - 1), "\n", "")
  fault = string.gsub(string.gsub(fault, " at character %d+$", ""), "^%u", string.lower)
  return errors.failure("invalid", string.format("%s:%d: this is not JSON: %s", path, line + 1, fault))
end

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
  if fault then return unreadable(path, text) end
  if type(options) ~= "table" then return options end
  local safe, err, kind = check_mode(path, facts.mode, options)
  if not safe then return nil, err, kind end
  return options
end

return M
