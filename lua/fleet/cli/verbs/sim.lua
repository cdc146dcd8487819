-- fleet sim: the whole service on this machine, until it is ended; and orders to one that runs.

local core = require "fleet.core"
local options = require "fleet.cli.options"
local simulator = require "fleet.cli.simulator"
local usage_error = require "fleet.cli.usage_error"

-- ---- running one ----

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
  { name = "idle", type = "integer", doc = "seconds without a call after which it ends; left out, it goes on" },
  {
    name = "env", type = "boolean",
    doc = "start it in the background, signed in and with a paired key, and print the shell lines that point at it; "
      .. "'fleet sim stop' ends it, and a day without a call",
  },
}

local LAST_WORDS = 0.2 -- seconds for the answer to the order that ends it

-- Serves until SIGTERM or SIGINT arrives, somebody orders it to stop, or nobody has called it for so long.
local function serve(loop, signals, sim, state)
  local watch = loop.watch(signals:fd(), "r", function() state.ends_at = signals:take() and 0 or state.ends_at end)
  while true do
    local ends_at = state.ends_at or state.idle and sim.called_at + state.idle
    local left = ends_at and ends_at - core.clock()
    if left and left <= 0 then break end
    local due = loop.timeout()
    loop.wait(left and math.min(left, due or left) or due)
    loop.step()
  end
  watch:close()
end

local function in_foreground(context, given)
  local state = { idle = given.idle }
  given.faults, given.fault, given.idle, given.env = given.fault, nil, nil, nil
  given.on_stop = function() state.ends_at = core.clock() + LAST_WORDS end
  local sim, err, kind = context:check(require("fleet.sim").new, given)
  if not sim then return nil, err, kind end
  local signals = assert(core.signals())
  context.out:write(sim:first_line(), "\n")
  context.out:flush()
  local ok, why = pcall(serve, require("fleet").loop, signals, sim, state)
  sim:close()
  signals:close()
  if not ok then error(why, 0) end
end

-- The line of options as words again, without --env.
local function words_of(given)
  local words = {}
  for _, option in ipairs(takes) do
    local value = given[option.name]
    for _, one in ipairs(option.name == "env" and {} or type(value) == "table" and value or { value }) do
      words[#words + 1] = "--" .. string.gsub(option.name, "_", "-")
      words[#words + 1] = tostring(one)
    end
  end
  return words
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  if not given.env then return in_foreground(context, given) end
  local lines, err, kind = context:check(simulator.start, context.environment, words_of(given), given.garage)
  if not lines then return nil, err, kind end
  context.out:write(lines)
end

-- ---- orders ----

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  return tonumber(text) or text
end

-- name=value pairs as a table; "section.field" is a field of a section.
local function pairs_of(line)
  local out = {}
  for _, pair in ipairs(line.pairs) do
    local at, name = out, pair.name
    for part, rest in string.gmatch(pair.name, "([^.]+)%.([^.]+)") do
      at[part] = at[part] or {}
      at, name = at[part], rest
    end
    at[name] = value_of(pair.text)
  end
  return out
end

local function words(line, name, usage, least, most)
  if #line.words < least or #line.words > most then
    usage_error.raise(string.format("'sim %s' takes %s", name, usage), { "sim " .. name })
  end
  return line.words[1], line.words[2]
end

local function order(context, what)
  local answer, err, kind = simulator.order(simulator.named(context.environment), what)
  if not answer then return nil, err, kind end
  return { now = answer.now }
end

local function event(context, line)
  local name, vin = words(line, "event", "an event, a vehicle and options as name=value", 1, 2)
  local what = pairs_of(line)
  what.event, what.vin = name, vin
  return order(context, what)
end

local function fault(context, line)
  local word = words(line, "fault", "NAME or NAME:TIMES, and options as name=value", 1, 1)
  local what = pairs_of(line)
  what.fault, what.times = require("fleet.sim").fault(word)
  return order(context, what)
end

local function advance(context, line)
  local seconds = tonumber((words(line, "advance", "seconds", 1, 1)))
  if not seconds then usage_error.raise("'sim advance' takes seconds, a number", { "sim advance" }) end
  return order(context, { advance = seconds })
end

local function set(context, line)
  local vin = words(line, "set", "a vehicle and section.field=value", 1, 1)
  return order(context, { set = { [vin] = pairs_of(line) } })
end

local back = { name = "env", type = "boolean", doc = "print the shell lines that undo those of 'fleet sim --env'" }

local function stop(context, line)
  local done, err, kind = simulator.stop(simulator.named(context.environment))
  if not done then return nil, err, kind end
  if not line.options.env then return { stopped = true } end
  context.out:write(simulator.unsets())
end

local function show_time(out, value)
  out:write("done at ", os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(value.now)), " of its time\n")
end

local function ordering(name, usage, handler, doc)
  return { name = "sim." .. name, usage = "sim " .. name .. " " .. usage, local_only = true, run = handler, show = show_time, doc = doc }
end

return {
  {
    name = "sim", words = {}, local_only = true, takes = takes, run = run,
    doc = "Simulates the service on loopback. The first line tells its addresses as JSON; SIGTERM or Ctrl-C ends it.",
  },
  ordering("event", "EVENT [VIN] [name=value …]", event,
    "Makes something happen in the simulator that the shell points at: plug, unplug, drive, park, sleep, pair_key and more."),
  ordering("fault", "NAME[:TIMES] [name=value …]", fault, "Lets the next calls of the simulator go wrong."),
  ordering("advance", "SECONDS", advance, "Lets virtual time of the simulator pass at once."),
  ordering("set", "VIN section.field=value …", set, "Sets fields of a simulated vehicle, such as charge_state.battery_level=20."),
  {
    name = "sim.stop", words = {}, local_only = true, takes = { back }, run = stop,
    doc = "Ends the simulator that 'fleet sim --env' started, and removes what it kept.",
  },
}
