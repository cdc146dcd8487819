-- fleet sim: runs a simulator of the service on this machine, and sends orders to a running one.

local core = require "fleet.core"
local input = require "fleet.cli.input"
local options = require "fleet.cli.options"
local simulator = require "fleet.cli.simulator"
local usage_error = require "fleet.cli.usage_error"

-- ---- running one ----

local takes = {
  { name = "port", type = "integer", fallback = "0", doc = "first of three ports; 0 takes free ones" },
  { name = "garage", type = "string", placeholder = "FILE", doc = "cars and sites, as JSON; by default two cars and a house" },
  {
    name = "fault", type = "string", placeholder = "NAME[:TIMES]", repeated = true,
    doc = "a fault of the next calls, such as rate_limit:3",
  },
  { name = "speed", type = "number", doc = "seconds of virtual time for each second, by default 1; 0 stops it" },
  { name = "config_limit", type = "integer", doc = "telemetry configurations that a vehicle holds" },
  { name = "log", type = "string", placeholder = "FILE", doc = "a line of JSON for every call" },
  { name = "idle", type = "integer", doc = "seconds without a call after which it ends; by default it never does" },
  {
    name = "telemetry", type = "boolean",
    doc = "its cars stream to receivers on this machine; the first line names the file of their authorities",
  },
  { name = "telemetry_ca", type = "string", placeholder = "FILE", doc = "where that file is written; by default in a new directory" },
  {
    name = "env", type = "boolean",
    doc = "start it in the background, signed in and with a paired key, and print the variables for this shell; "
      .. "'fleet sim stop' or a day without a call ends it",
  },
}

local LAST_WORDS = 0.2 -- seconds to answer the order that ends it

-- Serves until SIGTERM or SIGINT arrives, an order stops it, or no call has arrived for the given time.
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

-- Writes the certificate authorities of its cars to a file. Returns a function that removes it, or nil, err, kind.
local function write_authorities(context, sim, path)
  local directory, err, kind
  if not path then
    directory, err, kind = simulator.new_directory(context.environment)
    if not directory then return nil, err, kind end
    path = directory .. "/vehicle-ca.pem"
  end
  sim.telemetry_ca, err, kind = input.write(path, sim:vehicle_ca())
  if not sim.telemetry_ca then return nil, err, kind end
  sim.telemetry_ca = path
  return function()
    os.remove(path)
    if directory then os.remove(directory) end
  end
end

local function in_foreground(context, given)
  local path, remove = given.telemetry_ca, nil
  given.telemetry, given.telemetry_ca = given.telemetry or path ~= nil or nil, nil
  local state = { idle = given.idle }
  given.faults, given.fault, given.idle, given.env = given.fault, nil, nil, nil
  given.on_stop = function() state.ends_at = core.clock() + LAST_WORDS end
  local sim, err, kind = context:check(require("fleet.sim").new, given)
  if not sim then return nil, err, kind end
  if given.telemetry then
    remove, err, kind = write_authorities(context, sim, path)
    if not remove then
      sim:close()
      return nil, err, kind
    end
  end
  local signals = assert(core.signals())
  context.out:write(sim:first_line(), "\n")
  context.out:flush()
  local ok, why = pcall(serve, require("fleet").loop, signals, sim, state)
  sim:close()
  signals:close()
  if remove then remove() end
  if not ok then error(why, 0) end
end

