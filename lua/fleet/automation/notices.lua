-- Notifications for a person: a sentence, a severity and a key. The same key is notified once, also after a restart.

local core = require "fleet.core"
local pcall = require("fleet.util.compat").pcall -- what it calls may wait

local M = {}

local kept_for = 7 * 86400 -- seconds after which the same key is notified again

local function forget_old(notified, now)
  for key, at in pairs(notified) do
    if now - at > kept_for then notified[key] = nil end
  end
end

-- A hook that raises must not end what it watches.
local function give(self, hook, event)
  local ok, raised = pcall(hook, event)
  if not ok and self.progress then self.progress("notify raised: " .. tostring(raised)) end
end

--- Gives the notices { key =, severity = "info"|"warning"|"error", text = } that were not given yet.
function M.notify(self, state, notices, now)
  if self.dry or not notices then return end
  forget_old(state.notified, now)
  for _, notice in ipairs(notices) do
    if not state.notified[notice.key] then
      state.notified[notice.key] = now
      local _, _, id = core.context(self.handle)
      local event = {
        key = notice.key, severity = notice.severity, text = notice.text, at = now, automation = self.config.name, subject = tostring(id),
      }
      for _, hook in ipairs(self.hooks) do give(self, hook, event) end
    end
  end
end

return M
