-- fleet mqtt: publishes the account on an MQTT broker, until a signal ends it.

local automation_file = require "fleet.cli.automation_file"
local core = require "fleet.core"
local options = require "fleet.cli.options"
local usage_error = require "fleet.cli.usage_error"

local takes = {
  { name = "broker", type = "string", placeholder = "URL", environment = "FLEET_MQTT_BROKER",
    doc = "mqtt://host[:port], mqtts://host[:port] with TLS, or mqtt+unix:/path" },
  { name = "user", type = "string", environment = "FLEET_MQTT_USER", doc = "user name at the broker" },
  { name = "password", type = "string", secret = true, environment = "FLEET_MQTT_PASSWORD", doc = "its password" },
  { name = "broker_ca_file", type = "string", placeholder = "FILE",
    doc = "authority of the broker's certificate; by default those of the system" },
  { name = "options", type = "string", placeholder = "FILE",
    doc = "more options as a JSON object: names, areas, commands, wake, the schedule and others of doc/manual/mqtt.md" },
  { name = "automations", type = "string", placeholder = "FILE", doc = "automations in the same process: a file as for 'fleet run'" },
  { name = "topic", type = "string", doc = "beginning of every topic; by default fleet" },
  { name = "discovery", type = "string", placeholder = "HOW", doc = "device, component (for programs that know no devices), or off" },
  { name = "location", type = "boolean", doc = "publish where cars are" },
  { name = "read_only", type = "boolean", doc = "accept no commands" },
}

local function from_environment(environment, given)
  for _, option in ipairs(takes) do
    local text = option.environment and environment.getenv(option.environment)
    if given[option.name] == nil and text and text ~= "" then given[option.name] = text end
  end
end

-- Reads a file of options. It must not contain the password.
local function from_file(path)
  if not path then return {} end
  local found, err = require("fleet.client.config_file").read(path)
  if err and err.absent then usage_error.raise("--options: there is no file " .. path, { "mqtt" }) end
  if err then usage_error.raise("--options: " .. err.message, { "mqtt" }) end
  if type(found) ~= "table" then usage_error.raise("--options: " .. path .. " is not a JSON object", { "mqtt" }) end
  if found.password then
    usage_error.raise("--options: a password does not belong into " .. path .. ": give FLEET_MQTT_PASSWORD or --password=@FILE", { "mqtt" })
  end
  return found
end

local function bridge_options(context, given)
  local all = from_file(given.options)
  local automations = given.automations or all.automations
  for name, value in pairs(given) do all[name] = value end
  all.options, all.automations, all.read_only = nil, nil, nil
  if given.read_only then all.commands = false end
  if all.discovery == "off" then all.discovery = false end
  if not all.broker then usage_error.raise("'mqtt' needs --broker=mqtt://HOST, or FLEET_MQTT_BROKER", { "mqtt" }) end
  all.client = context:client()
  if automations then all.automations = automation_file.load(automations, all.client) end
  return all
end

local function print_line(context, text)
  context.out:write(os.date("!%Y-%m-%d %H:%M:%SZ "), text, "\n")
  context.out:flush()
end

-- Runs the bridge. An interrupt or SIGTERM ends it after the commands in flight; a second one ends it at once.
local function run_until_ended(context, bridge)
  local fleet = require "fleet"
  local signals, ending = assert(core.signals()), false
  local watch = fleet.loop.watch(signals:fd(), "r", function()
    local name = signals:take()
    if not name or name == "hangup" then return end
    if ending then error("interrupted!", 0) end
    ending = true
    bridge:stop()
  end)
  local ok, done, err, kind = pcall(fleet.run, function()
    return bridge:run { progress = function(text) print_line(context, text) end }
  end)
  watch:close()
  signals:close()
  if not ok then error(done, 0) end
  if not done then return nil, err, kind end
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  from_environment(context.environment, given)
  local bridge, err, kind = context:check(require("fleet.mqtt").new, bridge_options(context, given))
  if not bridge then return nil, err, kind end
  return run_until_ended(context, bridge)
end

return {
  {
    name = "mqtt", words = {}, takes = takes, run = run,
    doc = "Publishes the cars and sites of the account on an MQTT broker, with discovery and commands, until Ctrl-C or SIGTERM.",
    details = "It first prints what it will cost. See doc/manual/mqtt.md.",
  },
}
