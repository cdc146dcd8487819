-- The pages that a browser shows during sign-in: consent, scopes, errors. Plain HTML, one style, no external resources.
local pages = require("fleet.chart.page")
local text = require("fleet.sim.text")

local M = {}

M.STYLE = pages.STYLE
M.BANNER = "This is a simulator: no real account, no real vehicle."

function M.page(title, body)
  return pages.document(title, "", ("<p class=\"banner\">%s</p>\n<h1>%s</h1>\n%s"):format(M.BANNER, text.html(title), body))
end

local MEANING = {
  openid = "Sign in with your account", offline_access = "Stay signed in", user_data = "Your profile and orders",
  vehicle_device_data = "Vehicle information", vehicle_location = "Vehicle location", vehicle_cmds = "Vehicle commands",
  vehicle_charging_cmds = "Charging commands and history", energy_device_data = "Energy site information",
  energy_cmds = "Energy site settings",
}

local function box(scope, checked, locked)
  return ("<label><input type=\"checkbox\" name=\"scopes\" value=\"%s\"%s%s><span>%s <span class=\"note\">%s</span></span></label>"):format(
    scope, checked and " checked" or "", locked and " onclick=\"return false\"" or "", MEANING[scope] or scope, scope)
end

-- The form; its first button consents.
function M.consent(ticket, entry, target)
  local out, q = {}, entry.q
  local all = q.require_requested_scopes == "true"
  out[#out + 1] = ("<p><code>%s</code> asks for access to the account <b>%s</b>.</p>"):format(
    text.html(q.client_id), text.html(entry.account.email))
  out[#out + 1] = ("<form method=\"post\" action=\"%s\"><input type=\"hidden\" name=\"ticket\" value=\"%s\">"):format(target, ticket)
  if #entry.ask == 0 then out[#out + 1] = "<p>Everything it asks for has been allowed before.</p>" end
  for _, scope in ipairs(entry.ask) do out[#out + 1] = box(scope, true, all) end
  if all and #entry.ask > 0 then out[#out + 1] = "<p class=\"note\">The application needs all of them.</p>" end
  out[#out + 1] = "<button class=\"primary\" type=\"submit\" name=\"action\" value=\"allow\">Allow</button>" ..
    "<button type=\"submit\" name=\"action\" value=\"deny\">Refuse</button></form>"
  if q.show_keypair_step == "true" then
    out[#out + 1] = "<p class=\"note\">Next step: add the application's virtual key to your vehicle. Here that is the event " ..
      "<code>pair_key</code> of the control address.</p>"
  end
  return M.page("Allow access", table.concat(out, "\n"))
end

-- The scopes of an app, with a link back.
function M.scopes(client_id, account, granted, all, target, back)
  local out = { ("<p>What <code>%s</code> may do for <b>%s</b>:</p>"):format(text.html(client_id), text.html(account.email)),
    ("<form method=\"post\" action=\"%s\">"):format(text.html(target)) }
  for _, scope in ipairs(all) do
    if granted[scope] then out[#out + 1] = box(scope, true, false) end
  end
  if next(granted) == nil then out[#out + 1] = "<p>Nothing.</p>" end
  out[#out + 1] = "<button class=\"primary\" type=\"submit\" name=\"action\" value=\"save\">Save</button>" ..
    "<button type=\"submit\" name=\"action\" value=\"revoke\">Revoke all</button></form>"
  if back then out[#out + 1] = ("<a class=\"button\" href=\"%s\">Back</a>"):format(text.html(back)) end
  return M.page("Application access", table.concat(out, "\n"))
end

function M.problem(title, message)
  return M.page(title, ("<p>%s</p>"):format(text.html(message)))
end

return M
