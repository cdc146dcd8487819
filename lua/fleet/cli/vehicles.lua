-- Which vehicle a person means: by its VIN, by its name, by the end of its VIN, or by naming none where there is only one.

local core = require "fleet.core"

local M = {}

local shortest_end = 3 -- of a VIN
local longest_serial = 7 -- more digits are the id of a record

-- What needs no look at the account.
local function is_id(text)
  if string.match(text, "^%d+$") then return #text > longest_serial end
  return core.is_vin(text)
end

local function described(records)
  local list = {}
  for i, record in ipairs(records) do list[i] = string.format("%s (%s)", record.display_name or "no name", record.vin or "?") end
  return #list > 0 and table.concat(list, ", ") or "no vehicle"
end

--- The records of all vehicles, asked for once in a command line.
function M.records(context, options)
  if context.vehicles then return context.vehicles end
  local records, err, kind = context:client():vehicles({}, { auth = options and options.auth }):collect()
  for _, record in ipairs(records or {}) do -- what the service says may be of any type
    if type(record.display_name) ~= "string" then record.display_name = nil end
    if not core.is_vin(record.vin) then record.vin = nil end
  end
  context.vehicles = records
  return records, err, kind
end

local function is_meant(record, text)
  local small, vin = string.lower(text), string.lower(record.vin or "")
  return string.lower(record.display_name or "") == small or record.id_s == text
    or #text >= shortest_end and string.sub(vin, -#text) == small
end

local function not_one(kind, message)
  local err = core.err { kind = kind, message = message }
  return nil, err, kind
end

--- The VIN of the vehicle that text means; of the only one when text is nil. options: auth of the call, or nil; vin_only: where an
--- id of a record does not serve. Looking through the account is one read, priced as data. Returns the VIN, or nil, err, kind.
function M.find(context, text, options)
  if text and (options and options.vin_only and core.is_vin or is_id)(text) then return text end
  local records, err, kind = M.records(context, options)
  if not records then return nil, err, kind end
  local found = {}
  for _, record in ipairs(records) do
    if record.vin and (text == nil or is_meant(record, text)) then found[#found + 1] = record end
  end
  if #found == 1 then return found[1].vin end
  if text == nil then
    return not_one("invalid", "name the vehicle: the account has " .. described(records))
  elseif #found == 0 then
    local sentence = "no vehicle is called '%s', and no VIN ends so: the account has %s"
    return not_one("not_found", string.format(sentence, text, described(records)))
  end
  return not_one("invalid", string.format("'%s' may be %s: give more of the VIN", text, described(found)))
end

--- The same for a list.
function M.find_all(context, texts, options)
  local vins = {}
  for i, text in ipairs(texts) do
    local vin, err, kind = M.find(context, text, options)
    if not vin then return nil, err, kind end
    vins[i] = vin
  end
  return vins
end

return M
