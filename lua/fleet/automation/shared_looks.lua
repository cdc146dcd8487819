-- What the automations of one car in this process know together: the latest looks and the latest commands.

local readings = require "fleet.automation.readings"

local M = {}

local common = setmetatable({}, { __mode = "k" }) -- context -> id -> { seen =, at =, did =, looked =, revision = }

local function new(looked) return { seen = {}, at = {}, did = {}, looked = looked, revision = 0 } end

local function common_of(self)
  local of_context = common[self.context] or {}
  common[self.context] = of_context
  of_context[self.id] = of_context[self.id] or new {}
  return of_context[self.id]
end

--- When billed looks have last shown sections of the car, by the monotonic clock: by section.
function M.looked(self)
  if self.dry then
    self.own_looked = self.own_looked or {}
    return self.own_looked
  end
  return common_of(self).looked
end

-- Whatever the one has seen or done more lately than the other. needs: what the other needs of a section. Returns whether there was
-- anything. What a stream showed is not shared: it has what its reader needs, and each reads the stream for nothing.
local function newer(from, to, needs)
  local any, streamed = false, from.streamed or {}
  for section, at in pairs(from.at) do
    if not streamed[section] and at > (to.at[section] or -1) and readings.suffices(section, from.seen[section], needs) then
      to.at[section], to.seen[section], any = at, from.seen[section], true
      if to.streamed then to.streamed[section] = nil end
    end
  end
  for subject, did in pairs(from.did) do
    if did.at > (to.did[subject] and to.did[subject].at or -1) then to.did[subject], any = did, true end
  end
  if from.awake_since and from.awake_since > (to.awake_since or -1) then to.awake_since, any = from.awake_since, true end
  return any
end

--- Forgets what is shared of a car with times of the wall clock, which was set since.
function M.forget(self)
  local of_context = common[self.context]
  if of_context and of_context[self.id] then of_context[self.id] = new(of_context[self.id].looked) end
end

--- Shares billed looks and sent commands between automations, so that none takes another's command for the owner's. Called after each
--- action and before each decision: by then there is news only where another automation had some.
function M.exchange(self, state, acted)
  if not self.config.car or self.dry then return end
  local all = common_of(self)
  local stale = all.revision ~= self.shared_revision
  if stale then newer(all, state, self.definition.needs) end
  if (acted or stale) and newer(state, all) then all.revision = all.revision + 1 end
  self.shared_revision = all.revision
end

return M
