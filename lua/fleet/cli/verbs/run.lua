-- fleet run FILE: runs the automations of a file until a signal ends them.

local automation_file = require "fleet.cli.automation_file"
local core = require "fleet.core"
local failure = require "fleet.cli.failure"
local options = require "fleet.cli.options"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield
local notify_command = require "fleet.cli.notify_command"
local show = require "fleet.cli.show"
local status_page = require "fleet.cli.status_page"
local usage_error = require "fleet.cli.usage_error"

local takes = {
  { name = "dry_run", type = "boolean", doc = "look once, print what would be sent and what it costs, and send nothing" },
  { name = "explain", type = "boolean", doc = "print every decision, not commands only" },
  { name = "once", type = "boolean", doc = "do what is due now and end, for cron" },
  { name = "notify_command", type = "string", placeholder = "COMMAND",
    doc = "shell command for what a person should know; it gets FLEET_TEXT, FLEET_SEVERITY and others" },
  { name = "listen", type = "string", placeholder = "[ADDRESS]", alone = "127.0.0.1:0", fits = { "^unix:/", ":%d+$" },
    doc = "show a status page at 127.0.0.1:port, [::1]:port or unix:/path; without an address at a free port" },
  { name = "state", type = "string", placeholder = "DIRECTORY",
    doc = "where the automations keep what they remember; by default the store of the client" },
}

-- ---- --dry-run ----

-- What an automation controls: the VIN of its vehicle or the id of its site.
local function subject_of(one)
  local _, _, id = core.context(one.handle)
  return (one.config.car and "vehicle " or "site ") .. tostring(id)
end

local function with_subject(err, one)
  local copy = {}
  for name, value in pairs(err) do copy[name] = value end
  copy.message = string.format("%s of %s: %s", one.config.name, subject_of(one), err.message)
  return core.err(copy)
end

local function dry_run(list)
  local reports = {}
  for i, one in ipairs(list) do
    local report, err = one:dry_run()
    if not report then
      err = with_subject(err, one)
      return nil, err, err.kind
    end
    report.name, report.subject, report.explain = one.config.name, subject_of(one), one:explain()
    reports[i] = report
  end
  return reports
end

-- Prints the commands and not the state after them, which is only assumed.
local function print_reports(out, reports)
  for _, report in ipairs(reports) do
    out:write(show.clean(report.name), " of ", show.clean(report.subject), "\n")
    if #report.actions == 0 then out:write("  nothing to send: ", show.clean(report.why or "nothing was decided"), "\n") end
    for _, action in ipairs(report.actions) do out:write("  would send ", action.call, ": ", show.clean(action.why), "\n") end
    out:write("  cost: ", report.cost.text, "; a month: about ", report.month.text, "\n")
  end
end

-- ---- running ----

-- The time of a line by the automation's clock, which its sentences use; without a zone in UTC.
local function time_text(zone)
  if not zone then return os.date "!%Y-%m-%d %H:%M:%SZ" end
  local t = zone:localtime(os.time())
  return string.format("%04d-%02d-%02d %02d:%02d:%02d %s", t.year, t.month, t.day, t.hour, t.min, t.sec, t.abbreviation)
end

local function print_line(context, one, text)
  context.progress()
  context.out:write(time_text(one.config.local_zone), " ", one.config.name, ": ", text, "\n")
  context.out:flush()
end

-- Prints a notification, and runs the shell command of --notify for it.
local function notify(context, one, hook)
  return function(event)
    print_line(context, one, event.severity .. ": " .. show.clean(event.text))
    if hook then notify_command.start(hook, event) end
  end
end

local function run_one(context, one, given)
  local explain, hook = given.explain, given.notify_command
  return one:run { once = given.once, wait = not given.once, notify = notify(context, one, hook), progress = function(text, event)
    if event or explain then print_line(context, one, text) else context.progress(one.config.name .. ": " .. text) end
  end }
end

local function stop_all(list)
  for _, one in ipairs(list) do one:stop() end
end

