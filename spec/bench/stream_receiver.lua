-- The receiver that is measured, in a process of its own: stream_receiver.lua DIRECTORY. Prints its port. Each line of its input is
-- answered with a number: "cpu" seconds, "resident" kilobytes, "turn" the longest turn of the loop in seconds of CPU time, "records".
-- Garbage is collected as in `fleet telemetry serve`, which the manual recommends to scripts with many vehicles.

local fleet = require "fleet"
local files = require "spec.support.harness.files"

require("fleet.cli.collector").collect_in_steps()
local directory, records, longest, done, asked = arg[1], 0, 0, false, 0
local receiver = assert(require("fleet.telemetry").new {
  host = "127.0.0.1", port = 0, certificate = files.read(directory .. "/leaf.pem"),
  certificate_key = files.read(directory .. "/leaf-key.pem"), client_ca = files.read(directory .. "/vehicle-ca.pem"),
  vehicles = function() return true end, on_notice = function() end,
  on_record = function() records = records + 1 end,
})

local answers = { cpu = os.clock, turn = function() return longest end, records = function() return records end }

function answers.resident()
  collectgarbage()
  collectgarbage()
  local file = assert(io.open "/proc/self/statm")
  local pages = select(2, string.match(file:read "a", "(%d+) (%d+)"))
  file:close()
  return tonumber(pages) * 4
end

fleet.loop.watch(0, "r", function()
  local answer = answers[io.read "l" or ""]
  asked = asked + 1
  done = answer == nil
  if answer then io.write(answer(), "\n") end
  io.flush()
end)
io.write(receiver.port, "\n")
io.flush()
while not done do
  fleet.loop.wait(fleet.loop.timeout())
  local began, before = os.clock(), asked
  fleet.loop.step()
  if asked == before then longest = math.max(longest, os.clock() - began) end -- an answer collects garbage
end
receiver:close()
