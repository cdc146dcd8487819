-- Splits the command line into words, name=value pairs and --options, in their order.

local errors = require "fleet.util.errors"
local usage_error = require "fleet.cli.usage_error"

local M = {}

--- The name of an option as the user types it: "--base-url".
function M.written(name)
  return "--" .. string.gsub(name, "_", "-")
end

-- "base-url" and "base_url" are one name; all other code uses the form with _.
local function option_name(text)
  return (string.gsub(text, "-", "_"))
end

-- Raises for an unknown option. "--percent 80" usually means the parameter percent=80, unless the name resembles an option's.
local function unknown(text, options)
  local names, given = {}, string.match(text, "^[^=]*")
  for name in pairs(options) do names[#names + 1] = M.written(name) end
  table.sort(names)
  local sentence = errors.unknown("option", given, names)
  local name = string.match(given, "^%-%-(%a[%w_-]*)$")
  if name and not string.find(sentence, "did you mean", 1, true) then
    sentence = string.format("%s; a parameter is written %s=VALUE", sentence, option_name(name))
  end
  usage_error.raise(sentence)
end

local function add(found, option, text)
  if option.repeated then
    found[option.name] = found[option.name] or {}
    table.insert(found[option.name], text)
  elseif found[option.name] ~= nil then
    usage_error.raise(string.format("option '%s' is given twice", M.written(option.name)))
  else
    found[option.name] = text
  end
end

-- Whether the next argument is the value of an option whose value may be left out.
local function fits(option, text)
  for _, pattern in ipairs(text and option.fits or {}) do
    if string.find(text, pattern) then return true end
  end
  return false
end

-- Reads the option at argv[i]. Returns the index of the last argument that belongs to it.
local function read_option(argv, i, options, found)
  local name, text = string.match(argv[i], "^%-%-([^=]+)=(.*)$")
  name = name or string.match(argv[i], "^%-%-(.+)$") or argv[i] == "-h" and "help"
  local option = name and options[option_name(name)]
  local denied = not option and text == nil and string.match(option_name(name or ""), "^no_(.+)$")
  if denied and options[denied] and options[denied].type == "boolean" then option, text = options[denied], "false" end -- --no-http2
  if not option then unknown(argv[i], options) end
  if text == nil and option.type == "boolean" then
    text = "true"
  elseif text == nil and option.alone and not fits(option, argv[i + 1]) then
    text = option.alone
  elseif text == nil then
    i = i + 1
    text = argv[i]
    if text == nil then usage_error.raise(string.format("option '%s' needs a value", M.written(option.name))) end
  end
  add(found, option, text)
  return i
end

--- Splits the command line. options: by name, { name =, type =, repeated =, alone = value when none is given, fits = patterns of values }.
--- Returns { words = list, pairs = list of { name =, text = }, options = name -> text, or a list of texts when repeated }.
function M.split(argv, options)
  local line, i, only_words = { words = {}, pairs = {}, options = {} }, 1, false
  while i <= #argv do
    local text = argv[i]
    local name, value = string.match(text, "^([%a_][%w_.]*)=(.*)$")
    if name then
      line.pairs[#line.pairs + 1] = { name = name, text = value }
    elseif text == "--" and not only_words then
      only_words = true
    elseif string.sub(text, 1, 1) == "-" and text ~= "-" and not only_words then
      i = read_option(argv, i, options, line.options)
    else
      line.words[#line.words + 1] = text
    end
    i = i + 1
  end
  return line
end

return M
