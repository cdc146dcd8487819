-- Time that a spec over real sockets does not have to wait for: while a request is in flight the loop's clock
-- runs as it does, and when everybody sleeps it jumps to whoever is due first. Deadlines of the transport
-- stay on real time. What is replaced here is put back when the spec file ends: other files share the modules.

local busted = require "busted"

return function(fleet)
  local tasks = require "fleet.async"
  local loop, exchange = fleet.loop, tasks.exchange
  local clock, wait = loop.clock, loop.wait
  local now, flying = clock(), 0

  local function landed(...)
    flying = flying - 1
    return ...
  end

  busted.subscribe({ "file", "end" }, function()
    loop.clock, loop.wait, tasks.exchange = clock, wait, exchange
    return nil, true
  end)

  function tasks.exchange(...)
    flying = flying + 1
    return landed(exchange(...))
  end

  function loop.clock()
    local _, wall = clock()
    return now, wall
  end

  function loop.wait(seconds)
    local began = clock()
    wait((flying > 0 or not seconds) and seconds or 0)
    now = now + ((flying > 0 or not seconds) and clock() - began or seconds)
  end
end
