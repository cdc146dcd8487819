-- All verbs of the command line: one entry per row of the service, and one file below fleet.cli.verbs for every other verb.
--
-- A verb is { name =, doc =, options = by name, run = function(context, line) → value or nil, err, kind }. Optional members: words (names
-- of the bare words, all required; without it the verb reads them itself), usage, details (text, or function → text), takes (its own
-- options), local_only (needs no client), explains_itself (its failures need no `fleet explain`), show (prints the value for a person),
-- json (its text for --json), status (function(context, value) → exit status), completes (the words that may follow, for the Tab key), row.

local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local unpack = require("fleet.util.compat").unpack

local M = {}

-- The files by task, in the order in which `fleet help` names them.
local tasks = {
  { "Set up and sign in", { "setup", "login", "account", "keygen", "jws", "pair", "doctor" } },
  { "Vehicles, energy and money", { "status", "wake", "car", "chart", "tariff", "cost" } },
  { "Services, which run until you stop them", { "run", "proxy", "mqtt", "telemetry" } },
  { "Try without a car", { "sim" } },
  { "Look things up", { "help", "explain", "endpoints", "version", "completion" } },
}

-- Files whose verbs begin with another word than the file's name.
local first_words = {
  account = { "token", "refresh", "keep_alive", "logout", "business_login", "region" }, endpoints = { "endpoints", "commands" },
  car = {
    "locate", "navigate", "keys", "body_controller_state", "signed_data", "signed_nearby_charging_sites", "wait_until",
  },
}

-- ---- one verb: only its own file is loaded ----

local by_file = {} -- file -> its verbs

local function load_file(file, task)
  if by_file[file] then return by_file[file] end
  local list = require("fleet.cli.verbs." .. file)
  for _, verb in ipairs(list) do
    verb.options = options.by_name(options.own, verb.local_only and {} or options.client, verb.takes or {})
    verb.task = task
  end
  by_file[file] = list
  return list
end

local files = {} -- first word of a verb's name -> { file, task }
for _, task in ipairs(tasks) do
  for _, file in ipairs(task[2]) do
    for _, word in ipairs(first_words[file] or { file }) do files[word] = { file, task[1] } end
  end
end

local of_rows, of_vehicle_rows = {}, {}

local function options_of_row(row)
  local list = row.handle == "vehicle" and of_vehicle_rows or of_rows
  if not next(list) then tables.add(list, options.by_name(options.own, options.client, options.call)) end
  if list == of_vehicle_rows then tables.add(list, options.by_name(options.bulk)) end
  return list
end

local verbs_of_rows = {}

local function of_row(row)
  local verb = verbs_of_rows[row.name] or {
    name = row.name, doc = row.doc, row = row, options = options_of_row(row),
    run = function(context, line) return require("fleet.cli.row_verb").run(context, row, line) end,
    show = function(out, value, context) require("fleet.cli.show").result(out, row, value, context.options.wide ~= nil) end,
    status = function(context, value) return require("fleet.cli.row_verb").status(context, row, value) end,
  }
  verbs_of_rows[row.name] = verb
  return verb
end

local function named(name)
  local file = files[string.match(name, "^[^.]*")]
  for _, verb in ipairs(file and load_file(file[1], file[2]) or {}) do
    if verb.name == name then return verb end
  end
  local row = require("fleet.call.rows").by_name[name]
  return row and of_row(row)
end

-- ---- all verbs, made when one of these names is read ----

local function add(all, verb)
  if all.by_name[verb.name] then error("two verbs are called '" .. verb.name .. "'") end
  all.by_name[verb.name] = verb
  tables.add(all.options, verb.options)
end

