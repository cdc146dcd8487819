-- Differences between the supported versions of Lua (doc/manual/versions.md). luacheck limits all other files to what every version has.

-- luacheck: std max

local M = { unpack = table.unpack or unpack, pcall = pcall, running = coroutine.running }

local function nothing()
end
M.close_coroutine = coroutine.close or nothing

-- ---- coroutines of tasks ----

-- nginx's Lua module replaces Lua's coroutine functions by ones that are tied to a request, and keeps Lua's own under these names. A task
-- needs Lua's own, because it continues in any request that runs the loop.
-- luacheck: globals coroutine._create coroutine._resume coroutine._yield coroutine._status
M.coroutine = coroutine._create and
  { create = coroutine._create, resume = coroutine._resume, yield = coroutine._yield, status = coroutine._status } or coroutine

-- ---- finalisers of tables: before 5.2, only userdata have them ----

--- setmetatable that also works for a metatable with __gc.
M.finalised = setmetatable

if newproxy then
  function M.finalised(object, metatable)
    local proxy = newproxy(true)
    getmetatable(proxy).__gc = function() metatable.__gc(object) end
    object.finaliser = proxy
    return setmetatable(object, metatable)
  end
end

-- ---- whether a finaliser is running: Lua 5.4.4 and later stop the collector then, and report it ----

local collectgarbage = collectgarbage

function M.in_finaliser() return collectgarbage "isrunning" == nil end

if _VERSION == "Lua 5.1" then
  function M.in_finaliser() return false end
end

-- ---- yields across pcall: 5.1 has none, and none across a generic for ----

--- Whether a function that yields may be called by pcall, by a generic for and as a metamethod. It is not tested by yielding: inside nginx
--- no code may yield while a module is loaded.
M.yields_everywhere = _VERSION ~= "Lua 5.1" or jit ~= nil

if M.yields_everywhere then return M end

local pcall = pcall
local outer_of = setmetatable({}, { __mode = "k" }) -- coroutine of a protected call -> the coroutine that called

local function begin(fn, outer)
  local inner = coroutine.create(fn)
  outer_of[inner] = outer
  return inner
end

local function after_resume(inner, ran, ...)
  if coroutine.status(inner) ~= "suspended" then
    outer_of[inner] = nil
    return ran, ...
  end
  return after_resume(inner, coroutine.resume(inner, coroutine.yield(...)))
end

--- pcall of a function that may yield: it runs in a coroutine of its own.
function M.pcall(fn, ...)
  local outer = coroutine.running()
  if not outer then return pcall(fn, ...) end
  local created, inner = pcall(begin, fn, outer)
  if not created then return pcall(fn, ...) end -- a C function, or out of memory
  return after_resume(inner, coroutine.resume(inner, ...))
end

--- The running coroutine, ignoring those of M.pcall.
function M.running()
  local thread = coroutine.running()
  while thread and outer_of[thread] do thread = outer_of[thread] end
  return thread
end

return M
