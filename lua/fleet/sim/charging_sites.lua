-- Charging sites near a vehicle. The same position always gives the same sites, so that a script can be repeated.
local json = require("fleet.sim.json")

local M = {}

local MILES_PER_DEGREE = 69

local SITES = {
  { "Station North", "superchargers", 0.03, 0.01, 12 }, { "Station East", "superchargers", -0.01, 0.09, 8 },
  { "Station South", "superchargers", -0.2, -0.05, 20 }, { "Hotel at the Park", "destination_charging", 0.01, 0.02, 2 },
  { "Town Garage", "destination_charging", -0.02, -0.01, 4 },
}

local function site(vehicle, i, entry)
  local drive = vehicle.sections.drive_state
  local north, east = entry[3] * MILES_PER_DEGREE, entry[4] * MILES_PER_DEGREE
  local out = {
    id = 1000 + i, name = entry[1], type = entry[2] == "superchargers" and "supercharger" or "destination",
    location = { lat = drive.latitude + entry[3], long = drive.longitude + entry[4] },
    distance_miles = math.floor((north * north + east * east) ^ 0.5 * 100 + 0.5) / 100, amenities = "restrooms,wifi",
  }
  if entry[2] == "superchargers" then
    out.total_stalls, out.available_stalls, out.site_closed, out.billing_info = entry[5], entry[5] - i, false, ""
  end
  return out, entry[2]
end

function M.find(vehicle, id)
  for i, entry in ipairs(SITES) do
    if id == 1000 + i then return (site(vehicle, i, entry)) end
  end
  return nil
end

-- near(vehicle, { count =, radius = }) → { superchargers =, destination_charging = }, the nearest first.
function M.near(vehicle, options)
  local out = { superchargers = json.list(), destination_charging = json.list() }
  for i, entry in ipairs(SITES) do
    local found, group = site(vehicle, i, entry)
    if not options.radius or found.distance_miles <= options.radius then table.insert(out[group], found) end
  end
  for name, list in pairs(out) do
    table.sort(list, function(a, b) return a.distance_miles < b.distance_miles end)
    while options.count and #list > options.count do table.remove(list) end
    out[name] = list
  end
  return out
end

return M
