-- Every verb of the command line: one entry per row of the service, one file below fleet.cli.verbs per verb that is not a row.
--
-- A verb is { name =, doc =, options = by name, run = function(context, line) → value or nil, err, kind }, and where it has
-- them words (names of the bare words, which must all be there; without it the verb reads them itself), usage, details,
-- takes (its own options), local_only (needs no client), show (prints the value for a person), json (its text for
-- --json), row.

local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local rows = require "fleet.call.rows"
local unpack = require("fleet.util.compat").unpack

local M = { list = {}, by_name = {}, rows = {} }

-- The files by task, in the order in which `fleet help` names them.
local tasks = {
  { "Set up and sign in", { "setup", "login", "account", "keygen", "jws", "pair", "doctor" } },
  { "Vehicles, energy and money", { "wake", "chart", "tariff", "cost" } },
  { "Services that go on running", { "run", "proxy", "mqtt" } },
  { "Try without a car", { "sim" } },
  { "Look things up", { "help", "explain", "endpoints", "version", "completion" } },
}

local of_rows = options.by_name(options.own, options.client, options.call)
local of_vehicle_rows = options.by_name(options.own, options.client, options.call, options.bulk)

local function add(verb)
  if M.by_name[verb.name] then error("two verbs are called '" .. verb.name .. "'") end
  M.by_name[verb.name] = verb
end

local function add_file(file, task)
  for _, verb in ipairs(require("fleet.cli.verbs." .. file)) do
    verb.options = options.by_name(options.own, verb.local_only and {} or options.client, verb.takes or {})
    verb.task = task
    M.list[#M.list + 1] = verb
    add(verb)
  end
end

for _, task in ipairs(tasks) do
  for _, file in ipairs(task[2]) do add_file(file, task[1]) end
end

for _, row in ipairs(rows.list) do
  local verb = {
    name = row.name, doc = row.doc, row = row, options = row.handle == "vehicle" and of_vehicle_rows or of_rows,
    run = function(context, line) return require("fleet.cli.row_verb").run(context, row, line) end,
    show = function(out, value) require("fleet.cli.show").result(out, row, value) end,
  }
  M.rows[#M.rows + 1] = verb
  add(verb)
end

--- Every option of every verb by name: what the command line is split by before the verb is known.
M.options = {}
for _, verb in ipairs(M.list) do
  for name, option in pairs(verb.options) do M.options[name] = option end
end
for name, option in pairs(of_vehicle_rows) do M.options[name] = option end

--- What a command line is split by: two verbs may read one name differently, and the first word names the verb.
function M.options_of(arguments)
  for _, text in ipairs(arguments) do
    if string.sub(text, 1, 1) ~= "-" then
      local verb = M.by_name[text]
      return verb and tables.copy(M.options, verb.options) or M.options
    end
  end
  return M.options
end

-- ---- finding one by the words of a command line ----

--- A verb's name as it is written: "charging history".
function M.spoken(name)
  return (string.gsub(name, "%.", " "))
end

local function members_of(group)
  local list = {}
  for name in pairs(M.by_name) do
    if string.sub(name, 1, #group + 1) == group .. "." then list[#list + 1] = string.sub(name, #group + 2) end
  end
  table.sort(list)
  return list
end

--- The verbs of a group ("tariff", "charging") as names, when that is all that the words say; else nil.
function M.group(given)
  if given[1] == nil or given[2] ~= nil or M.by_name[given[1]] then return nil end
  local names = {}
  for i, name in ipairs(members_of(given[1])) do names[i] = given[1] .. "." .. name end
  return #names > 0 and names or nil
end

local function unknown(given)
  local members = members_of(given[1])
  if #members > 0 and not given[2] then
    usage_error.raise(string.format("'%s' needs one of: %s", given[1], table.concat(members, ", ")), { given[1] })
  end
  local names = {}
  for name in pairs(M.by_name) do names[#names + 1] = M.spoken(name) end
  usage_error.unknown("verb", #members > 0 and given[1] .. " " .. given[2] or M.spoken(given[1]), names, {})
end

--- How a verb is used: "keygen PATH".
function M.usage(verb)
  return verb.usage or table.concat({ M.spoken(verb.name), unpack(verb.words or {}) }, " ")
end

--- Raises unless the line holds the words that the verb wants, and no name=value.
function M.check_words(verb, line)
  if not verb.words then return end
  local name, extra = M.spoken(verb.name), line.words[#verb.words + 1]
  for i, wanted in ipairs(verb.words) do
    if line.words[i] == nil then usage_error.raise(string.format("'%s' needs %s", name, wanted), { name }) end
  end
  if line.pairs[1] then extra = line.pairs[1].name .. "=" end
  if extra then usage_error.raise(string.format("'%s' takes no '%s'", name, extra), { name }) end
end

--- The verb that the first words name, nil when there are none, and the words that are left. Raises for an unknown one.
function M.find(given)
  if given[1] == nil then return nil, given end
  local two = given[2] and M.by_name[given[1] .. "." .. given[2]]
  local verb = two or M.by_name[given[1]] or unknown(given)
  local rest = {}
  for i = two and 3 or 2, #given do rest[#rest + 1] = given[i] end
  return verb, rest
end

return M
