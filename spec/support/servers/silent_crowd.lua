-- silent_crowd.lua PORT COUNT SECONDS: opens so many connections, says nothing on them, prints how many stand as soon as all do, or
-- after so long, and keeps them open until it is killed. One that is closed is opened again at once.
local cqueues = require "cqueues"
local socket = require "cqueues.socket"

local port, count, seconds = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3])
local controller, standing = cqueues.new(), 0

for _ = 1, count do
  controller:wrap(function()
    while true do
      local s = socket.connect { host = "127.0.0.1", port = port }
      s:onerror(function(_, _, code) return code end)
      if s:connect(90) then standing = standing + 1 end
      s:settimeout(90)
      s:read(1)
      s:close()
    end
  end)
end
controller:wrap(function()
  local ends = cqueues.monotime() + seconds
  while standing < count and cqueues.monotime() < ends do cqueues.sleep(0.05) end
  print(standing)
  io.stdout:flush()
end)
assert(controller:loop())
