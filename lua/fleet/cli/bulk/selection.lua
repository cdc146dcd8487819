-- Finds the vehicles that a command line for many selects: { vin =, name = } in the order of the file or the account.

local bulk_options = require "fleet.cli.bulk.options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local input = require "fleet.cli.input"
local usage_error = require "fleet.cli.usage_error"
local vehicles = require "fleet.cli.vehicles"

local M = {}

-- Reads the first word of each line. The rest of a line is a comment, as are lines that begin with #.
local function read_vins(environment, path)
  local text = input.read(environment, "--vins", path == "-" and "-" or "@" .. path)
  local list, seen, number = {}, {}, 0
  for line in string.gmatch(text .. "\n", "(.-)\r?\n") do
    number = number + 1
    local word = string.match(line, "^%s*([^%s,;#]+)")
    if word and not core.is_vin(word) then
      usage_error.raise(string.format("--vins: line %d: '%s' is no VIN", number, word))
    end
    if word and not seen[word] then
      seen[word], list[#list + 1] = true, { vin = word }
    end
  end
  return list
end

local function fits(record, given)
  if given.state and record.state ~= given.state then return false end
  return not given.model or string.sub(record.vin or "", 4, 4) == bulk_options.models[given.model]
end

local function of_model(list, given)
  local found = {}
  for _, entry in ipairs(list) do
    if fits(entry, given) then found[#found + 1] = entry end
  end
  return found
end

local function some(list)
  if #list > 0 then return list end
  return errors.failure("not_found", "no vehicle fits these options")
end

local function of_account(context, given, call_options)
  local records, err, kind = vehicles.records(context, call_options)
  if not records then return nil, err, kind end
  local list = {}
  for _, record in ipairs(records) do
    if record.vin and fits(record, given) then list[#list + 1] = { vin = record.vin, name = record.display_name } end
  end
  return list
end

local function both(list, wanted)
  local set, found = {}, {}
  for _, entry in ipairs(wanted) do set[entry.vin] = true end
  for _, entry in ipairs(list) do
    if set[entry.vin] then found[#found + 1] = entry end
  end
  return found
end

local function check(given)
  for _, option in ipairs(bulk_options.list) do
    local value, names, known = given[option.name], {}, option.choices == nil or given[option.name] == nil
    for i, choice in ipairs(option.choices or {}) do
      names[i] = choice.name
      known = known or choice.name == value
    end
    if not known then usage_error.unknown("--" .. option.name, tostring(value), names, {}) end
  end
  local width = given.concurrency
  if width and not (width >= 1 and width <= 256) then usage_error.raise("--concurrency must be 1 to 256") end
end

--- The vehicles that the options select; or nil, err, kind. The state and the name come from the account: one read for each page, priced as
--- data. A file of VINs alone needs no request.
function M.find(context, given, call_options)
  check(given)
  local wanted = given.vins and read_vins(context.environment, given.vins)
  if wanted and not given.state then return some(of_model(wanted, given)) end
  local list, err, kind = of_account(context, given, call_options)
  if not list then return nil, err, kind end
  return some(wanted and both(list, wanted) or list)
end

return M
