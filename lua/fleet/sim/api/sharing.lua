-- Drivers and invitations. doc/protocol.md#sharing
local calendar = require("fleet.sim.calendar")
local json = require("fleet.sim.json")
local paging = require("fleet.sim.paging")

local handlers = {}

local INVITATION_SECONDS = 24 * 3600
local MOST_DRIVERS = 5 -- doc/protocol.md#sharing

local function owner_only(context)
  if context.role ~= "OWNER" and context.token.kind ~= "business" then
    context.fail(403, "forbidden", "only the owner of the vehicle may do this")
  end
end

local function user_id(service, email)
  for i, account in ipairs(service.garage.accounts) do
    if account.email == email then return 800000 + i end
  end
  return 0
end

local function driver(context, entry)
  local service = context.service
  local id = user_id(service, entry.email)
  local first = entry.email:match("^[^@]+")
  return {
    my_tesla_unique_id = id + 100000, user_id = id, user_id_s = ("%d"):format(id),
    vault_uuid = service:subject({ account = { email = entry.email } }), driver_first_name = first, driver_last_name = "",
    granular_access = { hide_private = entry.hide_private == true }, active_pubkeys = json.list(), public_key = "",
  }
end

function handlers.drivers(context)
  owner_only(context)
  local list = json.list()
  for _, entry in ipairs(context.vehicle.drivers) do list[#list + 1] = driver(context, entry) end
  if context.vehicle.guest then list[#list + 1] = driver(context, { email = context.vehicle.guest }) end
  return list, { count = #list }
end

local function remove(list, at)
  table.remove(list, at)
  return "ok"
end

local function id_text(service, email)
  return ("%d"):format(user_id(service, email))
end

-- Share users and guests remove their own access only; owners any, or their own.
function handlers.remove_driver(context)
  local service, vehicle, wanted = context.service, context.vehicle, context.query.share_user_id
  local own = id_text(service, context.account.email)
  if context.role ~= "OWNER" and wanted and wanted ~= own then
    context.fail(403, "forbidden", "a share user may only remove the own access")
  end
  for i, entry in ipairs(vehicle.drivers) do
    if id_text(service, entry.email) == (wanted or own) then return remove(vehicle.drivers, i) end
  end
  if vehicle.guest and (wanted == "guest" or wanted == vehicle.guest or id_text(service, vehicle.guest) == (wanted or own)) then
    vehicle.guest = nil
    return "ok"
  end
  if (wanted or own) == own and vehicle.owner == context.account.email then
    vehicle.owner = nil
    return "ok"
  end
  context.fail(404, "not_found", "no such driver")
end

-- ---- invitations ----

local function expire(vehicle, now)
  for i = #vehicle.invitations, 1, -1 do
    if now >= vehicle.invitations[i].expires then table.remove(vehicle.invitations, i) end
  end
end

local function shown(context, invitation)
  local service, vehicle = context.service, context.vehicle
  local owner = user_id(service, vehicle.owner)
  return {
    id = invitation.id, id_s = ("%.0f"):format(invitation.id), owner_id = owner, owner_id_s = ("%d"):format(owner),
    share_user_id = json.null, share_user_id_s = "", product_id = vehicle.vin, state = "pending", code = invitation.code,
    expires_at = calendar.text(invitation.expires), revoked_at = json.null, borrowing_device_id = json.null,
    key_id = json.null, product_type = "vehicle", share_type = "customer", share_user_sso_id = json.null,
    active_pubkeys = json.list({ json.null }), borrowing_key_hash = json.null, vin = vehicle.vin,
    share_link = (service.vendor.invitation_url or service.base_url .. "/_rs/1/") .. invitation.code,
  }
end

function handlers.invitations(context)
  owner_only(context)
  expire(context.vehicle, context.now)
  local list = {}
  for i, invitation in ipairs(context.vehicle.invitations) do list[i] = shown(context, invitation) end
  local size = tonumber(context.query.per_page or context.query.page_size)
  if size and size > 25 then context.fail(400, "invalid_request", "at most 25 invitations per page") end
  return paging.slice(context, list, 25, 25)
end

function handlers.create_invitation(context)
  owner_only(context)
  local service, vehicle = context.service, context.vehicle
  expire(vehicle, context.now)
  if #vehicle.invitations >= 1000 then
    context.fail(400, "invalid_request", "too many invitations")
  end
  service.invitation_count = (service.invitation_count or 0) + 1
  local invitation = {
    id = 4295096216570000 + service.invitation_count, code = service.random(22), expires = context.now + INVITATION_SECONDS,
  }
  table.insert(vehicle.invitations, invitation)
  return shown(context, invitation)
end

local function find(service, code, now)
  for _, vehicle in ipairs(service.vehicles) do
    expire(vehicle, now)
    for i, invitation in ipairs(vehicle.invitations) do
      if invitation.code == code then return vehicle, i end
    end
  end
  return nil
end

function handlers.redeem_invitation(context)
  local code = context.body.code:match("([^/]+)/?$") or ""
  local vehicle, at = find(context.service, code, context.now)
  if not vehicle then context.fail(404, "not_found", "the invitation is used, revoked, expired or unknown") end
  local email = context.account.email
  if vehicle.owner == email then context.fail(400, "invalid_request", "the owner of the vehicle needs no invitation to it") end
  if not vehicle:access(email) then
    if #vehicle.drivers >= MOST_DRIVERS then context.fail(400, "invalid_request", "the vehicle has five drivers already") end
    table.insert(vehicle.drivers, { email = email, hide_private = false })
  end
  table.remove(vehicle.invitations, at)
  return { vehicle_id_s = ("%.0f"):format(vehicle.record.vehicle_id), vin = vehicle.vin }
end

function handlers.revoke_invitation(context)
  owner_only(context)
  expire(context.vehicle, context.now)
  for i, invitation in ipairs(context.vehicle.invitations) do
    if ("%.0f"):format(invitation.id) == context.args.id then
      table.remove(context.vehicle.invitations, i)
      return true
    end
  end
  context.fail(404, "not_found", "no such invitation")
end

return { handlers = handlers }
