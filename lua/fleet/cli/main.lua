-- The command `fleet`: finds the verb, runs it, prints its result, and exits with a status.
--
-- Verbs are rows of the service or rows of fleet.cli.verbs; this file has no code for a particular verb.

local core = require "fleet.core"
local failure = require "fleet.cli.failure"
local usage_error = require "fleet.cli.usage_error"
local options = require "fleet.cli.options"
local show = require "fleet.cli.show"
local verbs = require "fleet.cli.verbs"
local argv = require "fleet.cli.argv"

local M = {}

-- ---- what a verb gets ----

-- Calls are logged with --verbose only. Other messages (tokens that could not be saved, an unsafe store) are always logged, except those
-- that the failure of this command reports itself.
local function log_to(environment, verbose)
  return function(event)
    if not verbose and (event.method or not event.message or event.name == "sign_in_needed") then return end
    local parts = {
      event.method, event.path, event.method and (event.status or event.kind or "-"), event.ms and string.format("%.0f ms", event.ms),
      event.billing, event.request_id, event.name, not event.method and event.message,
    }
    local text = {}
    for i = 1, 8 do text[#text + 1] = parts[i] and tostring(parts[i]) or nil end
    environment.stderr:write("fleet: ", show.clean(table.concat(text, " ")), "\n")
  end
end

-- Progress is one line of a terminal; it is cleared at the end.
local function progress_on(environment)
  local terminal
  return function(text)
    if terminal == nil then terminal = environment.terminal(2) end
    if not terminal then return end
    environment.stderr:write("\r\27[K", text and show.clean(text) or "")
    environment.stderr:flush()
  end
end

-- The core names a file by its last part. A person may have several files of that name, so the whole path is shown.
local function with_whole_path(err, path)
  local last = type(path) == "string" and string.match(path, "[^/]+$")
  local from, to = string.find(err.message or "", "'" .. (last or "/") .. "'", 1, true)
  if from then err.message = string.sub(err.message, 1, from) .. path .. string.sub(err.message, to) end
  return err
end

local context_mt = {}
context_mt.__index = context_mt

--- The log of this command: calls only with --verbose, other messages always.
function context_mt:log()
  return log_to(self.environment, self.options.verbose ~= nil)
end

--- The client of this command, made at first use: from the given options, else from those of the command line.
function context_mt:client(given)
  if not self.made then
    given = given or options.for_client(self.environment, self.options)
    given.log = self:log()
    self.given = given
    local made, err = self:check(self.environment.new, given)
    self.unmade = not made
    if not made then error(with_whole_path(err, given.key), 0) end
    self.made = made
  end
  return self.made
end

local SILENCE = 2 -- seconds

--- Calls a function like `check` does. When that takes longer than SILENCE, a terminal shows the text and the seconds.
function context_mt:waiting(text, fn, ...)
  local fleet = require "fleet"
  local started = fleet.loop.clock()
  local ticker = fleet.spawn(function()
    fleet.sleep(SILENCE)
    while true do
      self.progress(string.format("%s: %s, %.0f s", self.name, text, fleet.loop.clock() - started))
      fleet.sleep(1)
    end
  end)
  local function pass(ok, ...)
    ticker:cancel()
    self.progress()
    if not ok then error((...), 0) end
    return ...
  end
  return pass(pcall(self.check, self, fn, ...))
end

--- Calls a function whose raised texts are usage errors.
function context_mt:check(fn, ...)
  local function pass(ok, first, ...)
    if ok then return first, ... end
    local text = type(first) == "string" and string.gsub(first, "^[^\n:]+:%d+: ", "")
    if not text or string.find(first, "attempt to ", 1, true) or text == "interrupted!" then error(first, 0) end
    usage_error.raise((string.gsub(text, "^fleet%.new: ", "")), { self.name })
  end
  return pass(pcall(fn, ...))
end

-- ---- one command ----

-- Members that are always lists: an empty Lua table does not show whether it is a list.
local list_names = "value problems warnings normalisations not_granted"

local function print_result(context, verb, value)
  if value == nil then return end
  if context.json then
    context.out:write(verb.json and verb.json(value) or core.json_encode(value, list_names), "\n")
  else
    (verb.show or show.value)(context.out, value, context)
  end
end

local function perform(context, line)
  if line.options.help and verbs.group(line.words) then
    context.out:write(require("fleet.cli.help").page(line.words, context.environment.columns()))
    return 0
  end
  local verb, rest = verbs.find(line.words)
  line.words = rest
  if line.options.version then verb = verbs.find { "version" } end
  if line.options.help or not verb then
    context.out:write(require("fleet.cli.help").text(verb, context.environment.columns()))
    return 0
  end
  context.name, context.row, context.takes_wake = verbs.spoken(verb.name), verb.row, verb.options.wake ~= nil
  context.explains_itself = verb.explains_itself or verb.local_only
  options.check(line.options, verb.options, context.name)
  verbs.check_words(verb, line)
  local value, err = verb.run(context, line)
  if err then error(err, 0) end
  print_result(context, verb, value)
  return verb.status and verb.status(context, value) or 0
end

local function asked_for_json(arguments)
  for _, text in ipairs(arguments) do
    if text == "--json" or text == "--json=true" then return true end
  end
  return false
end

local function end_well(context, status)
  if context.made then context.made:close() end
  local written, why = context.out:flush()
  if written or status ~= 0 then return status end
  context.environment.stderr:write("fleet: the output could not be written: ", tostring(why), "\n")
  return 1
end

-- A usage error or an err is passed on as it is; any other value is a bug in fleet, reported with its traceback.
local function with_place(raised)
  if type(raised) ~= "string" or string.find(raised, "interrupted!", 1, true) then return raised end
  return debug.traceback(raised, 2)
end

--- Runs one command line and returns the exit status. arguments: list of arguments; given: replaces parts of fleet.cli.environment.
function M.main(arguments, given)
  local environment = require("fleet.cli.environment").new(given)
  local context = setmetatable({
    environment = environment, out = environment.stdout, json = asked_for_json(arguments),
    progress = progress_on(environment), options = {},
  }, context_mt)
  show.columns = environment.columns
  local ok, status = xpcall(function()
    local known
    known, context.name = verbs.options_of(arguments)
    local line = argv.split(arguments, known)
    context.options = line.options
    return perform(context, line)
  end, with_place)
  if not ok then
    environment.stdout:flush()
    status = failure.report(environment, status, context)
  end
  return end_well(context, status)
end

return M
