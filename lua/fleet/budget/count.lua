-- Billed calls, counted in the store by account, vehicle, day and month.
--
-- Without a budget, a call is one addition in memory. The store is written at most every second and at close. When many vehicles must be
-- written, each call that ends writes a few, so that none blocks the loop for all. With a budget, the call is counted in the store before
-- it is sent, atomically for all processes: two concurrent calls cannot both take the last one. The count of an attempt that is not billed
-- is taken back.
--
-- Keys: count/<account>/<month> and count/<account>/<month>/<vin>, with a counter per class for the month ("data") and one for each day
-- ("data/22"); count/<account>/<month>/vehicles/<digit> has the names of the counted vehicles.
-- day ("data/22"); count/<account>/<month>/vehicles/<digit> names the vehicles that were counted.

local limits = require "fleet.budget.limits"
local periods = require "fleet.budget.period"
local prices = require "fleet.budget.prices"
local tasks = require "fleet.async"

local M = {}

local kept_for = 400 * 86400 -- seconds: a year can be compared with the previous one
local flush_every = 1 -- seconds
local written_at_once = 8 -- vehicles
local named_at_once = 64 -- vehicles
local shards = 10

-- ---- keys ----

local function account_key(account, month)
  return "count/" .. account .. "/" .. month
end

local function shard_of(vin)
  return string.byte(vin, -1) % shards
end

local function vehicles_key(account, month, shard)
  return account_key(account, month) .. "/vehicles/" .. shard
end

M.account_key, M.vehicles_key, M.shards = account_key, vehicles_key, shards

--- The key with the counts of one vehicle.
function M.vehicle_key(account, month, vin)
  return account_key(account, month) .. "/" .. vin
end

-- ---- the meter of a client ----

--- The meter of a client. config: its options; store(): its store; application and key: the names for limits per application and per key,
--- or nil.
function M.new(config, store, application, key)
  return {
    config = config, account = config.account, store = store, application = application, key = key,
    limits = config.budgets and limits.read(config.budgets) or nil, prices = prices.of(config.prices),
    pending = {}, writing = nil, reached = nil, leaving = {}, indexed = {}, unnamed = {}, written = -math.huge, period = nil,
    unended = {}, due = false,
  }
end

-- ---- counted in memory ----

