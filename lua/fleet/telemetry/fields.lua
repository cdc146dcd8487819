-- Converts the values of a record by the kinds of their fields: some vehicles and older firmware send text for numbers, booleans, enums and
-- positions. The rows are src/tables/telemetry.c.

local core = require "fleet.core"

local M = {}

local rows = core.telemetry_fields()
M.rows = rows

local most_unnamed, longest_text = 4096, 4096

--- Whether the newest value of a field is kept: a field without a name only up to a number far above Tesla's, since a vehicle whose key was
--- stolen could send a million of them.
function M.is_kept(name) return rows[name] ~= nil or (tonumber(name) or 0) < most_unnamed end

local function number(text)
  if not string.find(text, "^[+-]?%d*%.?%d*[eE]?[+-]?%d*$") or not string.find(text, "%d") then return nil end
  local value = tonumber(text)
  if not value or math.abs(value) == math.huge then return nil end
  return value % 1 == 0 and math.abs(value) < 1e15 and math.floor(value) or value
end

local function integer(text)
  local value = number(text)
  return value and value % 1 == 0 and value or nil
end

local booleans = { ["true"] = true, ["false"] = false }

local function coordinate(digits, side, most)
  local value = number(digits)
  if not value or math.abs(value) > most then return nil end
  return (side == "S" or side == "W") and -value or value
end

-- "(37.4 N, 122.1 W)"; a number may have a sign and an exponent, as cars near the equator or Greenwich send it.
local function location(text)
  local north, ns, east, ew = string.match(text, "^%(?%s*([%d%.eE+-]+)%s*([NS]),%s*([%d%.eE+-]+)%s*([EW])%)?$")
  if not north then return nil end
  local latitude, longitude = coordinate(north, ns, 90), coordinate(east, ew, 180)
  return latitude and longitude and { latitude = latitude, longitude = longitude }
end

-- The value of a text by its field; nil when it is invalid.
local function read(row, text)
  local kind = row and row.kind
  if kind == "number" or kind == "time" then return number(text) end
  if kind == "integer" then return integer(text) end
  if kind == "boolean" then return booleans[string.lower(text)] end
  if kind == "location" then return location(text) end
  if kind == "object" then return nil end
  if kind == "enum" and row.prefix and string.sub(text, 1, #row.prefix) == row.prefix and #text > #row.prefix then
    return string.sub(text, #row.prefix + 1)
  end
  return text
end

--- Completes a record's values from its texts. A text that is invalid for its field stays in record.texts, and the field is unknown.
function M.complete(record)
  if not record.texts then return end
  local values, invalid, unread = record.values, record.invalid, nil
  for name, text in pairs(record.texts) do
    local value
    if text == "<invalid>" then invalid[#invalid + 1] = name else value = read(rows[name], text) end
    if value ~= nil and #text <= longest_text then
      values[name] = value
    elseif text ~= "<invalid>" then
      unread = unread or {}
      unread[name] = text
    end
  end
  record.texts = unread
end

return M
