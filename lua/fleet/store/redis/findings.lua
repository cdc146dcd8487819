-- Checks the settings with which a Redis server loses no data.

local async = require "fleet.async"

local M = {}

local clock_tolerance = 2 -- seconds

local switch_on = "set appendonly yes and appendfsync always"

-- What is lost when the server crashes, by its settings; nil when nothing is, or when the settings could not be read.
local function loss(settings)
  if not settings.appendonly then return nil end
  if settings.appendonly ~= "yes" then
    return settings.save ~= "" and "everything since its last snapshot" or "everything"
  end
  if settings.appendfsync == "always" then return nil end
  return settings.appendfsync == "everysec" and "the last second or two" or "what its operating system had not yet written"
end

local function evicts(settings)
  local policy = settings["maxmemory-policy"]
  return policy and policy ~= "noeviction" and policy or nil
end

--- Warns of settings that may lose tokens. A server whose replicas confirm each write needs no disk.
function M.warn_of(settings, place)
  local lost = place.replicas == 0 and loss(settings)
  if lost then
    place.warn(string.format("%s loses %s when it stops unexpectedly, tokens too: %s", place.label, lost, switch_on))
  end
  local policy = evicts(settings)
  if policy then
    place.warn(string.format("%s throws records away when its memory is full (maxmemory-policy %s): set noeviction", place.label, policy))
  end
end

-- ---- findings: { name =, ok = true, false or nil (unknown), message =, fix = } ----

local function durability(settings, place)
  if not settings.appendonly then
    return { name = "store durability", message = "the server does not show its settings (CONFIG GET is not allowed)",
      fix = "ask the operator of the server for appendonly yes, appendfsync always" }
  end
  local lost = loss(settings)
  if not lost then return { name = "store durability", ok = true, message = "each write is on the disk before it is answered" } end
  if place.replicas > 0 then
    return { name = "store durability", ok = true,
      message = string.format("tokens wait for %d replicas; a server that dies alone loses %s", place.replicas, lost) }
  end
  return { name = "store durability", ok = false, message = "a server that dies loses " .. lost, fix = switch_on }
end

local function eviction(settings)
  local policy = settings["maxmemory-policy"]
  if not policy then return { name = "store eviction", message = "not known: CONFIG GET is not allowed" } end
  if policy == "noeviction" then return { name = "store eviction", ok = true, message = "nothing is thrown away when memory is full" } end
  return { name = "store eviction", ok = false, message = "records are thrown away when memory is full: " .. policy,
    fix = "set maxmemory-policy noeviction" }
end

local function clock_of(before, after, time)
  local there = tonumber(time[1]) + tonumber(time[2]) / 1e6
  local off = there < before and there - before or there > after and there - after or 0
  if math.abs(off) <= clock_tolerance then
    return { name = "store clock", ok = true, message = string.format("agrees with this machine's within %.1f s", clock_tolerance) }
  end
  return { name = "store clock", ok = false,
    message = string.format("this machine is %.0f s %s the server", math.abs(off), off > 0 and "behind" or "ahead of"),
    fix = "set the clocks: token ages and budgets go by them" }
end

--- Asks the server. Returns the findings, or nil, err, kind.
function M.look(link)
  local _, before = async.loop.clock()
  local time, err, kind = link:call(false, "TIME")
  if not time then return nil, err, kind end
  local _, after = async.loop.clock()
  return { durability(link.settings, link.place), eviction(link.settings), clock_of(before, after, time) }
end

return M