-- Queues a vehicle that was not counted this month, to be added to the list of its shard.
local function await_naming(meter, vin)
  local shard = shard_of(vin)
  local waiting = meter.unnamed[shard] or {}
  meter.unnamed[shard] = waiting
  waiting[#waiting + 1] = vin
end

-- Keys of limits over several accounts end with "/"; a VIN does not.
local function is_vin(target)
  return target ~= "" and string.sub(target, -1) ~= "/"
end

-- target: a VIN, "" for the account, or the key prefix of a limit over several accounts.
local function note(meter, target, class, amount)
  local counts = meter.pending[target]
  if not counts then
    counts = {}
    meter.pending[target] = counts
    if is_vin(target) and not meter.indexed[target] then await_naming(meter, target) end
  end
  counts[class] = (counts[class] or 0) + amount
end

-- Adds zeros for the other classes, so that the store returns their totals too.
local function zeros(amounts, suffix)
  for _, name in ipairs(prices.classes) do
    amounts[name], amounts[name .. suffix] = amounts[name] or 0, amounts[name .. suffix] or 0
  end
  return amounts
end

local function amounts_of(counts, suffix)
  local amounts = {}
  for class, count in pairs(counts) do amounts[class], amounts[class .. suffix] = count, count end
  return amounts
end

-- Starts an addition in the store. undo() is called when it fails; done(totals) when it succeeds, or nil.
local function begin_add(meter, key, amounts, undo, done)
  local leaving = meter.leaving
  leaving[#leaving + 1] = { answer = meter.store():begin("add", key, amounts, { ttl = kept_for }), undo = undo, done = done }
end

-- A list is written as a whole, so vehicles that wait are written together with the first one that must be.
local function names_with(meter, vin, shard)
  local names, waiting = { [vin] = 1 }, meter.unnamed[shard] or {}
  for _ = 2, named_at_once do
    local other = table.remove(waiting)
    if other and not meter.indexed[other] then names[other] = 1 end
  end
  return names
end

local function index_vehicle(meter, vin, month)
  if meter.indexed[vin] then return end
  local shard = shard_of(vin)
  local names = names_with(meter, vin, shard)
  for name in pairs(names) do meter.indexed[name] = true end
  begin_add(meter, vehicles_key(meter.account, month, shard), names, function()
    for name in pairs(names) do meter.indexed[name] = nil end
  end)
end

local function key_of(meter, target, month)
  if target == "" then return account_key(meter.account, month) end
  return is_vin(target) and M.vehicle_key(meter.account, month, target) or target .. month
end

local function write_one(meter, target, counts, period)
  if is_vin(target) then index_vehicle(meter, target, period.month) end
  local amounts = amounts_of(counts, period.suffix)
  local watched = counts.signal and meter.signals_written
  if watched then zeros(amounts, period.suffix) end
  begin_add(meter, key_of(meter, target, period.month), amounts, function()
    for class, count in pairs(counts) do note(meter, target, class, count) end
  end, watched and function(totals) watched(target, totals, counts.signal, period) end)
end

-- Collects the results of the last writes. Failed ones are kept for the next time.
local function collect(meter)
  local leaving, failed = meter.leaving, nil
  meter.leaving = {}
  for _, one in ipairs(leaving) do
    local totals, err = one.answer()
    if not totals then
      one.undo()
      failed = err
    elseif one.done then
      one.done(totals)
    end
  end
  return failed
end

-- Starts a round of writing: what has been counted is written from now on, and new counts wait. Counts that could not be written are
-- included.
local function begin_writing(meter)
  collect(meter)
  if meter.writing then return end -- another task is writing
  meter.writing, meter.reached, meter.pending = meter.pending, nil, {}
end

-- While the store waits, other tasks may count.
local function write_some(meter, most)
  local left = most
  while meter.writing and left > 0 do
    local target, counts = next(meter.writing, meter.reached)
    meter.reached, left = target, left - 1
    if target then write_one(meter, target, counts, meter.period) else meter.writing = nil end
  end
  meter.due = meter.writing ~= nil
end

--- Sends some of the counts in memory to the store; meter.due says whether more remain. Waits only for what was sent before.
function M.send(meter)
  if not meter.writing then begin_writing(meter) end
  write_some(meter, written_at_once)
end

--- Writes the counts in memory. Returns true, or nil, err, kind.
function M.flush(meter)
  write_some(meter, math.huge)
  begin_writing(meter)
  write_some(meter, math.huge)
  local failed = collect(meter)
  if failed then return nil, failed, failed.kind end
  return true
end

local midnight_slack = 60 -- seconds: a clock that is corrected by less around midnight has not jumped

local function is_unended(period, mono)
  return mono < period.ends_mono - midnight_slack
end

-- If the wall clock was set to another day, the limits of the previous day count until that day ends by the monotonic clock.
local function keep_unended(meter, before, period, mono)
  local kept = {}
  if before then meter.unended[#meter.unended + 1] = before end
  for _, one in ipairs(meter.unended) do
    local same = one.month == period.month and one.suffix == period.suffix
    if not same and is_unended(one, mono) then kept[#kept + 1] = one end
  end
  meter.unended = kept
end

-- The present day and its end. Counts of a day that has ended are dropped.
local function period_at(meter, wall)
  local period = meter.period
  if period and wall < period.day_ends and wall >= period.day_ends - 86400 then return period end
  if period then M.flush(meter) end
  local mono = tasks.now()
  local before = period
  period = periods.at(wall)
  period.ends_mono = mono + period.day_ends - wall
  keep_unended(meter, before, period, mono)
  if not meter.period or meter.period.month ~= period.month then meter.indexed, meter.unnamed = {}, {} end
  meter.period = period
  return period
end

local function write_in_time(meter, wall)
  if wall - meter.written >= flush_every or wall < meter.written then meter.written, meter.due = wall, true end
end

--- Counts a billed call: the whole cost of a call without budgets. vin: nil when it concerns no vehicle.
function M.billed(meter, class, vin, wall)
  local period, pending = meter.period, meter.pending
  if not period or wall >= period.day_ends or wall < period.day_ends - 86400 then
    period_at(meter, wall)
    pending = meter.pending
  end
  local account, own = pending[""], pending[vin]
  if account and account[class] then account[class] = account[class] + 1 else note(meter, "", class, 1) end
  if own and own[class] then own[class] = own[class] + 1 elseif vin then note(meter, vin, class, 1) end
  write_in_time(meter, wall)
end

-- ---- counted before sending ----

local scopes = { "account", "vehicle", "key", "application" }

-- Limits over several accounts: the key prefixes of their counts, by scope.
local function caps_of(meter)
  return {
    key = meter.key and "count-key/" .. meter.key .. "/",
    application = meter.application and "count-application/" .. meter.application .. "/",
  }
end

--- The keys with limits: { key =, limits =, scope = }.
function M.limited_keys(meter, vin, month)
  local list, by_scope = {}, { account = account_key(meter.account, month), vehicle = vin and M.vehicle_key(meter.account, month, vin) }
  for scope, key in pairs(caps_of(meter)) do by_scope[scope] = key .. month end
  for _, scope in ipairs(scopes) do
    if meter.limits and meter.limits[scope] and by_scope[scope] then
      list[#list + 1] = { key = by_scope[scope], limits = meter.limits[scope], scope = scope }
    end
  end
  return list
end

local function step_of(class, suffix, amount)
  return zeros({ [class] = amount, [class .. suffix] = amount }, suffix)
end

-- Takes back the counts of a call. A failed addition was probably not counted; a count that cannot be taken back errs on the safe side.
local function take_back(meter, entry)
  for _, one in ipairs(entry) do
    local step = step_of(entry.class, one.period.suffix, -1)
    if one.answer() then meter.store():begin("add", one.key, step, { ttl = kept_for }) end
  end
end
M.take_back = take_back

-- The end of a day that the wall clock has left is found by the monotonic clock.
local function reset_of(entry, one, limit)
  local period = one.period
  if period == entry.period then return limit.period == "day" and period.day_ends or period.month_ends end
  local mono, wall = tasks.loop.clock()
  return wall + period.ends_mono - mono
end

local function facts_of(meter, entry, one, limit, totals)
  local period = one.period
  local calls = {}
  for _, class in ipairs(prices.classes) do calls[class] = totals[limit.period == "day" and class .. period.suffix or class] end
  return {
    limit = limit.name, scope = one.scope, period = limit.period, most = limit.most, calls = calls,
    spent = limit.class and calls[limit.class] or prices.usd(meter.prices, calls),
    resets_at = reset_of(entry, one, limit),
  }
end

-- A function that returns a known answer, any number of times.
local function known(answer)
  local have, totals, err
  return function()
    if not have then have, totals, err = true, answer() end
    return totals, err
  end
end

local function add_keys(meter, entry, period)
  for _, one in ipairs(M.limited_keys(meter, entry.vin, period.month)) do
    one.period = period
    entry[#entry + 1] = one
  end
end

--- Starts to count a call before it is sent, under each key with limits; more = true: a following command of the store is sent in the same
--- write. Returns an entry for `admit`.
function M.ask(meter, class, vin, wall, more)
  local period, mono = period_at(meter, wall), tasks.now()
  local entry = { class = class, vin = vin, period = period, counted = {} }
  add_keys(meter, entry, period)
  for _, before in ipairs(meter.unended) do
    if is_unended(before, mono) then add_keys(meter, entry, before) end
  end
  for i, one in ipairs(entry) do
    local step = step_of(class, one.period.suffix, 1)
    one.answer = known(meter.store():begin("add", one.key, step, { ttl = kept_for }, more or i < #entry))
  end
  return entry
end

-- The first limit of one key that the call exceeds, with the key's totals; and the store's failure.
local function look(meter, entry, one, forced, warn)
  local totals, err = one.answer()
  if not totals then return nil, nil, err end
  local beyond, warned = limits.judge(one.limits, totals, one.period.suffix, meter.prices, entry.class)
  if beyond and not forced then return beyond, totals end
  if one.period ~= entry.period then return end
  entry.counted[one.scope] = true
  for _, limit in ipairs(warned) do warn(facts_of(meter, entry, one, limit, totals)) end
end

-- The totals without this call.
local function without(totals, entry, one)
  local rest = {}
  for name, total in pairs(totals) do rest[name] = total end
  for _, name in ipairs { entry.class, entry.class .. one.period.suffix } do rest[name] = rest[name] - 1 end
  return rest
end

--- Whether the call may be sent. forced = true: limits are ignored. Returns the entry, for `charge`; or nil and { limit =, scope =, period
--- =, most =, spent =, calls = { class = n }, resets_at = } of the exceeded limit; or nil, nil, err when it could not be counted.
--- warn(facts) is called for a limit that has reached its warning level.
function M.admit(meter, entry, forced, warn)
  for _, one in ipairs(entry) do
    local beyond, totals, err = look(meter, entry, one, forced, warn)
    if beyond or err and not forced then
      take_back(meter, entry)
      return nil, beyond and facts_of(meter, entry, one, beyond, without(totals, entry, one)), err
    end
  end
  if entry.counted.vehicle then index_vehicle(meter, entry.vin, entry.period.month) end
  return entry
end

--- Ends an entry: billed or not.
function M.charge(meter, entry, billed, wall)
  if not billed then return take_back(meter, entry) end
  local account, vin = not entry.counted.account, not entry.counted.vehicle and entry.vin or nil
  if not account and not vin then return end
  period_at(meter, wall)
  if account then note(meter, "", entry.class, 1) end
  if vin then note(meter, vin, entry.class, 1) end
  write_in_time(meter, wall)
end

-- ---- signals, counted as they arrive ----

--- Counts signals that a vehicle has streamed. They cannot be rejected, so no limit is checked before.
function M.signals(meter, vin, amount, wall)
  period_at(meter, wall)
  note(meter, "", "signal", amount)
  note(meter, vin, "signal", amount)
  for scope, target in pairs(caps_of(meter)) do
    if meter.limits and meter.limits[scope] then note(meter, target, "signal", amount) end
  end
  write_in_time(meter, wall)
end

--- Calls warn(facts, vin) once for each limit that signals bring to its warning level. vin: nil unless the limit is a vehicle's.
function M.watch_signals(meter, warn)
  if not meter.limits then return end
  function meter.signals_written(target, totals, amount, period)
    local scope = target == "" and "account" or is_vin(target) and "vehicle" or string.match(target, "^count%-(%a+)")
    local list = meter.limits[scope] or {}
    for _, limit in ipairs(limits.crossed(list, totals, period.suffix, meter.prices, "signal", amount)) do
      warn(facts_of(meter, { period = period }, { period = period, scope = scope }, limit, totals), scope == "vehicle" and target or nil)
    end
  end
end

return M
