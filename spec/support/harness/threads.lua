-- What each state of spec/support/harness/threads.c does: load, make clients, fail and succeed on the wire, decode, leave things open.
local fleet = require "fleet"
local core = require "fleet.core"

-- The pauses between repeats shrink to a thousandth.
local clock, began = fleet.loop.clock, fleet.loop.clock()
fleet.loop.speed = 1000
fleet.loop.clock = function()
  local mono, wall = clock()
  return began + (mono - began) * 1000, wall
end

local client = fleet.new {
  token = "a-token", base_url = "http://127.0.0.1:9", timeout = 20,
}
local car = client:vehicle("5YJ3E1EA7KF000001")
local value, err, kind = car:info()
local refused = kind == "network" or kind == "timeout" -- a busy machine may not get that far
assert(value == nil and refused and err.message, "a refused connection is a failure")

local answers = fleet.new {
  token = "a-token",
  http = function() return { status = 200, headers = {}, body = "{\"response\":{\"state\":\"online\",\"id\":12345678901234567}}" } end,
}
local record = assert(answers:vehicle("5YJ3E1EA7KF000002"):info())
assert(record.state == "online" and record.id == "12345678901234567")

local results = fleet.map({ 1, 2, 3, 4 }, function(n)
  fleet.sleep(0.001)
  return n * n
end, { concurrency = 2 })
assert(#results == 4 and results[4].value == 16)
assert(core.json_encode({ a = { 1, 2 } }) == "{\"a\":[1,2]}")
client:close()
