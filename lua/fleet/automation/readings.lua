-- What automations read of a look: each field with its kind. A value of another kind is left out and named, so that a decision sees
-- what it can use or nothing. A definition names in `needs` the fields without which a section counts as not seen.

local core = require "fleet.core"
local tables = require "fleet.util.tables"

local M = {}

-- ---- kinds ----

local kinds = {}
local most = 1e9 -- nothing that is read is larger
local charging_states = tables.set { "Disconnected", "NoPower", "Starting", "Charging", "Complete", "Stopped" }

function kinds.number(value) return type(value) == "number" and math.abs(value) <= most end
function kinds.charging(value) return charging_states[value] == true end
function kinds.amount(value) return kinds.number(value) and value >= 0 end
function kinds.percent(value) return kinds.amount(value) and value <= 100 end
function kinds.minutes(value) return kinds.amount(value) and value <= 1440 and value == math.floor(value) end
function kinds.time(value) return type(value) == "string" and core.time(value) ~= nil end
function kinds.text(value) return type(value) == "string" end
function kinds.flag(value) return type(value) == "boolean" end
function kinds.opening(value) return kinds.flag(value) or kinds.amount(value) end
function kinds.object(value) return type(value) == "table" end
function kinds.id(value) return tonumber(value) ~= nil end

function kinds.days(value)
  if type(value) == "string" and not tonumber(value) then return (pcall(core.days, value)) end
  return kinds.minutes(tonumber(value))
end

-- ---- the fields ----

local charge_schedule = {
  id = "id", start_time = "minutes", end_time = "minutes", enabled = "flag", start_enabled = "flag", end_enabled = "flag",
  one_time = "flag", days_of_week = "days", latitude = "number", longitude = "number",
}

-- A list is { element = its fields, needs = fields that an element must have, all = whether one odd element spoils the list }.
local fields = {
  info = { state = "text" },
  charge_state = {
    charging_state = "charging", battery_level = "percent", charge_limit_soc = "percent", charge_current_request = "amount",
    charge_current_request_max = "amount", charger_pilot_current = "amount", charger_actual_current = "amount",
    charger_voltage = "amount", charger_phases = "amount", charge_energy_added = "amount", minutes_to_full_charge = "amount",
    scheduled_charging_mode = "text", scheduled_charging_start_time_app = "minutes", managed_charging_state = "object",
  },
  charge_schedule_data = {
    charge_schedules = { element = charge_schedule, needs = { "id", "start_time", "end_time" } },
  },
  climate_state = { is_climate_on = "flag", driver_temp_setting = "number" },
  drive_state = { shift_state = "text", latitude = "number", longitude = "number" },
  vehicle_state = {
    car_version = "text", locked = "flag", is_user_present = "flag", df = "opening", dr = "opening", pf = "opening", pr = "opening",
    ft = "opening", rt = "opening", fd_window = "opening", fp_window = "opening", rd_window = "opening", rp_window = "opening",
  },
  live_status = {
    solar_power = "number", grid_power = "number", battery_power = "number", percentage_charged = "percent", timestamp = "time",
    wall_connectors = { element = { vin = "text", wall_connector_power = "number" }, needs = {}, all = true },
  },
  site_info = { backup_reserve_percent = "percent", tariff_content_v2 = "object" },
}

--- What automations read, all together: lists of fields by section.
M.all = {}
for section, rows in pairs(fields) do
  M.all[section] = {}
  for field in pairs(rows) do table.insert(M.all[section], field) end
end

-- ---- reading ----

local read_fields

local function has(element, needs)
  for _, name in ipairs(needs) do
    if element[name] == nil then return false end
  end
  return true
end

-- The elements that can be used, or nil; and whether one cannot.
local function read_list(row, list)
  if type(list) ~= "table" or next(list) ~= nil and list[1] == nil then return nil, true end
  local out, any_odd = {}, false
  for _, one in ipairs(list) do
    local odd = {}
    local element = type(one) == "table" and read_fields(row.element, one, "", odd) or nil
    if not element or odd[1] then any_odd = true elseif has(element, row.needs) then out[#out + 1] = element end
  end
  if any_odd and row.all then return nil, true end
  return out, any_odd
end

-- A copy of a section with what can be used; what cannot is added to odd as "section.field".
function read_fields(rows, section, where, odd)
  local out = {}
  for name, value in pairs(section) do
    local row, spoilt = rows[name], false
    if type(row) == "table" then value, spoilt = read_list(row, value) end
    if type(row) == "string" and not kinds[row](value) then value, spoilt = nil, true end
    if spoilt then odd[#odd + 1] = where .. name end
    out[name] = value
  end
  return out
end

-- The fields that a section must have and lacks.
local function lacking(section, name, needs)
  local list = {}
  for _, field in ipairs(needs and needs[name] or {}) do
    if section[field] == nil then list[#list + 1] = name .. "." .. field end
  end
  return list
end

--- Reads a section of a look. needs: { section = { field, … } }. Returns a copy of it with the values that can be used, or nil where a
--- needed field is not among them; a list of the fields that could not be used, and of those that are needed and missing.
function M.read(name, section, needs)
  if type(section) ~= "table" then
    local needed = needs and needs[name] ~= nil
    return not needed and {} or nil, section ~= nil and { name } or {}, needed and { name } or {}
  end
  local odd = {}
  local read = read_fields(fields[name] or {}, section, name .. ".", odd)
  table.sort(odd)
  local missing = lacking(read, name, needs)
  return #missing == 0 and read or nil, odd, missing
end

--- Whether a section that was read has what is needed of it.
function M.suffices(name, section, needs)
  return not (needs and needs[name]) or section ~= nil and #lacking(section, name, needs) == 0
end

--- The sections that were seen, and when. A section without data counts as not seen.
function M.read_all(state, needs)
  local seen, at = {}, {}
  for name, section in pairs(state.seen) do
    local read = M.read(name, section, needs)
    if read then
      seen[name], at[name] = read, type(state.at[name]) == "number" and state.at[name] or nil
    end
  end
  return seen, at
end

return M
