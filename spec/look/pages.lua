-- Renders the pages of the simulator into a folder, for light and for dark, wide and narrow: `make look`. Without a browser it says so.

local core = require "fleet.core"
local browsers = require "spec.support.harness.browser"
local fleet = require "fleet"
local services = require "spec.support.servers.service"

local folder = ...
local browser = browsers.start()
if not browser then
  print("no browser: the pages are not rendered")
  return
end

local OLD, NEW = "5YJSFLEE9KF000002", "5YJ3FLEE9RF000001"

local key = fleet.key.generate()

local function hex(bytes)
  return (string.gsub(bytes, ".", function(c) return string.format("%02x", string.byte(c)) end))
end

local service = services.start {
  accounts = { { email = "driver@example.com" } },
  vehicles = {
    { vin = NEW, display_name = "Pearl", keys = { hex(key:public_bytes()) }, drive_state = { latitude = 52.5, longitude = 13.4 },
      charge_state = { battery_level = 42, charge_limit_soc = 80, conn_charge_cable = "IEC", charging_state = "Charging" } },
    { vin = OLD, display_name = "Ruby", vehicle_command_protocol_required = false, vehicle_state = { locked = false, rt = 1 },
      climate_state = { is_climate_on = true }, charge_state = { battery_level = 14 } },
    { vin = "5YJ3FLEE9RF000003", display_name = "A car with a name that is rather long", state = "asleep" },
  },
  energy_sites = { { energy_site_id = 1000001, site_name = "Maple Street" } },
}
local client = service:sign_in(service:client { key = key })

local function busy_day()
  local site = client:energy_site("1000001")
  local prices = {}
  for i = 1, 48 do prices[i] = (i > 32 and i <= 42) and 0.41 or 0.22 end
  local tariff = assert(fleet.tariff.from_rows { name = "Evening peak", utility = "Maple Power", currency = "EUR", prices = prices })
  assert(site:time_of_use_settings(tariff))
  for car in client:vehicles() do car:vehicle_data() end
  client:vehicle(OLD):honk_horn()
  client:vehicle(NEW):set_charging_amps { charging_amps = 24 }
  client:vehicle(NEW):honk_horn()
  local _, wall = fleet.loop.clock()
  local noon = math.floor(wall / 86400) * 86400 + 12 * 3600
  service:control { advance = (noon - wall) % 86400 }
  service:control { set = { [NEW] = { charge_state = { battery_level = 61, charging_state = "Charging" } } } }
end

local function pictures(name)
  for mode, dark in pairs { light = false, dark = true } do
    browser:picture(("%s/%s-%s.png"):format(folder, name, mode), { dark = dark })
  end
  browser:picture(("%s/%s-narrow.png"):format(folder, name), { width = 390, height = 844 })
end

-- What `fleet run --listen` shows, with one automation in trouble.
local function status_page()
  local list = require("spec.support.fixtures.evening").statuses { {
    name = "garage <left>", kind = "ensure", subject = "vehicle ...000009", running = true, why = "all settings are as wanted",
    why_text = "Wed 22:14", next_text = "Wed 22:31",
    cost = { usd = 0.018, text = "9 reads (0.018 USD)" }, commands_today = 0, daily_cap = 40,
    trouble = { message = "the service could not be reached: HTTP 503" },
  } }
  local about = { file = "/etc/fleet/automations.lua", at = core.time "2026-03-11T21:30:00Z", version = "1.0.0" }
  local path = folder .. "/status.html"
  require("spec.support.harness.files").write(path, require("fleet.cli.status_page.html").of(list, about))
  browser:open("file://" .. (string.sub(path, 1, 1) == "/" and "" or os.getenv "PWD" .. "/") .. path)
  pictures "status"
end

local ok, failure = pcall(function()
  local asking = service:client()
  browser:open((asking:authorize_url { show_keypair_step = true, login_hint = "driver@example.com", prompt_missing_scopes = true }))
  pictures "consent-again"
  browser:open((service:client { client_id = "Charge at noon" }:authorize_url { show_keypair_step = true }))
  pictures "consent"
  browser:open(service.addresses.auth_url .. "/user/revoke/consent?revoke_client_id=app&back_url=http://localhost/back")
  pictures "access"
  browser:open((string.gsub((service:client():authorize_url()), "client_id=[^&]*&", "")))
  pictures "sign-in-problem"
  busy_day()
  browser:open(service.addresses.base_url .. "/")
  browser:wait "document.querySelectorAll('#cars .card').length == 3"
  core.pause(1)
  pictures "garage"
  status_page()
end)
browser:close()
client:close()
service:stop()
assert(ok, failure)
