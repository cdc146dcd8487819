-- Finds the vehicle or energy site that a person means: by VIN or id, by name, by the end of the VIN, or without a name when the account
-- has only one.

local core = require "fleet.core"

local M = {}

local shortest_end = 3 -- letters of a VIN
local longest_serial = 7 -- digits; more digits are the id of a record

-- Whether text is a VIN or an id, which needs no request.
local function is_id(text)
  if string.match(text, "^%d+$") then return #text > longest_serial end
  return core.is_vin(text)
end

local most_described = 6

-- Lists names and ids; when there are many, their number and the verb that lists them.
local function listed(list, what, verb)
  if #list > most_described then return string.format("%d %ss: 'fleet %s' lists them", #list, what, verb) end
  return #list > 0 and table.concat(list, ", ") or "no " .. what
end

local function described(records)
  local list = {}
  for i, record in ipairs(records) do list[i] = string.format("%s (%s)", record.display_name or "no name", record.vin or "?") end
  return listed(list, "vehicle", "vehicles")
end

local function auth_of(options)
  return { auth = options and options.auth }
end

-- Keeps the records that are tables: a reply of the service may have any type.
local function cleaned(records)
  for _, record in ipairs(records or {}) do
    if type(record.display_name) ~= "string" then record.display_name = nil end
    if not core.is_vin(record.vin) then record.vin = nil end
  end
  return records
end

--- The records of all vehicles; one read for each page, priced as data.
function M.records(context, options)
  local pages = context:client():vehicles({}, auth_of(options))
  local records, err, kind = context:waiting("asking for the account's cars", pages.collect, pages)
  return cleaned(records), err, kind
end

--- The account's products, which are free; requested once per command line.
function M.products(context, options)
  if context.products then return context.products end
  local client = context:client()
  local list, err, kind = context:waiting("asking for the account's cars and sites", client.products, client, auth_of(options))
  if not list then return nil, err, kind end
  context.products = {}
  for _, record in ipairs(list) do
    if type(record) == "table" then table.insert(context.products, record) end
  end
  return context.products
end

-- Error kinds after which the priced list of vehicles is tried: the account may give no products.
local no_list = { protocol = true, scope = true, forbidden = true, unsupported = true, not_found = true }

