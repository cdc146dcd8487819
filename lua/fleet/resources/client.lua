-- Methods of a client beyond its rows, and the handles that it makes.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local on_demand = require "fleet.util.on_demand"
local rows = require "fleet.call.rows"
local tables = require "fleet.util.tables"

local M = { around = {}, methods = {}, each = {} }

-- ---- handles ----

local function check_colon(name, client)
  if not core.is_handle(client) then errors.usage("%s: call it with a colon: client:%s(…)", name, name) end
end

local vin_length = 17

--- A handle for one vehicle; makes no call. vin: a VIN or the service's id, string.
function M.methods.vehicle(client, vin)
  check_colon("vehicle", client)
  if type(vin) == "string" and #vin ~= vin_length and not pcall(core.check_id, "vehicle", vin) then -- perhaps a name
    errors.usage("vehicle: 'vin' is not a VIN: 17 capital letters and digits, without I, O and Q. client:vehicles() lists the "
      .. "vehicles with their names")
  end
  return core.handle("vehicle", client, core.check_id("vehicle", vin))
end

--- A handle for one energy site; makes no call. id: digits, string or integer.
function M.methods.energy_site(client, id)
  check_colon("energy_site", client)
  if type(id) == "string" and string.find(id, "%D") then -- perhaps a name
    errors.usage("energy_site: 'id' must be digits. client:energy_sites() lists the sites with their names")
  end
  return core.handle("site", client, core.check_id("energy_site", id))
end

-- The energy sites in the list of products, as the only page of a walk.
local function sites_walk(row, client, request)
  local asked = false
  return function()
    if asked then return nil end
    asked = true
    local list, err, kind = require("fleet.call").perform(row, client, request)
    if err then return nil, err, kind end
    local sites = {}
    for _, record in ipairs(list) do
      if pcall(core.check_id, "energy_site", record.energy_site_id) then sites[#sites + 1] = record end
    end
    return sites
  end
end

--- The energy sites of the account: for site, record in client:energy_sites() do … end; :collect() gives the records. One free call.
function M.methods.energy_sites(client, options)
  local row = rows.by_name.products
  local function plan() return core.plan(row.pointer, client, options) end
  local function each(record) return core.handle("site", client, core.check_id("energy_site", record.energy_site_id)), record end
  return require("fleet.call.pages").new(row, client, plan, each, function(request) return sites_walk(row, client, request) end)
end

-- The text by which a record of the list names a vehicle, or nil and why it is invalid. The record is from the service, so nothing raises.
local function id_of(record)
  if type(record) ~= "table" then return nil, "it is no object" end
  local id = record.vin
  if id ~= nil and id ~= core.null and id ~= "" then -- a vehicle in delivery may have an empty one
    if core.is_vin(id) then return id end
    return nil, "its 'vin' is none: " .. core.json_encode(id)
  end
  for _, name in ipairs { "id_s", "id" } do
    local ok, text = pcall(core.check_id, "vehicle", record[name])
    if ok then return text end
  end
  return nil, "it has neither a 'vin' nor an 'id_s'"
end

--- A loop over the vehicles gives handles with their records. A record that names no vehicle is skipped and reported to `log`.
function M.each.vehicles(client, record)
  local context = core.context(client)
  local id, why = id_of(record)
  if not id then
    context.report { name = "vehicles", message = "a vehicle of the list is left out: " .. why }
    return nil
  end
  local car = core.handle("vehicle", client, id)
  context.states[id] = type(record.state) == "string" and record.state or nil
  return car, record
end

-- ---- calls ----

local call_by_name = on_demand.call("fleet.call.by_name", "call")

--- Calls any row by its name; args include the path arguments. Returns what the method returns; for a paged row an iterable.
function M.methods.call(client, name, args, options)
  local row = rows.by_name[name]
  if not row then errors.unknown_name("call", "name", name, rows.all_by_name()) end
  return call_by_name(row, client, args, options)
end

--- Calls any path of the service, including paths without a row.
M.methods.request = on_demand.call("fleet.call.any", "request")

M.around.fleet_status = on_demand.call("fleet.resources.fleet_status", "ask")
M.around.create_fleet_telemetry_config = on_demand.call("fleet.resources.telemetry", "create")
M.around.create_fleet_telemetry_config_jws = on_demand.call("fleet.resources.telemetry", "create_jws")

-- The code at the end of a link such as https://…/_rs/1/CODE?x=1, with or without https://; other text is the code itself.
local function code_in(text)
  text = string.gsub(string.gsub(text, "[?#].*$", ""), "^%a+://", "")
  local path = string.match(text, "/(.*)$")
  if not path then return text end
  local code = not string.find(path, "^_rs/?%d*/?$") and string.match(path, "([^/]+)/?$")
  if not code then errors.usage("redeem_invitation: 'code' is a link that ends without a code") end
  return code
end

--- Takes a code, or the whole link that ends with it.
function M.around.redeem_invitation(plain, client, params, ...)
  if type(params) == "table" and type(params.code) == "string" then params = tables.copy(params, { code = code_in(params.code) }) end
  return plain(client, params, ...)
end

-- ---- signing in, tokens, region: documented in their modules ----

local of_context = {
  ["fleet.oauth.authorize"] = { "authorize_url", "authorize", "consent_url", "add_scopes_url", "pairing_url" },
  ["fleet.oauth.tokens"] = { "refresh", "partner_login", "business_login", "keep_alive" },
}

local function with_context(module, name)
  local call = on_demand.call(module, name)
  return function(client, ...)
    return call((core.context(client)), ...)
  end
end

for module, names in pairs(of_context) do
  for _, name in ipairs(names) do M.methods[name] = with_context(module, name) end
end
M.methods.logout = with_context("fleet.oauth.tokens", "logout")
M.methods.scopes = with_context("fleet.oauth.tokens", "scopes")
M.methods.token_info = with_context("fleet.oauth.tokens", "info")
M.methods.discover_region = with_context("fleet.client.discovery", "discover")
M.methods.telemetry = on_demand.call("fleet.resources.stream", "telemetry")
M.methods.cost = on_demand.call("fleet.resources.cost", "report")
M.methods.close = on_demand.call("fleet.client.closing", "close")

return M
