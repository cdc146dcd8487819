-- The account of the user. doc/protocol.md#region-of-a-token
local json = require("fleet.sim.json")

local handlers = {}

handlers["user.me"] = function(context)
  local account = context.account
  return {
    email = account.email, full_name = account.full_name or "Sample Driver", profile_image_url = json.null,
    vault_uuid = context.service:subject({ account = account }),
  }
end

handlers["user.orders"] = function(context)
  local orders = json.list(context.account.orders or {})
  return orders, { count = #orders }
end

handlers["user.region"] = function(context)
  return { region = context.account.region, fleet_api_base_url = context.service:region_url(context.account.region) }
end

return { handlers = handlers }
