-- Scopes: the known ones, those that a sign-in requests, and how a list of them is written (doc/protocol.md#scopes).

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

--- All scopes of an owner, the default of a sign-in. Scopes of businesses and of the application itself must be named.
M.owner = {
  "openid", "offline_access", "user_data", "vehicle_device_data", "vehicle_location", "vehicle_cmds", "vehicle_charging_cmds",
  "energy_device_data", "energy_cmds",
}

local known = tables.set(M.owner)
for _, scope in ipairs { "vehicle_specs", "vehicle_pricing_info", "enterprise_management" } do known[scope] = true end

local function wrong(where)
  errors.usage("%s: bad option 'scopes': it must be a list of strings, or a text with blanks between them", where)
end

-- An unknown scope may be new, unless it resembles a known one: then it is reported as misspelt.
local function check(where, scope)
  if type(scope) ~= "string" or scope == "" or string.find(scope, "%s") then wrong(where) end
  local sentence = not known[scope] and core.unknown("scope", scope, known)
  if sentence and string.find(sentence, "did you mean", 1, true) then errors.usage(where .. ": " .. sentence) end
end

--- A list of scopes from a list, or from a text with spaces between them; nil for nil. Raises for a misspelt scope.
function M.list(where, given)
  if given == nil then return nil end
  local list = {}
  if type(given) == "string" then
    for scope in string.gmatch(given, "%S+") do list[#list + 1] = scope end
  elseif type(given) == "table" then
    for i, scope in ipairs(given) do list[i] = scope end
  else
    wrong(where)
  end
  for _, scope in ipairs(list) do check(where, scope) end
  return list
end

--- The scopes that a sign-in requests: the given list, else that of fleet.new, else all of an owner; and openid with offline_access,
--- because the service otherwise gives no refresh token. more: a further list.
function M.wanted(where, given, config, more)
  local list = M.list(where, given)
  if list and #list == 0 then errors.usage(where .. ": 'scopes' is an empty list") end
  local all, seen = {}, {}
  for _, part in ipairs { list or config.scopes or M.owner, more or {} } do
    for _, scope in ipairs(part) do
      if not seen[scope] then all[#all + 1], seen[scope] = scope, true end
    end
  end
  if seen.offline_access and not seen.openid then table.insert(all, 1, "openid") end
  return all
end

--- The wanted scopes that were not granted. granted: list, empty when the token does not name them.
function M.missing(wanted, granted)
  local have, list = tables.set(granted), {}
  if next(have) == nil then return list end
  for _, scope in ipairs(wanted) do
    if not have[scope] then list[#list + 1] = scope end
  end
  return list
end

return M
