-- What the Tab key offers after the words that are already on the command line.

local argv = require "fleet.cli.argv"
local options = require "fleet.cli.options"
local row_verb = require "fleet.cli.row_verb"

local M = {}

-- Required late: the verb that writes the completion script is one of the verbs.
local function verbs()
  return require "fleet.cli.verbs"
end

local function sorted(set)
  local list = {}
  for word in pairs(set) do list[#list + 1] = word end
  table.sort(list)
  return list
end

-- Adds a word, and the choices after its "=".
local function add(found, word, param)
  found.words[word] = true
  for _, choice in ipairs(param.choices or {}) do
    found.choices[string.gsub(word, "=$", "") .. "=" .. (choice.name or choice.text)] = true
  end
end

local function add_options(found, list)
  for _, option in ipairs(list) do add(found, argv.written(option.name), option) end
end

--- What many verbs share: "own", the options of every verb; "client", those and the options of the client.
function M.shared()
  local own, client = { words = {}, choices = {} }, { words = {}, choices = {} }
  add_options(own, options.own)
  add_options(client, options.own)
  add_options(client, options.client)
  return {
    own = { words = sorted(own.words), choices = sorted(own.choices) },
    client = { words = sorted(client.words), choices = sorted(client.choices) },
  }
end

-- Whether a vehicle may follow a verb.
local function takes_vehicle(verb)
  if verb.row then return verb.row.handle == "vehicle" end
  return string.find(verb.usage or "", "VIN", 1, true) ~= nil or string.find(verb.usage or "", "CAR", 1, true) ~= nil
end

--- What may follow a verb besides the shared words: { words = list, choices = list of "name=choice", shared = "own" or "client", names =
--- whether vehicle names are offered }.
function M.after(verb)
  local found = { words = {}, choices = {} }
  add_options(found, verb.takes or {})
  for _, word in ipairs(verb.completes and verb.completes() or {}) do found.words[word] = true end
  if verb.row then
    add_options(found, options.of_row(verb.row))
    add_options(found, options.bulk_of_row(verb.row))
    local _, named = row_verb.parameters(verb.row)
    for _, param in ipairs(named) do add(found, param.name .. "=", param) end
  end
  local shared = verb.local_only and "own" or "client"
  for _, word in ipairs(M.shared()[shared].words) do found.words[word] = nil end
  return { words = sorted(found.words), choices = sorted(found.choices), shared = shared, names = takes_vehicle(verb) }
end

--- The first words, and the second words of those that are groups: list, group -> list.
function M.beginnings()
  local first, groups = {}, {}
  for name in pairs(verbs().by_name) do
    local group, member = string.match(name, "^(.-)%.(.*)$")
    first[group or name] = true
    if group then
      groups[group] = groups[group] or {}
      groups[group][member] = true
    end
  end
  for group, members in pairs(groups) do groups[group] = sorted(members) end
  return sorted(first), groups
end

--- Every position with what is offered there: { pattern =, words =, choices =, shared =, names = }. The pattern is matched against "N WORD
--- WORD": the number of words before the cursor's word ("fleet" included), and the two words after "fleet"; * matches any text.
function M.places()
  local first, groups = M.beginnings()
  local places = { { pattern = { "1 ", "*" }, words = first, choices = {} } }
  for _, group in ipairs(first) do
    if groups[group] then places[#places + 1] = { pattern = { "2 " .. group .. " ", "*" }, words = groups[group], choices = {} } end
  end
  local topics = { "all", "flags", "statuses" }
  for _, word in ipairs(first) do topics[#topics + 1] = word end
  places[#places + 1] = { pattern = { "2 help ", "*" }, words = topics, choices = {} }
  places[#places + 1] = { pattern = { "2 completion ", "*" }, words = { "bash", "fish", "zsh" }, choices = {} }
  local of_two_words, of_one = {}, {}
  for _, name in ipairs(sorted(verbs().by_name)) do
    local after = M.after(verbs().by_name[name])
    local two = string.find(name, ".", 1, true) ~= nil
    local list = two and of_two_words or of_one
    local pattern = { "*", " " .. string.gsub(name, "%.", " ") .. (two and "" or " "), two and "" or "*" }
    list[#list + 1] = { pattern = pattern, words = after.words, choices = after.choices, shared = after.shared, names = after.names }
  end
  for _, list in ipairs { of_two_words, of_one } do -- "sim event" before "sim"
    for _, place in ipairs(list) do places[#places + 1] = place end
  end
  return places
end

return M
