-- The rows of the service in the simulator's form. A row comes from fleet.core: name, verb, path, query, tokens, scope, params and flags.
-- No code here knows an endpoint by name.
local text = require("fleet.sim.text")

local M = {}

-- A flag may be a member of the row, a member of flags, or a word in a list of flags.
local function has(row, name)
  if row[name] ~= nil then return row[name] == true end
  if type(row.flags) ~= "table" then return false end
  if row.flags[name] ~= nil then return row.flags[name] == true end
  for _, word in ipairs(row.flags) do
    if word == name then return true end
  end
  return false
end

local FLAGS = {
  "command", "live", "needs_protocol", "plain_first", "charging_scope", "no_business", "third_party", "body_as_given", "setting",
}

local function segments(path)
  local list = {}
  for part in path:gmatch("[^/]+") do list[#list + 1] = part end
  return list
end

-- The positions of its placeholders: { at =, name = }.
local function arguments(parts)
  local list = {}
  for i, part in ipairs(parts) do
    local name = part:match("^{(.+)}$")
    if name then list[#list + 1] = { at = i, name = name } end
  end
  return list
end

local KINDS = {
  string = "string", integer = "number", number = "number", boolean = "boolean", days = "string", strings = "table",
  vins = "table", object = "table", tariff = "table", bytes = "string", vin = "string", time = "string", date = "string",
}

-- The parameters of a body: { name =, former =, kind = type in Lua or nil, required =, number_as_text = }.
local function body_params(params)
  local list = {}
  for _, param in ipairs(params) do
    if param.place == "body" then
      list[#list + 1] = {
        name = param.name, former = param.former, kind = not has(param, "object_too") and not param.word and KINDS[param.type] or nil,
        required = has(param, "required") or param.fallback ~= nil or has(param, "now"), -- clients always send it
        number_as_text = has(param, "number_as_text"),
      }
    end
  end
  return list
end

-- A new table with the members that the simulator reads.
local function normal(row)
  local out = {
    name = row.name, verb = row.verb, path = row.path, segments = segments(row.path), query = text.form(row.query or ""),
    tokens = text.set(row.tokens or {}), scope = row.scope, params = row.params or {}, wrap = row.wrap, billing = row.billing,
    vin_in_query = row.path:find("^/api/1/dx/vehicles") ~= nil or row.path:find("^/api/1/dx/warranty") ~= nil,
    who = row.who, since = row.since, reply = row.reply, paging = row.paging, items = row.items, value = row.value,
  }
  out.arguments, out.body_params = arguments(out.segments), body_params(out.params)
  for _, name in ipairs(FLAGS) do out[name] = has(row, name) end
  return out
end

-- ---- the tree of paths ----

local function child(node, part)
  local name = part:match("^{(.+)}$")
  if not name then
    node.fixed[part] = node.fixed[part] or { fixed = {}, rows = {} }
    return node.fixed[part]
  end
  node.any = node.any or { fixed = {}, rows = {} }
  return node.any
end

local function tree_of(rows)
  local root = { fixed = {}, rows = {}, seen = {}, count = 0 }
  for _, row in ipairs(rows) do
    local node = root
    for _, part in ipairs(row.segments) do node = child(node, part) end
    table.insert(node.rows, row)
  end
  return root
end

-- ---- the rows of a service ----

local function made_of(endpoints, commands)
  local list, by_name = {}, {}
  for _, source in ipairs { endpoints, commands } do
    for _, row in ipairs(source) do
      local own = normal(row)
      list[#list + 1], by_name[own.name] = own, own
    end
  end
  return { tree = tree_of(list), by_name = by_name }
end

local made = setmetatable({}, { __mode = "k" }) -- cache: list of endpoints -> list of commands -> result for both

--- of(endpoints, commands) → { tree =, by_name = }, cached and read-only.
function M.of(endpoints, commands)
  local by_commands = made[endpoints] or setmetatable({}, { __mode = "k" })
  made[endpoints] = by_commands
  by_commands[commands] = by_commands[commands] or made_of(endpoints, commands)
  return by_commands[commands]
end

-- ---- finding a row ----

local function walk(node, parts, at)
  if at > #parts then return #node.rows > 0 and node or nil end
  local next_node = node.fixed[parts[at]]
  local found = next_node and walk(next_node, parts, at + 1)
  if found or not node.any then return found end
  return walk(node.any, parts, at + 1)
end

local function fits(row, verb, query)
  if row.verb ~= verb then return false end
  for name, value in pairs(row.query) do
    if query[name] ~= value then return false end
  end
  return true
end

local MOST_SEEN = 1000

-- The place of a path in the tree, with a cache of a thousand paths, because programs repeat the same paths.
local function place_of(tree, path)
  local place = tree.seen[path]
  if place then return place end
  local parts = segments(path)
  place = { node = walk(tree, parts, 1), parts = parts }
  if tree.count == MOST_SEEN then tree.seen, tree.count = {}, 0 end
  tree.seen[path], tree.count = place, tree.count + 1
  return place
end

-- find(tree, verb, path, query) → row, arguments; or nil and what does not fit an existing path ("verb" or "query"); or nil, false.
function M.find(tree, verb, path, query)
  local place = place_of(tree, path)
  if not place.node then return nil, false end
  for _, row in ipairs(place.node.rows) do
    if fits(row, verb, query) then
      local args = {}
      for _, argument in ipairs(row.arguments) do args[argument.name] = text.unpercent(place.parts[argument.at]) end
      return row, args
    end
  end
  for _, row in ipairs(place.node.rows) do
    if row.verb == verb then return nil, "query" end
  end
  return nil, "verb"
end

-- ---- checking a body ----

-- problem(row, body) → nil, or a sentence about the first parameter that is missing or has a wrong type.
function M.problem(row, body)
  for _, param in ipairs(row.body_params) do
    local value = body[param.name]
    if value == nil then
      if param.required then return ("missing %s param"):format(param.name), param.name end
    elseif param.kind and type(value) ~= param.kind and not (param.number_as_text and type(value) == "number") then
      return ("invalid %s param"):format(param.name), param.name
    end
  end
  return nil
end

return M
