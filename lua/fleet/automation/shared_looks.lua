-- What the automations of one car in this process know together: the latest looks and the latest commands.

local M = {}

local common = setmetatable({}, { __mode = "k" }) -- context -> id -> { seen =, at =, did = }

local function common_of(self)
  local of_context = common[self.context] or {}
  common[self.context] = of_context
  of_context[self.id] = of_context[self.id] or { seen = {}, at = {}, did = {} }
  return of_context[self.id]
end

-- Whatever the one has seen or done more lately than the other.
local function newer(from, to)
  for section, at in pairs(from.at) do
    if at > (to.at[section] or -1) then to.at[section], to.seen[section] = at, from.seen[section] end
  end
  for subject, did in pairs(from.did) do
    if did.at > (to.did[subject] and to.did[subject].at or -1) then to.did[subject] = did end
  end
  if from.awake_since and from.awake_since > (to.awake_since or -1) then to.awake_since = from.awake_since end
end

--- A look that one automation has paid for serves the others, and nobody takes another's command for the owner's.
function M.exchange(self, state)
  if not self.config.car or self.dry then return end
  newer(common_of(self), state)
  newer(state, common_of(self))
end

return M
