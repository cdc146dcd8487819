-- Every verb of the command line: one entry per row of the service, one file below fleet.cli.verbs per verb that is not a row.
--
-- A verb is { name =, doc =, options = by name, run = function(context, line) → value or nil, err, kind }, and where it has
-- them usage, details, show (prints the value for a person), json (what --json prints of it), row.

local options = require "fleet.cli.options"
local rows = require "fleet.rows"

local M = { list = {}, by_name = {}, rows = {} }

-- The files, in the order in which `fleet help` names them.
local files = { "help", "version", "endpoints" }

local own_and_client = options.by_name(options.own, options.client)
local of_rows = options.by_name(options.own, options.client, options.call)

local function add(verb)
  if M.by_name[verb.name] then error("two verbs are called '" .. verb.name .. "'") end
  M.by_name[verb.name] = verb
end

for _, file in ipairs(files) do
  for _, verb in ipairs(require("fleet.cli.verbs." .. file)) do
    verb.options = options.by_name(options.own, verb.local_only and {} or options.client, verb.takes or {})
    M.list[#M.list + 1] = verb
    add(verb)
  end
end

for _, row in ipairs(rows.list) do
  local verb = {
    name = row.name, doc = row.doc, row = row, options = of_rows,
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
for _, source in ipairs { of_rows, own_and_client } do
  for name, option in pairs(source) do M.options[name] = option end
end

return M
