-- A person at a terminal and a browser: copies what a program prints to a file, and answers the first
-- authorize address with where the browser went. `lua5.4 spec/support/consent.lua <file>`, between the
-- program's output and its input.

local visitor = require "fleet.sim.visitor"

local copy = assert(io.open(..., "w"))
local answered = false
io.stdout:setvbuf("no")
for line in io.lines() do
  copy:write(line, "\n")
  local address = string.match(line, "https?://%S+/authorize%?%S+$")
  if address and not answered then
    answered = true
    print(assert(visitor.consent(address)))
  end
end
copy:close()
