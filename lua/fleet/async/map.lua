-- fleet.map: calls a function for each item of a list, several at a time.

local check_options = require "fleet.util.check_options"
local errors = require "fleet.util.errors"
local task = require "fleet.async.task"
local scheduler = require "fleet.async.loop"
local semaphores = require "fleet.async.semaphore"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local map_options = { "concurrency", "progress", "skip", "longest_pause" }
local default_longest_pause = 300

local function check(list, fn, options)
  local mt = type(list) == "table" and getmetatable(list)
  if type(mt) == "table" and (mt.__name == "fleet.pages" or mt.__name == "fleet.throwing") then
    errors.usage("map: a list is needed, and records come page by page: pass list:collect(), or gather what `for … in list do` gives")
  end
  if type(list) ~= "table" then errors.usage("map: a list is needed, got " .. type(list)) end
  if type(fn) ~= "function" then errors.usage("map: a function is needed, got " .. type(fn)) end
  check_options.names("map", "option", options, map_options)
  check_options.seconds("map", "longest_pause", options.longest_pause)
  local concurrency = options.concurrency or 16
  local sound = type(concurrency) == "number" and concurrency >= 1
  if not sound then errors.usage("map: concurrency must be 1 or more") end
end

local function record(item, ok, value, err)
  if not ok then return { item = item, ok = false, err = value } end
  return { item = item, ok = value ~= nil and value ~= false or err == nil, value = value, err = err }
end

-- After a 429: nothing new starts before the end of the pause. A pause longer than the caller allows ends the list.
local function heed(work, err)
  if type(err) ~= "table" or err.kind ~= "rate_limited" then return end
  if err.paced then return end -- the limit of one vehicle, which a client with pacing keeps itself
  local pause = err.retry_after or 0
  if pause > work.longest_pause then work.refused = err end
  work.paused_until = math.max(work.paused_until, scheduler.now() + pause)
end

local function result_of(work, item)
  if work.skip and work.skip(item) then return { item = item, ok = false, skipped = true } end
  while not work.refused and scheduler.now() < work.paused_until do task.sleep(work.paused_until - scheduler.now()) end
  if work.refused then return { item = item, ok = false, err = work.refused } end
  local result = record(item, pcall(work.fn, item))
  heed(work, result.err)
  return result
end

local function take_items(work)
  while work.following <= work.total do
    local i = work.following
    work.following = i + 1
    work.results[i] = result_of(work, work.list[i])
    work.done = work.done + 1
    if work.progress then work.progress(work.done, work.total, work.results[i]) end
  end
end

local function start_workers(work)
  while work.semaphore.free > work.starting and work.following + work.starting <= work.total do
    work.starting = work.starting + 1
    work.workers[#work.workers + 1] = task.spawn(function()
      work.starting = work.starting - 1
      semaphores.with_permit(work.semaphore, take_items, work)
    end)
  end
end

-- More workers may start while these are waited for.
local function wait_for_all(work)
  local i = 1
  while work.workers[i] do
    work.workers[i]:wait()
    i = i + 1
  end
end

--- Calls fn(item) for every item of the list in tasks, at most options.concurrency (default 16) at once; tasks that wait for a vehicle to
--- wake do not count. fn returns a value or nil, err. options.progress(done, total, result) is called after each; options.skip(item)
--- returns true to leave one out. After a 429 nothing new starts for the time that the service states; if that is more than
--- options.longest_pause seconds (300), the remaining items end with that error. Returns a list of { item =, ok =, value =, err =, skipped
--- = }; one failure never stops the rest.
return function(list, fn, options)
  options = options == nil and {} or options
  check(list, fn, options)
  local work = {
    list = list, fn = fn, total = #list, progress = options.progress, skip = options.skip, following = 1, done = 0, starting = 0,
    longest_pause = options.longest_pause or default_longest_pause, paused_until = -math.huge, results = {}, workers = {},
  }
  work.semaphore = semaphores.new(math.floor(options.concurrency or 16), function() start_workers(work) end)
  start_workers(work)
  local ok, failure = pcall(wait_for_all, work)
  if not ok then
    work.following = work.total + 1 -- nothing new starts for a cancelled caller
    error(failure, 0)
  end
  return work.results
end