-- Runs a list until every automation has stopped. Returns nil, or nil, err, kind of the first that failed.
local function run_list(context, list, given)
  local fleet = require "fleet"
  local failed, raised
  fleet.run(function()
    local tasks = {}
    for i, one in ipairs(list) do
      tasks[i] = fleet.spawn(function()
        local ran, done, err = pcall(run_one, context, one, given)
        if ran and done then return end
        if ran then failed = failed or err else raised = raised or done end
        stop_all(list)
      end)
    end
    for _, task in ipairs(tasks) do task:wait() end
  end)
  context.progress()
  if raised then error(raised, 0) end
  if failed then return nil, failed, failed.kind end
end

-- Reloads the file. When it has an error, the error is reported and the running automations continue.
local function read_again(context, path, list)
  local ok, fresh = pcall(automation_file.load, path, context:client())
  context.environment.stderr:write("fleet: ", ok and "read again: " or "kept what runs: ", path, "\n")
  if ok then return fresh end
  failure.report(context.environment, fresh, { given = context.given })
  return list
end

-- Runs the list, and after each SIGHUP the list that the file then gives.
local function run_until_ended(context, path, state, given)
  while true do
    state.read_again = false
    local _, err, kind = run_list(context, state.list, given)
    if err then return nil, err, kind end
    if state.ended or not state.read_again then return nil end
    state.list = read_again(context, path, state.list)
  end
end

-- Runs until an interrupt or SIGTERM, which end it after the call in flight; a second signal ends it at once. SIGHUP reloads the file.
local function run_all(context, path, state, given)
  local signals = assert(core.signals())
  local watch = require("fleet").loop.watch(signals:fd(), "r", function()
    local name = signals:take()
    if not name then return end
    if name == "hangup" then
      state.read_again = true
    elseif state.ended then
      error("interrupted!", 0)
    else
      state.ended = true
    end
    stop_all(state.list)
  end)
  local ok, raised, err, kind = pcall(run_until_ended, context, path, state, given)
  watch:close()
  signals:close()
  if not ok then error(raised, 0) end
  if err then return nil, err, kind end
end

-- ---- the verb ----

local function check(given)
  if given.listen and (given.once or given.dry_run) then
    usage_error.raise("'run': --listen shows what goes on, and --" .. (given.once and "once" or "dry-run") .. " ends at once", { "run" })
  end
  return given.listen and status_page.address(given.listen)
end

-- Moves the automations' memory out of the client's store, which keeps the tokens.
local function keep_apart(client, directory)
  if not directory then return nil end
  local store, err, kind = require("fleet.store").file(directory)
  if not store then return nil, err, kind end
  core.context(client).automation_store = store
  return store
end

local function run_and_show(context, path, list, given, place)
  local state = { list = list }
  local page, err, kind
  if place then
    page, err, kind = status_page.open(place, path, function() return state.list end)
    if not page then return nil, err, kind end
    context.out:write("status page: ", page:url(), "\n")
    context.out:flush()
  end
  local ok, value
  ok, value, err, kind = pcall(run_all, context, path, state, given)
  if page then page:close() end
  if not ok then error(value, 0) end
  return value, err, kind
end

local function run_file(context, path, given, place)
  local list = automation_file.load(path, context:client())
  if given.dry_run then return dry_run(list) end
  return run_and_show(context, path, list, given, place)
end

local function run(context, line)
  local given = options.given(context.environment, takes, line.options)
  local place = check(given)
  local store, failed, kind = keep_apart(context:client(), given.state)
  if failed then return nil, failed, kind end
  local ok, value, err
  ok, value, err, kind = pcall(run_file, context, line.words[1], given, place)
  if store then store:close() end
  if not ok then error(value, 0) end
  return value, err, kind
end

return {
  {
    name = "run", words = { "FILE" }, takes = takes, run = run, show = print_reports,
    doc = "Runs the automations of a Lua file until Ctrl-C or SIGTERM; SIGHUP reads the file again. See doc/manual/automations.md.",
    details = "The file returns function(client), which returns an automation or a list of them.",
  },
}
