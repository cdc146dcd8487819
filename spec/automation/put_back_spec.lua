-- What charge_home_battery and storm_ready change of a site is put back as it was read, or not begun.

local core = require "fleet.core"
local damage = require "spec.support.fixtures.damage"
local fleet = require "fleet"
local months = require "spec.support.fixtures.month"

-- A tariff as the app writes it: zeros and the currency left out, an empty season, a member and a fraction of its own.
local stored = [[{"name":"1","utility":"Penny Power","version":1,"daily_charges":[{"name":"Charge"}],
 "demand_charges":{"ALL":{"rates":{"ALL":0}},"Summer":{},"Winter":{}},
 "energy_charges":{"ALL":{"rates":{"ALL":0}},"Summer":{"rates":{"OFF_PEAK":0.12000000000000001,"ON_PEAK":0.4}},"Winter":{}},
 "seasons":{"Summer":{"fromDay":1,"toDay":31,"fromMonth":1,"toMonth":12,"tou_periods":{
  "OFF_PEAK":{"periods":[{"toDayOfWeek":6,"fromHour":20,"toHour":16}]},
  "ON_PEAK":{"periods":[{"toDayOfWeek":6,"fromHour":16,"toHour":20}]}}},"Winter":{}},
 "large":12345678901234567890,"list":[],"nothing":null}]]

local zone = "America/Chicago"

local function tariff_with(change)
  local text, count = string.gsub(stored, change[1], change[2], 1)
  assert(count == 1)
  return text
end

