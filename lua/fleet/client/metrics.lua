-- fleet.metrics: the events of clients as numbers for a monitoring system.

local metrics = require "fleet.util.metrics"

local M = { new = metrics.new }

local rows = {
  { name = "fleet_attempts_total", kind = "counter", doc = "Requests to the service by call, status and kind of failure.",
    labels = { "call", "class", "status", "kind" } },
  { name = "fleet_attempt_seconds", kind = "histogram", doc = "How long requests took, by price class.", labels = { "class" } },
  { name = "fleet_billed_total", kind = "counter", doc = "Billed calls by price class.", labels = { "class" } },
  { name = "fleet_usd_total", kind = "counter", doc = "Dollars of the billed calls.", labels = {} },
  { name = "fleet_budget_total", kind = "counter", doc = "Budgets of which 80 % were used up, and calls that they refused.",
    labels = { "limit", "result" } },
  { name = "fleet_pace_total", kind = "counter", doc = "Calls that waited for their rate limit, and those that could not wait.",
    labels = { "class", "result" } },
  { name = "fleet_pace_seconds_total", kind = "counter", doc = "Seconds waited for rate limits.", labels = { "class" } },
  { name = "fleet_alarms_total", kind = "counter", doc = "Alarms that somebody must sign in again, by cause.", labels = { "cause" } },
}

local take = {}

function take.attempt(registry, event)
  registry:add("fleet_attempts_total", { call = event.row, class = event.class, status = event.status, kind = event.kind })
  registry:observe("fleet_attempt_seconds", { class = event.class }, event.seconds)
  if not event.billed then return end
  registry:add("fleet_billed_total", { class = event.class })
  registry:add("fleet_usd_total", nil, event.usd)
end

function take.budget(registry, event)
  registry:add("fleet_budget_total", event)
end

function take.pace(registry, event)
  registry:add("fleet_pace_total", event)
  if event.seconds then registry:add("fleet_pace_seconds_total", event, event.seconds) end
end

function take.alarm(registry, event)
  registry:add("fleet_alarms_total", event)
end

local collector_mt = { __name = "fleet.metrics" }

function collector_mt.__call(collector, event)
  local fn = take[event.name]
  if fn then fn(collector.registry, event) end
end

collector_mt.__index = { text = function(collector) return collector.registry:text() end }

--- A collector: fleet.new{ metrics = collector }, for one client or for all; collector:text() is what a scrape of /metrics
--- answers with.
function M.prometheus()
  return setmetatable({ registry = metrics.new(rows) }, collector_mt)
end

return M
