-- A host's finalisers, run wherever Lua makes something: they may call what is being called, and close what is in use.
--
--   finalisers.among(noise, act)   calls act(i) often, while finalisers call noise(n): the first mistake is what act raises
--   finalisers.closing(make, act)  makes an object and calls act(object) until a finaliser has closed it in the middle, and
--                                  that often; act may raise that it is closed, and nothing else
-- Both take a number of times, and ask that the finalisers did run.

local compat = require "fleet.util.compat"

local M = {}

-- Debian's LuaJIT now and then never ends a pairs loop of a finaliser: five of 36 runs of the specs of tasks did not end, and none of 76
-- without its compiler (doc/manual/versions.md).
local compiler = jit -- luacheck: ignore
local function without_compiler(fn, ...)
  if not compiler then return fn(...) end
  compiler.off()
  local ran, raised = compat.pcall(fn, ...)
  compiler.on()
  if not ran then error(raised, 0) end
end

local often = 1500

local function act_among(noise, act, times)
  local inside, runs, failed, mt = false, 0, nil, {}
  function mt.__gc()
    if inside then return end
    inside, runs = true, runs + 1
    local ran, raised = pcall(noise, runs) -- Lua would only warn
    inside, failed = false, failed or not ran and { raised }
  end
  for i = 1, times do
    for _ = 1, 3 do compat.finalised({}, mt) end
    mt.ballast = string.rep("g", i % 997) -- so that each collection begins elsewhere
    act(i)
  end
  collectgarbage() -- how many ran until here hangs on the collector
  mt.__gc = function() end
  if failed then error(failed[1], 0) end
  assert(runs > 0, "no finaliser ran")
end

function M.among(noise, act, times)
  without_compiler(act_among, noise, act, times or often)
end

-- Whether it was the use of something closed that raised.
local function is_closed(raised)
  return string.find(tostring(raised), "closed", 1, true) ~= nil
end

-- Whether a finaliser closes something in use is chance, and with some versions of Lua none can in some functions: it is tried a few
-- times, and what is asked is that nothing is harmed.
local most_rounds = 3

local function close_among(make, act, times)
  local object, closed, among = nil, 0, false
  local function noise()
    if not among then return end
    among = false
    object:close()
  end
  M.among(noise, function()
    object = make()
    for _ = 1, 4 do
      among = true
      local ran, raised = pcall(act, object)
      local ended = not among
      among = false
      if not ran and not is_closed(raised) then error(raised, 0) end
      if ended then
        closed = closed + 1
        break
      end
    end
    object:close()
  end, times)
  return closed
end

function M.closing(make, act, times)
  for _ = 1, most_rounds do
    if close_among(make, act, times) > 0 then return end
  end
end

return M
