-- Details of a failed reply besides its error: the service's request id, and messages for single fields.

local core = require "fleet.core"

local M = {}

local longest_id, most_text = 100, 300

local function texts_of(messages)
  local found, names = {}, {}
  for name, texts in pairs(messages) do
    if type(name) == "string" and type(texts) == "string" then texts = { texts } end
    if type(name) == "string" and type(texts) == "table" then
      local list = {}
      for _, text in ipairs(texts) do list[#list + 1] = type(text) == "string" and text or nil end
      found[name], names[#names + 1] = list, name
    end
  end
  table.sort(names)
  return found, names
end

-- "percent: must be between 50 and 100"
local function sentence(found, names)
  local parts = {}
  for i, name in ipairs(names) do parts[i] = name .. ": " .. table.concat(found[name], ", ") end
  local text = string.gsub(table.concat(parts, "; "), "%c", " ")
  return #text <= most_text and text or string.gsub(string.sub(text, 1, most_text), "[\192-\255]?[\128-\191]*$", "") .. "…"
end

local function text_in(...)
  for i = 1, select("#", ...) do
    local text = select(i, ...)
    if type(text) == "string" and #text > 0 and #text <= longest_id and not string.find(text, "[^%w%-_.:/+=]") then return text end
  end
end

--- Adds request_id, the service's own id of the exchange, and messages, its texts for single fields.
function M.add(err, reply)
  local body = err.status and core.json_decode(reply:body())
  if type(body) ~= "table" then body = {} end
  err.request_id = text_in(reply:header("x-txid"), body.txid, reply:header("x-request-id"), body.referenceID)
  if type(body.messages) ~= "table" then return end
  local found, names = texts_of(body.messages)
  if #names == 0 then return end
  err.messages = found
  err.message = err.message .. ": " .. sentence(found, names)
end

return M
