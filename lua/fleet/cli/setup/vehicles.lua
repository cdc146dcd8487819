-- The last steps of `fleet setup`: the first read, and the key on each vehicle.

local pairing = require "fleet.cli.pairing"
local findings = require("fleet.registration.findings").findings
local pairing_line = require("fleet.registration.pairing").line

local M = {}

--- Runs the step: lists the vehicles into s.vehicles.
function M.first_read(s)
  local vehicles, err, kind = s.client:vehicles():collect()
  if not vehicles then return nil, err, kind end
  s.vehicles = vehicles
  local names = {}
  for i, record in ipairs(vehicles) do
    names[i] = string.format("%s %s (%s)", record.vin or record.id_s or "?", record.display_name or "", record.state or "?")
  end
  if names[1] then return "done", table.concat(names, "; ") end
  local products
  products, err, kind = s.client:products()
  if not products then return nil, err, kind end
  return "done", string.format("no vehicles; %d products", #products)
end

local function unpaired(s, vins)
  local status, err, kind = s.client:fleet_status(vins)
  if not status then return nil, err, kind end
  local facts, lines = { domain = s.options.domain, region = "", key = s.key }, {}
  for _, vin in ipairs(vins) do
    local link = s.client:pairing_url { domain = s.options.domain, vin = vin }
    local line = pairing_line(vin, status, findings(facts), { link = link })
    if line.ok == false then lines[#lines + 1] = { vin = vin, fix = line.fix, link = link } end
  end
  return lines
end

local function wait_for(s, lines)
  local left = {}
  for _, line in ipairs(lines) do
    s.say("the owner opens this address on the phone: " .. line.link)
    if not pairing.wait(s.context, s.client, line.vin, s.given.wait) then left[#left + 1] = line end
  end
  return left
end

--- Runs the step: checks or waits for the key on each vehicle.
function M.pair(s)
  if not s.options.domain then return "skipped", "no domain, no pairing" end
  local vins = {}
  for _, record in ipairs(s.vehicles or {}) do vins[#vins + 1] = record.vin end
  if not vins[1] then return "skipped", "no vehicle" end
  local lines, err = unpaired(s, vins)
  if not lines then return "todo", err.message, "look again with 'fleet doctor'" end
  local waited = s.given.wait and lines[1]
  if waited then lines = wait_for(s, lines) end
  if not lines[1] then return waited and "done" or "skipped", "every vehicle that needs the key has it" end
  local left, fixes = {}, {}
  for i, line in ipairs(lines) do left[i], fixes[i] = line.vin, line.fix end
  return "todo", "the key is not on " .. table.concat(left, ", "), table.concat(fixes, "; ")
end

return M
