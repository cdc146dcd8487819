-- Percent-encoding, forms, queries and base64url of HTTP and OAuth, from the server's side. The core has the opposite direction: it writes
-- forms and reads replies.
local core = require("fleet.core")

local M = {}

function M.unpercent(text)
  if not text:find("%", 1, true) then return text end
  return (text:gsub("%%(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end))
end

function M.percent(text)
  return (text:gsub("[^%w%-._~]", function(c) return ("%%%02X"):format(c:byte()) end))
end

-- Parses application/x-www-form-urlencoded, which queries use too. The first result has the first value of each name; the second has lists
-- of all values.
function M.form(text)
  local first, all = {}, {}
  if text == "" then return first, all end
  for pair in text:gmatch("[^&]+") do
    local name, value = pair:match("^([^=]*)=?(.*)$")
    name, value = M.unpercent((name:gsub("+", " "))), M.unpercent((value:gsub("+", " ")))
    if first[name] == nil then first[name] = value end
    all[name] = all[name] or {}
    table.insert(all[name], value)
  end
  return first, all
end

-- Writes a query from a list of { name, value }; nil values are left out.
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

-- RFC 4648 section 5, without padding.
function M.base64url(bytes)
  return (core.base64(bytes):gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

-- Decodes both alphabets, with or without padding; nil for other text.
function M.unbase64(text)
  local bytes = core.unbase64(text)
  if bytes then return bytes end
  local standard = text:gsub("[-_]", { ["-"] = "+", ["_"] = "/" }):gsub("=+$", "")
  return (core.unbase64(standard .. ("="):rep(-#standard % 4)))
end

function M.html(text)
  return (tostring(text):gsub("[&<>\"']", function(c) return ("&#%d;"):format(c:byte()) end))
end

return M
