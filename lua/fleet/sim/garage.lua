-- Reads the garage file, which describes the simulated account. Each problem is reported with its place and the expected value, because an
-- ignored misspelling would be hard to find later. doc/garage.schema.json has the same rules for editors.
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local defaults = require("fleet.sim.defaults")
local json = require("fleet.sim.json")
local keys = require("fleet.sim.keys")

local M = {}

-- A rule is a type name, a list of allowed texts, { each = rule, most = count } for lists, or { members = rules, open = true }.
local REGION = { "na", "eu", "cn" }
local TEXTS = { each = "string" }

local ROLE = {
  "NONE", "SERVICE", "OWNER", "DRIVER", "FM", "VEHICLE_MONITOR", "CHARGING_MANAGER", "GUEST",
}

local KEY = { either = { "key", { members = { public_key = "key", role = ROLE }, required = { "public_key" } } } }

local function of_defaults(make)
  local members = {}
  for name, value in pairs(make()) do
    if type(value) == "table" and value ~= json.null and not json.is_list(value) then
      members[name] = { members = {}, open = true }
    elseif value ~= json.null and type(value) ~= "table" then
      members[name] = { either = { type(value), "null" } }
    end
  end
  return members
end

local vehicle_members = of_defaults(function()
  local all = defaults.record()
  for name, value in pairs(defaults.status()) do all[name] = value end
  return all
end)

for name, make in pairs(defaults.sections) do
  vehicle_members[name] = { members = of_defaults(make), open = true }
end

for name, rule in pairs({
  vin = "vin", id = "number", vehicle_id = "number", display_name = { either = { "string", "null" } }, id_s = "string",
  user_id = "number", color = "any", option_codes = "any", tokens = "any", backseat_token = "any",
  backseat_token_updated_at = "any", state = { "online", "asleep", "offline" }, access_type = { "OWNER", "DRIVER" },
  granular_access = { members = { hide_private = "boolean" } }, total_number_of_keys = { either = { "number", "null" } },
  safety_screen_streaming_toggle_enabled = "any", fleet_telemetry_version = "any", keys = { each = KEY, most = 20 }, owner = "string",
  model = { "m3", "my", "ms", "mx", "cybertruck", "semi", "roadster", "cybercab" },
  model_year = "number", telemetry_configs = "number", car_wash = "boolean",
  protocol = "boolean", mobile_enabled = "boolean", sleep_after = "number", wake_seconds = "number",
  intel_atom = "boolean", drivers = { each = { members = { email = "string", hide_private = "boolean" } } },
  specs = { members = {}, open = true }, service_data = { members = {}, open = true }, recent_alerts = { each = "table" },
  pins = { members = { valet = "string", speed_limit = "string", pin_to_drive = "string", parental = "string" } },
  fleet_telemetry_errors = { each = "table" }, upcoming_firmware = "string",
}) do
  vehicle_members[name] = rule
end

M.rules = {
  members = {
    accounts = {
      each = {
        members = {
          email = "string", region = REGION, business = "boolean", auth_code = "string", full_name = "string",
          orders = { each = "table" },
        },
        required = { "email" },
      },
    },
    vehicles = { each = { members = vehicle_members, required = { "vin" } } },
    energy_sites = { each = { members = { owner = "string" }, open = true } },
    charging_history = { each = { members = { vin = "string" }, open = true, required = { "vin" } } },
    apps = {
      each = {
        members = {
          client_id = "string", client_secret = "string", redirect_uris = TEXTS, domain = "string", public_key = KEY,
          registered = "boolean", csr = "boolean", scopes = TEXTS, name = "string",
        },
        required = { "client_id" },
      },
    },
    limits = "boolean",
    region = REGION,
  },
}

-- ---- checking ----

local function kind_of(value)
  if value == json.null then return "null" end
  if type(value) == "table" then return json.is_list(value) and "list" or "object" end
  return type(value)
end

local NOUNS = { key = "a P-256 public key, as 130 hex digits or PEM,", object = "an object", null = "null" }

local function noun(name)
  return NOUNS[name] or "a " .. name
end

local check

local function fail(path, ...)
  error(("%s: %s"):format(path == "" and "the garage" or path, (...):format(select(2, ...))), 0)
end

local function check_members(value, rule, path)
  if kind_of(value) ~= "object" and next(value) ~= nil then fail(path, "an object is expected") end
  for name, member in pairs(value) do
    local place = path == "" and tostring(name) or path .. "." .. tostring(name)
    local inner = rule.members[name]
    if inner then
      check(member, inner, place)
    elseif not rule.open then
      fail(path, "%s", errors.unknown("member", name, rule.members))
    end
  end
  for _, name in ipairs(rule.required or {}) do
    if value[name] == nil then fail(path, "'%s' is missing", name) end
  end
end

