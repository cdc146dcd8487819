-- fleet endpoints, fleet commands: the rows as data.

local core = require "fleet.core"
local rows = require "fleet.call.rows"
local show = require "fleet.cli.show"

-- Rows for JSON, without values that JSON cannot represent.
local function as_json(list)
  local copies = {}
  for i, row in ipairs(list) do
    copies[i] = {}
    for name, value in pairs(row) do
      if type(value) ~= "userdata" then copies[i][name] = value end
    end
  end
  return core.json_encode(copies, "value params tokens ids secrets choices lists")
end

local function chosen(commands)
  local list = {}
  for _, row in ipairs(rows.all()) do
    if row.flags.command == commands then list[#list + 1] = row end
  end
  return list
end

local function firmware(row)
  if row["until"] then return "until " .. row["until"] end
  return row.since and "from " .. row.since or nil
end

local function table_of(describe, columns)
  return function(out, list)
    local lines = {}
    for i, row in ipairs(list) do lines[i] = describe(row) end
    show.table(out, lines, columns)
  end
end

local function endpoint(row)
  return { name = string.gsub(row.name, "%.", " "), price = row.billing, request = row.verb .. " " .. row.path }
end

local function command(row)
  return { name = row.name, firmware = firmware(row), signed = row.message and "yes" or "no", what = row.doc }
end

local M = {
  {
    name = "endpoints", words = {}, local_only = true, doc = "Lists the calls that are not vehicle commands.",
    run = function() return chosen(false) end, json = as_json,
    show = table_of(endpoint, { "name", "price", "request" }),
  },
  {
    name = "commands", words = {}, local_only = true, doc = "Lists the vehicle commands.",
    run = function() return chosen(true) end, json = as_json,
    show = table_of(command, { "name", "signed", "firmware", "what" }),
  },
}

return M
