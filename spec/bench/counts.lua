-- Instruction counts of the hot paths, user mode, by callgrind: what a change costs, on a machine that does other things too.
--
--   lua5.4 spec/bench/counts.lua write      writes spec/bench/counts.txt
--   lua5.4 spec/bench/counts.lua check      compares with it: ends non-zero when a path costs more than 3 % more
--
-- A count is the difference between a short and a long run, so that start and end do not count; each is the least of three, because when
-- a reply comes and when the collector runs differs by 3 % from run to run of a read. It belongs to the compiler
-- and the libraries that stand beside it in the file: with others nothing is compared, and that is said.

local nginx = require "spec.support.servers.nginx"

local file = "spec/bench/counts.txt"
local tolerance = 0.03
local paths = { { "read", 100, 1100 }, { "plain_command", 100, 1100 }, { "signed_command", 100, 2100 },
  { "tariff_check", 50, 550 }, { "token_record", 100, 2100 } }

local function output_of(command)
  local pipe = assert(io.popen(command .. " 2>/dev/null", "r"))
  local text = pipe:read("a")
  pipe:close()
  return (string.gsub(text, "%s+$", ""))
end

-- What the counts depend on besides the code.
local function versions()
  local list = { "compiler " .. string.match(output_of((os.getenv "CC" or "cc") .. " --version"), "^[^\n]*") }
  local names = "'lua5.4' 'liblua5.4-0' 'libcurl4*' 'libssl3*' 'libprotobuf-c1' 'libc6' 'nginx' 'valgrind'"
  local packages = output_of("dpkg-query -W -f '${Package} ${Version}\\n' " .. names .. " | sort")
  for line in string.gmatch(packages, "[^\n]+ %S+") do list[#list + 1] = line end
  list[#list + 1] = "machine " .. output_of "uname -m"
  return list
end

local function instructions(path, rounds, url)
  local text = output_of(string.format("valgrind --log-fd=1 --tool=callgrind --callgrind-out-file=/dev/null lua5.4 "
    .. "spec/bench/hot_paths.lua %s %d %s", path, rounds, url))
  return tonumber(string.match(text, "Collected : (%d+)")) or error(path .. ": callgrind did not count: " .. text, 0)
end

local tries = 3

local function least(path, rounds, url)
  local found = math.huge
  for _ = 1, tries do found = math.min(found, instructions(path, rounds, url)) end
  return found
end

local function measured()
  local server = assert(nginx.start {})
  local counts = {}
  local ok, failure = pcall(function()
    for _, path in ipairs(paths) do
      local name, short, long = path[1], path[2], path[3]
      local count = (least(name, long, server.url) - least(name, short, server.url)) / (long - short)
      counts[#counts + 1] = { name = name, count = math.floor(count + 0.5) }
      print(name, counts[#counts].count)
    end
  end)
  server.stop()
  assert(ok, failure)
  return counts
end

local function write()
  local out = { "# Instructions per operation, written by `make bench-counts`; spec/bench/counts.lua says what they are." }
  for _, line in ipairs(versions()) do out[#out + 1] = "with " .. line end
  for _, one in ipairs(measured()) do out[#out + 1] = one.name .. " " .. one.count end
  local handle = assert(io.open(file, "w"))
  handle:write(table.concat(out, "\n"), "\n")
  handle:close()
end

local function recorded()
  local with, counts = {}, {}
  for line in io.lines(file) do
    local name, count = string.match(line, "^([%w_]+) (%d+)$")
    if name then counts[name] = tonumber(count) end
    with[#with + 1] = string.match(line, "^with (.+)$")
  end
  return with, counts
end

local function check()
  local with, known = recorded()
  if table.concat(with, "\n") ~= table.concat(versions(), "\n") then
    print("not comparable: " .. file .. " was written with other versions than this machine has")
    return true
  end
  local good = true
  for _, one in ipairs(measured()) do
    local before = assert(known[one.name], one.name .. " is not in " .. file .. ": run make bench-counts")
    local change = one.count / before - 1
    local word = change > tolerance and "over" or change < -tolerance and "below: run make bench-counts" or "ok"
    print(string.format("%s %d instructions, %+.1f %% %s", one.name, one.count, change * 100, word))
    good = good and change <= tolerance
  end
  return good
end

if arg[1] == "write" then return write() end
os.exit(check(), true)