-- Reports the problem by the alternative that the value resembles.
local function check_either(value, rule, path)
  local object, names = nil, {}
  for _, inner in ipairs(rule.either) do
    if type(inner) == "table" and kind_of(value) == "object" then object = inner end
    if pcall(check, value, inner, path) then return end
    names[#names + 1] = noun(type(inner) == "string" and inner or "object")
  end
  if object then return check(value, object, path) end
  fail(path, "%s is expected, not %s", table.concat(names, " or "), noun(kind_of(value)))
end

local function check_word(value, words, path)
  for _, word in ipairs(words) do
    if value == word then return end
  end
  fail(path, "one of %s is expected", table.concat(words, ", "))
end

local function check_type(value, name, path)
  if name == "any" then return end
  if name == "vin" then
    if core.is_vin(value) then return end
    fail(path, "a VIN has %s", core.vin_spelling)
  end
  if name == "key" then
    if type(value) == "string" and keys.hex(value) then return end
    fail(path, "%s is expected", NOUNS.key)
  end
  local kind = kind_of(value)
  if kind == name or (name == "table" and (kind == "object" or kind == "list")) then return end
  fail(path, "%s is expected, not %s", noun(name), noun(kind))
end

function check(value, rule, path)
  if type(rule) == "string" then return check_type(value, rule, path) end
  if rule.either then return check_either(value, rule, path) end
  if not rule.each and not rule.members then return check_word(value, rule, path) end
  if type(value) ~= "table" or value == json.null then
    fail(path, "%s is expected", rule.each and "a list" or "an object")
  end
  if not rule.each then return check_members(value, rule, path) end
  if not json.is_list(value) and next(value) ~= nil then fail(path, "a list is expected") end
  if rule.most and #value > rule.most then fail(path, "at most %d are possible", rule.most) end
  for i, item in ipairs(value) do check(item, rule.each, ("%s[%d]"):format(path, i)) end
end

local function check_unique(list, field, path)
  local seen = {}
  for i, item in ipairs(list or {}) do
    local value = item[field]
    if value ~= nil and seen[value] then fail(("%s[%d]"):format(path, i), "%s %s occurs twice", field, value) end
    if value ~= nil then seen[value] = true end
  end
  return seen
end

local function check_owner(list, accounts, path)
  for i, item in ipairs(list or {}) do
    if item.owner and not accounts[item.owner] then
      fail(("%s[%d].owner"):format(path, i), "no account has the email %s", item.owner)
    end
  end
end

-- Raises a sentence that names the place of the problem.
function M.check(garage)
  check(garage, M.rules, "")
  local accounts = check_unique(garage.accounts, "email", "accounts")
  check_unique(garage.vehicles, "vin", "vehicles")
  check_unique(garage.vehicles, "id", "vehicles")
  check_unique(garage.energy_sites, "energy_site_id", "energy_sites")
  check_unique(garage.apps, "client_id", "apps")
  if not garage.accounts then accounts[defaults.garage.accounts[1].email] = true end
  check_owner(garage.vehicles, accounts, "vehicles")
  check_owner(garage.energy_sites, accounts, "energy_sites")
end

-- ---- loading ----

local function read(path)
  local file, message = io.open(path, "rb")
  if not file then error("the garage cannot be read: " .. message, 0) end
  local text = file:read("*a")
  file:close()
  local value, problem = json.decode(text)
  if value == nil then error(("%s: %s"):format(path, problem), 0) end
  return value
end

local function copy(value)
  if type(value) ~= "table" or value == json.null then return value end
  local t = {}
  for name, member in pairs(value) do t[name] = copy(member) end
  return setmetatable(t, getmetatable(value))
end

M.copy = copy

-- load(nil | path | table) → a checked copy of the garage; raises what is wrong with it.
function M.load(source)
  local garage = source
  if source == nil then garage = defaults.garage end
  if type(source) == "string" then garage = read(source) end
  if type(garage) ~= "table" or garage == json.null then error("the garage: an object is expected", 0) end
  M.check(garage)
  garage = copy(garage)
  for _, app in ipairs(garage.apps or {}) do
    local key = app.public_key
    app.key_hex = key and keys.hex(type(key) == "table" and key.public_key or key)
  end
  if not garage.accounts or #garage.accounts == 0 then garage.accounts = copy(defaults.garage.accounts) end
  return garage
end

-- app(loaded garage) → the options of fleet.new for an application that may sign in: the garage's first, or an invented one when the garage
-- lists none.
function M.app(garage)
  local app = garage.apps and garage.apps[1] or { client_id = "simulator", client_secret = "simulator" }
  return {
    client_id = app.client_id, client_secret = app.client_secret, scopes = app.scopes,
    redirect_uri = app.redirect_uris and app.redirect_uris[1] or "http://localhost:8125/callback",
  }
end

return M
