-- Every automation through a month of random worlds: worlds.lua [WORLDS [PART/PARTS [DAYS [KIND]]]]. Prints each world in which a rule
-- is broken, and a line per automation. PART/PARTS: every so many worlds, beginning with that one, so that several processes
-- share them. Ends with an error when a rule was broken.

local house = require "spec.support.fixtures.house_worlds"
local short_way = require "spec.support.fixtures.short_way"
local worlds = require "spec.support.fixtures.worlds"

local M = {}

-- Each: { kind, live = function(seed, days) → sentence or nil, ratio, usd }.
local function kinds()
  local list = {}
  for _, name in ipairs { "of", "handled", "started", "older" } do
    list[#list + 1] = { kind = "charge_by " .. name, live = function(seed, days)
      local world = worlds[name](seed, days)
      return worlds.broken(world, worlds.rehearse(world))
    end }
  end
  for _, kind in ipairs(house.kinds) do
    list[#list + 1] = { kind = kind, live = function(seed, days)
      local world = house.of(kind, seed, days)
      local report = house.rehearse(world)
      return house.broken(world, report), 1, report.usd
    end }
  end
  return list
end

local function run_kind(one, given, say)
  local figures = { kind = one.kind, worlds = 0, broken = 0, ratio = 0, usd = 0, seconds = os.clock() }
  for seed = given.part, given.worlds, given.parts do
    local sentence, ratio, usd = short_way.taken(one.live, seed, given.days)
    figures.worlds, figures.ratio, figures.usd = figures.worlds + 1, figures.ratio + ratio, figures.usd + usd
    if sentence then
      figures.broken = figures.broken + 1
      say(string.format("%s, world %d: %s", one.kind, seed, sentence))
    end
  end
  figures.seconds = os.clock() - figures.seconds
  local count = math.max(1, figures.worlds)
  say(string.format("%-22s %5d worlds of %d days, %d broken; %.3f of the optimum, calls for %.2f USD on average; %.2f s of CPU",
    one.kind, figures.worlds, given.days, figures.broken, figures.ratio / count, figures.usd / count, figures.seconds))
  return figures
end

--- given: worlds, part, parts, days, kind. Returns the figures of each kind; say(line) gets a line for each world.
function M.run(given, say)
  local all = {}
  for _, one in ipairs(kinds()) do
    if not given.kind or given.kind == one.kind then all[#all + 1] = run_kind(one, given, say) end
  end
  return all
end

if arg and string.find(arg[0] or "", "torture/worlds.lua", 1, true) then
  io.stdout:setvbuf "line"
  local part, parts = string.match(arg[2] or "1/1", "^(%d+)/(%d+)$")
  local broken = 0
  local found = M.run({
    worlds = tonumber(arg[1]) or 2000, part = tonumber(part), parts = tonumber(parts), days = tonumber(arg[3]) or 30, kind = arg[4],
  }, print)
  for _, figures in ipairs(found) do broken = broken + figures.broken end
  os.exit(broken == 0 and 0 or 1)
end

return M
