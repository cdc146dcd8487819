-- Writes doc/reference.md from the rows: every call, reason, status, fault, option and exit status. `make doc` runs it.

local core = require "fleet.core"
local calls = require "fleet.cli.calls"

local M = {}

-- ---- Markdown ----

local function cell(value)
  local text = value == nil and "" or tostring(value)
  return (string.gsub(string.gsub(text, "|", "\\|"), "\n", " "))
end

local function code(text)
  return text and "`" .. text .. "`" or ""
end

-- A table from its heads and a list of lists.
local function table_of(heads, list)
  local lines, rule = { "| " .. table.concat(heads, " | ") .. " |" }, {}
  for i = 1, #heads do rule[i] = "---" end
  lines[2] = "|" .. table.concat(rule, "|") .. "|"
  for _, values in ipairs(list) do
    local cells = {}
    for i = 1, #heads do cells[i] = cell(values[i]) end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

local function map(list, convert)
  local found = {}
  for i, item in ipairs(list) do found[i] = convert(item) end
  return found
end

-- The anchor that a heading of a name gets.
local function anchor(name)
  return "#" .. (string.gsub(string.lower(name), "[^%w_-]", ""))
end

-- ---- one parameter ----

local type_texts = {
  id = "id", vin = "VIN", time = "time (RFC 3339 or UTC seconds)", date = "date (YYYY-MM-DD)",
  days = "days (list of names, text, or mask with Sunday = 1)", strings = "list of strings", vins = "list of VINs",
  object = "table", tariff = "tariff", bytes = "bytes",
  public_key = "public key (PEM text, 130 hex digits or 65 bytes)",
}

local function number(value)
  return value == math.floor(value) and string.format("%.0f", value) or tostring(value)
end

