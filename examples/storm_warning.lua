-- A warning for storm_ready from an alert in the Common Alerting Protocol (CAP 1.2), as weather services publish it.
local fleet = require "fleet"

-- Made up; a program of yours fetches the alert of your area and keeps it in a file.
local sample = [[
<?xml version="1.0" encoding="UTF-8"?>
<alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">
  <identifier>example-2026-0714</identifier><status>Actual</status><msgType>Alert</msgType>
  <info><event>gale-force winds</event><urgency>Expected</urgency><severity>Severe</severity><certainty>Likely</certainty>
    <onset>2026-07-14T15:00:00+02:00</onset><expires>2026-07-16T03:00:00+02:00</expires>
    <area><areaDesc>Example County</areaDesc></area></info>
</alert>]]

local function member(xml, name)
  return assert(string.match(xml, "<" .. name .. ">%s*(.-)%s*</" .. name .. ">"), "the alert has no " .. name)
end

local counts = { Severe = true, Extreme = true }

--- Returns what storm_ready's `warning` returns.
local function warning(xml, now)
  local ends = assert(fleet.time(member(xml, "expires")))
  local begins = assert(fleet.time(member(xml, "onset"))) - 6 * 3600 -- time to charge
  local actual = member(xml, "status") == "Actual" and member(xml, "msgType") ~= "Cancel"
  if not actual or not counts[member(xml, "severity")] or now < begins or now >= ends then return nil end
  return { text = member(xml, "event") .. " in " .. member(xml, "areaDesc"), ends = ends }
end

local found = assert(warning(sample, assert(fleet.time "2026-07-14T12:00:00+02:00")))
print(found.text, os.date("!%Y-%m-%d %H:%M UTC", found.ends))
print(warning(sample, assert(fleet.time "2026-07-16T04:00:00+02:00")))
return warning
