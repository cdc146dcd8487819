-- A process that runs charge_by and can be killed: its time is virtual, its service is whoever reads the pipe.
--   automation_child.lua <requests> <replies> <store> <from, UTC seconds> <days>

local core = require "fleet.core"
local fleet = require "fleet"
local months = require "spec.support.month"

local requests, replies = assert(io.open(arg[1], "w")), assert(io.open(arg[2], "r"))

local function ask(request)
  local _, now = fleet.loop.clock()
  requests:write(core.json_encode {
    now = now, method = request.method, url = request.url, headers = request.headers, body = request.body,
  }, "\n")
  requests:flush()
  local reply = assert(core.json_decode(replies:read("l") or "null"))
  if reply.lost then return nil, reply.lost, reply.sent end
  return reply
end

months.charge_by(nil, {
  http = ask, store = assert(fleet.store.file(arg[3])), start = tonumber(arg[4]), days = tonumber(arg[5]), habits = {},
})
