-- The options of an automation, checked against its rows: a slip of the pen raises and names the nearest.

local errors = require "fleet.util.errors"
local local_time = require "fleet.automation.local_time"
local tables = require "fleet.util.tables"

local M = {}

-- Options that every automation takes.
M.common = {
  name = { type = "string", doc = "needed if two automations of one kind run for one car: each has its own state" },
  precedence = { type = "number", doc = "if automations disagree, the higher number wins. By default that of the kind" },
  daily_cap = { type = "number", min = 1, max = 1000, default = 40, doc = "commands a day, at most" },
  look_every = { type = "number", min = 60, max = 86400, default = 1800, doc = "seconds between reads of the car's record" },
  wake = { type = "boolean", default = false, doc = "may wake the car; each wake is billed" },
  zone = {
    type = "string",
    doc = "IANA name of the time zone: needed for times of day, unless the tariff has it. Otherwise days are in UTC",
  },
  notify = { type = "function", doc = "function(event): called once for each thing that a person should know" },
  dry_run = { type = "boolean", default = false, doc = "read and decide, but send nothing" },
}

local function check_value(where, name, option, value)
  local kinds = option.type
  if kinds ~= "any" and not string.find("|" .. kinds .. "|", "|" .. type(value) .. "|", 1, true) then
    errors.usage("%s: option '%s' must be a %s, got a %s", where, name, (string.gsub(kinds, "|", " or a ")), type(value))
  end
  if type(value) == "number" and not (value >= (option.min or -math.huge) and value <= (option.max or math.huge)) then
    errors.usage("%s: option '%s' must lie between %g and %g", where, name, option.min or -math.huge, option.max or math.huge)
  end
end

local function rows_of(definition)
  local rows, list = {}, {}
  for _, handles in ipairs { definition.handles, definition.also or {} } do
    for name in string.gmatch(table.concat(handles, " "), "%a+") do list[#list + 1] = name end
  end
  for _, source in ipairs { M.common, definition.options } do
    for name, option in pairs(source) do rows[name] = option end
  end
  for name in pairs(rows) do list[#list + 1] = name end
  return rows, list
end

-- An automation has many options, and a name that is near to none of them is answered with all.
local function check_names(where, given, known)
  local is_known = tables.set(known)
  table.sort(known)
  for name in pairs(given) do
    if not is_known[name] then
      errors.usage("%s: %s; its options are %s", where, errors.unknown("option", tostring(name), known), table.concat(known, ", "))
    end
  end
end

local words = { car = "fleet.vehicle", site = "fleet.site" }

local called = { car = "a vehicle of a client", site = "an energy site of a client" }

local function is_handle(value, name)
  local metatable = type(value) == "userdata" and getmetatable(value)
  return metatable and metatable.__name == words[name]
end

-- "car|site" is one of the two.
local function check_handles(where, definition, given)
  for _, name in ipairs(definition.also or {}) do
    local wrong = given[name] ~= nil and not is_handle(given[name], name)
    if wrong then errors.usage("%s: option '%s' must be %s", where, name, called[name]) end
  end
  for _, wanted in ipairs(definition.handles) do
    local found
    for name in string.gmatch(wanted, "%a+") do
      found = found or given[name] ~= nil
      if given[name] ~= nil and not is_handle(given[name], name) then
        errors.usage("%s: option '%s' must be %s", where, name, called[name])
      end
    end
    if not found then errors.usage("%s: option '%s' is missing", where, (string.gsub(wanted, "|", "' or '"))) end
  end
end

--- The options as given, checked and completed. Raises what is wrong.
function M.read(name, definition, given)
  local where = "fleet.automation." .. name
  if type(given) ~= "table" then errors.usage("%s: the options must be a table, got a %s", where, type(given)) end
  local rows, known = rows_of(definition)
  check_names(where, given, known)
  check_handles(where, definition, given)
  local config = { car = given.car, site = given.site }
  for option, row in pairs(rows) do
    local value = given[option]
    if value == nil then value = row.default end
    if value == nil and row.needed then errors.usage("%s: option '%s' is missing: %s", where, option, row.doc) end
    if value ~= nil then check_value(where, option, row, value) end
    config[option] = value
  end
  config.precedence, config.name = config.precedence or definition.precedence, config.name or name
  return config
end

--- The zone of an automation: raises where it is missing or unknown.
function M.zone(where, config, fallback)
  local name = config.zone or fallback
  if not name then errors.usage("fleet.automation.%s: option 'zone' is missing: the IANA name of the local time", where) end
  local zone, err = local_time.zone(name)
  if not zone then errors.usage("fleet.automation.%s: option 'zone': %s", where, tostring(err)) end
  return zone, name
end

return M
