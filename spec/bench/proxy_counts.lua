-- Instructions of the process of `fleet proxy` per warm signed command, and of the yardstick in its place, by callgrind: the same
-- requests as spec/bench/proxy.lua sends, from one caller at a time or from many.
--
--   lua5.4 spec/bench/proxy_counts.lua <proxy|yardstick> [callers] [seconds of the vehicles' latency] [profile]
--
-- A count is the difference between a long and a short run. profile: a file for callgrind_annotate, of the long run. LUA names the
-- interpreter; one that is linked with symbols tells its functions by name.

local other_side = require "spec.bench.other_side"
local proxied = require "spec.bench.proxied"

local subject, callers, latency, profile = ...
callers, latency = tonumber(callers or 1), tonumber(latency or 0)
local short, long = 4 * callers + 100, 4 * callers + 600

local function instructions(count)
  local url, vehicles = other_side.start_vehicles(proxied.key, latency, subject == "proxy" and proxied.certificates)
  local command, port_of = proxied.subjects[subject](url)
  local report = proxied.directory .. "/report"
  local counted = "valgrind --trace-children=yes --log-file=%s --tool=callgrind --callgrind-out-file=%s %s"
  local line, process = other_side.start(string.format(counted, report, profile and profile .. "." .. count or "/dev/null", command))
  proxied.load(port_of(line), callers, count)
  process.stop()
  vehicles.stop()
  local file = assert(io.open(report))
  local text = file:read("a")
  file:close()
  return tonumber(string.match(text, "Collected : (%d+)")) or error("callgrind did not count: " .. text, 0)
end

local before = instructions(short)
print(string.format("%s %d callers, vehicles at %g ms: %d instructions a command", subject, callers, latency * 1e3,
  (instructions(long) - before) // (long - short)))
proxied.remove()
