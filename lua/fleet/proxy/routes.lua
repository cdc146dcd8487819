-- Finds the row of a request: by its path, its verb, and the fixed query of rows that share a path.

local core = require "fleet.core"
local rows = require "fleet.call.rows"

local M = {}

--- A VIN in capital letters from text in any case; nil for other text.
function M.vin(text)
  local upper = string.upper(text)
  return core.is_vin(upper) and upper or nil
end

local function new_node()
  return { fixed = {}, any = nil, rows = {}, paths = {} }
end

local function child(node, part)
  if string.sub(part, 1, 1) == "{" then
    node.any = node.any or new_node()
    return node.any
  end
  node.fixed[part] = node.fixed[part] or new_node()
  return node.fixed[part]
end

local root = new_node()

local function add(path, row)
  local node = root
  for part in string.gmatch(path, "[^/]+") do node = child(node, part) end
  node.rows[#node.rows + 1], node.paths[row] = row, path
end

for _, row in ipairs(rows.all()) do add(row.path, row) end
-- Other signing proxies have a command that wakes a vehicle.
add("/api/1/vehicles/{vin}/command/wake_up", rows.by_name.wake_up)

--- A request of Bluetooth proxies' clients that the service does not have: locks, lids and sleep from the security computer.
M.body_controller_state = setmetatable({
  name = "body_controller_state", verb = "GET", path = "/api/1/vehicles/{vin}/body_controller_state", flags = {}, write = false,
  params = { { name = "vin", place = "path", type = "vin" } },
}, { __index = rows.by_name.signed_command })
add(M.body_controller_state.path, M.body_controller_state)
add("/api/proxy/1/vehicles/{vin}/body_controller_state", M.body_controller_state)

-- The values of a row's placeholders, by name. A VIN in lower case is the same VIN.
local function values_of(path, parts)
  local values, i = {}, 0
  for part in string.gmatch(path, "[^/]+") do
    i = i + 1
    local name = string.match(part, "^{(.+)}$")
    if name then values[name] = name == "vin" and M.vin(parts[i]) or parts[i] end
  end
  return values
end

local function node_at(parts)
  local node = root
  for _, part in ipairs(parts) do
    node = node.fixed[part] or node.any
    if not node then return nil end
  end
  return node.rows[1] and node or nil
end

-- Whether the query has the fixed field of a row, "name=value".
local function has_field(fields, fixed)
  local name, value = string.match(fixed, "^([^=]+)=(.*)$")
  return fields[name] == value
end

local function verbs_of(list)
  local found, verbs = {}, {}
  for _, row in ipairs(list) do
    if not found[row.verb] then verbs[#verbs + 1] = row.verb end
    found[row.verb] = true
  end
  return table.concat(verbs, ", ")
end

-- Plain path characters only: VINs and ids need no escapes.
local function parts_of(path)
  if not string.find(path, "^[%w%-%._~/]+$") or string.find(path, "//", 1, true) or string.sub(path, -1) == "/" then return nil end
  local parts = {}
  for part in string.gmatch(path, "[^/]+") do
    if part == "." or part == ".." then return nil end
    parts[#parts + 1] = part
  end
  return parts
end

-- Cache of paths. Rows that share a path differ in the query and are not cached. It is bounded, because callers choose the paths.
local most_known = 2048
local known, known_count = {}, 0

local function keep(method, path, row, values)
  if row.query then return end
  if known_count >= most_known then known, known_count = {}, 0 end
  known[method .. path], known_count = { row, values }, known_count + 1
end

--- find(method, path, fields) → row, values of its placeholders by name (read-only); nil when there is no such path; or nil, verbs when the
--- path exists with other methods.
function M.find(method, path, fields)
  local found = known[method .. path]
  if found then return found[1], found[2] end
  local parts = parts_of(path)
  local node = parts and node_at(parts)
  if not node then return nil end
  for _, row in ipairs(node.rows) do
    if row.verb == method and (not row.query or has_field(fields, row.query)) then
      local values = values_of(node.paths[row], parts)
      keep(method, path, row, values)
      return row, values
    end
  end
  for _, row in ipairs(node.rows) do
    if row.verb == method then return nil end -- the path exists with another query
  end
  return nil, verbs_of(node.rows)
end

return M
