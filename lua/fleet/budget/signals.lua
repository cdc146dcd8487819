-- The signals that vehicles stream, counted and priced like calls. A receiver cannot stop a stream: where a budget is nearly used up,
-- the warning offers a smaller configuration, and nothing is sent.

local count = require "fleet.budget.count"
local gate = require "fleet.budget.gate"
local tasks = require "fleet.async"

local M = {}

local write_every = 1 -- seconds
local advice = ". The vehicles go on sending, and the receiver cannot stop them. A configuration with fewer fields or longer intervals "
  .. "costs less: `fleet telemetry cost CONFIG` prices it"

-- Some vehicles at a time, so that the loop goes on meanwhile. The next send waits for the answers of the one before.
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
    count.flush(meter) -- waits for the answers, with which the warnings come
    writing = false
  end
  -- While it sleeps, the client can close; closing writes the counts, too.
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
