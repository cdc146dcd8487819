-- The proxy's metrics for GET /metrics. All labels are names of our own, so that callers cannot make the tables grow.

local registry = require "fleet.metrics.registry"

local M = {}
M.__index = M

local rows = {
  { name = "fleet_proxy_commands_total", kind = "counter", doc = "Vehicle commands by outcome and kind of failure.",
    labels = { "outcome", "kind" } },
  { name = "fleet_proxy_requests_total", kind = "counter", doc = "Requests by status of the answer.", labels = { "status" } },
  { name = "fleet_proxy_audit_failures_total", kind = "counter", doc = "Audit lines that could not be written." },
  { name = "fleet_proxy_in_flight", kind = "gauge", doc = "Requests that are being served." },
  { name = "fleet_proxy_queue", kind = "gauge", doc = "Commands that wait for their vehicle." },
  { name = "fleet_proxy_connections", kind = "gauge", doc = "Open connections of callers." },
  { name = "fleet_proxy_command_seconds", kind = "histogram", doc = "Seconds from the arrival of a command to its answer." },
  { name = "fleet_proxy_token_age_seconds", kind = "gauge", doc = "Seconds since the token of an account was exchanged.",
    labels = { "account", "token" } },
  { name = "fleet_proxy_token_expires_seconds", kind = "gauge", doc = "Seconds until the token of an account expires.",
    labels = { "account", "token" } },
}

function M.new()
  local known = registry.new(rows)
  return setmetatable({
    registry = known, took = known:putter "fleet_proxy_command_seconds", in_flight = 0, statuses = {}, ended = {}, unaudited = 0,
    audit_problem = nil,
  }, M)
end

-- Counts are moved to the registry when /metrics is read, so that a request needs no label.
local function count(table_of, key)
  table_of[key] = (table_of[key] or 0) + 1
end

--- Counts an answered request of any kind.
function M:answered(status)
  count(self.statuses, status)
end

--- Counts a finished command. outcome: "done", "refused", "not_sent" or "unknown"; kind: of its error, or "".
function M:command(outcome, kind, seconds)
  self.ended[outcome] = self.ended[outcome] or {}
  count(self.ended[outcome], kind)
  self.took(seconds)
end

--- Counts an audit line. Returns whether it is the first failure after a success.
function M:audited(written, why)
  local first = not written and not self.audit_problem
  self.audit_problem = not written and tostring(why) or nil
  if not written then self.unaudited = self.unaudited + 1 end
  return first
end

local function hand_over(self)
  for status, times in pairs(self.statuses) do self.registry:add("fleet_proxy_requests_total", { status = status }, times) end
  for outcome, kinds in pairs(self.ended) do
    for kind, times in pairs(kinds) do
      self.registry:add("fleet_proxy_commands_total", { outcome = outcome, kind = kind }, times)
    end
  end
  self.registry:add("fleet_proxy_audit_failures_total", nil, self.unaudited)
  self.statuses, self.ended, self.unaudited = {}, {}, 0
end

--- The metrics as text. facts: { waiting =, connections =, tokens = { { account, token, age, left }, … } }
function M:text(facts)
  local figures = self.registry
  hand_over(self)
  figures:set("fleet_proxy_in_flight", nil, self.in_flight)
  figures:set("fleet_proxy_queue", nil, facts.waiting)
  figures:set("fleet_proxy_connections", nil, facts.connections)
  for _, token in ipairs(facts.tokens) do
    if token.age then figures:set("fleet_proxy_token_age_seconds", token, token.age) end
    if token.left then figures:set("fleet_proxy_token_expires_seconds", token, token.left) end
  end
  return figures:text()
end

return M
