-- The results of earlier requests, as lines of fixed width in the order of their times: a day of them is searched and shortened without
-- being parsed. Pure.
--
-- time of the claim, time after which its message is rejected for its age, outcome, changed, hash of the id, hash of the content

local core = require "fleet.core"

local M = {}

local line = "%012d %012d %-8s %s %s %s\n"
local width = 12 + 1 + 12 + 1 + 8 + 1 + 1 + 1 + 32 + 1 + 8 + 1
local never = 999999999999
local not_noted = "--------" -- the content hash in lines of version 1.0

local function hash(id)
  return string.sub(core.sha256(id), 1, 32)
end

local function whole_seconds(at)
  return math.min(math.max(math.floor(at), 0), never)
end

--- Adds a line. entry: { id =, at =, refused_at = or nil, result = { outcome =, changed = } }.
function M.add(lines, entry)
  local changed = entry.result.changed
  return lines .. string.format(line, whole_seconds(entry.at), whole_seconds(entry.refused_at or never), entry.result.outcome,
    changed == nil and "-" or changed and "1" or "0", hash(entry.id), entry.what or not_noted)
end

--- The lines as they are stored, also by version 1.0.
function M.read(lines)
  if string.find(lines, "\n", 1, true) ~= width - 9 then return lines end
  return (string.gsub(lines, "\n", " " .. not_noted .. "\n"))
end

function M.count(lines)
  return #lines / width
end

--- { outcome =, changed =, at = } of an id and the hash of its content, or nil.
function M.find(lines, id)
  local found = string.find(lines, " " .. hash(id) .. " ", 1, true)
  if not found then return nil end
  local at, outcome, changed, what = string.match(lines, "^(%d+) %d+ ([%w_]+) +(%S) %x+ (%S+)", found + 43 - width)
  if changed == "-" then changed = nil else changed = changed == "1" end
  return { outcome = outcome, changed = changed, at = tonumber(at) }, what ~= not_noted and what or nil
end

--- The lines from the first one on for which is_over(time) is false.
function M.without_first(lines, is_over)
  local first = 1
  while first < #lines and is_over(tonumber(string.sub(lines, first, first + 11))) do first = first + width end
  return string.sub(lines, first)
end

--- The lines without those whose messages would now be rejected for their age.
function M.without_refusable(lines, now)
  local kept = {}
  for i = 1, #lines, width do
    if tonumber(string.sub(lines, i + 13, i + 24)) > now then kept[#kept + 1] = string.sub(lines, i, i + width - 1) end
  end
  return table.concat(kept)
end

return M
