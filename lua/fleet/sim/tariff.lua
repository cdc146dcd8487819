-- The tariff in force, as far as a battery cares: which price holds now, and whether it is the dearest of its season. The
-- reading is fleet.core's. The service keeps what it is sent without checking it, so a tariff with problems is no reason to
-- stop: where it names no price, nothing is dear.
local calendar = require("fleet.sim.calendar")
local core = require("fleet.core")

local M = {}

local read = setmetatable({}, { __mode = "k" }) -- tariff → { plan =, dearest = by season }

local function dearest_of(plan)
  local most = {}
  for _, week in ipairs(plan:weeks("buy")) do
    for _, span in ipairs(week) do most[week.name] = math.max(most[week.name] or span.price, span.price) end
  end
  return most
end

local function reading(tariff)
  if not read[tariff] then
    local plan = core.tariff(tariff)
    read[tariff] = { plan = plan, dearest = dearest_of(plan) }
  end
  return read[tariff]
end

-- price(tariff, local seconds) → price of the moment, season, label; nil where there is none.
function M.price(tariff, at)
  local d = calendar.date(at)
  return reading(tariff).plan:price("buy", d.month, d.day, (d.weekday + 6) % 7, d.hour * 60 + d.minute) -- Monday is 0
end

function M.is_dearest(tariff, at)
  local price, season = M.price(tariff, at)
  return not price or price >= (reading(tariff).dearest[season] or price)
end

return M
