-- A limit beside every spec file: a file that hangs fails by its name, and the run goes on (probe_watchdog). Loaded with the
-- helper of .busted. FLEET_SPEC_LIMIT sets other seconds, 0 none.

local busted = require "busted"
local watchdog = require "probe_watchdog"

-- Sanitizers and valgrind are slow; a limit is for what never ends.
local build = string.match(os.getenv("FLEET_BUILD") or "", "[^/]+$")
local plain = build and (build == "plain" or string.find(build, "^lua[^-]*$"))
local default = plain and not os.getenv("VALGRIND") and 300 or 3000
local limit = math.tointeger(tonumber(os.getenv("FLEET_SPEC_LIMIT"))) or default

watchdog.start()

busted.subscribe({ "file", "start" }, function(file)
  watchdog.watch(file.name, limit)
  return nil, true
end)

busted.subscribe({ "file", "end" }, function()
  watchdog.watch()
  return nil, true
end)
