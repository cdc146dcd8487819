-- fleet run FILE: automations of a file, until they are ended.

local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"

local takes = {
  { name = "dry_run", type = "boolean", doc = "look once, tell what would be sent and what it costs, and send nothing" },
  { name = "explain", type = "boolean", doc = "tell every change of mind, not commands only" },
}

-- The file returns function(client) -> an automation or a list of them. It is code, run with the rights of who runs it.
local function load_file(context, path)
  local chunk, why = loadfile(path)
  if not chunk then usage_error.raise("'run': " .. tostring(why), { "run" }) end
  local make = chunk()
  if type(make) ~= "function" then usage_error.raise("'run': " .. path .. " must return a function(client)", { "run" }) end
  local made = context:check(make, context:client())
  local automation = require("fleet").automation
  local list = automation.is(made) and { made } or made
  for _, one in ipairs(type(list) == "table" and list or {}) do
    if not automation.is(one) then list = nil break end
  end
  if type(list) ~= "table" or #list == 0 then
    usage_error.raise("'run': the function of " .. path .. " must return an automation or a list of them", { "run" })
  end
  return list
end

local function dry_run(list)
  local reports = {}
  for i, one in ipairs(list) do
    local report, err, kind = one:dry_run()
    if not report then return nil, err, kind end
    report.name, report.explain = one.config.name, one:explain()
    reports[i] = report
  end
  return reports
end

local function line(context, one, text)
  context.progress()
  context.out:write(os.date("!%Y-%m-%d %H:%M:%SZ "), one.config.name, ": ", text, "\n")
  context.out:flush()
end

local function run_one(context, one, explain)
  return one:run { progress = function(text, event)
    if event or explain then line(context, one, text) else context.progress(one.config.name .. ": " .. text) end
  end }
end

-- An interrupt from the keyboard is the ordinary end.
local function run_all(context, list, explain)
  local fleet = require "fleet"
  local failed
  local ok, why = pcall(fleet.run, function()
    local tasks = {}
    for i, one in ipairs(list) do
      tasks[i] = fleet.spawn(function()
        local done, err = run_one(context, one, explain)
        if not done then failed = failed or err end
        for _, other in ipairs(failed and list or {}) do other:stop() end
      end)
    end
    for _, task in ipairs(tasks) do task:wait() end
  end)
  context.progress()
  if not ok and not string.find(tostring(why), "interrupted!", 1, true) then error(why, 0) end
  if failed then return nil, failed, failed.kind end
end

local function run(context, words)
  local given = options.given(context.environment, takes, words.options)
  local list = load_file(context, words.words[1])
  if given.dry_run then return dry_run(list) end
  return run_all(context, list, given.explain)
end

local function show(out, reports)
  for _, report in ipairs(reports) do
    out:write(report.explain, "\n")
    for _, action in ipairs(report.actions) do out:write("  would send ", action.call, ": ", action.why, "\n") end
    out:write("  that costs ", report.cost.text, "; a month about ", report.month.text, "\n")
  end
end

return {
  {
    name = "run", words = { "FILE" }, takes = takes, run = run, show = show,
    doc = "Runs the automations of a Lua file until Ctrl-C; see doc/manual/automations.md.",
    details = "The file returns function(client), which returns an automation or a list of them.",
  },
}
