-- `fleet telemetry setup`: from nothing to the first record of each vehicle. Each step reports its result; a step that cannot continue says
-- what to do. Before a configuration is sent, its price is shown and confirmed.

local check = require "fleet.telemetry.check"
local cost = require "fleet.telemetry.cost"
local core = require "fleet.core"
local error_meanings = require "fleet.cli.telemetry.error_meanings"
local errors = require "fleet.util.errors"
local files = require "fleet.cli.telemetry.files"
local optional_module = require "fleet.util.optional_module"
local private_authority = require "fleet.telemetry.private_authority"
local receiving = require "fleet.cli.telemetry.receiving"
local report_lines = require "fleet.cli.report_lines"
local show = require "fleet.cli.show"
local tasks = require "fleet.async"
local telemetry_check = require "fleet.resources.telemetry_check"
local templates = require "fleet.telemetry.templates"
local usage_error = require "fleet.cli.usage_error"

local M = {}

local function short(vin) return "…" .. string.sub(vin, -6) end

-- Seconds until the first record counts as missing: an awake vehicle uses an adopted configuration at once.
local FIRST_RECORD = 60
local SHOWN = 3 -- fields of a record
local NAMED = 5 -- vehicles of a list

local function stop(text, more) return errors.failure("refused", "setup: " .. text, more) end

-- ---- the configuration ----

--- The fields and the policy of a configuration, from a template or a file.
function M.wanted(given, name)
  if given.hours and not (given.hours > 0 and given.hours <= 24) then
    usage_error.raise("--hours is the time a day that a vehicle is awake: more than 0, at most 24", { "telemetry cost" })
  end
  if not given.fields then return templates.config(name or given.template or "charging") end
  local text = private_authority.read(given.fields)
  if not text then usage_error.raise("cannot read the file " .. given.fields, { "telemetry setup" }) end
  local config = core.json_decode(text)
  if type(config) == "table" and type(config.config) == "table" then config = config.config end
  if type(config) ~= "table" or type(config.fields) ~= "table" then
    usage_error.raise(given.fields .. " is no JSON object with the member 'fields', as in: {\"fields\": {\"Soc\": "
      .. "{\"interval_seconds\": 60}}}", { "telemetry setup" })
  end
  return config
end

--- One line with the highest price of a configuration.
function M.price_text(ceiling)
  local text = string.format("at most %.0f signals an hour; for %d vehicle%s awake %g hours a day %.0f signals, %.2f USD a month",
    ceiling.an_hour, ceiling.cars, ceiling.cars == 1 and "" or "s", ceiling.hours, ceiling.a_month, ceiling.usd_a_month)
  return text .. (ceiling.covered and ", which Tesla's credit of 10 USD a month covers" or
    ", of which Tesla's credit covers 10 USD")
end

-- ---- the steps ----

local function certificate(s)
  local paths = private_authority.paths(s.directory)
  if s.given.certificate or private_authority.read(paths.certificate) then return true end
  local host = s.given.host or files.simulated(s.environment) and "localhost"
  if not host then
    usage_error.raise("there is no certificate yet: 'fleet telemetry certificate HOST' makes it; HOST is the name by which vehicles reach "
      .. "this machine", { "telemetry certificate" })
  end
  local made, err, kind = private_authority.issue(s.directory, host)
  if not made then return nil, err, kind end
  s.say("made a private authority and a certificate for " .. host .. " in " .. s.directory)
  return true
end

