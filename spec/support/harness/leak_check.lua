-- A leak check beside every spec file (set in .busted): when a file has ended, what the core had opened for it must be gone,
-- collected or closed. The JSON reader and one loop stay: they live as long as the state. A few objects more are no leak:
-- the loop of a file that loads fleet anew and the last client with its connection settings, both still held by the file's own
-- locals, zones that are kept once they were read.
-- What leaks leaks with every case, and so leaves more.

require "spec.support.harness.dialect"

local busted = require "busted"
local core = require "fleet.core"
local garbage = require "spec.support.harness.garbage"

local stays = 2
local allowed = 6

local function live()
  garbage.collect(8)
  return core.live()
end

local before = 0

busted.subscribe({ "file", "start" }, function()
  before = math.max(live(), stays)
  return nil, true
end)

busted.subscribe({ "file", "end" }, function(file)
  local left = live() - before
  if left > allowed then
    local message = ("%d objects of the core were left alive by this file"):format(left)
    busted.publish({ "error", "file" }, file, nil, message, { message = message, traceback = "" })
  end
  return nil, true
end)

require "spec.support.harness.eavesdrop"
require "spec.support.harness.watchdog"
