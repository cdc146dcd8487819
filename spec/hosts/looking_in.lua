-- Hosts whose loop watches no descriptor of others, HAProxy and nginx: a thread of theirs looks in every two milliseconds. A task may
-- call nothing of the host, so that what it wants to happen later stands in a list of that thread.
local fleet = require "fleet"

--- The host of a workload. spawn(fn): begins a thread of the host; sleep(seconds): waits in one.
return function(spawn, sleep)
  local later = {}

  local function run_due()
    for i = #later, 1, -1 do
      if later[i].at <= fleet.loop.clock() then table.remove(later, i).fn() end
    end
  end

  local function every(seconds, fn)
    spawn(function()
      while true do
        sleep(seconds)
        fn()
      end
    end)
  end

  every(0.002, function()
    fleet.loop.step()
    run_due()
  end)
  return {
    every = every,
    after = function(seconds, fn) later[#later + 1] = { at = fleet.loop.clock() + seconds, fn = fn } end,
  }
end
