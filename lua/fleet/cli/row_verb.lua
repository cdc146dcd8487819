-- Runs a row as a verb: the words and name=value pairs of the command line become the arguments of the row's call.

local argv = require "fleet.cli.argv"
local bulk_options = require "fleet.cli.bulk.options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local usage_error = require "fleet.cli.usage_error"
local secrets = require "fleet.cli.secrets"
local values = require "fleet.cli.values"
local options = require "fleet.cli.options"
local row_words = require "fleet.cli.row_words"
local vehicles = require "fleet.cli.vehicles"

local M = {}

-- ---- the arguments of a row ----

M.called, M.parameters = row_words.called, row_words.parameters

-- A row's name as it is written: "charging history".
local function spoken(row)
  return (string.gsub(row.name, "%.", " "))
end

local function find(row, name)
  local names = {}
  for _, param in ipairs(row.params) do
    if param.name == name or param.former == name then return param end
    names[#names + 1] = param.name
  end
  if not row.flags.body_as_given then usage_error.unknown("parameter", name, names, { row.name }) end
end

-- ---- from words to arguments ----

local function set(args, param, value)
  if args[param.name] ~= nil then usage_error.raise(string.format("'%s' is given twice", param.name)) end
  args[param.name] = value
end

local list_types = { vins = true, strings = true }

-- A list that may be given as bare words takes all remaining words.
local function take_words(environment, param, words, i)
  local last = list_types[param.type] and #words or i
  return values.read(environment, param, table.concat(words, ",", i, last), M.called(param)), last
end

local function surplus(row, words, i, named)
  local word = words[i]
  for at = 1, #words do
    local name, value = string.match(words[at], "^([%a_][%w_]*)$"), words[at + 2]
    if name and words[at + 1] == "=" and value then
      usage_error.raise(string.format("'%s': a parameter is one word, without blanks: %s=%s", spoken(row), name, value), { row.name })
    end
  end
  local sample = named[1] and string.format(": parameters are written name=value, such as %s=%s", named[1].name, word) or ""
  usage_error.raise(string.format("'%s' is one word too many for '%s'%s", word, spoken(row), sample), { row.name })
end

-- A body that is sent unchanged may be one word: @file, - or JSON text.
local function take_body(environment, row, word, args)
  local body = values.read(environment, { type = "object" }, word, spoken(row))
  if type(body) ~= "table" then usage_error.raise(string.format("'%s' takes a JSON object", spoken(row)), { row.name }) end
  for name, value in pairs(body) do set(args, { name = name }, value) end
end

local function is_vehicle(row, param)
  return param ~= nil and row.handle == "vehicle" and param.implied
end

local function is_site(row, param)
  return param ~= nil and row.handle == "site" and param.implied
end

-- Whether an argument may be left out when the account has only one of it.
local function is_handle(row, param)
  return is_vehicle(row, param) or is_site(row, param)
end

-- Whether the first word names the vehicle or site: it does when there are more words than the other arguments need.
local function names_handle(bare, words)
  local others = 0
  for i = 2, #bare do others = others + (bare[i].required and 1 or 0) end
  return #words > others
end

local function bind_words(environment, row, words, args, many)
  local bare, named = M.parameters(row)
  local i = 1
  for number = many and 2 or is_handle(row, bare[1]) and not names_handle(bare, words) and 2 or 1, #bare do
    if words[i] == nil then break end
    local value, last = take_words(environment, bare[number], words, i)
    set(args, bare[number], value)
    i = last + 1
  end
  if row.flags.body_as_given and i == #words then return take_body(environment, row, words[i], args) end
  if words[i] ~= nil then surplus(row, words, i, named) end
end

local function bind_pairs(environment, row, pairs_given, args)
  for _, pair in ipairs(pairs_given) do
    local param = find(row, pair.name)
    if param then
      set(args, param, values.read(environment, param, pair.text, pair.name))
    else
      set(args, pair, values.read_free(environment, pair.text, pair.name))
    end
  end
end

-- Whether the row needs this parameter with these arguments: some are required only while a flag is true.
local function wanted(row, param, args)
  if param.required then return true end
  for _, other in ipairs(row.params) do
    if other.switch and args[other.name] == false then return false end
  end
  for flag in string.gmatch(param.required_with or "", "%S+") do
    if args[flag] == true then return true end
  end
  return false
end

local function check_complete(environment, row, args)
  for _, param in ipairs(row.params) do
    if args[param.name] == nil and wanted(row, param, args) and not is_handle(row, param) then
      if not param.secret then
        local bare = param.implied or param.place == "path" or param.whole
        local text = bare and M.called(param) or param.name .. "="
        local sample = require("fleet.cli.examples").text(row)
        usage_error.raise(string.format("'%s' needs %s (%s), as in: %s", spoken(row), text, param.doc, sample), { row.name })
      end
      args[param.name] = secrets.find(environment, param, param.name)
    end
  end
end

--- The arguments by name that a command line gives. The vehicle or site is still the text that the person typed, or absent; `run` resolves
--- it. many = true: options select the vehicles, no word does.
function M.arguments(environment, row, line, many)
  local args = {}
  bind_words(environment, row, line.words, args, many)
  bind_pairs(environment, row, line.pairs, args)
  check_complete(environment, row, args)
  return args
end

-- ---- calling ----

local function collect(list, progress)
  local all = {}
  local ok, err = pcall(function()
    for records in list:pages() do
      for _, record in ipairs(records) do all[#all + 1] = record end
      progress(string.format("%d records", #all))
    end
  end)
  progress()
  if ok then return setmetatable(all, { __jsontype = "array" }) end -- "[]" in JSON, also when the list is empty
  if type(err) ~= "table" then error(err, 0) end
  return nil, err, err.kind
end

-- Replaces names of vehicles by VINs and names of sites by ids.
local function find_handles(context, row, args, call_options)
  for _, param in ipairs(row.params) do
    local given, err, kind = args[param.name], nil, nil
    if is_vehicle(row, param) then
      args[param.name], err, kind = vehicles.find(context, given, call_options)
    elseif is_site(row, param) then
      args[param.name], err, kind = vehicles.find_site(context, given, call_options)
    elseif param.type == "vins" and given then
      args[param.name], err, kind = vehicles.find_all(context, given, call_options)
    end
    if err then return nil, err, kind end
  end
  return true
end

-- Before --wake wakes a sleeping vehicle, checks whether the vehicle has the key: it rejects a signed command without it, and the check
-- costs a tenth of the wake. --force skips the check.
local function check_before_wake(context, row, args, call_options)
  local client = context:client()
  local signs = row.flags.command and core.context(client).keys and core.context(client).config.commands ~= "plain"
  if not signs or not call_options.wake or call_options.force or not core.is_vin(args.vin) then return true end
  if vehicles.state(context, args.vin, call_options) == "online" then return true end
  local status = client:fleet_status({ args.vin }, { auth = call_options.auth })
  local paired, record = nil, nil
  if status then paired, record = require("fleet.registration.pairing").paired(args.vin, status) end
  if paired ~= "unpaired" or record.vehicle_command_protocol_required == false then return true end
  local text = "%s: the application's key is not on this vehicle: it was not woken. --force wakes it all the same"
  return errors.failure("key_not_paired", string.format(text, row.name), { vin = args.vin, outcome = "not_sent" })
end

local function check_stray(row, line)
  local name = bulk_options.stray(line.options)
  if not name then return end
  usage_error.raise(string.format("option '%s' is for many vehicles: add --all, --vins FILE, --state or --model", argv.written(name)),
    { row.name })
end

--- Makes the row's call. Returns its value, or nil, err, kind.
function M.run(context, row, line)
  local many = bulk_options.asked(line.options)
  if not many then check_stray(row, line) end
  local args = M.arguments(context.environment, row, line, many)
  local call_options = options.given(context.environment, options.call, line.options)
  if many then return require("fleet.cli.bulk").run(context, row, args, line, call_options) end
  local client = context:client()
  local found, err, kind = find_handles(context, row, args, call_options)
  if not found then return nil, err, kind end
  found, err, kind = check_before_wake(context, row, args, call_options)
  if not found then return nil, err, kind end
  local value
  value, err, kind = context:waiting(call_options.wake and "waking the vehicle if it sleeps" or "waiting for the answer", client.call,
    client, row.name, args, call_options)
  if err then return nil, err, kind end
  if row.paging ~= "no" then
    value, err, kind = collect(value, context.progress)
    if value and row.name == "vehicles" then require("fleet.cli.names").remember(context.environment, value) end
    return value, err, kind
  end
  if value == nil then value = core.null end
  return value
end

--- The exit status after a good reply. It is that of `refused` when every vehicle of a telemetry configuration was skipped.
function M.status(context, row, value)
  if row.verb ~= "POST" or type(value) ~= "table" or value.updated_vehicles ~= 0 then return 0 end
  if not context.json then context.environment.stderr:write("fleet: ", row.name, ": no vehicle took it\n") end
  return require("fleet.cli.failure").exit("refused")
end

return M
