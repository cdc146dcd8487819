-- fleet sim: the whole service on this machine, until it is ended.

local core = require "fleet.core"
local options = require "fleet.cli.options"

local takes = {
  { name = "port", type = "integer", fallback = "0", doc = "first of three ports; 0 takes free ones" },
  { name = "garage", type = "string", placeholder = "FILE", doc = "what there is, as JSON; left out, a small garage" },
  {
    name = "fault", type = "string", placeholder = "NAME[:TIMES]", repeated = true,
    doc = "something that goes wrong with the next calls",
  },
  { name = "speed", type = "number", doc = "seconds of virtual time for each second, 1 when left out; 0 stops it" },
  { name = "config_limit", type = "integer", doc = "telemetry configurations that a vehicle holds" },
  { name = "log", type = "string", placeholder = "FILE", doc = "a line of JSON for every call" },
}

-- Serves until SIGTERM or SIGINT arrives.
local function serve(loop, signals)
  local ended = false
  local watch = loop.watch(signals:fd(), "r", function() ended = signals:take() ~= nil or ended end)
  while not ended do
    loop.wait(loop.timeout())
    loop.step()
  end
  watch:close()
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  given.faults, given.fault = given.fault, nil
  local sim, err, kind = context:check(require("fleet.sim").new, given)
  if not sim then return nil, err, kind end
  local signals = assert(core.signals())
  context.out:write(sim:first_line(), "\n")
  context.out:flush()
  local ok, why = pcall(serve, require("fleet").loop, signals)
  sim:close()
  signals:close()
  if not ok then error(why, 0) end
end

return {
  {
    name = "sim", words = {}, local_only = true, takes = takes, run = run,
    doc = "Simulates the service on loopback. The first line tells its addresses as JSON; SIGTERM or Ctrl-C ends it.",
  },
}