local function checked(s)
  local lines = check.files { stream = s.stream, certificate = s.found.certificate, key = s.found.certificate_key, ca = s.found.ca,
    host = s.found.host, now = files.now() }
  for _, line in ipairs(check.authorities(s.stream, s.found.client_ca, files.simulated(s.environment))) do lines[#lines + 1] = line end
  local bad = report_lines.count(lines)
  if bad > 0 or not s.quiet then report_lines.print(s.out, lines) end
  if bad > 0 then return stop("the certificates have to be mended first", { checks = lines }) end
  return true
end

local function receiver(s)
  s.seen, s.refused = {}, {}
  local opened, err, kind = receiving.open(s.context, s.given, s.found, s.vins, {
    on_record = function(record)
      if not s.seen[record.vin] then
        s.seen[record.vin] = record
        s.say("first record of " .. short(record.vin) .. ": " .. receiving.record_text(record, SHOWN))
      end
    end,
    on_connection = function(event)
      local is_a_look = string.find(event.reason or "", "did not return a certificate", 1, true) -- our own check of the port
      if event.type == "refused" and not is_a_look then s.refused[#s.refused + 1] = event.reason or "no reason" end
    end,
  })
  if opened then
    s.receiver = opened
    s.say(string.format("listening on port %d", s.found.port))
    return true
  end
  if kind ~= "network" or not string.find(err.message, "in use", 1, true) then return nil, err, kind end
  s.say(string.format("port %d is in use: if your receiver listens there, its output shows the records", s.found.port))
  return true
end

local function way(s)
  local lines, unreachable = check.way { stream = s.stream, certificate = s.found.certificate, ca = s.found.ca, host = s.found.host,
    port = s.given.public_port or s.found.port }
  if not s.quiet then report_lines.print(s.out, lines) end
  if report_lines.count(lines) > 0 and not s.given.force then
    return stop("vehicles would not reach the receiver by " .. s.found.host .. (unreachable and "; some routers do not lead back to "
      .. "themselves: if it is reachable from outside, continue with --force" or ""), { checks = lines })
  end
  return true
end

-- Says which vehicles follow the configuration only in part. Their firmware costs one billed read for all of them; without an answer the
-- setup goes on, and the vehicles report the fields as errors.
local function firmware(s)
  local reply = s.client:fleet_status { vins = s.vins }
  local info = type(reply) == "table" and type(reply.vehicle_info) == "table" and reply.vehicle_info or {}
  for _, vin in ipairs(s.vins) do
    local version = type(info[vin]) == "table" and info[vin].firmware_version
    local why = type(version) == "string" and telemetry_check.firmware_sentence(s.config, version)
    if why then s.say(short(vin) .. ": " .. why) end
  end
  return true
end

local function confirmed(s)
  s.say("configuration: " .. s.name .. ", " .. #s.ceiling.fields .. " fields, " .. M.price_text(s.ceiling))
  if s.given.yes then return true end
  if s.environment.terminal(0) then
    local answer = s.environment.line("send it to " .. #s.vins .. " vehicle" .. (#s.vins == 1 and "" or "s") .. " (yes or no)")
    if answer == "yes" or answer == "y" then return true end
  end
  return stop("nothing was sent; --yes sends it")
end

local function send(s)
  local config = s.config
  config.hostname, config.port, config.ca = s.found.host, s.given.public_port or s.found.port, s.found.ca
  local result, err, kind = s.client:create_fleet_telemetry_config { vins = s.vins, config = config }
  if not result then return nil, err, kind end
  for _, one in ipairs(result.warnings or {}) do -- but those of the firmware, which the setup has shown before
    local is_simulators = one.where == "hostname" and files.simulated(s.environment) -- localhost
    if one.where ~= "vins" and not is_simulators then s.say("the configuration: " .. one.where .. " " .. one.message) end
  end
  local skipped = {}
  for _, one in ipairs(result.skipped_vehicles or {}) do
    skipped[one.vin] = true
    s.say(string.format("%s was skipped: %s%s", short(one.vin), one.reason, one.advice and ": " .. one.advice or ""))
  end
  s.left = {}
  for _, vin in ipairs(s.vins) do
    if not skipped[vin] then s.left[#s.left + 1] = vin end
  end
  if not s.left[1] then return stop("every vehicle was skipped", { skipped = result.skipped_vehicles }) end
  s.say("sent to " .. #s.left .. " vehicle" .. (#s.left == 1 and "" or "s"))
  return true
end

local function errors_text(car)
  local reply = car:fleet_telemetry_errors()
  local list = type(reply) == "table" and reply.fleet_telemetry_errors
  local newest = type(list) == "table" and list[#list]
  if type(newest) ~= "table" then return nil end
  local text = string.format("%s: %s", tostring(newest.error_name or newest.name), tostring(newest.error))
  local meaning = error_meanings.of(text)
  return text .. (newest.created_at and " (" .. tostring(newest.created_at) .. ")" or "") .. (meaning and ": " .. meaning or "")
end

-- The state of each vehicle by VIN, from the free list of the account.
local function states(s)
  local found = {}
  for _, record in ipairs(s.client:products() or {}) do
    if type(record) == "table" and record.vin then found[record.vin] = record.state end
  end
  return found
end

-- Why no record of a vehicle has arrived, as a sentence.
local function why_nothing(s, car)
  local reported = errors_text(car)
  if reported then return "the vehicle reports " .. reported end
  local state = states(s)[car.vin]
  if state and state ~= "online" then return "it is " .. state .. ": it connects when it wakes" end
  local refused = s.refused[#s.refused]
  if refused then
    local meaning = error_meanings.of_refusal(refused)
    return "a connection was refused: " .. refused .. (meaning and ": " .. meaning or "")
  end
  return "it has not connected: look from outside whether port " .. (s.given.public_port or s.found.port) .. " of " .. s.found.host
    .. " leads here (`fleet telemetry check`)"
end

-- Returns "streaming" after the first record, "adopted" when another receiver gets the records, else "missing".
local function wait_one(s, vin)
  local car = s.client:vehicle(vin)
  local synced, err, kind = car:wait_telemetry_synced { timeout = s.given.wait or 600 }
  if not synced then
    local why = kind == "timeout" and (errors_text(car) or why_nothing(s, car))
    s.say(short(vin) .. ": " .. string.gsub(err.message, "^wait_telemetry_synced: ", "") .. (why and "; " .. why or ""))
    return "missing"
  end
  s.say(short(vin) .. " has adopted it")
  if not s.receiver then return "adopted" end
  local until_ = tasks.now() + math.min(s.given.wait or FIRST_RECORD, FIRST_RECORD)
  while not s.seen[vin] and tasks.now() < until_ do tasks.sleep(0.1) end
  if s.seen[vin] then return "streaming" end
  s.say("no record of " .. short(vin) .. " within a minute: " .. why_nothing(s, car))
  return "missing"
end

-- Divides the vehicles into those to wait for and those that sleep: waiting costs reads. With --wait it waits for all.
local function awake_and_asleep(s)
  if s.given.wait then return s.left, {} end
  local awake, asleep, state = {}, {}, states(s)
  for _, vin in ipairs(s.left) do
    local list = (state[vin] or "online") == "online" and awake or asleep
    list[#list + 1] = vin
  end
  return awake, asleep
end

local function names(vins)
  local list = {}
  for i = 1, math.min(#vins, NAMED) do list[i] = short(vins[i]) end
  return table.concat(list, ", ") .. (#vins > NAMED and string.format(" and %d more", #vins - NAMED) or "")
end

local function wait(s)
  local awake, missing = awake_and_asleep(s)
  if missing[1] then
    s.say("asleep: " .. names(missing) .. ". A vehicle adopts the configuration when it wakes: 'fleet telemetry watch' shows its records")
  end
  if awake[1] then s.say("waiting until " .. names(awake) .. (#awake == 1 and " has" or " have") .. " adopted it") end
  s.result = { vins = s.vins, streaming = {}, adopted = {}, missing = missing, port = s.found.port }
  for _, result in ipairs(require("fleet").map(awake, function(vin) return wait_one(s, vin) end)) do
    if not result.ok then s.say(short(result.item) .. ": " .. tostring(result.err)) end
    table.insert(s.result[result.ok and result.value or "missing"], result.item)
  end
  if s.result.streaming[1] or s.result.adopted[1] then return true end
  return stop("no vehicle streams yet: " .. table.concat(missing, ", "), s.result)
end

--- Runs the steps. Returns { vins =, streaming =, adopted =, missing =, port = }, or nil, err, kind. streaming: a record was seen; adopted:
--- the configuration is in use, and another receiver at the port gets the records.
function M.run(context, given, words)
  local environment = context.environment
  local s = {
    context = context, environment = environment, given = given, directory = files.directory(environment, given),
    out = context.json and environment.stderr or context.out, quiet = context.json, stream = optional_module.need "stream",
    name = given.fields or given.template or "charging",
  }
  function s.say(text)
    s.out:write(show.clean(text), "\n")
    s.out:flush()
  end
  s.config = M.wanted(given)
  local good, err, kind = certificate(s)
  if not good then return nil, err, kind end
  s.found = files.read(environment, given, { "certificate", "certificate_key", "ca", "client_ca" })
  if not s.found.host then usage_error.raise("the certificate names no host: give --host", { "telemetry setup" }) end
  good, err, kind = checked(s)
  if not good then return nil, err, kind end
  s.client = context:client()
  s.vins, err, kind = receiving.vins(context, words)
  if not s.vins then return nil, err, kind end
  s.ceiling = cost.ceiling(s.config, given.hours, #s.vins)
  for _, step in ipairs { receiver, way, firmware, confirmed, send, wait } do
    good, err, kind = step(s)
    if not good then break end
  end
  if s.receiver then s.receiver:close() end
  if not good then return nil, err, kind end
  return s.result
end

return M
