-- Runs a vehicle's verb for many vehicles: selects them, estimates the cost, calls several at a time, prints each result, and writes a
-- journal, so that an interrupted run can be resumed without repeating a command.

local bulk_options = require "fleet.cli.bulk.options"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local estimate = require "fleet.cli.bulk.estimate"
local journals = require "fleet.cli.bulk.journal"
local options = require "fleet.cli.options"
local output = require "fleet.cli.bulk.output"
local selection = require "fleet.cli.bulk.selection"
local tables = require "fleet.util.tables"
local usage_error = require "fleet.cli.usage_error"

local M = {}

local default_concurrency = 8
local lease_seconds = 600 -- of the journal; renewed with each vehicle

-- ---- one vehicle ----

local function interrupted(raised)
  return type(raised) == "string" and string.find(raised, "interrupted!", 1, true) ~= nil
end

-- A failed read changed nothing, and its err has no outcome.
local function entry_of(work, vehicle, value, err)
  local entry = { vin = vehicle.vin, name = vehicle.name, outcome = "done" }
  if err then
    entry.outcome = work.row.write and err.outcome or "failed"
    entry.kind, entry.message, entry.reason = err.kind, err.message, err.reason
  elseif work.row.write and type(value) == "table" then
    entry.changed, entry.reason = value.changed, value.reason
  else
    entry.value = value
  end
  return entry
end

local function call_one(work, vehicle)
  local args = tables.copy(work.args, { [work.implied] = vehicle.vin })
  local ran, value, err = pcall(work.client.call, work.client, work.row.name, args, work.call_options)
  if ran then return entry_of(work, vehicle, value, err) end
  -- an error in the parameters concerns all vehicles: nothing was sent
  work.stopped = work.stopped or value
  if interrupted(value) then error(value, 0) end
  return { vin = vehicle.vin, name = vehicle.name, outcome = "not_sent", message = "the command line is wrong" }
end

local function perform_one(work, vehicle)
  if work.journal then
    local held, err = work.lease:renew()
    if not held then error("another process has taken the record of the run over: " .. err.message, 0) end
    work.journal:begin(vehicle.vin)
  end
  local entry = call_one(work, vehicle)
  if work.journal then work.journal:finish(entry) end
  return entry
end

-- ---- all of them ----

