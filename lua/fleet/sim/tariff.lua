-- The tariff as a home battery needs it: the current price, and whether it is the dearest of its season. fleet.core reads the tariff. The
-- service also keeps tariffs with problems: without a price, no time counts as dear.
local calendar = require("fleet.sim.calendar")
local core = require("fleet.core")
local garage = require("fleet.sim.garage")
local json = require("fleet.sim.json")

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

-- ---- what is kept ----

local function side_of(tariff, side)
  return side == "sell" and tariff.sell_tariff or tariff
end

--- What the service keeps of a tariff: negative prices become zero, and a buy price below the sell price becomes equal to it
--- (doc/protocol.md#tariff-checks). All other members stay as sent.
function M.kept(tariff)
  local plan, report = core.tariff(tariff)
  if #report.normalisations == 0 then return tariff end
  local out, raised = garage.copy(tariff), false
  for _, change in ipairs(report.normalisations) do
    if change.kind == "negative_price" then
      side_of(out, change.side)[change.charges][change.season].rates[change.label] = 0
    else
      raised = true
    end
  end
  if raised then
    local own = json.decode(plan:normalised():json())
    out.energy_charges, out.seasons = own.energy_charges, own.seasons
  end
  return out
end

-- ---- what it costs ----

-- price(tariff, local seconds) → price, season, label; nil when there is no price.
function M.price(tariff, at)
  local d = calendar.date(at)
  return reading(tariff).plan:price("buy", d.month, d.day, (d.weekday + 6) % 7, d.hour * 60 + d.minute) -- Monday is 0
end

function M.is_dearest(tariff, at)
  local price, season = M.price(tariff, at)
  return not price or price >= (reading(tariff).dearest[season] or price)
end

return M
