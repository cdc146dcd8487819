-- The options of fleet.new: checked against their rows, completed, and made into addresses, by the core (src/bind/client).

local core = require "fleet.core"
local limits = require "fleet.budget.limits"
local prices = require "fleet.budget.prices"
local scopes = require "fleet.oauth.scopes"
local tables = require "fleet.util.tables"

local M = {}

-- What the members of an option must be.
local members = {
  budgets = function(value) limits.read(value) end,
  pacing = function(value) prices.check("pacing", value, 1) end,
  prices = function(value) prices.check("prices", value, 0) end,
}

local config_mt = { __index = core.option_defaults() }

--- Checks and completes the options. Raises for a wrong one, naming it. Returns config, vendor, addresses
--- { base_url, auth_url, token_url, unix_path, audience, proxy_url, proxy_unix_path }.
function M.read(options)
  if type(options) == "table" and options.scopes ~= nil then
    options = tables.copy(options, { scopes = scopes.list("fleet.new", options.scopes) })
  end
  local config = setmetatable(core.check_options(options), config_mt)
  for name, check in pairs(members) do
    if config[name] ~= nil then check(config[name]) end
  end
  return config, core.addresses(config)
end

return M