local function report(work, entry)
  work.entries[#work.entries + 1] = entry
  if entry.outcome ~= "done" then work.failed = work.failed + 1 end
  if not work.stopped then output.add(work.out, work.form, entry) end
end

local bar_width = 24

local function bar(done, total)
  local full = math.floor(done / total * bar_width)
  return "[" .. string.rep("#", full) .. string.rep(".", bar_width - full) .. "]"
end

local function progress(work, context)
  return function(done, total, result)
    if result.skipped then return end
    if not result.ok then
      work.stopped = work.stopped or result.err
      return
    end
    report(work, result.value)
    local failed = work.failed > 0 and string.format(", %d not done", work.failed) or ""
    context.progress(string.format("%s %s %d of %d%s", work.row.name, bar(done, total), done, total, failed))
  end
end

-- Leaves out the vehicles that an earlier run has finished, and reports those whose outcome is unknown.
local function still_to_do(work, list)
  local left = {}
  for _, vehicle in ipairs(list) do
    local known = work.journal and work.journal:of(vehicle.vin)
    if known and known.outcome == "unknown" and work.row.write then
      report(work, {
        vin = vehicle.vin, name = vehicle.name, outcome = "unknown", kind = known.kind, earlier = true,
        message = "unknown since an earlier run, not repeated: " .. tostring(known.message),
      })
    elseif not known or known.outcome ~= "done" then
      left[#left + 1] = vehicle
    end
  end
  return left
end

local badness = { done = 0, failed = 1, not_sent = 1, refused = 2, unknown = 3 }

-- Returns nil, err, kind of the worst outcome; its kind gives the exit status.
local function verdict(work)
  local worst, counts = nil, {}
  for _, entry in ipairs(work.entries) do
    counts[entry.outcome] = (counts[entry.outcome] or 0) + 1
    if badness[entry.outcome] > (worst and badness[worst.outcome] or 0) then worst = entry end
  end
  if not worst then return nil end
  local parts = {}
  for _, outcome in ipairs { "unknown", "refused", "not_sent", "failed", "done" } do
    if counts[outcome] then parts[#parts + 1] = counts[outcome] .. " " .. string.gsub(outcome, "_", " ") end
  end
  local kind = worst.kind or "service"
  local text = string.format("%s: %d vehicles: %s", work.row.name, #work.entries, table.concat(parts, ", "))
  return errors.failure(kind, text, { outcome = worst.outcome ~= "failed" and worst.outcome or nil })
end

local function call_all(context, work, list, concurrency)
  output.begin(work.out, work.form)
  local left = still_to_do(work, list)
  local ran, raised = pcall(require("fleet").map, left, function(vehicle) return perform_one(work, vehicle) end, {
    concurrency = concurrency or default_concurrency, progress = progress(work, context),
    skip = function() return work.stopped ~= nil end,
  })
  context.progress()
  if work.journal then
    work.journal:close()
    work.lease:release()
  end
  if work.stopped then context:check(error, work.stopped, 0) end
  output.finish(work.out, work.form, work.entries)
  if not ran then error(raised, 0) end -- interrupted: the results so far are printed
  return verdict(work)
end

-- ---- the verb ----

local function client_of(context)
  local given = options.for_client(context.environment, context.options)
  given.pacing = given.pacing or {} -- keep within the rate limits when several calls run at once
  return context:client(given)
end

local function implied_name(row)
  for _, param in ipairs(row.params) do
    if param.implied then return param.name end
  end
end

-- Opens the journal and takes its lease: two runs at once would repeat each other's commands. Raises when another process holds the lease.
local function open_record(client, path, row, args)
  local file = io.open(path, "ab")
  if file then file:close() end
  local lease, err, kind = core.context(client).store:lease("bulk/" .. core.sha256(core.real_path(path) or path), lease_seconds)
  if kind == "busy" then usage_error.raise("--resume: another run is at work on " .. path) end
  if not lease then return nil, err, kind end
  local ran, journal = pcall(journals.open, path, row, args)
  if ran then return journal, lease end
  lease:release()
  error(journal, 0)
end

-- The VINs that the journal does not list as done. The others cost nothing.
local function vins_left(list, journal)
  local vins = {}
  for _, vehicle in ipairs(list) do
    local known = journal and journal:of(vehicle.vin)
    if not known or known.outcome ~= "done" and known.outcome ~= "unknown" then vins[#vins + 1] = vehicle.vin end
  end
  return vins
end

local function tell_estimate(context, found)
  if not context.json then return context.out:write(estimate.text(found), "\n") end
  context.out:write(core.json_encode(found, "beyond may_go_beyond"), "\n")
end

--- Makes the row's call for the vehicles that the options of the command line select, and prints the results. args: the arguments without
--- the vehicle. Returns nil, or nil, err, kind of the worst result.
function M.run(context, row, args, line, call_options)
  local given = options.given(context.environment, bulk_options.list, line.options)
  local client = client_of(context)
  local list, err, kind = selection.find(context, given, call_options)
  if not list then return nil, err, kind end
  local journal, lease
  if given.dry_run then
    journal = given.resume and journals.open(given.resume, row, args, true)
    local found
    found, err, kind = estimate.of(client, row, vins_left(list, journal), call_options, context.given)
    if not found then return nil, err, kind end
    tell_estimate(context, found)
    return nil
  end
  if given.resume then
    journal, lease, kind = open_record(client, given.resume, row, args)
    if not journal then return nil, lease, kind end
  end
  local work = {
    row = row, args = args, implied = implied_name(row), client = client, call_options = call_options, journal = journal, lease = lease,
    out = context.out, form = context.json and "json" or given.csv and "csv" or "table", entries = {}, failed = 0,
  }
  return call_all(context, work, list, given.concurrency)
end

return M
