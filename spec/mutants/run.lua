-- Small mistakes, one at a time, each against the specs that concern it: a mistake that no spec notices is a hole in the
-- specs. `make mutants` prints a line per mistake and the share that was noticed, and fails below 95 %. The mistakes are
-- the rows of the other files of this folder: { file, what stands there, what is put in its place, the specs }, and
-- `hangs = true` where noticing it means that a spec runs out of time. It works in a copy of the tree below build/.
-- `lua5.4 spec/mutants/run.lua FOLDER [NAME …]`: the folder for the copy, and which files of rows (default: all).

local applied = require "spec.support.harness.mistake"

local folder = assert(arg[1], "a folder for the copy of the tree is needed")
local limit = 100 -- seconds for the specs of one mistake
local quick = "CFLAGS=-O1" -- without what a debugger needs

local function quote(text)
  return "'" .. string.gsub(text, "'", "'\\''") .. "'"
end

local function run(command)
  local _, _, status = os.execute(command)
  return status
end

local function lines(command)
  local pipe, list = assert(io.popen(command)), {}
  for line in pipe:lines() do list[#list + 1] = line end
  pipe:close()
  return list
end

local function content(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

-- ---- the copy ----

local function refresh_copy()
  assert(run("mkdir -p " .. quote(folder)) == 0)
  local copied = "tar -cf - --exclude=./build --exclude=./.git . | tar -xmf - -C " .. quote(folder)
  assert(run(copied) == 0, "the tree could not be copied")
  assert(run("make -s -j2 -C " .. quote(folder) .. " build " .. quick) == 0, "the copy does not build")
end

-- Every probe holds the whole core: only those are linked anew that the specs load.
local function probes_of(specs)
  local found = "grep -rhoE 'probe_[a-z_]+' " .. table.concat(specs, " ") .. " spec/support --include=*.lua | sort -u"
  local list = {}
  for _, name in ipairs(lines(found)) do list[#list + 1] = "build/plain/lib/" .. name .. ".so" end
  return "PROBES=" .. quote(table.concat(list, " "))
end

-- ---- one mistake ----

local function run_specs(specs)
  return run(string.format("cd %s && timeout -k 10 %d make -s specs %s %s SPECS=%s >build/mutant.log 2>&1 </dev/null", quote(folder),
    limit, quick, probes_of(specs), quote(table.concat(specs, " "))))
end

local function outcome_of(row)
  if string.find(row[1], "^src/") then
    local built = run(string.format("make -s -j2 -C %s build probes %s %s >/dev/null 2>&1", quote(folder), quick, probes_of(row[4])))
    if built ~= 0 then return "does not build" end
  end
  local status = run_specs(row[4])
  if status == 124 or status == 137 then return row.hangs and "noticed" or "hangs" end
  return status == 0 and "missed" or "noticed"
end

local function try(row)
  local path = folder .. "/" .. row[1]
  local whole = content(path)
  local changed, why = applied(whole, row[2], row[3])
  if not changed then return why end
  write(path, changed)
  local outcome = outcome_of(row)
  write(path, whole)
  return outcome
end

-- ---- all ----

local function names()
  if #arg > 1 then return { table.unpack(arg, 2) } end
  local list = {}
  for _, path in ipairs(lines "ls spec/mutants/*.lua") do
    local name = string.match(path, "([%w_]+)%.lua$")
    if name ~= "run" then list[#list + 1] = name end
  end
  return list
end

-- Without a mistake its specs pass: otherwise nothing would be proved by their failing.
local proved = {}
local function assert_pass(specs)
  for _, spec in ipairs(specs) do
    if not proved[spec] then assert(run_specs { spec } == 0, spec .. " fails without a mistake") end
    proved[spec] = true
  end
end

local function main()
  refresh_copy()
  local tried, noticed = 0, 0
  for _, name in ipairs(names()) do
    for i, row in ipairs(dofile("spec/mutants/" .. name .. ".lua")) do
      assert_pass(row[4])
      local outcome = try(row)
      tried = tried + 1
      if outcome == "noticed" then noticed = noticed + 1 end
      print(string.format("%-9s %s %d: %s: %s", outcome, name, i, row[1], (string.gsub(row[2], "\n.*", " …"))))
      io.stdout:flush()
    end
  end
  print(string.format("%d mistakes, %d noticed (%.1f %%)", tried, noticed, 100 * noticed / tried))
  os.exit(noticed >= 0.95 * tried)
end

main()
