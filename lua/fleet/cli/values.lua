-- Converts text of the command line, the environment or a prompt to the value of a parameter or option.
--
-- The text is read by the type alone. Ranges, choices and lengths are checked by the call itself, so that the command line and Lua give the
-- same errors.

local core = require "fleet.core"
local usage_error = require "fleet.cli.usage_error"
local secrets = require "fleet.cli.secrets"
local input = require "fleet.cli.input"

local M = {}

local function refuse(label, wanted, text)
  usage_error.raise(string.format("'%s' must be %s, got '%s'", label, wanted, text))
end

local function number(label, text)
  local value = string.match(text, "^[+-]?[%d.]+[eE]?[+-]?%d*$") and tonumber(text)
  if not value or math.abs(value) == math.huge then refuse(label, "a number", text) end
  return value
end

local booleans = { ["true"] = true, on = true, yes = true, ["false"] = false, off = false, no = false }

local function boolean(label, text, param)
  if text == param.word then return text end
  local value = booleans[string.lower(text)]
  if value == nil then refuse(label, "true or false", text) end
  return value
end

local function numeric(label, text, param)
  if param.choices and not tonumber(text) then return text end
  local value = number(label, text)
  if param.type == "integer" and value ~= math.floor(value) then refuse(label, "a whole number", text) end
  return value
end

-- A time is RFC 3339 text or UTC seconds; days are names or a mask. Digits alone are read as a number.
local function text_or_number(_, text)
  return string.match(text, "^%d+%.?%d*$") and tonumber(text) or text
end

local function list(label, text, _, environment)
  local found = {}
  for word in string.gmatch(input.read(environment, label, text) or text, "[^,%s]+") do found[#found + 1] = word end
  return found
end

local function json(label, text, param, environment)
  if param.member and not string.find(text, "^[{@]") and text ~= "-" then return text end
  local value, err = core.json_decode(input.read(environment, label, text) or text)
  if err then usage_error.raise(string.format("'%s' must be JSON text, @file or - (standard input)", label)) end
  return value
end

-- Bytes of a file or standard input are taken as they are; on the command line they are base64.
local function bytes(label, text, _, environment)
  local given = input.bytes(environment, label, text)
  if given then return given end
  local value = core.unbase64(text)
  if not value then refuse(label, "@file, - or base64 text", text) end
  return value
end

local function public_key(label, text, _, environment)
  return input.read(environment, label, text) or text
end

local function as_it_is(_, text)
  return text
end

local readers = {
  string = as_it_is, id = as_it_is, vin = as_it_is, date = as_it_is, integer = numeric, number = numeric,
  boolean = boolean, time = text_or_number, days = text_or_number, strings = list, vins = list, object = json,
  tariff = json, bytes = bytes, public_key = public_key,
}

--- Converts text to the value of a parameter or option row. label: its name in messages.
function M.read(environment, param, text, label)
  if param.secret then return secrets.read(environment, param, text, label) end
  return readers[param.type](label, text, param, environment)
end

--- Converts text for a member that is not documented: JSON when it parses as JSON, else the text.
function M.read_free(environment, text, label)
  local value, err = core.json_decode(input.read(environment, label, text) or text)
  if err then return text end
  return value
end

return M