-- The options of the line as words again, without --env.
local function words_of(given)
  local words = {}
  for _, option in ipairs(takes) do
    local value = given[option.name]
    for _, one in ipairs(option.name == "env" and {} or type(value) == "table" and value or { value }) do
      words[#words + 1] = "--" .. string.gsub(option.name, "_", "-")
      if option.type ~= "boolean" then words[#words + 1] = tostring(one) end
    end
  end
  return words
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  if not given.env then return in_foreground(context, given) end
  local before = simulator.known(context.environment)
  local lines, err, kind = context:check(simulator.start, context.environment, words_of(given), given.garage)
  if not lines then return nil, err, kind end
  context.out:write(lines)
  if not before then return end
  context.environment.stderr:write("fleet: the earlier simulator of this shell is still running: 'fleet sim list' shows it, "
    .. "'fleet sim stop --all' ends all\n")
end

-- ---- orders ----

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  return tonumber(text) or text
end

-- name=value pairs as a table; "section.field" sets a field of a section, @FILE reads the text of a file.
local function pairs_of(context, line)
  local out = {}
  for _, pair in ipairs(line.pairs) do
    local at, name, text = out, pair.name, input.read(context.environment, pair.name, pair.text)
    for part, rest in string.gmatch(pair.name, "([^.]+)%.([^.]+)") do
      at[part] = at[part] or {}
      at, name = at[part], rest
    end
    if text then at[name] = text else at[name] = value_of(pair.text) end
  end
  return out
end

local function words(line, name, usage, least, most)
  if #line.words < least or #line.words > most then
    local sample = require("fleet.cli.examples").of_verb { name = "sim." .. name }
    usage_error.raise(string.format("'sim %s' takes %s, as in: %s", name, usage, sample), { "sim " .. name })
  end
  return line.words[1], line.words[2]
end

local function check_name(what, name, names)
  for _, known in ipairs(names) do
    if known == name then return end
  end
  usage_error.unknown(what, name, names, { "sim " .. what })
end

local function order(context, what)
  local answer, err, kind = simulator.order(simulator.named(context.environment), what)
  if not answer then return nil, err, kind end
  return { now = answer.now }
end

-- The public half of the key in the given file, or of the configured key.
local function public_key(context, written)
  if written and not string.find(written, "PRIVATE KEY", 1, true) then return written end
  local given = options.for_client(context.environment, context.options)
  if not written and not given.key then
    usage_error.raise("'sim event pair_key' needs public_key=@FILE: no key is configured (FLEET_KEY, or key in the configuration)",
      { "sim event" })
  end
  local key, err, kind = core.key.load(written or given.key, nil, { insecure_key_mode = given.insecure_key_mode })
  if not key then return nil, err, kind end
  local text = key:public_pem()
  key:close()
  return text
end

local function event(context, line)
  local name, vin = words(line, "event", "an event, a vehicle and options as name=value", 1, 2)
  check_name("event", name, require("fleet.sim.control").event_names())
  local what = pairs_of(context, line)
  if name == "pair_key" or what.public_key then
    local err, kind
    what.public_key, err, kind = public_key(context, what.public_key)
    if not what.public_key then return nil, err, kind end
  end
  what.event, what.vin = name, vin
  return order(context, what)
end

local function fault(context, line)
  local word = words(line, "fault", "NAME or NAME:TIMES, and options as name=value", 1, 1)
  local what = pairs_of(context, line)
  what.fault, what.times = require("fleet.sim").fault(word)
  check_name("fault", what.fault, require("fleet.sim.faults").names())
  return order(context, what)
end

local function advance(context, line)
  local seconds = tonumber((words(line, "advance", "seconds", 1, 1)))
  if not seconds then usage_error.raise("'sim advance' takes seconds, a number, as in: fleet sim advance 3600", { "sim advance" }) end
  return order(context, { advance = seconds })
end

local function set(context, line)
  local vin = words(line, "set", "a vehicle and section.field=value", 1, 1)
  return order(context, { set = { [vin] = pairs_of(context, line) } })
end

local back = { name = "env", type = "boolean", doc = "print the shell lines that undo those of 'fleet sim --env'" }
local every = { name = "all", type = "boolean", doc = "end every simulator that 'fleet sim --env' started" }

local function stop_all(context)
  local stopped = 0
  for _, one in ipairs(simulator.all(context.environment)) do
    local done, err, kind = simulator.stop(one)
    if not done then return nil, err, kind end
    stopped = stopped + 1
  end
  return { stopped = stopped }
end

local function stop_one(context, line)
  local environment = context.environment
  if line.options.env and not simulator.known(environment) and simulator.variable(environment) then return { stopped = 0 } end
  local done, err, kind = simulator.stop(simulator.named(environment))
  if not done then return nil, err, kind end
  return { stopped = 1 }
end

local function stop(context, line)
  local stopping = line.options.all and stop_all or stop_one
  local result, err, kind = stopping(context, line)
  if not result then return nil, err, kind end
  if not line.options.env then return result end
  context.out:write(simulator.unsets())
end

local function show_stopped(out, value, context)
  out:write("stopped: ", string.format("%d", value.stopped), value.stopped == 1 and " simulator\n" or " simulators\n")
  if not simulator.variable(context.environment) then return end
  out:write("This shell still uses one. To leave it: eval \"$(fleet sim stop --env)\"\n")
end

-- ---- running simulators ----

local function list(context)
  local found = {}
  for i, one in ipairs(simulator.all(context.environment)) do
    found[i] = { base_url = one.base_url, directory = one.directory, running = one.running, current = one.current }
  end
  return found
end

local function show_list(out, found)
  if not found[1] then return out:write("no simulator was started with 'fleet sim --env'\n") end
  for _, one in ipairs(found) do
    local state = one.running and "running" or "has ended"
    out:write(one.base_url, "  ", state, one.current and ", this shell uses it" or "", "  ", one.directory, "\n")
  end
end

local function show_time(out, value)
  out:write("done; the simulated time is ", os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(value.now)), "\n")
end

-- known: function → the names that the first word may have.
local function ordering(name, usage, handler, doc, known)
  return {
    name = "sim." .. name, usage = "sim " .. name .. " " .. usage, local_only = true, run = handler, show = show_time, doc = doc,
    completes = known, details = known and function() return "Names: " .. table.concat(known(), ", ") .. "." end,
  }
end

return {
  {
    name = "sim", words = {}, local_only = true, takes = takes, run = run,
    doc = "Simulates the service on loopback. The first line has its addresses as JSON; SIGTERM or Ctrl-C ends it.",
  },
  ordering("event", "EVENT [VIN] [name=value …]", event,
    "Causes an event in the simulator of this shell: plug, unplug, drive, park, sleep, pair_key (of the "
      .. "configuration's key, or public_key=@FILE) and more.", function() return require("fleet.sim.control").event_names() end),
  ordering("fault", "NAME[:TIMES] [name=value …]", fault, "Makes the next calls to the simulator fail in a chosen way.",
    function() return require("fleet.sim.faults").names() end),
  ordering("advance", "SECONDS", advance, "Moves the simulated time forward, at once."),
  ordering("set", "VIN section.field=value …", set, "Sets fields of a simulated vehicle, such as charge_state.battery_level=20."),
  {
    name = "sim.stop", words = {}, local_only = true, takes = { back, every }, run = stop, show = show_stopped,
    doc = "Ends the simulator that 'fleet sim --env' started, and removes what it kept.",
  },
  {
    name = "sim.list", words = {}, local_only = true, run = list, show = show_list,
    json = function(found) return found[1] and core.json_encode(found) or "[]" end,
    doc = "Lists the simulators that 'fleet sim --env' started.",
  },
}
