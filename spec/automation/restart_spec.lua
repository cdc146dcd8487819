-- A process that runs an automation and is killed in the middle of the month: the outcome is that of one that was not.

local core = require "fleet.core"
local fleet = require "fleet"
local months = require "spec.support.fixtures.month"
local process = require "spec.support.harness.process"
local rehearsal = require "fleet.sim.rehearsal"

local days = 16

local function spawn(directory, world_now, left)
  local preload = os.getenv "LD_PRELOAD" -- a sanitizer's: the child loads what was built with it
  local sanitizer = preload and "LD_PRELOAD=" .. process.quote(preload) .. " " or ""
  local paths = string.format("LUA_PATH=%s LUA_CPATH=%s", process.quote(package.path), process.quote(package.cpath))
  local line = string.format("%s%s " .. process.lua .. " %s/spec/support/fixtures/automation_child.lua "
    .. "%s/requests %s/replies %s/store %.6f %d", sanitizer, paths,
    process.root, directory, directory, directory, world_now, left)
  process.execute(string.format("sh -c 'echo $$ > %s/pid; exec env \"$@\"' sh %s >>%s/output 2>&1 &", directory,
    line, directory))
  local requests = assert(io.open(directory .. "/requests", "r"))
  local replies = assert(io.open(directory .. "/replies", "w"))
  local file = assert(io.open(directory .. "/pid"))
  local pid = file:read("n")
  file:close()
  return requests, replies, pid
end

local function kill(pid, requests, replies)
  process.execute("kill -9 " .. pid)
  while requests:read("l") do end -- until it is gone
  requests:close()
  replies:close()
end

local function answer(world, request)
  local reply, lost, sent = rehearsal.serve(world, request)
  if not reply then return { lost = lost, sent = sent == true } end
  return reply
end

-- A month in which the process is killed at the moments that strike(request, number) names: "before" the service sees
-- the request, or "after" it was carried out and before anybody knows.
local function month_with(strike)
  local directory = process.temporary("automation")
  process.execute("mkfifo " .. directory .. "/requests " .. directory .. "/replies")
  local from = fleet.time("2026-03-01T00:00:00+01:00")
  local world = rehearsal.stage {
    from = "2026-03-01", days = days, tariff = months.tariff, ready_by = "07:00", habits = months.commuting,
    vehicle = { charge_state = { battery_level = 80, charge_limit_soc = 80, charge_current_request_max = 16 } },
  }
  local requests, replies, pid = spawn(directory, from, days)
  local number, killed = 0, 0
  for line in function() return requests:read("l") end do
    local request = assert(core.json_decode(line))
    number = number + 1
    world.reach(request.now)
    local how = strike(request, number)
    local reply = how ~= "before" and answer(world, request)
    if how then
      killed = killed + 1
      kill(pid, requests, replies)
      local today = math.floor((request.now - from) / 86400)
      requests, replies, pid = spawn(directory, request.now, days - today)
    else
      replies:write(core.json_encode(reply), "\n")
      replies:flush()
    end
  end
  requests:close()
  replies:close()
  local month = world.finish()
  process.execute("rm -rf " .. directory)
  return month, killed
end

-- A look that was cut off may move the following ones by minutes; what is done on which day stays.
local function outline(month)
  local list = {}
  for _, command in ipairs(month.commands) do
    list[#list + 1] = string.sub(months.local_text(month, command.at), 1, 10) .. " " .. command.name
  end
  return list
end

describe("kill -9 in mid-month", function()
  local quiet = month_with(function() end)
  local function is_command(request, name) return string.find(request.url, "/command/" .. name, 1, true) ~= nil end

  it("has something to lose: the undisturbed month is ready every day", function()
    assert.same({ days, days }, { quiet:ready_days(80) })
    assert.is_true(quiet:sent() > 18)
  end)

  it("changes nothing when looks are cut off", function()
    local month, killed = month_with(function(_, number) return number % 200 == 199 and "before" or nil end)
    assert.is_true(killed >= 3, tostring(killed))
    assert.same(outline(quiet), outline(month))
    assert.near(quiet.price, month.price, 0.05 * quiet.price)
    assert.same({ days, days }, { month:ready_days(80) })
  end)

  it("sends no command twice that arrived, and none too few that did not", function()
    local starts = 0
    local month, killed = month_with(function(request)
      if not is_command(request, "charge_st") then return end
      starts = starts + 1
      if starts % 6 == 2 then return "after" end
      if starts % 6 == 5 then return "before" end
    end)
    assert.is_true(killed >= 7, tostring(killed))
    assert.same(outline(quiet), outline(month))
    assert.near(quiet.price, month.price, 0.05 * quiet.price)
    assert.same({ days, days }, { month:ready_days(80) })
    assert.same({}, months.wasted(month))
  end)
end)
