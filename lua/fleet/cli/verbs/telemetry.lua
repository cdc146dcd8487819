-- fleet telemetry serve | watch | setup | check | certificate | cost | errors | decode | plot: receives telemetry of vehicles.

local collector = require "fleet.cli.collector"
local core = require "fleet.core"
local prices = require "fleet.budget.prices"
local error_meanings = require "fleet.cli.telemetry.error_meanings"
local errors = require "fleet.util.errors"
local files = require "fleet.cli.telemetry.files"
local input = require "fleet.cli.input"
local options = require "fleet.cli.options"
local optional_module = require "fleet.util.optional_module"
local private_authority = require "fleet.telemetry.private_authority"
local receiving = require "fleet.cli.telemetry.receiving"
local report_lines = require "fleet.cli.report_lines"
local show = require "fleet.cli.show"
local tasks = require "fleet.async"
local usage_error = require "fleet.cli.usage_error"

local function joined(...)
  local list = {}
  for _, one in ipairs { ... } do
    for _, option in ipairs(one) do list[#list + 1] = option end
  end
  return list
end

local function need_stream()
  local stream, why = optional_module.find "stream"
  if not stream then return errors.failure("unsupported", why) end
  return stream
end

local function no_pairs(name, line)
  if line.pairs[1] then usage_error.raise(string.format("'%s' takes no '%s='", name, line.pairs[1].name), { name }) end
end

-- ---- serve and watch ----

local serve_takes = joined(files.receiver_options, receiving.options, receiving.output_options)
local watch_takes = joined(files.receiver_options, receiving.options)

local SILENCE = 30 -- seconds without a connection until the hint
local silence_text = "fleet: no vehicle has connected yet. A sleeping vehicle connects when it wakes; an awake one may try only once a "
  .. "minute. 'fleet telemetry check' tests the port; 'fleet telemetry errors' shows what vehicles report\n"

-- where: the result of receiving.outputs.
local function serve(context, given, words, where)
  local stream, err, kind = need_stream()
  if not stream then return nil, err, kind end
  local found = files.read(context.environment, given, { "certificate", "certificate_key", "client_ca" })
  local vins
  if not given.any_vehicle then
    vins, err, kind = receiving.vins(context, words)
    if not vins then return nil, err, kind end
  end
  local function write(text)
    context.out:write(text, "\n")
    context.out:flush()
  end
  local handlers, connected = { outputs = where.outputs, ack = where.ack }, false
  local connection_line
  if where.printed then connection_line = where.printed == "text" and receiving.connection_text or receiving.connection_line end
  if where.printed == "text" then
    function handlers.on_record(record)
      write(receiving.record_text(record))
      return true
    end
  end
  function handlers.on_connection(event)
    connected = connected or event.type == "connected"
    if connection_line then write(connection_line(event)) end
  end
  local receiver
  receiver, err, kind = receiving.open(context, given, found, vins, handlers)
  if not receiver then return nil, err, kind end
  context.environment.stderr:write(string.format("fleet: receives on port %d for %s, until Ctrl-C\n", receiver.port or found.port,
    vins and #vins .. " vehicle" .. (#vins == 1 and "" or "s") or "every vehicle"))
  local hint = tasks.spawn(function()
    tasks.sleep(SILENCE)
    if not connected then context.environment.stderr:write(silence_text) end
  end)
  local ok, why = pcall(receiving.until_ended)
  hint:cancel()
  local finished, lost, lost_kind = receiver:finish()
  if not ok then error(why, 0) end
  if not finished then return nil, lost, lost_kind end
end

local function run_serve(context, line)
  no_pairs("telemetry serve", line)
  collector.collect_in_steps()
  local given = options.given(context.environment, serve_takes, line.options)
  local where, err, kind = receiving.outputs(context, given)
  if not where then return nil, err, kind end
  return serve(context, given, line.words, where)
end

local function run_watch(context, line)
  no_pairs("telemetry watch", line)
  local where = { printed = context.json and "lines" or "text", ack = "at_once" }
  where.outputs = context.json and { receiving.lines_output(context.out) } or {}
  return serve(context, options.given(context.environment, watch_takes, line.options), line.words, where)
end

-- ---- setup ----

local fields_options = {
  { name = "template", type = "string", placeholder = "NAME",
    doc = "what to stream: charging (the default), solar, presence or everything" },
  { name = "fields", type = "string", placeholder = "FILE", doc = "a JSON file with the member fields, in place of a template" },
  { name = "hours", type = "number", doc = "hours a day that a vehicle is awake, for the price; by default 3" },
}

local setup_takes = joined(files.options, receiving.options, fields_options, {
  { name = "public_port", type = "integer", doc = "the port that vehicles connect to, where the router forwards another one" },
  { name = "wait", type = "number", placeholder = "SECONDS",
    doc = "for each vehicle until it has adopted the configuration; by default 600 for an awake one, and a sleeping one is not awaited" },
  { name = "yes", type = "boolean", doc = "send without asking" },
  { name = "force", type = "boolean", doc = "continue although this machine does not reach the receiver by its name" },
})

local function run_setup(context, line)
  no_pairs("telemetry setup", line)
  local stream, err, kind = need_stream()
  if not stream then return nil, err, kind end
  local given = options.given(context.environment, setup_takes, line.options)
  local result
  require("fleet").run(function()
    result, err, kind = context:check(require("fleet.cli.telemetry.setup").run, context, given, line.words)
  end)
  return result, err, kind
end

local function show_setup(out, value)
  if value.streaming[1] then out:write("streaming: ", table.concat(value.streaming, ", "), "\n") end
  if value.adopted[1] then
    out:write("adopted: ", table.concat(value.adopted, ", "), "\nNo record was seen here: the output of the receiver on port ", value.port,
      " shows it. When none comes, 'fleet telemetry errors' shows why.\n")
  end
  if value.missing[1] then out:write("not yet: ", table.concat(value.missing, ", "), "\n") end
end

-- ---- check ----

local check_takes = joined(files.options, {
  { name = "no_connection", type = "boolean", doc = "look at the files only" },
})

local function run_check(context, line)
  local stream, err, kind = need_stream()
  if not stream then return nil, err, kind end
  local check = require "fleet.telemetry.check"
  local given = options.given(context.environment, check_takes, line.options)
  local found = files.read(context.environment, given, { "certificate", "certificate_key", "ca" })
  if not found.host then usage_error.raise("the certificate names no host: give --host", { "telemetry check" }) end
  local about = { stream = stream, certificate = found.certificate, key = found.certificate_key, ca = found.ca, host = found.host,
    port = found.port, now = files.now() }
  local lines = check.files(about)
  local function add(more)
    for _, one in ipairs(more) do lines[#lines + 1] = one end
  end
  local client_ca = private_authority.read(found.paths.client_ca)
  if client_ca then
    add(check.authorities(stream, client_ca, files.simulated(context.environment)))
  else
    add { { name = "vehicles' authorities", ok = false, message = "there is no " .. found.paths.client_ca,
      fix = check.TESLAS_FILE .. ", and save it there or name it with --client-ca" } }
  end
  if not given.no_connection then add((check.way(about))) end
  local count = report_lines.count(lines)
  if count == 0 then return { ok = true, checks = lines } end
  if not context.json then report_lines.print(context.out, lines, context.environment.colours()) end
  return errors.failure("invalid", string.format("telemetry check: %d thing%s to mend", count, count == 1 and "" or "s"),
    { ok = false, checks = lines })
end

-- ---- certificate ----

local certificate_takes = {
  files.directory_option,
  { name = "days", type = "integer", doc = "how long the certificate lasts, by default 730; the authority lasts ten years" },
}

local function run_certificate(context, line)
  local given = options.given(context.environment, certificate_takes, line.options)
  if given.days and (given.days < 1 or given.days > 3650) then
    usage_error.raise("--days is 1 to 3650, the life of the authority", { "telemetry certificate" })
  end
  return context:check(private_authority.issue, files.directory(context.environment, given), line.words[1],
    given.days)
end

local function show_certificate(out, value)
  out:write(value.new_authority and "made a private authority of ten years and " or "kept the authority and made ", "a certificate for ",
    show.clean(value.host), ", good until ", os.date("!%Y-%m-%d", value.until_utc), "\n")
  for _, name in ipairs { "authority", "certificate", "key", "authority_key" } do out:write("  ", value[name], "\n") end
  if value.new_authority then
    out:write "'telemetry setup' sends authority.pem to vehicles. Keep authority-key.pem safe: it signs the next certificate.\n"
  elseif value.earlier_host and value.earlier_host ~= value.host then
    out:write("The earlier certificate was for ", show.clean(value.earlier_host), ". Vehicles that connect to that name need a new "
      .. "configuration: run 'telemetry setup' for them.\n")
  else
    out:write "Vehicles that have authority.pem need no new configuration. A running receiver reads the new certificate by itself.\n"
  end
end

-- ---- cost ----

local cost_takes = joined(fields_options, { { name = "vehicles", type = "integer", doc = "how many, by default 1" } })

local where_to_send = { hostname = true, port = true, ca = true } -- missing in a configuration whose price is asked for

local function run_cost(context, line)
  local given = options.given(context.environment, cost_takes, line.options)
  local name, templates, cost = line.words[1], require "fleet.telemetry.templates", require "fleet.telemetry.cost"
  local wanted = require("fleet.cli.telemetry.setup").wanted
  if line.words[2] or line.pairs[1] then usage_error.raise("'telemetry cost' takes one configuration", { "telemetry cost" }) end
  if given.vehicles and given.vehicles < 1 then usage_error.raise("--vehicles is 1 or more", { "telemetry cost" }) end
  if not name and not given.fields and not given.template then
    local list = {}
    for i, one in ipairs(templates.names) do
      list[i] = cost.ceiling(wanted(given, one), given.hours, given.vehicles)
      list[i].name, list[i].doc = one, templates.doc(one)
    end
    return { templates = list }
  end
  -- A word that is no template is a file, unless it is a misspelt template.
  local is_file = name and not templates.doc(name) and (string.find(name, "[./]") or private_authority.read(name))
  if is_file then given.fields, name = name, nil end
  local config = context:check(wanted, given, name)
  local value, telemetry_check = cost.ceiling(config, given.hours, given.vehicles), require "fleet.resources.telemetry_check"
  value.needs, value.problems = telemetry_check.needs(config), {}
  for _, problem in ipairs(telemetry_check.check(config).problems) do
    if not where_to_send[problem.where] then table.insert(value.problems, problem) end
  end
  return value
end

local MOST_NAMES = 10

-- What needs a firmware, by that firmware: { "firmware 2024.26 or newer: Soc, …", … }.
local function firmware_lines(needs)
  local by_since, versions = {}, {}
  for _, need in ipairs(needs) do
    local list = by_since[need.since]
    if not list then
      list, versions[#versions + 1] = {}, need.since
      by_since[need.since] = list
    end
    list[#list + 1] = need.what
  end
  table.sort(versions, core.firmware_older)
  for i, since in ipairs(versions) do
    local list = by_since[since]
    versions[i] = "firmware " .. since .. " or newer: " .. (#list > MOST_NAMES and #list .. " fields" or table.concat(list, ", "))
  end
  return versions
end

local function show_cost(out, value)
  local price_text = require("fleet.cli.telemetry.setup").price_text
  for _, one in ipairs(value.templates or {}) do
    out:write(string.format("%-11s %s\n            %s\n", one.name, one.doc, price_text(one)))
  end
  if value.templates then return end
  for _, field in ipairs(value.fields) do
    out:write(string.format("%-42s every %6g s  %8.0f signals an hour\n", show.clean(field.name), field.interval, field.an_hour))
  end
  for _, text in ipairs(firmware_lines(value.needs)) do out:write(show.clean(text), "\n") end
  for _, problem in ipairs(value.problems) do out:write("FIX ", show.clean(problem.where .. " " .. problem.message), "\n") end
  out:write(price_text(value), ".\nA field is sent only when it has changed: what really comes is far less.\n")
end

-- ---- errors ----

local function run_errors(context, line)
  no_pairs("telemetry errors", line)
  local vins, err, kind = receiving.vins(context, line.words)
  if not vins then return nil, err, kind end
  local list = {}
  for _, vin in ipairs(vins) do
    local reply, failure, why = context:client():vehicle(vin):fleet_telemetry_errors()
    if not reply then return nil, failure, why end
    for _, one in ipairs(reply.fleet_telemetry_errors or reply) do
      if type(one) == "table" then
        one.vin = one.vin or vin
        list[#list + 1] = one
      end
    end
  end
  return list
end

local function show_errors(out, list)
  if not list[1] then return out:write("no vehicle reports an error of telemetry\n") end
  for _, one in ipairs(list) do
    local text = string.format("%s  %s: %s", tostring(one.created_at or ""), tostring(one.error_name or one.name or ""),
      tostring(one.error or ""))
    out:write(show.clean(one.vin), "  ", show.clean(text), "\n")
    local meaning = error_meanings.of(text)
    if meaning then out:write("    -> ", meaning, "\n") end
  end
end

-- ---- decode ----

local function run_decode(context, line)
  local stream, err, kind = need_stream()
  if not stream then return nil, err, kind end
  local word = line.words[1]
  local text = input.bytes(context.environment, "FILE", word == "-" and word or "@" .. string.gsub(word, "^@", ""))
  return require("fleet.cli.telemetry.decode").decode(stream, text)
end

-- ---- plot ----

local plot_takes = {
  { name = "output", type = "string", placeholder = "FILE", doc = "file for the picture; by default it is printed" },
  { name = "vin", type = "string", placeholder = "VIN", doc = "whose records, if the file has several vehicles; or the end of the VIN" },
}

-- The records with values in the output of `serve`, and the VINs that they are of. A last line without its end was cut when the receiver
-- was killed, and is left out.
local function records_in(text)
  local list, vins, seen, number = {}, {}, {}, 0
  for line, line_end in string.gmatch(text, "([^\n]*)(\n?)") do
    number = number + 1
    local record = false
    if string.find(line, "%S") then record = core.json_decode(line) end
    if record == nil or record and type(record) ~= "table" then
      if line_end == "" and list[1] then break end
      local why = string.format("line %d is no record: 'telemetry plot' takes what 'telemetry serve' printed as JSON", number)
      usage_error.raise(why, { "telemetry plot" })
    end
    if record and record.topic == "V" and type(record.at) == "number" and type(record.vin) == "string" then
      list[#list + 1] = record
      if not seen[record.vin] then
        seen[record.vin] = true
        vins[#vins + 1] = record.vin
      end
    end
  end
  return list, vins
end

-- The records of one vehicle: of the only one, or of the one whose VIN ends in `wanted`.
local function records_of_one(text, wanted)
  local list, vins = records_in(text)
  local chosen, matching = {}, {}
  for _, vin in ipairs(vins) do
    if not wanted or string.sub(vin, -#wanted) == string.upper(wanted) then matching[#matching + 1] = vin end
  end
  if #matching > 1 or vins[1] and not matching[1] then
    local what = matching[1] and "there are several vehicles: name one with --vin" or "there is no record of " .. wanted
    usage_error.raise(what .. "; the file has " .. table.concat(vins, ", "), { "telemetry plot" })
  end
  for _, record in ipairs(list) do
    if record.vin == matching[1] then chosen[#chosen + 1] = record end
  end
  return chosen
end

local function run_plot(context, line)
  local given = options.given(context.environment, plot_takes, line.options)
  local word = line.words[1]
  local text = input.bytes(context.environment, "FILE", word == "-" and word or "@" .. string.gsub(word, "^@", ""))
  local picture, err, kind = require("fleet.chart.drive").svg(records_of_one(text, given.vin))
  if not picture then return nil, err, kind end
  if given.output then return input.write(given.output, picture) end
  return picture
end

local function show_plot(out, value)
  if type(value) == "table" then out:write("written to ", value.path, "\n") else out:write(value) end
end

return {
  {
    name = "telemetry.serve", usage = "telemetry serve [VIN …]", takes = serve_takes, run = run_serve,
    doc = "Receives what vehicles stream, and prints it, until Ctrl-C or SIGTERM. Without VINs those of the account are admitted.",
    details = "See doc/manual/telemetry.md.",
  },
  {
    name = "telemetry.watch", usage = "telemetry watch [VIN …]", takes = watch_takes, run = run_watch,
    doc = "Receives what vehicles stream, and prints a line of text for each record, with units, until Ctrl-C.",
  },
  {
    name = "telemetry.setup", usage = "telemetry setup [VIN …]", takes = setup_takes, run = run_setup, show = show_setup,
    json = function(value) return core.json_encode(value, "vins streaming adopted missing") end,
    doc = "Makes vehicles stream to this machine: checks certificate and port, shows the price, sends the configuration and waits for "
      .. "the first record; beside a running receiver until the configuration is adopted. Each step says what is wrong.",
  },
  {
    name = "telemetry.check", words = {}, explains_itself = true, local_only = true, takes = check_takes, run = run_check,
    show = function(out, value, context) report_lines.print(out, value.checks, context.environment.colours()) end,
    doc = "Checks the receiver's certificate, chain and port as a vehicle does, and the vehicles' authorities.",
  },
  {
    name = "telemetry.certificate", words = { "HOST" }, local_only = true, takes = certificate_takes, run = run_certificate,
    show = show_certificate,
    doc = "Makes a private authority (ten years) and a certificate for the receiver, or renews the certificate; vehicles need no new "
      .. "configuration.",
  },
  {
    name = "telemetry.cost", usage = "telemetry cost [TEMPLATE | FILE]", local_only = true, takes = cost_takes, run = run_cost,
    show = show_cost,
    doc = "Shows the highest price of a configuration; without one, of each template. Sends nothing.",
  },
  {
    name = "telemetry.errors", usage = "telemetry errors [VIN …]", takes = {}, run = run_errors, show = show_errors,
    json = function(list) return list[1] and core.json_encode(list) or "[]" end,
    doc = "Shows the errors that vehicles report about their streams, and explains them, for "
      .. prices.text(prices.published.data) .. " a vehicle.",
  },
  {
    name = "telemetry.plot", words = { "FILE" }, local_only = true, takes = plot_takes, run = run_plot, show = show_plot,
    doc = "Draws a drive from the output of 'telemetry serve' as an SVG picture: route, speed and charge.",
  },
  {
    name = "telemetry.decode", words = { "FILE" }, local_only = true, run = run_decode,
    doc = "Decodes a vehicle's message: an envelope or a payload, as bytes, hex or base64; - is standard input.",
  },
}
