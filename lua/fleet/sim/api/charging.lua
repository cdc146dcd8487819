-- Charging history, invoices and sessions: not wrapped in `response`. doc/protocol.md#charging-records
local calendar = require("fleet.sim.calendar")
local charging = require("fleet.sim.charging")
local json = require("fleet.sim.json")
local paging = require("fleet.sim.paging")
local reply = require("fleet.sim.reply")

local handlers = {}

local function moment(context, name)
  local text = context.query[name]
  if not text then return nil end
  local at = calendar.parse(text)
  if not at then context.fail(400, "invalid_request", name .. " is RFC 3339 with offset: " .. text) end
  return at
end

local function mine(context, entry)
  local vehicle = context.service.by_vin[entry.vin]
  return vehicle == nil and context.account.index == 1 or vehicle ~= nil and vehicle:access(context.account.email) == "OWNER"
end

local function filtered(context, from_name, to_name)
  local from, to, list = moment(context, from_name), moment(context, to_name), {}
  for _, entry in ipairs(context.service.charging) do
    local at = calendar.parse(entry.chargeStartDateTime) or 0
    local fits = mine(context, entry) and (not from or at >= from) and (not to or at < to) and
      (not context.query.vin or context.query.vin == entry.vin)
    if fits then list[#list + 1] = entry end
  end
  return list
end

local function sorted(context, list)
  local field, order = context.query.sortBy or "chargeStartDateTime", context.query.sortOrder
  if order and order ~= "ASC" and order ~= "DESC" then context.fail(400, "invalid_request", "sortOrder is ASC or DESC") end
  if not order and not context.query.sortBy then return list end
  table.sort(list, function(a, b)
    local x, y = tostring(a[field]), tostring(b[field])
    if order == "DESC" then return x > y end
    return x < y
  end)
  return list
end

handlers["charging.history"] = function(context)
  local list = sorted(context, filtered(context, "startTime", "endTime"))
  local page, size = paging.whole(context.query.pageNo, 1), paging.whole(context.query.pageSize, 50)
  if page < 1 or size < 1 then context.fail(400, "invalid_request", "pageNo and pageSize are numbers from 1") end
  return reply.bare({ data = paging.window(list, (page - 1) * size, size), totalResults = #list })
end

handlers["charging.invoice"] = function(context)
  local entry, invoice = charging.find_invoice(context.service.charging, context.args.id)
  if not entry or not mine(context, entry) then context.fail(404, "not_found", "no such invoice") end
  return reply.bytes(charging.invoice(entry, invoice), "application/pdf")
end

-- For business accounts with a fleet only.
handlers["charging.sessions"] = function(context)
  if not context.account.business then context.fail(403, "forbidden", "charging sessions are for business accounts") end
  local list = filtered(context, "date_from", "date_to")
  local offset, limit = paging.whole(context.query.offset, 0), paging.whole(context.query.limit, 50)
  if offset < 0 or limit < 1 then context.fail(400, "invalid_request", "offset is 0 or more, limit 1 or more") end
  local page = paging.window(list, offset, limit)
  for i, entry in ipairs(page) do
    local vehicle = context.service.by_vin[entry.vin]
    page[i] = charging.session(entry, vehicle and vehicle.model)
  end
  return reply.bare({
    data = page, status_code = 1000, status_message = "Success", timestamp = calendar.text(context.now), total = json.null,
  })
end

return { handlers = handlers }
