-- What a server has written is not yet what its client can read: a second small write waits in the server's kernel until the first one
-- is acknowledged, which takes 40 ms or more. arrived(port) waits until all that the sockets at this local port wrote is acknowledged.

local function under_way(port)
  local found = false
  for line in io.lines("/proc/net/tcp") do
    local own, unacknowledged = line:match("^ *%d+: %x+:(%x+) %x+:%x+ %x+ (%x+):%x+ ")
    found = found or own and tonumber(own, 16) == port and tonumber(unacknowledged, 16) > 0
  end
  return found
end

return function(port)
  for _ = 1, 1500 do
    if not under_way(port) then return end
    os.execute("sleep 0.01")
  end
  error "what was written does not arrive"
end
