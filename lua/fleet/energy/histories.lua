-- Energy histories by local dates: one request for each range of lua/fleet/energy/date_ranges.lua, joined into one reply.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local date_ranges = require "fleet.energy.date_ranges"
local rows = require "fleet.call.rows"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

--- The site's own zone, requested once (a free call).
local function site_zone(site)
  local context, _, id = core.context(site)
  if not context.zones[id] then
    local info, err, kind = site:site_info()
    if err then return nil, err, kind end
    local name = info.installation_time_zone
    if type(name) ~= "string" or name == "" then
      return errors.failure("invalid", "the site names no time zone: give time_zone = \"Europe/Berlin\"", { site = id })
    end
    local zone, zone_err = core.zone(name)
    if not zone then
      zone_err.message = "the site's installation_time_zone: " .. zone_err.message .. "; or give time_zone ="
      zone_err.site = id
      return nil, zone_err, zone_err.kind
    end
    context.zones[id] = name
  end
  return context.zones[id]
end

-- Adds an empty series to a reply without one, which has no entries. Entries are tables.
local function with_series(row, value, err, kind)
  if type(value) ~= "table" or row.name ~= "energy_history" then return value, err, kind end
  local given, kept = value.time_series, {}
  if given ~= nil and type(given) ~= "table" then
    return errors.failure("protocol", row.name .. ": the reply's time_series is no list but a " .. type(given))
  end
  for _, entry in ipairs(given or {}) do
    if type(entry) == "table" then kept[#kept + 1] = entry end
  end
  value.time_series = kept
  return value
end

local function one_range(params, range)
  local fresh = tables.copy(params)
  fresh.day, fresh.split = nil, nil
  fresh.start_date, fresh.end_date = range.start_date, range.end_date
  return fresh
end

-- timeout is for the whole call: each request gets the remaining time.
local function remaining(options)
  if type(options) ~= "table" or options.timeout == nil then return function() return options end end
  local deadline = tasks.real() + options.timeout
  return function()
    local left = tables.copy(options)
    left.timeout = deadline - tasks.real()
    return left.timeout > 0 and left or nil
  end
end

local function too_late(row, done, count)
  return errors.failure("timeout", string.format("%s: the time was over after %d of %d requests", row.name, done, count))
end

-- Requests each range and joins the replies; the first failure ends it.
local function ask_all(row, plain, site, params, ranges, options)
  if #ranges == 1 then return with_series(row, plain(site, one_range(params, ranges[1]), options)) end
  if type(options) == "table" and options.raw then
    errors.usage("%s: option 'raw' takes a range of one request, this one needs %d", row.method, #ranges)
  end
  local replies, next_options = {}, remaining(options)
  for i, range in ipairs(ranges) do
    local left = next_options()
    if options and not left then return too_late(row, i - 1, #ranges) end
    local err, kind
    replies[i], err, kind = with_series(row, plain(site, one_range(params, range), left))
    if err then return nil, err, kind end
  end
  return with_series(row, date_ranges.join(replies, #ranges))
end

-- Converts local dates to requests in the site's zone; other values are sent as given.
local function method(name)
  local row = rows.by_name[name]
  return function(plain, site, params, options, ...)
    if type(params) ~= "table" or not date_ranges.local_dates(params) then
      return with_series(row, plain(site, params, options, ...))
    end
    core.plan(row.pointer, site, params, options, ...) -- usage errors raise before any request
    date_ranges.check(params)
    params = tables.copy(params)
    local zone, err, kind
    if not params.time_zone then
      params.time_zone, err, kind = site_zone(site)
      if not params.time_zone then return nil, err, kind end
    end
    zone, err, kind = core.zone(params.time_zone)
    if not zone then return nil, err, kind end
    return ask_all(row, plain, site, params, date_ranges.ranges(params, zone), options)
  end
end

--- These replace the rows' methods; plain makes one request.
M.energy, M.backup, M.charge = method("energy_history"), method("backup_history"), method("charge_history")

return M
