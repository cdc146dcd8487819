-- A row as a call in Lua: the texts that the reference, the editor types and the help of the command line share.

local M = {}

-- The handles in the order of the manual, with the expression that makes one.
M.handles = {
  { name = "client", receiver = "client", title = "Client" },
  { name = "vehicle", receiver = "car", title = "Vehicle" },
  { name = "site", receiver = "site", title = "Energy site" },
  { name = "partner", receiver = "client.partner", title = "Partner account" },
  { name = "user", receiver = "client.user", title = "User" },
  { name = "charging", receiver = "client.charging", title = "Charging records" },
}

--- The positional arguments of a row, and the parameters of its table: two lists of parameters.
function M.arguments(row)
  local path, params = {}, {}
  for _, param in ipairs(row.params) do
    if not param.implied then
      local list = param.place == "path" and path or params
      list[#list + 1] = param
    end
  end
  return path, params
end

--- Whether a call takes a table of parameters.
function M.takes_params(row)
  local _, params = M.arguments(row)
  return #params > 0 or row.flags.body_as_given
end

--- The names of a call's arguments, as "id, params, options".
function M.signature(row)
  local path = M.arguments(row)
  local names = {}
  for _, param in ipairs(path) do names[#names + 1] = param.name end
  if M.takes_params(row) then names[#names + 1] = "params" end
  names[#names + 1] = "options"
  return table.concat(names, ", ")
end

local function receiver(row)
  for _, handle in ipairs(M.handles) do
    if handle.name == row.handle then return handle.receiver end
  end
end

--- The sample call of a row as Lua text.
function M.example(row)
  local bare = string.sub(row.example, 1, 1) == "{"
  return receiver(row) .. ":" .. row.method .. (bare and row.example or "(" .. row.example .. ")")
end

--- The verb of the command line: "charging history".
function M.verb(row)
  return (string.gsub(row.name, "%.", " "))
end

return M
