-- What every host carries out, in its own process and loop; written for every Lua from 5.1 on. A host gives every(seconds, fn) and
-- after(seconds, fn) of its own loop, which has joined fleet's before; done(report) is called in the end.

local fleet = require "fleet"

local M = {}

M.vin = os.getenv "FLEET_VIN"

local function new_client(more)
  local options = { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", key = os.getenv "FLEET_KEY", timeout = 30 }
  for name, value in pairs(more or {}) do options[name] = value end
  return fleet.new(options)
end

local function wait_all(tasks)
  for _, task in ipairs(tasks) do task:wait() end
end

-- Reads and signed commands, all in flight at once.
local function in_flight(report, car, n)
  local tasks = {}
  for _ = 1, n do
    tasks[#tasks + 1] = fleet.spawn(function()
      if car:info() then report.reads = report.reads + 1 end
    end)
    tasks[#tasks + 1] = fleet.spawn(function()
      local done, err = car:flash_lights()
      if done and done.via == "signed" then report.signed = report.signed + 1 else report.failed = tostring(err) end
    end)
  end
  wait_all(tasks)
end

-- Reads until the host's timer has ticked five times while one was in flight. A call that keeps the host's loop for itself leaves
-- no tick, and the host's own time limit ends the run.
local function ticks_beside(report, car)
  while report.beside < 5 do
    local before = report.ticks
    car:info()
    report.beside = report.beside + report.ticks - before
  end
end

-- What is on the wire when a client closes ends with its true result, the rest with "closed".
local function close_in_flight(report)
  local client, tasks = new_client(), {}
  local car = client:vehicle(M.vin)
  for _ = 1, 5 do
    tasks[#tasks + 1] = fleet.spawn(function()
      local record, _, kind = car:info()
      if record or kind == "closed" then report.closed = report.closed + 1 end
    end)
  end
  fleet.sleep(0)
  client:close()
  wait_all(tasks)
end

local function cancelled(report)
  local task = fleet.spawn(function()
    fleet.sleep(60)
    report.slept = true
  end)
  fleet.sleep(0.01)
  task:cancel()
  fleet.sleep(0.01)
  report.cancelled = not report.slept
end

local function error_in_a_task(report)
  local task = fleet.spawn(function() error("boom", 0) end)
  fleet.sleep(0.02)
  local ok, why = pcall(task.wait, task)
  report.raised = not ok and tostring(why)
end

local headers = { ["content-type"] = "application/json" }
local body = '{"response":{"vin":"x","state":"asleep"}}'

local function in_pieces()
  local pieces = { string.sub(body, 1, 10), string.sub(body, 11) }
  return { status = 200, headers = headers, body = function()
    fleet.sleep(0.01)
    return table.remove(pieces, 1)
  end }
end

-- HTTP of the host: it waits, it answers from a callback of the host's loop and in pieces, it never answers, and it is cancelled.
local function http_of_the_host(report, host)
  local asked, abandoned = 0, 0
  local function never(_, later)
    asked = asked + 1
    later.abandon = function() abandoned = abandoned + 1 end
    return later
  end
  local function car_by(http) return new_client({ http = http }):vehicle(M.vin) end
  local waited = car_by(function()
    fleet.sleep(0.01)
    return { status = 200, headers = headers, body = body }
  end):info()
  local called_back = car_by(function(_, later)
    host.after(0.01, function() later(in_pieces()) end)
    return later
  end):info()
  local late
  for _, timeout in ipairs { 0.05, 1, 10 } do -- on a machine that stands still a time-out may be over before anything is asked
    if asked == 0 then late = select(3, car_by(never):honk_horn { timeout = timeout }) end
  end
  asked = 0
  local task = fleet.spawn(function() return car_by(never):honk_horn() end)
  repeat fleet.sleep(0.01) until asked == 1
  task:cancel()
  local ended, err = fleet.pcall(task.wait, task)
  report.own_http = string.format("%s,%s,%s,%s,%d", waited and waited.state, called_back and called_back.state, late,
    ended and "not cancelled" or err.kind, abandoned)
end

--- Begins; the work itself begins later, from a callback of the host.
function M.begin(host, done)
  local report = { reads = 0, signed = 0, closed = 0, ticks = 0, beside = 0, worst = 0 }
  local client = new_client()
  local last -- a host may take its time until the first
  host.every(0.01, function()
    local now = fleet.loop.clock()
    report.ticks, report.worst = report.ticks + 1, math.max(report.worst, now - (last or now) - 0.01)
    last = now
  end)
  host.after(0.1, function()
    fleet.spawn(function()
      in_flight(report, client:vehicle(M.vin), 50)
      ticks_beside(report, client:vehicle(M.vin))
      close_in_flight(report)
      cancelled(report)
      error_in_a_task(report)
      http_of_the_host(report, host)
      client:close()
      done(report)
    end)
  end)
end

--- The report as one line for the spec.
function M.line(report)
  local names = { "reads", "signed", "closed", "ticks", "beside", "cancelled", "raised", "own_http", "failed" }
  local parts = { string.format("worst_ms=%.1f", report.worst * 1000) }
  for _, name in ipairs(names) do parts[#parts + 1] = name .. "=" .. tostring(report[name]) end
  return "report " .. table.concat(parts, " ")
end

return M
