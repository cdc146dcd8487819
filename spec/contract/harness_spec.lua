-- The harness of the specs: nothing that a spec does ends the run or holds it for ever.

local files = require "spec.support.harness.files"
local needs = require "spec.support.harness.needs"
local process = require "spec.support.harness.process"

local quote = process.quote

-- Runs spec files of these texts in a run of their own with a limit of seconds. Returns what it printed and its status.
local function run(seconds, texts)
  local directory = process.temporary("harness")
  local paths = {}
  for i, text in ipairs(texts) do paths[i] = quote(files.write(directory .. "/file" .. i .. "_spec.lua", text)) end
  local busted = process.lua .. " /usr/bin/busted"
  local pipe = io.popen(string.format("FLEET_SPEC_LIMIT=%d timeout 120 " .. busted .. " -o TAP %s 2>&1; echo status $?", seconds,
    table.concat(paths, " ")))
  local out = pipe:read("a")
  pipe:close()
  process.execute("rm -r " .. quote(directory))
  return out, tonumber(string.match(out, "status (%d+)\n$"))
end

local fine = "it('goes on', function() assert.is_true(true) end)"

describe("a spec that", function()
  it("writes to a program that is gone fails by itself, and the run goes on", function()
    local out, status = run(60, { [[
      it("writes", function()
        local pipe = io.popen("exec true", "w")
        local written, why
        for _ = 1, 1000 do
          written, why = pipe:write(string.rep("x", 100000))
          if not written then break end
        end
        pipe:close()
        assert(written, why)
      end)]], fine })
    assert.matches("not ok 1 - writes", out, 1, true)
    assert.matches("Broken pipe", out, 1, true)
    assert.matches("ok 2 - goes on", out, 1, true)
    assert.equal(1, status)
  end)

  local it_with_ps = needs("ps", it, pending)
  it_with_ps("waits for a program that never ends fails by the name of its file, and the run goes on without that program", function()
    local program = string.format("sleep 4711.%09d", math.random(999999999)) -- another run beside this one has its own
    local out, status = run(3, { string.format([[
      it("waits", function()
        local pipe = io.popen("echo $$ >&2; (%s & wait)")
        pipe:read("a")
        pipe:close()
      end)]], program), fine })
    assert.matches("not ok 1 - waits", out, 1, true)
    assert.matches("file1_spec.lua took longer than 3 s", out, 1, true)
    assert.matches("ok 2 - goes on", out, 1, true)
    assert.equal(1, status)
    local pipe = io.popen("ps -eo args")
    local programs = pipe:read("a")
    pipe:close()
    assert.matches("ps -eo args", programs, 1, true)
    assert.is_nil(string.find(programs, "\n" .. program, 1, true))
  end)

  it("never ends in Lua fails as well", function()
    local out, status = run(3, { "it('loops', function() while true do end end)", fine })
    assert.matches("file1_spec.lua took longer than 3 s", out, 1, true)
    assert.matches("ok 2 - goes on", out, 1, true)
    assert.equal(1, status)
  end)

  it("cannot be ended ends the run with a word", function()
    local out, status = run(3, { "it('loops', function() coroutine.wrap(function() while true do end end)() end)", fine })
    assert.matches("file1_spec.lua holds the run: ended", out, 1, true)
    assert.equal(1, status)
  end)

  it("takes its time within the limit is left alone", function()
    local out, status = run(60, { fine, fine })
    assert.is_nil(string.find(out, "took", 1, true), out)
    assert.equal(0, status)
  end)
end)

-- A spec that fails is tried by its name.
describe("the specs of the other versions of Lua", function()
  local function chosen(arguments)
    local pipe = io.popen("unset MAKEFLAGS MAKELEVEL; make -n -s portable-specs " .. arguments .. " 2>&1")
    local named = {}
    for line in pipe:lines() do
      for file in string.gmatch(string.match(line, "/busted (.*)$") or "", "%S+_spec%.lua") do named[file] = true end
    end
    pipe:close()
    return named
  end

  it("are the portable part", function()
    local named = chosen ""
    assert.is_true(named["spec/async/loop_spec.lua"])
    for file in pairs(named) do assert.is_nil(string.find(file, "^spec/cli/"), file) end
  end)

  it("are those that SPECS names", function()
    assert.same({ ["spec/chart/chart_spec.lua"] = true, ["spec/util/errors_spec.lua"] = true },
      chosen "SPECS='spec/chart/chart_spec.lua spec/util/errors_spec.lua'")
  end)
end)

describe("the specs", function()
  it("that are named and do not exist fail", function()
    local pipe = io.popen "unset MAKEFLAGS MAKELEVEL; make -s run-specs SPECS=spec/nothing 2>&1; echo $?"
    assert.equal("SPECS=spec/nothing names no spec\n2\n", (string.gsub(pipe:read("a"), "make: [^\n]*\n", "")))
    pipe:close()
  end)
end)

describe("the mistakes of make mutants", function()
  local applied = require "spec.support.harness.mistake"

  local pipe = io.popen "ls spec/mutants/*.lua | grep -v /run.lua"
  for path in pipe:lines() do
    it("in " .. path .. " can be made, and their specs exist", function()
      for i, row in ipairs(dofile(path)) do
        local changed, why = applied(files.read(row[1]), row[2], row[3])
        assert(changed, string.format("%d: %s: %s: %s", i, row[1], tostring(why), row[2]))
        for _, spec in ipairs(row[4]) do files.read(spec) end
      end
    end)
  end
  pipe:close()
end)
