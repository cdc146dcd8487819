-- Help, made from the verbs: parameters with units and ranges, price, and required scope.

local core = require "fleet.core"
local unpack = require("fleet.util.compat").unpack
local failure = require "fleet.cli.failure"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local row_verb = require "fleet.cli.row_verb"
local examples = require "fleet.cli.examples"
local prices = require "fleet.budget.prices"
local verbs = require "fleet.cli.verbs"
local argv = require "fleet.cli.argv"

local M = {}

local widest_page, narrowest_page = 100, 40
local page_width = widest_page

local spoken = verbs.spoken

-- ---- lines ----

-- The width in columns: a letter of several bytes is one column.
local function width(text)
  local _, count = string.gsub(text, "[^\128-\191]", "")
  return count
end

local function padded(text, columns)
  return text .. string.rep(" ", columns - width(text))
end

-- Wraps text to the width of the page, each line indented.
local function wrapped(text, indent)
  local lines, line = {}, ""
  for word in string.gmatch(text, "%S+") do
    if line ~= "" and #indent + width(line) + 1 + width(word) > page_width then
      lines[#lines + 1] = indent .. line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  if line ~= "" then lines[#lines + 1] = indent .. line end
  return table.concat(lines, "\n")
end

-- Pairs of term and text, with the texts aligned.
local function aligned(pairs_of, widest)
  local columns, lines = 0, {}
  for _, pair in ipairs(pairs_of) do columns = math.max(columns, math.min(width(pair[1]), widest or 28)) end
  for _, pair in ipairs(pairs_of) do
    local term = padded("  " .. pair[1], columns + 2) .. "  "
    local text = wrapped(pair[2], string.rep(" ", columns + 4))
    if width(term) > columns + 4 then
      lines[#lines + 1] = (string.gsub(term, " +$", "")) .. "\n" .. text
    else
      lines[#lines + 1] = (string.gsub(term .. string.sub(text, columns + 5), " +$", ""))
    end
  end
  return table.concat(lines, "\n")
end

local function section(title, pairs_of, widest)
  if #pairs_of == 0 then return nil end
  return title .. "\n" .. aligned(pairs_of, widest)
end

-- Joins parts with an empty line between them.
local function page(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if part and part ~= "" then parts[#parts + 1] = part end
  end
  return table.concat(parts, "\n\n") .. "\n"
end

-- ---- parameters and options ----

local types = {
  string = "text", integer = "whole number", number = "number", boolean = "true or false", id = "id", vin = "VIN",
  time = "time, as 2026-03-01T00:00:00Z or UTC seconds", date = "date, as 2026-03-29",
  days = "days, as mon,tue or weekdays", strings = "list, comma separated", vins = "VINs, comma separated",
  object = "JSON, @file or -", tariff = "JSON, @file or -", bytes = "base64, @file or -",
  public_key = "public key: @file with its PEM, or 130 hex digits",
}

local function number(value)
  return value == math.floor(value) and string.format("%.0f", value) or tostring(value)
end

local function range(param)
  if param.choices then
    local names = {}
    for i, choice in ipairs(param.choices) do names[i] = choice.name end
    return table.concat(names, ", ")
  end
  if not param.min or param.type == "id" then return nil end
  if param.max >= 1e6 then return "from " .. number(param.min) end
  return number(param.min) .. " to " .. number(param.max)
end

local function kind_of(param)
  if param.choices and param.type ~= "strings" then return "one of " .. range(param) end
  local text = types[param.type]
  if param.pin then text = "four digits" end
  if param.member then text = "text, or " .. text end
  if param.word then text = text .. " or " .. param.word end
  local more = range(param)
  if more then text = text .. (param.choices and " of " or ", ") .. more end
  return text .. (param.unit and " " .. param.unit or "")
end

local function secret_note(param)
  if not param.secret then return nil end
  local variable = require("fleet.cli.secrets").variable(param)
  return "secret: @file, -" .. (variable and ", or " .. variable .. " in the environment" or "") .. ", or empty to be asked"
end

local function joined(...)
  local parts = {}
  for i = 1, select("#", ...) do
    local part = select(i, ...)
    if part then parts[#parts + 1] = part end
  end
  return table.concat(parts, "; ")
end

-- Whether a parameter is required, or what its default is.
local function need_text(param)
  if param.required then return "required" end
  if param.now then return "default now" end
  if param.fallback then return "default " .. param.fallback end
  return param.required_with and "required with " .. string.gsub(param.required_with, " ", " or ")
end

local function param_text(param)
  return joined(param.doc, kind_of(param), secret_note(param), need_text(param), param.former and "older name: " .. param.former)
end

local function option_text(option)
  local default = option.fallback and option.type ~= "boolean" and "default " .. option.fallback
  local kind = option.type ~= "boolean" and kind_of(option)
  return joined(option.doc, kind, option.environment, secret_note(option) and "@file or -", option.repeated and "may be repeated",
    default)
end

local placeholders = { number = "NUMBER", integer = "NUMBER", strings = "LIST" }

local function option_term(option)
  if option.type == "boolean" then return argv.written(option.name) end
  return argv.written(option.name) .. " " .. (option.placeholder or placeholders[option.type] or "TEXT")
end

local function options_section(title, list)
  local pairs_of = {}
  for _, option in ipairs(list) do pairs_of[#pairs_of + 1] = { option_term(option), option_text(option) } end
  return section(title, pairs_of)
end

-- ---- a row ----

local function usage_of(row)
  local bare, named = row_verb.parameters(row)
  local parts = { "fleet", spoken(row.name) }
  for _, param in ipairs(bare) do parts[#parts + 1] = row_verb.called(param) end
  for _, param in ipairs(named) do
    parts[#parts + 1] = param.required and param.name .. "=…" or "[" .. param.name .. "=…]"
  end
  if row.flags.body_as_given then parts[#parts + 1] = "[name=value …]" end
  return wrapped(table.concat(parts, " "), "  ")
end

local function parameters_section(row)
  local pairs_of = {}
  local bare, named = row_verb.parameters(row)
  for _, param in ipairs(bare) do pairs_of[#pairs_of + 1] = { row_verb.called(param), param_text(param) } end
  for _, param in ipairs(named) do pairs_of[#pairs_of + 1] = { param.name, param_text(param) } end
  return section("Parameters", pairs_of)
end

local price_words = {
  free = "free of charge", data = "a read", command = "a command", wake = "a wake",
  specs = "specifications, the dearest class",
}

local function price_of(row)
  local usd = prices.published[row.billing]
  return price_words[row.billing] .. (usd and usd > 0 and ": " .. prices.text(usd) or "")
end

local function scope_of(row)
  if not row.scope then return nil end
  return row.scope .. (row.flags.charging_scope and " or vehicle_charging_cmds" or "")
end

local function firmware_of(row)
  local since, last = row.since, row["until"]
  return joined(since and "from " .. since or nil, last and "until " .. last or nil)
end

local function repeat_of(row)
  if not row.write then return nil end
  if row.flags.idempotent then return "may be repeated: it sets a named state" end
  if row.flags.idempotent_with_id then return "may be repeated when id is given" end
  return "not repeated by itself: a second one would act again"
end

local function protocol_of(row)
  if row.flags.needs_protocol then return "signed only: needs a key" end
  if not row.flags.command then return nil end
  return row.message and "signed with a key, plain without" or "plain only"
end

local function facts_section(title, facts)
  local present = {}
  for _, fact in ipairs(facts) do
    if fact[2] and fact[2] ~= "" then present[#present + 1] = fact end
  end
  return section(title, present)
end

-- What a person wants to know before the call: what it costs, and whether it may run twice.
local function first_facts(row)
  return facts_section("Before you call it", {
    { "price", price_of(row) },
    { "repeating", repeat_of(row) },
    { "vehicle", row.flags.live and "must be awake: --wake wakes it first" or nil },
  })
end

local function other_facts(row)
  return facts_section("Facts", {
    { "request", row.verb .. " " .. row.path .. (row.query and "?" .. row.query or "") },
    { "token", table.concat(row.tokens, ", else ") .. (row.flags.third_party and "; not for open-source apps" or "") },
    { "scope", scope_of(row) },
    { "signing", protocol_of(row) },
    { "firmware", firmware_of(row) },
    { "roles", row.who },
    { "instead", row.replacement },
  })
end

local function row_page(row)
  return page(usage_of(row), wrapped(row.doc, ""), first_facts(row), "Example\n" .. wrapped(examples.text(row), "  "),
    parameters_section(row), options_section("Options of the call", options.of_row(row)),
    options_section("For many vehicles, in place of the VIN", options.bulk_of_row(row)), other_facts(row),
    wrapped("'fleet help flags' lists the options of every verb, 'fleet help statuses' the exit statuses.", ""))
end

-- ---- the other pages ----

-- The lines of a verb's details, wrapped where they are too long.
local function details_of(verb)
  local text, lines = verb.details, {}
  if type(text) == "function" then text = text() end
  if not text then return nil end
  for line in string.gmatch(text, "[^\n]+") do
    lines[#lines + 1] = width(line) <= page_width and line or wrapped(line, string.match(line, "^ *"))
  end
  return table.concat(lines, "\n")
end

local function verb_page(verb)
  return page(wrapped("fleet " .. verbs.usage(verb), "  "), wrapped(verb.doc, ""), "Example\n" .. wrapped(examples.of_verb(verb), "  "),
    details_of(verb), options_section("Options", verb.takes or {}))
end

local groups = {
  { "Account", { client = true, partner = true, user = true, charging = true } },
  { "Vehicle, followed by its VIN or name", { vehicle = true } },
  { "Energy site, followed by its id", { site = true } },
}

local function group_of_rows(title, handles, commands)
  local names = {}
  for _, verb in ipairs(verbs.rows) do
    if handles[verb.row.handle] and verb.row.flags.command == commands then
      names[#names + 1] = string.gsub(spoken(verb.name), " ", "\31") -- the words of a verb stay on one line
    end
  end
  if #names == 0 then return nil end
  return title .. "\n" .. string.gsub(wrapped(table.concat(names, ", "), "  "), "\31", " ")
end

-- The verbs of each task with the first sentence of their description.
local function task_sections(parts)
  local of_task
  for i, verb in ipairs(verbs.list) do
    of_task = of_task or {}
    of_task[#of_task + 1] = { verbs.usage(verb), (string.match(verb.doc, "^.-%.%f[%s%z]") or verb.doc) }
    local next_verb = verbs.list[i + 1]
    if not next_verb or next_verb.task ~= verb.task then
      parts[#parts + 1] = section(verb.task, of_task, 40)
      of_task = nil
    end
  end
end

-- The verbs that most people need: one screen.
local first_verbs = {
  { "setup", "connects your account and your cars, step by step" },
  { "sim --env", "starts a simulator for this shell: try everything without a car" },
  { "status", "shows cars and house in one screen" },
  { "vehicles", "lists the cars: name, state, VIN; 'fleet status' also shows the battery" },
  { "wake CAR", "wakes a sleeping car" },
  { "door_lock CAR", "locks a car; door_unlock unlocks it" },
  { "charge_start CAR", "starts charging; charge_stop stops it" },
  { "set_charge_limit CAR percent=80", "sets the level at which charging ends" },
  { "auto_conditioning_start CAR", "heats or cools a car; auto_conditioning_stop ends it" },
  { "run FILE", "runs automations: charge by price, before departure, by the sun" },
  { "mqtt", "connects cars and house to Home Assistant and other hosts" },
  { "doctor", "checks the installation and says what to fix" },
}

local function short_page()
  local list = {}
  for _, pair in ipairs(first_verbs) do list[#list + 1] = { "fleet " .. pair[1], pair[2] } end
  return page(wrapped("Reads and controls Tesla cars and home batteries.", ""), "  fleet VERB [CAR | SITE] [name=value …] [--option …]",
    section("Often used", list, 40),
    wrapped("CAR is a VIN, the end of one, or a name. Left out, it is the account's only car.", ""),
    wrapped("'fleet help all' lists every verb, 'fleet help VERB' explains one, --json prints results as JSON.", ""))
end

local function general_page()
  local parts = { "  fleet VERB [CAR | SITE] [name=value …] [--option …]" }
  task_sections(parts)
  for _, group in ipairs(groups) do parts[#parts + 1] = group_of_rows(group[1], group[2], false) end
  parts[#parts + 1] = group_of_rows("Vehicle commands, followed by the VIN", { vehicle = true }, true)
  parts[#parts + 1] = wrapped("'fleet help VERB' explains one; --json prints results and failures as JSON.", "")
  return page(unpack(parts))
end

local function options_page()
  return page(options_section("Options of every verb", options.own), options_section("Options of the client", options.client),
    options_section("Options of one call", options.call), options_section("Options for many vehicles", options.bulk),
    wrapped("An option comes before the environment, that before the configuration file, and that before the default. The store is "
      .. "$XDG_STATE_HOME/fleet (~/.local/state/fleet) unless you name one or give a token.", ""))
end

local function statuses_page()
  local pairs_of = {}
  for _, status in ipairs(failure.statuses) do
    pairs_of[#pairs_of + 1] = { string.format("%3d  %s", status.status, status.name), status.doc }
  end
  for _, kind in ipairs(core.kinds()) do
    pairs_of[#pairs_of + 1] = { string.format("%3d  %s", kind.exit, kind.name), kind.doc }
  end
  return page(section("Exit statuses", pairs_of))
end

-- The page of a group: the verbs that begin with the same word.
local function group_page(names)
  local pairs_of = {}
  for i, name in ipairs(names) do
    local verb = verbs.by_name[name]
    pairs_of[i] = { verb.row and spoken(name) or verbs.usage(verb), verb.doc }
  end
  return page(section("Verbs", pairs_of, 40), "'fleet help VERB' explains one.")
end

local topics = { all = general_page, flags = options_page, statuses = statuses_page }

local function fit(columns)
  page_width = math.max(narrowest_page, math.min(columns or widest_page, widest_page))
end

--- The help of a verb; without a verb, one screen about the command. columns: of the terminal, 100 by default.
function M.text(verb, columns)
  fit(columns)
  if not verb then return short_page() end
  return verb.row and row_page(verb.row) or verb_page(verb)
end

--- The help for words: none, a topic, a group of verbs, or a verb. columns: of the terminal, 100 by default.
function M.page(given, columns)
  fit(columns)
  if not given[1] then return short_page() end
  local group = verbs.group(given)
  if group then return group_page(group) end
  if given[1] and topics[given[1]] and not given[2] then return topics[given[1]]() end
  local verb, rest = verbs.find(given)
  if #rest > 0 then usage_error.raise(string.format("'%s' is one word too many", rest[1]), {}) end
  return M.text(verb, columns)
end

return M
