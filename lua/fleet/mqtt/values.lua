-- Converts values of the service to the texts of topics, and payloads of commands to calls. Pure.

local core = require "fleet.core"
local rows = require "fleet.call.rows"

local M = {}


local longest_text = 255 -- bytes that hosts accept as a state

-- ---- to hosts ----

--- The value at a path of tables; nil for one that is absent, null, or "<invalid>".
function M.at(data, path)
  for name in string.gmatch(path, "[^.]+") do
    if type(data) ~= "table" then return nil end
    data = data[name]
  end
  if data == core.null or data == "<invalid>" or data == "" then return nil end
  return data
end

--- Removes the value at a path.
function M.forget(data, path)
  for name, dot in string.gmatch(path, "([^.]+)(%.?)") do
    if type(data) ~= "table" then return end
    if dot == "" then data[name] = nil else data = data[name] end
  end
end

--- The text at a path; nil for a value of another type, which a malformed reply may have.
function M.text_at(data, path)
  local value = M.at(data, path)
  return type(value) == "string" and value or nil
end

local function number_text(value, digits)
  if value ~= value or value == math.huge or value == -math.huge then return nil end
  if value == math.floor(value) and math.abs(value) < 1e15 then return string.format("%d", value) end
  return core.shortened(value, digits or 3)
end

--- Foreign text as one line of bounded length, cut between characters.
function M.cut(text)
  text = string.gsub(text, "%c", " ")
  if #text <= longest_text then return text end
  local stop = longest_text
  while stop > 0 and string.find(string.sub(text, stop + 1, stop + 1), "[\128-\191]") do stop = stop - 1 end
  return string.sub(text, 1, stop)
end
local cut = M.cut

--- A value as text; nil for one without text.
function M.plain(value)
  if type(value) == "number" then return number_text(value) end
  if type(value) == "string" then return cut(value) end
  if type(value) == "boolean" then return tostring(value) end
end
local plain = M.plain

local function percent(value)
  return type(value) == "number" and value > 0 and value <= 100 and value or nil
end

local forms = {}

-- The installed version is not part of the update's data: it is a field of its own.
function forms.software(data)
  local state = data.vehicle_state or {}
  local installed = M.text_at(state, "car_version")
  installed = installed and string.match(installed, "%S+")
  if not installed then return nil end
  local latest = M.text_at(state, "software_update.version")
  latest = latest and string.match(latest, "%S+") or installed
  local status = M.text_at(state, "software_update.status")
  local done = { installing = "install_perc", downloading = "download_perc" }
  return core.json_encode {
    installed_version = installed, latest_version = latest, in_progress = done[status or ""] ~= nil,
    update_percentage = done[status or ""] and percent(M.at(state, "software_update." .. done[status])) or nil,
  }
end

-- A tracker has attributes only. An event is published once and has no state.
function forms.location() end
function forms.event() end

local function is_open(value)
  if type(value) == "number" and value == value then return value ~= 0 end
  if type(value) == "boolean" then return value end
end

function forms.lid(data, row)
  local open = is_open(M.at(data, row.from))
  if open ~= nil then return open and "open" or "closed" end
end

function forms.windows(data)
  local known = 0
  for _, name in ipairs { "fd_window", "fp_window", "rd_window", "rp_window" } do
    local open = is_open(M.at(data, "vehicle_state." .. name))
    if open then return "open" end
    if open == false then known = known + 1 end
  end
  return known == 4 and "closed" or nil
end

function forms.connector(data, row)
  local list = M.at(data, row.from)
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if type(one) == "table" and one.din == row.din then return plain(M.at(one, row.field)) end
  end
end

--- The text of a row from { section = data }; nil when it is unknown.
function M.text(row, data)
  if row.form then return forms[row.form](data, row) end
  local value = M.at(data, row.from or "")
  if value == nil or row.from == nil then return nil end
  if row.values then return row.values[plain(value) or {}] end
  if row.component == "binary_sensor" or row.component == "switch" then
    if type(value) == "boolean" then return value and "ON" or "OFF" end
    if type(value) == "number" and value == value then return value ~= 0 and "ON" or "OFF" end
    return nil
  end
  if row.class == "enum" then
    for _, option in ipairs(row.options) do
      if option == value then return value end
    end
    return nil
  end
  return type(value) == "number" and number_text(value, row.digits) or plain(value)
