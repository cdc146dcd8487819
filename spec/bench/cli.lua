-- What the command line costs from the start of its process to the end: `fleet --version` and a read, beside curl that does the same.
-- CPU time of the processes, in turns of one run; the least of some rounds counts, because what else the machine does only adds.
-- Remarks, no budget: an interpreter, a module and its client are loaded where curl is one program.

local nginx = require "spec.support.servers.nginx"

local rounds, times = 4, 15

-- Seconds of the processor for one run of a command: what the shell says of its children.
local function seconds(command)
  local script = string.format("i=0; while [ $i -lt %d ]; do %s >/dev/null || exit 1; i=$((i+1)); done; times", times, command)
  local pipe = assert(io.popen("sh -c '" .. script .. "'", "r"))
  local text = pipe:read("*a")
  assert(pipe:close(), command .. " failed")
  local of_children = assert(string.match(text, "\n([^\n]+)"), "the shell tells no times")
  local sum = 0
  for minutes, rest in string.gmatch(of_children, "(%d+)m([%d.]+)s") do sum = sum + 60 * tonumber(minutes) + tonumber(rest) end
  return sum / times
end

local function compare(name, ours, theirs)
  local least = { math.huge, math.huge }
  for _ = 1, rounds do
    least[1], least[2] = math.min(least[1], seconds(ours)), math.min(least[2], seconds(theirs))
  end
  print(string.format("cli: %s: %.1f ms, %.2f x the %.1f ms of curl", name, least[1] * 1e3, least[1] / least[2], least[2] * 1e3))
end

local server = assert(nginx.start {})
local ok, failure = pcall(function()
  local fleet = "FLEET_TOKEN=t FLEET_BASE_URL=" .. server.url .. " lua5.4 lua/fleet/cli/fleet "
  compare("--version", fleet .. "--version", "curl --version")
  compare("a read", fleet .. "products --json", "curl -sf -H \"Authorization: Bearer t\" " .. server.url .. "/api/1/products")
end)
server.stop()
assert(ok, failure)
