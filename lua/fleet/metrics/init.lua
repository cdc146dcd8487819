-- fleet.metrics: events of clients as metrics for a monitoring system.

local metrics = require "fleet.metrics.registry"

local M = { new = metrics.new }

local rows = {
  { name = "fleet_attempts_total", kind = "counter", doc = "Requests to the service by call, status and kind of failure.",
    labels = { "call", "class", "status", "kind" } },
  { name = "fleet_attempt_seconds", kind = "histogram", doc = "How long requests took, by price class.", labels = { "class" } },
  { name = "fleet_billed_total", kind = "counter", doc = "Billed calls and signals by price class.", labels = { "class" } },
  { name = "fleet_usd_total", kind = "counter", doc = "Dollars of the billed calls and signals.", labels = {} },
  { name = "fleet_budget_total", kind = "counter", doc = "Budgets of which 80 % were used up, and calls that they refused.",
    labels = { "limit", "result" } },
  { name = "fleet_pace_total", kind = "counter", doc = "Calls that waited for their rate limit, and those that could not wait.",
    labels = { "class", "result" } },
  { name = "fleet_pace_seconds_total", kind = "counter", doc = "Seconds waited for rate limits.", labels = { "class" } },
  { name = "fleet_alarms_total", kind = "counter", doc = "Alarms that an account must sign in again, by cause.", labels = { "cause" } },
}

local take = {}

-- Cache of series by call, status and kind, because every attempt is counted. It is emptied when invented statuses would make it large.
local most_known = 500
local known_of = setmetatable({}, { __mode = "k" }) -- registry -> { count =, calls = { [call] = { [status] = { [kind] = series } } } }

local function inner(list, key)
  local found = list[key]
  if not found then
    found = {}
    list[key] = found
  end
  return found
end

local function find_series(registry, event, call, status, kind)
  local known = known_of[registry]
  if not known or known.count >= most_known then
    known = { count = 0, calls = {} }
    known_of[registry] = known
  end
  known.count = known.count + 1
  local found = {
    attempts = registry:counter("fleet_attempts_total", { call = call, class = event.class, status = event.status, kind = event.kind }),
    seconds = registry:putter("fleet_attempt_seconds", { class = event.class }),
  }
  inner(inner(known.calls, call), status)[kind] = found
  return found
end

local function series_of(registry, event)
  local call, status, kind = event.row, event.status or 0, event.kind or ""
  local known = known_of[registry]
  local by_status = known and known.calls[call]
  local by_kind = by_status and by_status[status]
  return by_kind and by_kind[kind] or find_series(registry, event, call, status, kind)
end

local function count(series, amount)
  series.value = series.value + amount
end

local function count_billed(registry, series, event)
  if not series.billed then
    series.billed, series.usd = registry:counter("fleet_billed_total", { class = event.class }), registry:counter("fleet_usd_total")
  end
  count(series.billed, 1)
  count(series.usd, event.usd)
end

function take.attempt(registry, event)
  local series = series_of(registry, event)
  count(series.attempts, 1)
  series.seconds(event.seconds)
  if event.billed then count_billed(registry, series, event) end
end

function take.signals(registry, event)
  registry:add("fleet_billed_total", { class = "signal" }, event.signals)
  registry:add("fleet_usd_total", {}, event.usd)
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

--- A collector: fleet.new{ metrics = collector }, for one client or for all. collector:text() is the reply to GET /metrics.
function M.prometheus()
  return setmetatable({ registry = metrics.new(rows) }, collector_mt)
end

return M