end

--- The position of a car, as the attributes of a tracker; nil when it is unknown or hidden.
function M.location(data)
  for _, section in ipairs { "location_data", "drive_state" } do
    local latitude, longitude = M.at(data, section .. ".latitude"), M.at(data, section .. ".longitude")
    local is_place = type(latitude) == "number" and type(longitude) == "number" and (latitude ~= 0 or longitude ~= 0)
    if is_place then
      return { latitude = latitude, longitude = longitude, gps_accuracy = 10 }
    end
  end
end

-- ---- from hosts ----

local function parameter(call, name)
  for _, param in ipairs(rows.by_name[call].params) do
    if param.name == name then return param end
  end
end

-- Decimal numbers only: other forms of Lua (0x10, 1., inf) are rejected.
local function number_in(text)
  local digits = string.match(text, "^%s*([+-]?%d+%.?%d*[eE]?[+-]?%d*)%s*$")
  return digits and not string.find(digits, "%.$") and not string.find(digits, "%.[eE]") and tonumber(digits) or nil
end

local function number_of(row, text)
  local value = number_in(text)
  if not value or value ~= value or value < row.least or value > row.most then
    return nil, string.format("'%s' is not a number from %s to %s", cut(text), plain(row.least), plain(row.most))
  end
  if parameter(row.call, row.param).type == "integer" then
    if value ~= math.floor(value) then return nil, "'" .. cut(text) .. "' is not a whole number" end
    value = math.floor(value)
  end
  return value
end

local function chosen(row, text)
  for _, option in ipairs(row.options) do
    if option == text then return text end
  end
  return nil, string.format("'%s' is none of %s", cut(text), table.concat(row.options, ", "))
end

local function names_of(map)
  local list = {}
  for name in pairs(map) do list[#list + 1] = name end
  table.sort(list)
  return table.concat(list, ", ")
end

--- The call that a payload asks for: { name =, params = or nil, becomes = text or nil, row =, instead = such a call or nil }, or nil and
--- the reason why there is none.
function M.call(row, payload)
  if row.calls then
    local call = row.calls[payload]
    if not call then return nil, string.format("'%s' is none of %s", cut(payload), names_of(row.calls)) end
    local becomes = row.becomes and row.becomes[payload] or row.from and not row.form and payload or nil
    local other = row.instead and row.instead[payload]
    local instead = other and { name = other[1], params = other[2], becomes = becomes, needed = other.when, row = row }
    return { name = call[1], params = call[2], becomes = becomes, once = row.once, instead = instead, row = row }
  end
  if not row.call then return nil, "it can only be read" end
  local value, why
  if row.options then value, why = chosen(row, payload) else value, why = number_of(row, payload) end
  if value == nil then return nil, why end
  local params = { [row.param] = value }
  if row.also then params[row.also] = value end
  for name, fixed in pairs(row.with or {}) do params[name] = fixed end
  return { name = row.call, params = params, becomes = plain(value), force = row.force and row.force[value] or nil, row = row }
end

--- Whether a row has commands.
function M.writes(row)
  return row.calls ~= nil or row.call ~= nil or row.act ~= nil
end

--- Filters a sum that grows until it restarts: hosts interpret each step back as a restart, so a small one is not published. before: the
--- number published last.
function M.steady(row, text, before)
  local value = row.steady and tonumber(text or "")
  if not value or not before then return text, value end
  if value < before and value >= before * 0.9 then return number_text(before), before end
  return text, value
end

--- The last part of a row's topic: "battery", "climate/mode".
function M.topic(row)
  return row.topic and row.name .. "/" .. row.topic or row.name
end

--- The section of a row, or nil.
function M.section(row)
  return row.from and string.match(row.from, "^[^.]+")
end

return M
