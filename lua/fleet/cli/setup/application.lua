-- The first step of `fleet setup`: the data of the application on Tesla's developer site. Asked for at a terminal, otherwise taken from
-- options and environment.

local core = require "fleet.core"
local hostname = core.hostname
local prompts = require "fleet.cli.prompts"
local regions = require "fleet.cli.regions"
local scopes = require "fleet.cli.scopes"

local M = {}

local usual_redirect = "http://localhost:8537/callback"

local function vendor()
  return core.vendors()[1]
end

local function check_redirect(text)
  if not string.find(text, "^https?://[^%s/]+") then return "a whole address such as " .. usual_redirect .. " is needed" end
end

local function app_kind(s)
  local known = s.given.app or s.options.client_secret and "third_party" or nil
  return prompts.answer(s.environment, {
    name = "app", label = "kind of application: third_party has a client secret, open_source has none", environment = "FLEET_APP",
    choices = { "third_party", "open_source" }, fallback = "third_party",
  }, known, s.asking)
end

local function region_names(s)
  local default = { s.options.region or vendor().regions[1].name }
  local answer = prompts.answer(s.environment, {
    name = "regions", label = "regions in which to register, of na, eu, cn", environment = "FLEET_REGIONS", fallback = default,
  }, s.given.regions, s.asking)
  if type(answer) == "table" then return answer end
  local list = {}
  for word in string.gmatch(answer, "[^,%s]+") do list[#list + 1] = word end
  return list
end

local function ask_application(s)
  local own = s.options
  own.client_id = prompts.answer(s.environment, {
    name = "client_id", label = "client id of the application", environment = "FLEET_CLIENT_ID",
  }, own.client_id, s.asking)
  s.app = app_kind(s)
  if s.app == "third_party" then
    own.client_secret = prompts.answer(s.environment, {
      name = "client_secret", label = "client secret", environment = "FLEET_CLIENT_SECRET", secret = true,
    }, own.client_secret, s.asking)
  else
    own.client_secret = nil
  end
  own.redirect_uri = prompts.answer(s.environment, {
    name = "redirect_uri", label = "redirect address, as registered", environment = "FLEET_REDIRECT_URI", fallback = usual_redirect,
    check = check_redirect,
  }, own.redirect_uri, s.asking)
end

local function ask_domain(s)
  s.options.domain = prompts.answer(s.environment, {
    name = "domain", label = "domain that hosts the public key, empty for none", environment = "FLEET_DOMAIN", optional = true,
    check = hostname.sentence,
  }, s.options.domain, s.asking and s.app == "third_party")
end

local function ask_regions(s)
  if s.options.base_url or not s.app == "third_party" or not s.options.domain then return end
  s.regions = region_names(s)
  local wrong = regions.unknown(s.regions)
  if wrong then require("fleet.cli.usage_error").raise(wrong, { "setup" }) end
  s.options.region = s.options.region or s.regions[1]
end

--- Runs the step. Sets s.options (the options that describe the application), s.app and s.regions.
function M.run(s)
  ask_application(s)
  ask_domain(s)
  ask_regions(s)
  s.options.scopes = s.options.scopes or scopes.owner
  return "done", string.format("%s, %s; Tesla's site must list exactly this redirect address: %s", s.options.client_id,
    s.app == "third_party" and "third-party" or "open-source", s.options.redirect_uri)
end

return M