-- Nights of charge_home_battery at a site that holds a tariff of this JSON text and this reserve, and answers settings by own(path,
-- body): a reply, or nothing for the simulator's. Returns what was sent as { name, body }, the notifications, and the notes.
local function nights(text, more)
  local sent, notified, held, spoilt = {}, {}, text, more.reserve or 20
  local service = require "fleet.sim.rehearsal.service"
  local serve = service.serve
  service.serve = function(stage, request)
    local name = string.match(request.url, "energy_sites/%d+/([%w_]+)")
    if name == "site_info" then
      local tariff = held and ',"tariff_content_v2":' .. held or ""
      local reserve = spoilt ~= "absent" and ',"backup_reserve_percent":' .. spoilt or ""
      local body = '{"response":{"components":{"battery":true}' .. reserve .. tariff .. "}}"
      return { status = 200, headers = {}, body = body }
    end
    if request.method ~= "POST" or not name then return serve(stage, request) end
    sent[#sent + 1] = { name, request.body, at = select(2, fleet.loop.clock()) }
    local reply = more.answer and more.answer(name, request.body, #sent)
    if reply then return reply end
    if name == "time_of_use_settings" then
      held = core.json_member(core.json_member(request.body, "tou_settings"), "tariff_content_v2")
    else
      local percent = core.json_decode(request.body).backup_reserve_percent
      spoilt = tostring(more.keeps and math.min(more.keeps, percent) or percent)
    end
    return { status = 200, headers = {}, body = '{"response":{"code":201,"message":"Updated"}}' }
  end
  local ok, report = pcall(months.of, { from = "2026-06-01", days = more.days or 1, zone = zone, tariff = false, habits = more.habits or {},
    ready_by = false, automation = function(_, site)
      if more.automation then return more.automation(site, notified) end
      local own = { site = site, from = "01:00", to = "05:00", zone = zone,
        notify = function(event) notified[#notified + 1] = event.text end }
      for name, value in pairs(more.options or {}) do own[name] = value end
      return fleet.automation.charge_home_battery(own)
    end })
  service.serve = serve
  assert(ok, report)
  return sent, table.concat(notified, "\n"), months.said(report), { tariff = held, reserve = spoilt }
end

local function names(sent)
  local list = {}
  for i, one in ipairs(sent) do list[i] = one[1] end
  return table.concat(list, " ")
end

local function percents(sent)
  local list = {}
  for _, one in ipairs(sent) do
    if one[1] == "backup" then list[#list + 1] = core.json_decode(one[2]).backup_reserve_percent end
  end
  return list
end

describe("the tariff of a site", function()
  for what, text in pairs {
    ["without a currency"] = stored,
    ["in another currency"] = tariff_with { '"version":1', '"version":1,"currency":"AUD"' },
    ["in a currency that is no text"] = tariff_with { '"version":1', '"version":1,"currency":7' },
    ["with a gap of an hour"] = tariff_with { '"fromHour":16,"toHour":20', '"fromHour":17,"toHour":20' },
    ["that is no tariff at all"] = '{"surprise":[{"a":null},0.1]}',
  } do
    it(what .. " comes back byte by byte, every night", function()
      local sent, _, reasons, holds = nights(text, { days = 2 })
      local night = "time_of_use_settings backup time_of_use_settings backup"
      assert.equal(night .. " " .. night, names(sent))
      for _, i in ipairs { 3, 7 } do
        assert.equal(text, core.json_member(core.json_member(sent[i][2], "tou_settings"), "tariff_content_v2"))
      end
      assert.equal(text, holds.tariff)
      assert.same({ 100, 20, 100, 20 }, percents(sent))
      assert.matches("the reserve is back at", reasons, 1, true)
    end)
  end

  it("is left alone where there is none", function()
    for _, text in ipairs { "{}", "null", '"text"', "7" } do assert.equal("backup backup", names((nights(text, {})))) end
  end)

  it("that the site refuses to take back is reported, and sent again until it is there", function()
    local refusals = 0
    local sent, notified, _, holds = nights(stored, { answer = function(name, body)
      local back = name == "time_of_use_settings" and string.find(body, "Penny Power", 1, true)
      if back and refusals < 2 then
        refusals = refusals + 1
        return { status = 400, headers = {}, body = '{"error":"invalid tariff"}' }
      end
    end })
    assert.equal(stored, holds.tariff)
    assert.matches("the former tariff is not back yet: the site refused it", notified)
    assert.equal("20", holds.reserve)
    assert.same({ 100, 20 }, percents(sent))
  end)

  it("that the site stores in another form is no reason to send it for ever", function()
    local sent, notified = nights(stored, { answer = function(name, body)
      if name == "time_of_use_settings" and string.find(body, "Penny Power", 1, true) then
        return { status = 200, headers = {}, body = '{"response":{"code":201,"message":"Updated"}}' }
      end
    end })
    assert.is_true(#sent <= 6, names(sent))
    assert.matches("the site keeps another tariff than was sent", notified, 1, true)
  end)
end)

describe("the reserve of a house", function()
  it("with a fraction comes back as the whole number beside it", function()
    local sent, _, reasons = nights(nil, { reserve = "15.789473684210527", days = 2 })
    assert.same({ 100, 16, 100, 16 }, percents(sent))
    assert.matches("the reserve is back at", reasons, 1, true)
  end)

  for _, value in ipairs { "absent", "null", '"20"', "-3", "true", "[]", "{}" } do
    it("that is " .. value .. " is not changed, and the reason is reported", function()
      local sent, notified, reasons = nights(nil, { reserve = value })
      assert.equal("", names(sent))
      assert.matches("the home battery is not charged: the site does not report its backup reserve", reasons, 1, true)
      assert.matches("the home battery is not charged", notified, 1, true)
      assert.equal(1, select(2, string.gsub(notified, "the home battery is not charged", "")))
    end)
  end

  it("that the site keeps at 80 is reported once, and goes back", function()
    local sent, notified, reasons = nights(nil, { keeps = 80, days = 2 })
    assert.same({ 100, 20, 100, 20 }, percents(sent))
    assert.equal("the site keeps 80 %, 100 % was sent", notified)
    assert.matches("filling the home battery to 100 %% until %a+ 05:00; the site keeps 80 %%", reasons)
  end)

  it("that was above what the site keeps is reported, and not sent all day", function()
    local sent, notified = nights(nil, { reserve = "90", keeps = 80 })
    assert.same({ 100, 90, 90, 90 }, percents(sent)) -- three attempts
    assert.matches("the site keeps 80 %, ", notified, 1, true)
  end)

  it("that never shows what was accepted is sent three times, a quarter of an hour apart", function()
    local sent = nights(nil, { options = { every = 300 }, answer = function()
      return { status = 200, headers = {}, body = '{"response":{"code":201,"message":"Updated"}}' }
    end })
    assert.same({ 100, 100, 100 }, percents(sent))
    for i = 2, 3 do assert.is_true(sent[i].at - sent[i - 1].at >= 900) end
  end)

  it("that the site refuses to take back is reported, and sent again until it is there", function()
    local sent, notified, _, holds = nights(nil, { answer = function(_, body, count)
      if string.find(body, ":20", 1, true) and count < 4 then
        return { status = 200, headers = {}, body = '{"response":{"code":400,"message":"Bad request"}}' }
      end
    end })
    assert.same({ 100, 20, 20, 20 }, percents(sent))
    assert.equal("20", holds.reserve)
    assert.equal(1, select(2, string.gsub(notified, "the former reserve is not back yet", "")))
  end)

  it("comes back when the site no longer reports it", function()
    local begun
    local sent = nights(nil, { answer = function() begun = true end, options = { cheap = false } })
    assert.is_true(begun)
    assert.same({ 100, 20 }, percents(sent))
  end)

  describe("in a storm", function()
    local function storm(more)
      local begins = fleet.time("2026-06-01T06:00:00Z")
      more.automation = function(site, notified)
        return fleet.automation.storm_ready { site = site, notify = function(event) notified[#notified + 1] = event.text end,
          warning = function(now) return now >= begins and now < begins + 3600 and { text = "wind" } or nil end }
      end
      return nights(nil, more)
    end

    it("comes back", function()
      local sent, notified = storm {}
      assert.same({ 100, 20 }, percents(sent))
      assert.equal("storm warning: wind", notified)
    end)

    it("that the site keeps at 80 is reported once, and goes back", function()
      local sent, notified, reasons = storm { keeps = 80 }
      assert.same({ 100, 20 }, percents(sent))
      assert.equal("storm warning: wind\nthe site keeps 80 %, 100 % was sent", notified)
      assert.matches("there is no warning", reasons, 1, true)
    end)

    it("with a fraction comes back as the whole number beside it", function()
      assert.same({ 100, 16 }, percents((storm { reserve = "15.789473684210527" })))
    end)

    for _, value in ipairs { "absent", '"20"' } do
      it("that is " .. value .. " is left alone, which is reported", function()
        local sent, notified = storm { reserve = value }
        assert.same({}, percents(sent))
        assert.matches("does not report its backup reserve, which stays as it is", notified, 1, true)
      end)
    end

    it("that the site refuses to take back is reported, and sent again until it is there", function()
      local sent, notified, _, holds = storm { answer = function(_, body, count)
        if string.find(body, ":20", 1, true) and count < 4 then
          return { status = 200, headers = {}, body = '{"response":{"code":400,"message":"Bad request"}}' }
        end
      end }
      assert.same({ 100, 20, 20, 20 }, percents(sent))
      assert.equal("20", holds.reserve)
      assert.matches("the former reserve is not back yet", notified, 1, true)
    end)
  end)
end)

it("a window over a skipped hour ends when it says", function()
  local sent = {}
  local report = months.of { from = "2026-03-28", days = 2, habits = {}, ready_by = false, tariff = false,
    energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20 }, automation = function(_, site)
      return fleet.automation.charge_home_battery { site = site, from = "23:30", to = "02:30", zone = "Europe/Berlin", cheap = false }
    end }
  for _, command in ipairs(report.commands) do sent[#sent + 1] = months.local_text(report, command.at) end
  assert.same({ "2026-03-28 23:30", "2026-03-29 03:30" }, { sent[#sent - 2], sent[#sent - 1] })
  assert.matches("until Sun 03:30", months.said(report), 1, true)
end)

it("damage of replies does not lose what was there", function()
  local g = require("spec.support.fixtures.generator").new(7)
  local held
  damage.while_spoilt(function(body, path)
    local value = path == "site_info" and g.chance(0.4) and g.pick(damage.values)
    if value then return damage.named(body, { [g.pick { "backup_reserve_percent", "tariff_content_v2" }] = value }) end
  end, function()
    return months.of { from = "2026-06-01", days = 6, habits = { { "12:00", function(world) held = world.site.info end } },
      energy_site = { components = { battery = true }, battery_count = 1, backup_reserve_percent = 20,
        tariff_content_v2 = months.tariff },
      automation = function(_, site)
        return fleet.automation.charge_home_battery { site = site, from = "01:00", to = "05:00", zone = "Europe/Berlin" }
      end }
  end)
  assert.equal(20, held.backup_reserve_percent)
  assert.is_true(fleet.tariff.new(held.tariff_content_v2, { time_zone = "Europe/Berlin" }) == months.tariff)
end)
