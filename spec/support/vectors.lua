-- The lines of spec/vectors/interface.tsv: { name, handle, word, method, path, query, body, arguments, token };
-- "-" is nil.

local M = {}

local function cells(line)
  local list = {}
  for cell in string.gmatch(line .. "\t", "([^\t]*)\t") do list[#list + 1] = cell end
  return list
end

local function vector_of(columns, values)
  local vector = {}
  for i, name in ipairs(columns) do vector[name] = values[i] ~= "-" and values[i] or nil end
  vector.handle, vector.word = string.match(vector.name, "^(.-):(.+)$")
  return vector
end

function M.interface()
  local list, columns = {}, nil
  for line in assert(io.open("spec/vectors/interface.tsv")):lines() do
    if string.sub(line, 1, 1) ~= "#" then
      if columns then list[#list + 1] = vector_of(columns, cells(line)) end
      columns = columns or cells(line)
    end
  end
  return list
end

--- The arguments of a vector's call, packed.
function M.arguments(vector)
  return table.pack(assert(load("return " .. (vector.arguments or "")))())
end

return M