--- list: verbs that are not rows; rows: verbs that are rows; by_name; options: every option of every verb by name, with which a command
--- line is split while its verb is unknown.
local function make_all()
  local all = { list = {}, rows = {}, by_name = {}, options = {} }
  for _, row in ipairs(require("fleet.call.rows").all()) do
    all.rows[#all.rows + 1] = of_row(row)
    add(all, of_row(row))
  end
  for _, task in ipairs(tasks) do
    for _, file in ipairs(task[2]) do
      for _, verb in ipairs(load_file(file, task[1])) do
        all.list[#all.list + 1] = verb
        add(all, verb)
      end
    end
  end
  return all
end

local of_all = { list = true, rows = true, by_name = true, options = true }

setmetatable(M, { __index = function(_, name) return of_all[name] and tables.add(M, make_all())[name] or nil end })

-- Looks in the verb's own options first. The other options are only needed to report one that the verb does not take.
local function with_all(own)
  return setmetatable(tables.copy(own), { __index = function(_, name) return M.options[name] end })
end

-- The first two words of a command line; options may come before and between them.
local function first_two(arguments)
  local known, words, i = options.by_name(options.own, options.client, options.call), {}, 1
  while arguments[i] and #words < 2 do
    local name = string.match(arguments[i], "^%-%-([^=]+)$")
    local option = name and known[(string.gsub(name, "-", "_"))]
    if option and option.type ~= "boolean" then
      i = i + 1 -- its value
    elseif string.sub(arguments[i], 1, 1) ~= "-" then
      words[#words + 1] = arguments[i]
    end
    i = i + 1
  end
  return words
end

-- The verb that these words name: "sim event" before "sim".
local function named_by(words)
  return words[2] and named(words[1] .. "." .. words[2]) or named(words[1])
end

--- Returns the options with which the command line is split, because two verbs may read one name differently; and the verb's name as typed,
--- when it is known.
function M.options_of(arguments)
  local words = first_two(arguments)
  if not words[1] then return with_all(options.by_name(options.own)) end
  local verb = named_by(words)
  return verb and with_all(verb.options) or M.options, verb and M.spoken(verb.name)
end

-- ---- finding a verb by the words of a command line ----

--- A verb's name as the user types it: "charging history".
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

--- The verbs of a group ("tariff", "charging") as names, when the words name only the group; else nil.
function M.group(given)
  if given[1] == nil or given[2] ~= nil or named(given[1]) then return nil end
  local names = {}
  for i, name in ipairs(members_of(given[1])) do names[i] = given[1] .. "." .. name end
  return #names > 0 and names or nil
end

local function unknown(given)
  local members = members_of(given[1])
  if #members > 0 and not given[2] then
    usage_error.raise(string.format("'%s' needs one of: %s", given[1], table.concat(members, ", ")), { given[1] })
  end
  if #members > 0 then
    local near = string.match(errors.unknown("verb", given[2], members), "did you mean '(.-)'%?")
    usage_error.raise(string.format("unknown verb '%s %s'%s '%s' is followed by one of: %s", given[1], given[2],
      near and string.format(", did you mean '%s %s'?", given[1], near) or ":", given[1], table.concat(members, ", ")), { given[1] })
  end
  local names, word = {}, M.spoken(given[1])
  for name in pairs(M.by_name) do names[#names + 1] = M.spoken(name) end
  local suggestions = require "fleet.cli.suggestions"
  local near = errors.unknown("verb", word, names)
  local found = suggestions.called(word, M.by_name)
  if not found[1] and not string.find(near, "did you mean", 1, true) then found = suggestions.misspelt(word, M.by_name) end
  if not found[1] and not string.find(near, "did you mean", 1, true) then found = suggestions.search(word, M.by_name) end
  if not found[1] then usage_error.raise(near, {}) end
  for i, name in ipairs(found) do found[i] = M.spoken(name) end
  usage_error.raise(string.format("unknown verb '%s': try %s", word, table.concat(found, ", ")), { string.match(found[1], "%S+") })
end

--- The usage of a verb: "keygen PATH".
function M.usage(verb)
  return verb.usage or table.concat({ M.spoken(verb.name), unpack(verb.words or {}) }, " ")
end

--- Raises unless the line has the words that the verb needs, and no name=value.
function M.check_words(verb, line)
  if not verb.words then return end
  local name, extra = M.spoken(verb.name), line.words[#verb.words + 1]
  for i, wanted in ipairs(verb.words) do
    if line.words[i] == nil then
      local sample = require("fleet.cli.examples").of_verb(verb)
      usage_error.raise(string.format("'%s' needs %s, as in: %s", name, wanted, sample), { name })
    end
  end
  if line.pairs[1] then extra = line.pairs[1].name .. "=" end
  if extra then usage_error.raise(string.format("'%s' takes no '%s'", name, extra), { name }) end
end

--- Returns the verb that the first words name, or nil when there are no words; and the remaining words. Raises for an unknown verb.
function M.find(given)
  if given[1] == nil then return nil, given end
  local two = given[2] and named(given[1] .. "." .. given[2])
  local verb = two or named(given[1]) or unknown(given)
  local rest = {}
  for i = two and 3 or 2, #given do rest[#rest + 1] = given[i] end
  return verb, rest
end

return M
