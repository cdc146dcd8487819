-- silent_crowd.lua PORT COUNT: opens so many connections, says nothing on them, prints a line when all have been asked for, and
-- keeps them open until it is killed. One that is closed is opened again at once.
local cqueues = require "cqueues"
local socket = require "cqueues.socket"

local port, count = tonumber(arg[1]), tonumber(arg[2])
local controller, asked = cqueues.new(), 0

for _ = 1, count do
  controller:wrap(function()
    while true do
      local s = socket.connect { host = "127.0.0.1", port = port }
      s:onerror(function(_, _, code) return code end)
      asked = asked + 1
      s:connect(30)
      s:settimeout(60)
      s:read(1)
      s:close()
    end
  end)
end
controller:wrap(function()
  while asked < count do cqueues.sleep(0.05) end
  cqueues.sleep(0.5)
  print("all")
  io.stdout:flush()
end)
assert(controller:loop())