-- Choices by name, with the value where it is another word; names of the same value are listed together.
local function choice_text(choices)
  local order, names = {}, {}
  for _, choice in ipairs(choices) do
    if not names[choice.value] then
      names[choice.value] = {}
      order[#order + 1] = choice.value
    end
    local list = names[choice.value]
    list[#list + 1] = code(choice.name)
  end
  return table.concat(map(order, function(value)
    local text = table.concat(names[value], " or ")
    return text == code(tostring(value)) and text or text .. " (" .. tostring(value) .. ")"
  end), ", ")
end

local lists = { vins = true, strings = true }

local function range_text(param)
  if param.choices then return choice_text(param.choices) end
  if not param.min or param.type == "id" then return "" end
  if param.max >= 1e6 and param.max < 2147483647 then return "from " .. number(param.min) end
  local text = number(param.min) .. " to " .. number(param.max)
  return lists[param.type] and text .. " of them" or text
end

local function notes(param)
  local text = param.doc .. (param.pin and " (four digits)" or "") .. (param.former and "; older name: " .. code(param.former) or "")
  return param.place == "local" and text .. "; not sent" or text
end

local function needed(param)
  if param.required_with then return "with " .. code((string.gsub(param.required_with, " ", "` or `"))) end
  if param.fallback then return "default " .. code(param.fallback) end
  if param.now then return "default now" end
  return param.required and "yes" or ""
end

local function type_text(param)
  local also = param.joined and " or list of strings" or param.object_too and " or table" or param.member and " or string" or ""
  return (type_texts[param.type] or param.type) .. also
end

local function param_cells(param)
  return { code(param.name), type_text(param), range_text(param), param.unit or "", needed(param),
    notes(param) }
end

-- ---- one call ----

local prices = {
  free = "free", data = "data", command = "command", wake = "wake", specs = "0.10 dollars per result",
}

local function scope_text(row)
  if not row.scope then return "none" end
  return code(row.scope) .. (row.flags.charging_scope and " or `vehicle_charging_cmds`" or "")
end

local function form_text(row)
  if not row.flags.command then return nil end
  if row.flags.needs_protocol then return "signed only" end
  return row.message and "signed or plain" or "plain only"
end

local function repeat_text(row)
  if row.verb == "GET" or row.flags.read then return nil end
  if row.flags.idempotent_with_id then return "after an unknown outcome when `id` is given" end
  return row.flags.idempotent and "after an unknown outcome" or "never"
end

local function firmware_text(row)
  local from = row.since and "from " .. row.since
  local to = row["until"] and string.format("before %s; newer: %s", row["until"], code(row.replacement))
  return from or to
end

local function result_text(row)
  if row.paging ~= "no" then return "an iterable: `for` over all records of all pages, `:collect()`, `:pages()`" end
  if row.value.bytes or row.value.base64 then return "bytes" end
  if row.flags.command then return "`{ changed, reason, via, authenticated }`" end
  return row.flags.setting and "`{ changed, code, message }`" or nil
end

local function facts(row)
  local list = {}
  local function add(name, text)
    if text then list[#list + 1] = "- " .. name .. ": " .. text end
  end
  add("Request", code(row.verb .. " " .. row.path .. (row.query and "?" .. row.query or "")))
  add("Token", table.concat(row.tokens, ", else "))
  add("Scope", scope_text(row))
  add("Price", prices[row.billing])
  add("Form", form_text(row))
  add("Repeated by itself", repeat_text(row))
  add("Firmware", firmware_text(row))
  add("Who", row.who)
  add("Settled by", row.settle and code(row.settle))
  add("Published", row.flags.unpublished and "no: other clients send it" or nil)
  add("Vehicle", row.flags.live and "must be awake" or nil)
  add("Result", result_text(row))
  return table.concat(list, "\n")
end

local function entry(row)
  local path, params = calls.arguments(row)
  local list = { "### " .. row.name, row.doc, facts(row) }
  local all = {}
  for _, param in ipairs(path) do all[#all + 1] = param end
  for _, param in ipairs(params) do all[#all + 1] = param end
  if #all > 0 then
    list[#list + 1] = table_of({ "Parameter", "Type", "Values", "Unit", "Required", "Meaning" }, map(all, param_cells))
  end
  if row.flags.any_of then list[#list + 1] = "At least one of them is needed." end
  list[#list + 1] = "```lua\n" .. calls.example(row) .. "\n```"
  return table.concat(list, "\n\n")
end

local function overview(rows)
  return table_of({ "Call", "Price", "What it does" }, map(rows, function(row)
    local call = code(row.method .. "(" .. calls.signature(row) .. ")")
    return { "[" .. call .. "](" .. anchor(row.name) .. ")", prices[row.billing], row.doc }
  end))
end

local function rows_of(list, handle)
  local found = {}
  for _, row in ipairs(list) do
    if row.handle == handle then found[#found + 1] = row end
  end
  return found
end

local function chapter(title, rows)
  local list = { "## " .. title, overview(rows) }
  for _, row in ipairs(rows) do list[#list + 1] = entry(row) end
  return table.concat(list, "\n\n")
end

-- ---- failures and options ----

local function section(title, text, heads, list, cells)
  return "## " .. title .. "\n\n" .. text .. table_of(heads, map(list, cells))
end

local function kinds()
  return section("Error kinds and exit statuses",
    "The command ends with 0 when it is done, with 2 for the caller's mistake.\n\n",
    { "Kind", "Exit status", "Meaning" }, core.kinds(), function(kind)
      return { code(kind.name), kind.exit, kind.doc }
    end)
end

local ellipses = { whole = "%s", tail = "… %s", part = "… %s …" }

local function reasons()
  return section("Reasons", "Compared without regard to case; what is not listed passes through as text.\n\n",
    { "Reason", "From", "Kind", "Outcome", "Meaning" }, core.reasons(), function(reason)
      local kind = reason.changed and code(reason.kind) or "done, `changed = false`"
      local text = string.format(ellipses[reason.match], reason.text)
      return { code(text), reason.where, kind, reason.outcome, reason.doc }
    end)
end

local function statuses()
  return section("HTTP statuses", "The first line that fits decides. The outcome is that of a write.\n\n",
    { "Status", "Text", "Kind", "Outcome", "What to do" }, core.statuses(), function(row)
      local status = row.status == 0 and "any other" or row.status
      local text = code(row.text) .. (row.also and " and " .. code(row.also) or "")
      local kind = row.trait == "by_state" and "`asleep` or `offline`, as last seen" or code(row.kind)
      return { status, text, kind, row.outcome, row.doc }
    end)
end

local function faults()
  return section("Faults of the signing protocol", "", { "Number", "Fault", "Kind", "Outcome", "Meaning" }, core.faults(),
    function(fault)
      local outcome = fault.resync and "refused and signed again when proved, else unknown" or fault.outcome
      return { fault.number, code(fault.name), code(fault.kind), outcome, fault.doc }
    end)
end

local function option_table(options)
  return table_of({ "Option", "Type", "Default", "Values", "Environment", "Meaning" }, map(options, function(option)
    local values = option.choices and choice_text(option.choices)
    local kind = option.lua_only and "Lua only" or type_texts[option.type] or option.type
    return { code(option.name), kind, code(option.fallback), values, code(option.environment),
      option.doc .. (option.secret and " (secret)" or "") }
  end))
end

local head = [[
# Reference

<!-- Written by `make doc` from the tables in src/tables; change those. -->

Every call takes `options` last, a table that may be left out. It returns its result, or `nil, err, kind`.
Parameters keep their wire names; a value with names is taken by name or by the value in brackets.
On the command line the same call reads `fleet <name> [vin|site] parameter=value`, with a space for a dot in the name.]]

--- The whole reference as Markdown.
function M.markdown()
  local endpoints = core.endpoints()
  local list = { head }
  for _, handle in ipairs(calls.handles) do
    list[#list + 1] = chapter(handle.title, rows_of(endpoints, handle.name))
    if handle.name == "vehicle" then list[#list + 1] = chapter("Vehicle commands", core.commands()) end
  end
  for _, write in ipairs { kinds, reasons, statuses, faults } do list[#list + 1] = write() end
  list[#list + 1] = "## Options of fleet.new\n\n" .. option_table(core.options())
  list[#list + 1] = "## Options of a call\n\n" .. option_table(core.call_options())
  return table.concat(list, "\n\n") .. "\n"
end

return M
