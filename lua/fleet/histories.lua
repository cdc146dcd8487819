-- Energy histories by local dates: the ranges of lua/fleet/history.lua, one request each, joined into one reply.

local core = require "fleet.core"
local history = require "fleet.history"

local M = {}

--- The site's own zone, read once (a free call).
local function site_zone(site)
  local account, _, id = core.account(site)
  if not account.zones[id] then
    local info, err, kind = site:site_info()
    if err then return nil, err, kind end
    local name = info.installation_time_zone
    if type(name) ~= "string" or name == "" then
      err = core.err { kind = "invalid", site = id, message = "the site names no time zone: give time_zone = \"Europe/Berlin\"" }
      return nil, err, "invalid"
    end
    account.zones[id] = name
  end
  return account.zones[id]
end

local function copy(params)
  local fresh = {}
  for name, value in pairs(params) do fresh[name] = value end
  return fresh
end

local function one_range(params, range)
  local fresh = copy(params)
  fresh.day, fresh.split = nil, nil
  fresh.start_date, fresh.end_date = range.start_date, range.end_date
  return fresh
end

--- Asks range by range and joins; the first failure ends it.
function M.method(row)
  return function(plain, site, params, ...)
    if type(params) ~= "table" or not history.local_dates(params) then return plain(site, params, ...) end
    core.plan(row.pointer, site, params, ...) -- the caller's mistakes raise before anything is asked
    params = copy(params)
    local zone, err, kind
    if not params.time_zone then
      params.time_zone, err, kind = site_zone(site)
      if not params.time_zone then return nil, err, kind end
    end
    zone, err, kind = core.zone(params.time_zone)
    if not zone then return nil, err, kind end
    local replies, ranges = {}, history.ranges(params, zone)
    for i, range in ipairs(ranges) do
      replies[i], err, kind = plain(site, one_range(params, range), ...)
      if err then return nil, err, kind end
    end
    return history.join(replies, #ranges)
  end
end

return M
