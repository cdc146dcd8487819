-- What an automation puts back where a reply lacks the reserve, where its own write was refused, and where somebody has set it since an
-- older look.

local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local service = require "fleet.sim.rehearsal.service"

local hour = 3600
local begins, ends = fleet.time("2026-07-14T15:00:00+02:00"), fleet.time("2026-07-14T21:00:00+02:00")
local one, five = fleet.time("2026-07-14T01:00:00+02:00"), fleet.time("2026-07-14T05:00:00+02:00")

-- A day of a site whose reserve is 20. change(path, request, reply, now): what is answered in place of the reply; nil before it is served.
-- Returns the percents that were sent, the reserve at the end of the day, and the notifications.
local function day(make, change, habits)
  local serve, sent, notified, last = service.serve, {}, {}, nil
  service.serve = function(world, request)
    local path = string.match(request.url, "energy_sites/%d+/([%w_]+)")
    local _, now = fleet.loop.clock()
    if path == "backup" then sent[#sent + 1] = tonumber(string.match(request.body, "%d+")) end
    local instead = path and change and change(path, request, nil, now)
    if instead then return instead end
    local reply, why, was_sent = serve(world, request)
    return path and reply and change and change(path, request, reply, now) or reply, why, was_sent
  end
  local all = { { "23:50", function(world) last = world.site.info.backup_reserve_percent end } }
  for at, percent in pairs(habits or {}) do
    all[#all + 1] = { at, function(world) world.site.info.backup_reserve_percent = percent end }
  end
  local ok, why = pcall(months.of, { from = "2026-07-14", days = 1, habits = all,
    energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20 },
    automation = function(_, site) return make(site, function(event) notified[#notified + 1] = event.text end) end })
  service.serve = serve
  assert(ok, why)
  return sent, last, notified
end

local function storm_ready(more)
  return function(site, notify)
    local options = { site = site, calm = 600, notify = notify, warning = function(now)
      return now >= begins and now < ends and { text = "wind", ends = ends } or nil
    end }
    for name, value in pairs(more or {}) do options[name] = value end
    return fleet.automation.storm_ready(options)
  end
end

local function charge_home_battery(site, notify)
  return fleet.automation.charge_home_battery { site = site, from = "01:00", to = "05:00", zone = "Europe/Berlin", notify = notify }
end

local function without_reserve(from, to)
  return function(path, _, reply, now)
    if path ~= "site_info" or not reply or now < from or now >= to then return nil end
    return { status = 200, headers = reply.headers, body = (reply.body:gsub('"backup_reserve_percent":[%d.]+,?', "")) }
  end
end

local function refusing(from, to)
  return function(path, request, reply, now)
    if reply or request.method ~= "POST" or path ~= "backup" or now < from or now >= to then return nil end
    return { status = 400, headers = {}, body = '{"error":"not allowed"}' }
  end
end

describe("while a site does not say its reserve", function()
  it("nothing is put back, and nothing forgotten", function()
    local sent, last, notified = day(storm_ready(), without_reserve(ends, ends + 1.5 * hour))
    assert.same({ { 100, 20 }, 20, { "storm warning: wind" } }, { sent, last, notified })
    sent, last, notified = day(charge_home_battery, without_reserve(five, five + 3 * hour))
    assert.same({ { 100, 20 }, 20, {} }, { sent, last, notified })
  end)

  it("what a person has set in between stays", function()
    local sent, last = day(storm_ready(), without_reserve(begins + 3600, ends + 1.5 * hour), { ["19:00"] = 60 })
    assert.same({ { 100 }, 60 }, { sent, last })
  end)
end)

describe("what was refused", function()
  it("is not put back: nothing of ours is there", function()
    local sent, last, notified = day(charge_home_battery, refusing(one, five), { ["02:00"] = 50 })
    for _, percent in ipairs(sent) do assert.equal(100, percent) end
    assert.same({ 50, {} }, { last, notified })
    sent, last = day(storm_ready(), refusing(begins, ends), { ["16:00"] = 100 })
    for _, percent in ipairs(sent) do assert.equal(100, percent) end
    assert.equal(100, last)
  end)

  it("and taken later puts back what was there then", function()
    local sent, last = day(charge_home_battery, refusing(one, one + hour), { ["01:50"] = 50 })
    assert.same({ 50, 50 }, { sent[#sent], last })
  end)
end)

describe("a warning", function()
  it("begins with what the site has then, not with an older look", function()
    local sent, last = day(storm_ready { every = 3600 }, nil, { ["12:20"] = 50 })
    assert.same({ { 100, 50 }, 50 }, { sent, last })
  end)

  it("ends with what a person has set since, also in the calm after it", function()
    local sent, last = day(storm_ready { calm = 3000 }, nil, { ["21:10"] = 45 })
    assert.same({ { 100 }, 45 }, { sent, last })
  end)
end)
