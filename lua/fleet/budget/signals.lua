-- Counts and prices the signals that vehicles stream, like calls. A receiver cannot stop a stream: when a budget is nearly used up, the
-- warning suggests a smaller configuration, which is not sent.

local count = require "fleet.budget.count"
local gate = require "fleet.budget.gate"
local tasks = require "fleet.async"

local M = {}

local write_every = 1 -- seconds
local advice = ". The vehicles go on sending, and the receiver cannot stop them. A configuration with fewer fields or longer intervals "
  .. "costs less: `fleet telemetry cost CONFIG` prices it"

-- Writes some vehicles at a time, so that the loop continues. Each send waits for the answers to the previous one.
local function write(meter)
  repeat
    count.send(meter)
    tasks.sleep(0)
  until not meter.due
end

--- A function(vin, signals) that counts for the client of this context.
function M.counter(context)
  local meter, writing = context.meter, false
  count.watch_signals(meter, function(facts, vin) gate.warn(context, vin, facts, advice) end)
  local function write_all()
    write(meter)
    count.flush(meter) -- waits for the answers, which bring the warnings
    writing = false
  end
  -- The client may close during the sleep; closing writes the counts, too.
  local function write_later()
    tasks.sleep(write_every)
    if not context.closed then context.spawn(write_all) end
  end
  return function(vin, signals)
    if signals == 0 then return end
    local _, wall = tasks.loop.clock()
    count.signals(meter, vin, signals, wall)
    context.measure { name = "signals", vin = vin, signals = signals, usd = signals * meter.prices.signal }
    if writing or context.closed then return end
    writing = true
    tasks.spawn(write_later)
  end
end

return M
