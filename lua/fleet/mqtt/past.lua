-- What became of requests that were answered a while ago, as lines of one width in the order of their times: a day of them is
-- searched and shortened without being taken apart. Pure.
--
--   time of the claim, time from which its message is refused as old by itself, outcome, changed, the id's hash

local core = require "fleet.core"

local M = {}

local line = "%012d %012d %-8s %s %s\n"
local width = 12 + 1 + 12 + 1 + 8 + 1 + 1 + 1 + 32 + 1
local never = 999999999999

local function hash(id)
  return string.sub(core.sha256(id), 1, 32)
end

local function whole_seconds(at)
  return math.min(math.max(math.floor(at), 0), never)
end

--- The lines and one more. entry: { id =, at =, refused_at = or nil, result = { outcome =, changed = } }.
function M.add(lines, entry)
  local changed = entry.result.changed
  return lines .. string.format(line, whole_seconds(entry.at), whole_seconds(entry.refused_at or never), entry.result.outcome,
    changed == nil and "-" or changed and "1" or "0", hash(entry.id))
end

function M.count(lines)
  return #lines / width
end

--- { outcome =, changed =, at = } of an id, or nil.
function M.find(lines, id)
  local found = string.find(lines, " " .. hash(id) .. "\n", 1, true)
  if not found then return nil end
  local at, outcome, changed = string.match(lines, "^(%d+) %d+ ([%w_]+) +(%S)", found + 34 - width)
  if changed == "-" then changed = nil else changed = changed == "1" end
  return { outcome = outcome, changed = changed, at = tonumber(at) }
end

--- The lines without those that are from before a time.
function M.since(lines, at)
  local first = 1
  while first < #lines and tonumber(string.sub(lines, first, first + 11)) < at do first = first + width end
  return string.sub(lines, first)
end

--- The lines without those whose messages are refused as old by now.
function M.without_refusable(lines, now)
  local kept = {}
  for i = 1, #lines, width do
    if tonumber(string.sub(lines, i + 13, i + 24)) > now then kept[#kept + 1] = string.sub(lines, i, i + width - 1) end
  end
  return table.concat(kept)
end

return M
