-- Lua 5.1 to 5.5: what the core does alike on every one, and what a build says to another Lua.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local fleet = require "fleet"
local garbage = require "spec.support.harness.garbage"
local process = require "spec.support.harness.process"

describe("on every Lua", function()
  it("ids stay text, and no digit of a large number is lost", function()
    local reply = core.json_decode('{"id":1234567890123456,"vehicle_id":9007199254740993,"n":123456789012345}', "id vehicle_id")
    assert.same({ id = "1234567890123456", vehicle_id = "9007199254740993", n = 123456789012345 }, reply)
    assert.equal('{"n":123456789012345}', core.json_encode { n = 123456789012345 })
    assert.equal("123456789012345", core.json_encode(123456789012345))
  end)
end)

describe("a protected call that waits", function()
  it("ends with the results or the error, in a task and outside", function()
    local function check()
      assert.same({ true, 1, 2 }, { compat.pcall(function(...)
        fleet.sleep(0)
        return ...
      end, 1, 2) })
      assert.same({ false, "oops" }, { compat.pcall(function()
        fleet.sleep(0)
        error("oops", 0)
      end) })
      assert.same({ false, "inner" }, { compat.pcall(function()
        assert.same({ true, "deep" }, { compat.pcall(function()
          fleet.sleep(0)
          return "deep"
        end) })
        error("inner", 0)
      end) })
    end
    check()
    fleet.run(check)
  end)

  it("lets other tasks run meanwhile", function()
    local order = {}
    fleet.run(function()
      fleet.spawn(function() order[#order + 1] = "other" end)
      compat.pcall(fleet.sleep, 0)
      compat.pcall(function() fleet.sleep(0) end)
      order[#order + 1] = "this"
    end)
    assert.same({ "other", "this" }, order)
  end)

  it("belongs to the task that calls it, so that cancelling reaches it", function()
    local kind
    local task = fleet.spawn(function()
      local _, err = compat.pcall(function() fleet.sleep(1000) end)
      kind = err.kind
    end)
    fleet.loop.step()
    task:cancel()
    task:wait()
    assert.equal("cancelled", kind)
  end)
end)

describe("functions of the host that observe a call", function()
  it("may wait, in a task and outside", function()
    local calls_of = {}
    local function slow(name)
      return function()
        fleet.sleep(0)
        calls_of[name] = (calls_of[name] or 0) + 1
      end
    end
    local car = fleet.new({
      token = "t", base_url = "https://service.example", log = slow "log", metrics = slow "metrics", audit = slow "audit",
      http = function() return { status = 200, headers = {}, body = '{"response":{"result":true,"reason":""}}' } end,
    }):vehicle "5YJ30123456789ABC"
    fleet.run(function() assert(car:honk_horn()) end)
    assert.is_true(calls_of.log > 0 and calls_of.metrics > 0 and calls_of.audit == 1)
    assert(car:honk_horn())
    assert.equal(2, calls_of.audit)
  end)
end)

describe("a task that has ended", function()
  it("is forgotten, whatever it returned", function()
    local seen = setmetatable({}, { __mode = "v" })
    for i = 1, 5 do
      local task = fleet.spawn(function() return i end)
      seen[i] = task
      task:wait()
    end
    garbage.collect()
    local left = 0
    for i = 1, 4 do left = left + (seen[i] and 1 or 0) end
    assert.equal(0, left)
  end)
end)

describe("an object of the core that only compiled code knows", function()
  local function met(key)
    local function reader() return key end
    for _ = 1, 1000 do reader() end
  end

  it("is released when a spec collects", function()
    garbage.collect()
    local before = core.live()
    for _ = 1, 3 do met(core.key.generate()) end
    garbage.collect()
    assert.equal(0, core.live() - before)
  end)
end)

-- Every build that stands in this tree, loaded by every Lua of this machine.
describe("a build that the wrong Lua loads", function()
  local builds = { plain = "5.4", ["lua5.1"] = "5.1", ["lua5.3"] = "5.3", luajit = "5.1" }
  local interpreters = { ["lua5.1"] = "5.1", ["lua5.3"] = "5.3", ["lua5.4"] = "5.4", luajit = "5.1" }
  local script = "print(select(2, pcall(require, (...))))"

  local function said(build, lua, module)
    local path = process.root .. "/build/" .. build .. "/lib/?.so;;"
    local pipe = io.popen("LUA_INIT= LUA_CPATH=" .. process.quote(path) .. " " .. lua .. " - " .. module .. " 2>&1 <<'end'\n"
      .. script .. "\nend")
    local text = pipe:read("a")
    pipe:close()
    return text
  end

  for build, built_for in pairs(builds) do
    for lua, version in pairs(interpreters) do
      local there = os.execute("test -e build/" .. build .. "/lib/fleet/core.so && command -v " .. lua .. " >/dev/null")
      if there then
        local right = built_for == version
        it("says so in a sentence: " .. build .. " by " .. lua .. (right and ", which is the right one" or ""), function()
          local text = said(build, lua, "fleet.core")
          if right then return assert.matches("^table: ", text) end
          assert.equal("fleet is built for Lua " .. built_for .. " here, and another Lua loads it: "
            .. "build it for that one with make LUA_VERSION=\n", text)
        end)
      end
    end
  end
end)
