-- Who decides what of one car: automations that want different things of it.
--
-- Each subject of a car (charging, amps, any setting) is held by at most one automation, the one with the higher
-- precedence. The owner's own commands precede all automations; each automation detects them itself. The store has the claims, beside
-- the automations' records, so that several processes agree.

local core = require "fleet.core"
local states = require "fleet.automation.state"

local M = {}

-- command -> what of the car it decides; any other command is a subject of its own
local subjects = {
  charge_start = "charging", charge_stop = "charging", set_charging_amps = "amps", set_charge_limit = "limit",
  charge_standard = "limit", charge_max_range = "limit", set_temps = "temperature",
  auto_conditioning_start = "climate", auto_conditioning_stop = "climate",
}

function M.subject(call)
  return subjects[call] or call
end

function M.key(context, id)
  return "claims/" .. context.config.account .. "/" .. id
end

--- The claims of a car, { subject = { by =, rank =, ends =, why = } }, and the record's generation; or nil, err, kind.
function M.read(context, id)
  local text, generation, kind = states.store(context):get(M.key(context, id))
  if text == nil and kind then return nil, generation, kind end
  local found = text and core.json_decode(text)
  return type(found) == "table" and found or {}, generation
end

--- The claim of another automation that precedes this one, or nil.
function M.above(claims, subject, me, now)
  local claim = claims[subject]
  if claim and claim.by ~= me.name and claim.ends > now and claim.rank >= me.rank then return claim end
end

local function same(a, b)
  return a ~= nil and b ~= nil and a.by == b.by and a.ends == b.ends and a.rank == b.rank
end

-- The new record: my claims where no other automation precedes, without those that I no longer want.
local function merged(claims, mine, me, now)
  local out, changed = {}, false
  if next(claims) == nil and next(mine) == nil then return claims, false end
  for subject, claim in pairs(claims) do
    local keep = claim.ends > now and claim.by ~= me.name
    if keep then out[subject] = claim elseif not same(claim, mine[subject]) then changed = true end
  end
  for subject, claim in pairs(mine) do
    if not M.above(out, subject, me, now) then
      local own = { by = me.name, rank = me.rank, ends = claim.ends }
      if not same(claims[subject], own) then changed = true end
      out[subject] = own
    end
  end
  return out, changed
end

local tries = 5

--- Makes my claims { subject = { ends = } } the only ones I hold. claims, generation: as they were read for this decision, or nil.
--- Returns the claims as they then are, or nil, err, kind.
function M.write(context, id, mine, me, now, claims, generation)
  local err, kind, failed
  for _ = 1, tries do
    if not claims then claims, generation, failed = M.read(context, id) end
    if not claims then return nil, generation, failed end
    local wanted, changed = merged(claims, mine, me, now)
    if not changed then return wanted end
    local done
    done, err, kind = states.store(context):put(M.key(context, id), core.json_encode(wanted), { generation = generation })
    if done then return wanted end
    if kind ~= "conflict" then break end
    claims = nil
  end
  return nil, err, kind
end

return M
