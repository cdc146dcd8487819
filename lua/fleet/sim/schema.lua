-- Makes doc/garage.schema.json, a JSON Schema for editors, from the rules of garage.lua.
local garage = require("fleet.sim.garage")
local json = require("fleet.sim.json")

local M = {}

local TYPES = { any = {}, table = {}, null = { type = "null" } }
TYPES.vin = { type = "string", pattern = "^[A-HJ-NPR-Z0-9]{17}$" }
TYPES.key = { type = "string", description = "a P-256 public key: 130 hex digits or PEM" }

local schema

local function object(rule)
  local properties = {}
  for name, member in pairs(rule.members) do properties[name] = schema(member) end
  return {
    type = "object", properties = properties, additionalProperties = rule.open == true,
    required = rule.required and json.list(rule.required) or nil,
  }
end

local function any_of(rules)
  local list = json.list()
  for _, rule in ipairs(rules) do list[#list + 1] = schema(rule) end
  return { anyOf = list }
end

local function words(list)
  local enum = json.list()
  for _, word in ipairs(list) do enum[#enum + 1] = word end
  return { enum = enum }
end

function schema(rule)
  if type(rule) == "string" then return TYPES[rule] or { type = rule } end
  if rule.either then return any_of(rule.either) end
  if rule.each then return { type = "array", items = schema(rule.each), maxItems = rule.most } end
  if rule.members then return object(rule) end
  return words(rule)
end

-- The whole schema as a table for json.encode.
function M.make()
  local out = object(garage.rules)
  out["$schema"] = "https://json-schema.org/draft/2020-12/schema"
  out.title = "The garage file of fleet sim"
  return out
end

-- As text with line breaks, so that diffs are readable.
function M.text()
  local function write(value, indent)
    local short = json.encode(value)
    if #short < 100 then return short end
    local inner, parts = indent .. "  ", {}
    if json.is_list(value) then
      for i, item in ipairs(value) do parts[i] = inner .. write(item, inner) end
      return "[\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "]"
    end
    local names = {}
    for name in pairs(value) do names[#names + 1] = name end
    table.sort(names)
    for i, name in ipairs(names) do parts[i] = inner .. json.encode(name) .. ": " .. write(value[name], inner) end
    return "{\n" .. table.concat(parts, ",\n") .. "\n" .. indent .. "}"
  end
  return write(M.make(), "") .. "\n"
end

return M
