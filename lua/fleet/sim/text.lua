-- Percent-encoding, forms, queries and base64url: the small change of HTTP and OAuth.
local M = {}

function M.unpercent(text)
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

function M.percent(text)
  return (text:gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

-- application/x-www-form-urlencoded, which queries use too. The first value of a name counts; all of them stand in the
-- second result as lists.
function M.form(text)
  local first, all = {}, {}
  for pair in text:gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    name, value = M.unpercent((name:gsub("+", " "))), M.unpercent((value:gsub("+", " ")))
    if first[name] == nil then first[name] = value end
    all[name] = all[name] or {}
    table.insert(all[name], value)
  end
  return first, all
end

-- A query from a list of { name, value }; nil values are left out.
function M.query(pairs_in_order)
  local parts = {}
  for _, pair in ipairs(pairs_in_order) do
    if pair[2] ~= nil then parts[#parts + 1] = M.percent(pair[1]) .. "=" .. M.percent(tostring(pair[2])) end
  end
  return table.concat(parts, "&")
end

function M.words(text)
  local list = {}
  for word in (text or ""):gmatch("%S+") do list[#list + 1] = word end
  return list
end

function M.set(list)
  local set = {}
  for _, item in ipairs(list) do set[item] = true end
  return set
end

local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

-- RFC 4648 section 5, without padding.
function M.base64url(bytes)
  local out = {}
  for i = 1, #bytes, 3 do
    local a, b, c = bytes:byte(i, i + 2)
    local v = a * 65536 + (b or 0) * 256 + (c or 0)
    for shift = 3, c and 0 or b and 1 or 2, -1 do
      local digit = math.floor(v / 64 ^ shift) % 64
      out[#out + 1] = alphabet:sub(digit + 1, digit + 1)
    end
  end
  return table.concat(out)
end

-- Takes both alphabets, with or without padding; nil for anything else.
function M.unbase64(text)
  text = text:gsub("+", "-"):gsub("/", "_"):gsub("=+$", "")
  if text:find("[^%w%-_]") or #text % 4 == 1 then return nil end
  local out = {}
  for i = 1, #text, 4 do
    local group, v = text:sub(i, i + 3), 0
    for j = 1, 4 do
      local at = j <= #group and alphabet:find(group:sub(j, j), 1, true) or 1
      v = v * 64 + at - 1
    end
    local bytes = string.char(math.floor(v / 65536), math.floor(v / 256) % 256, v % 256)
    out[#out + 1] = bytes:sub(1, #group - 1)
  end
  return table.concat(out)
end

function M.html(text)
  return (tostring(text):gsub("[&<>\"']", function(c) return ("&#%d;"):format(c:byte()) end))
end

return M
