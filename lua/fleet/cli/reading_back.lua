-- How a person finds out what became of a call whose outcome is unknown: the verb to run and the fields to look at, from the settle column
-- of the row (src/tables/rows.h).

local M = {}

local most_fields = 3

-- Sections and fields that the settle column names: "charge_state.charge_limit_soc = $percent; …". A list is named without its index.
local function settled(row)
  local sections, fields, seen = {}, {}, {}
  for part in string.gmatch(row.settle .. ";", "%s*(.-);") do
    local section, field = string.match(part, "^([%w_]+)%.([%w_.]+)")
    if section and not seen[section] then sections[#sections + 1] = section end
    if field and not seen[field] then fields[#fields + 1] = string.gsub(field, "%.$", "") end
    seen[section or ""], seen[field or ""] = true, true
  end
  for i = #fields, most_fields + 1, -1 do fields[i] = nil end
  return sections, fields
end

local reads_of_section = { keys = "keys", body_controller = "body_controller_state", site_info = "site_info" }

-- "fleet vehicle_data VIN endpoints=charge_state shows charge_limit_soc"
local function read_of(row, id)
  local sections, fields = settled(row)
  local verb = reads_of_section[sections[1]]
  local command = verb and string.format("fleet %s %s", verb, id)
    or string.format("fleet vehicle_data %s endpoints=%s", id, table.concat(sections, ","))
  return string.format("'%s' shows %s", command, table.concat(fields, ", "))
end

-- What shows the result of a write that has no settle column.
local reads_of_row = { wake_up = "status", create_invitation = "invitations" }

--- The sentence for an unknown outcome. row: of the call, or nil; id: VIN or id of the site, or nil.
function M.sentence(row, id)
  if row and row.settle then
    return "It may have been done. Before you repeat it: " .. read_of(row, id or (row.handle == "site" and "SITE" or "VIN")) .. "."
  end
  if row and row.flags.idempotent then return "It may have been done. A repeat is safe: it sets a named state." end
  if row and row.flags.command then return "It may have been done. The car's data does not show it, and a repeat would act again." end
  local verb = row and reads_of_row[row.name]
  if verb and id then return string.format("It may have been done. Before you repeat it, look: fleet %s %s", verb, id) end
  return "It may have been done: look before you repeat it."
end

return M