-- The vehicles in which a name is searched.
local function candidates(context, options)
  if context.vehicles then return context.vehicles end
  local list, err, kind = M.products(context, options)
  if err and not no_list[kind] then return nil, err, kind end
  local found = {}
  for _, record in ipairs(list or {}) do
    if record.vin ~= nil and record.energy_site_id == nil then found[#found + 1] = record end
  end
  if found[1] then
    context.vehicles = cleaned(found)
  else
    context.vehicles, err, kind = M.records(context, options)
  end
  return context.vehicles, err, kind
end

local function is_meant(record, text)
  local small, vin = string.lower(text), string.lower(record.vin or "")
  return string.lower(record.display_name or "") == small or record.id_s == text
    or #text >= shortest_end and string.sub(vin, -#text) == small
end

-- The message includes the fix, so it does not point to `fleet explain`.
local function not_one(kind, message)
  local err = core.err { kind = kind, message = message }
  err.help = false
  return nil, err, kind
end

-- ", did you mean 'Blue'?" when a name is similar, and what the account has.
local function near(text, names, has)
  local meant = string.match(core.unknown("name", text, names), "did you mean '.-'%?")
  return meant and ", " .. meant .. " The account has " .. has or ": the account has " .. has
end

local function names_of(records, member)
  local list = {}
  for _, record in ipairs(records) do list[#list + 1] = record[member] end
  return list
end

-- ", as in 'fleet honk_horn Blue'", with the name of the first vehicle.
local function sample(context, name)
  if not name or string.find(name, "[^%w_.-]") then return "" end
  return string.format(", as in 'fleet %s %s'", context.name or "VERB", name)
end

--- The VIN of the vehicle that text means, or of the only one when text is nil. options: auth of the call, or nil; vin_only = true: the id
--- of a record is not accepted. The search uses the list of products, which is free. Returns nil, err, kind on failure.
function M.find(context, text, options)
  if text and (options and options.vin_only and core.is_vin or is_id)(text) then return text end
  local records, err, kind = candidates(context, options)
  if not records then return nil, err, kind end
  local found = {}
  for _, record in ipairs(records) do
    if record.vin and (text == nil or is_meant(record, text)) then found[#found + 1] = record end
  end
  if #found == 1 then return found[1].vin end
  if text == nil then
    local first = records[1] and (records[1].display_name or records[1].vin)
    return not_one("invalid", "name the vehicle after the verb" .. sample(context, first) .. ": the account has " .. described(records))
  elseif #found == 0 then
    return not_one("not_found", string.format("no vehicle is called '%s', and no VIN ends so%s", text,
      near(text, names_of(records, "display_name"), described(records))))
  end
  return not_one("invalid", string.format("'%s' may be %s: give more of the VIN", text, described(found)))
end

--- The state of a vehicle in the list of products, or nil when the list does not have it.
function M.state(context, vin, options)
  for _, record in ipairs(M.products(context, options) or {}) do
    if record.vin == vin then return record.state end
  end
end

-- ---- energy sites ----

local function site_name(record)
  return type(record.site_name) == "string" and record.site_name or "no name"
end

local function described_sites(sites)
  local list = {}
  for i, site in ipairs(sites) do list[i] = string.format("%s (%s)", site.name, site.id) end
  return listed(list, "energy site", "products")
end

--- The id of the energy site that text means: its id, or its name; of the only one when text is nil. Returns it, or nil, err, kind.
function M.find_site(context, text, options)
  if text and string.match(text, "^%d+$") then return text end
  local list, err, kind = M.products(context, options)
  if not list then return nil, err, kind end
  local sites, found = {}, {}
  for _, record in ipairs(list) do
    local known, id = pcall(core.check_id, "energy_site", record.energy_site_id)
    local site = known and { id = id, name = site_name(record) }
    if site then sites[#sites + 1] = site end
    if site and (text == nil or string.lower(site.name) == string.lower(text)) then found[#found + 1] = site end
  end
  if #found == 1 then return found[1].id end
  local has = described_sites(sites)
  if text == nil then
    local first = sites[1] and sample(context, sites[1].id) or ""
    return not_one(sites[1] and "invalid" or "not_found", "name the energy site after the verb" .. first .. ": the account has " .. has)
  end
  if #found == 0 then
    return not_one("not_found", string.format("no energy site is called '%s'%s", text, near(text, names_of(sites, "name"), has)))
  end
  return not_one("invalid", string.format("'%s' may be %s: give the id", text, described_sites(found)))
end

--- The records of cars and energy sites whose name, id or end of the VIN is text; all of both when text is nil: two lists. Returns
--- nil, err, kind where none or several fit. Looking through the account's products is free.
function M.cars_and_sites(context, text)
  local list, err, kind = M.products(context)
  if not list then return nil, err, kind end
  local cars, sites, found = {}, {}, {}
  for _, record in ipairs(list) do
    local known, id = pcall(core.check_id, "energy_site", record.energy_site_id)
    if known then
      sites[#sites + 1] = { id = id, name = site_name(record), record = record }
    elseif core.is_vin(record.vin) and record.energy_site_id == nil then
      cars[#cars + 1] = cleaned({ record })[1]
    end
  end
  if not text then return cars, sites end
  for _, record in ipairs(cars) do
    if is_meant(record, text) then found[#found + 1] = { { record }, {} } end
  end
  for _, site in ipairs(sites) do
    if site.id == text or string.lower(site.name) == string.lower(text) then found[#found + 1] = { {}, { site } } end
  end
  if #found == 1 then return found[1][1], found[1][2] end
  local names, has = names_of(cars, "display_name"), described(cars) .. " and " .. described_sites(sites)
  for _, name in ipairs(names_of(sites, "name")) do names[#names + 1] = name end
  if found[1] then return not_one("invalid", string.format("'%s' may be several: give VIN or id. The account has %s", text, has)) end
  return not_one("not_found", string.format("no car or energy site is called '%s'%s", text, near(text, names, has)))
end

--- The VINs of a list of texts: see find.
function M.find_all(context, texts, options)
  local vins = {}
  for i, text in ipairs(texts) do
    local vin, err, kind = M.find(context, text, options)
    if not vin then return nil, err, kind end
    vins[i] = vin
  end
  return vins
end

return M
