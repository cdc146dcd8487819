-- A finaliser of the host's runs in the middle of what the loop or a call is doing: there nothing may wait.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

describe("in a finaliser", function()
  if _VERSION < "Lua 5.4" then return pending "earlier versions cannot tell (doc/manual/tasks.md)" end

  local function in_finaliser(act)
    local result
    setmetatable({}, { __gc = function() result = table.pack(pcall(act)) end })
    collectgarbage()
    collectgarbage()
    return table.unpack(assert(result, "it did not run"), 1, result.n)
  end

  it("a call raises, and nothing is sent", function()
    local car, requests = seam.car(seam.done)
    local ran, message = in_finaliser(function() return car:honk_horn() end)
    assert.is_false(ran)
    assert.matches("called from a finaliser %(__gc%)", message)
    assert.equal(0, #requests)
    assert(car:honk_horn())
    assert.same({}, assert(fleet.drain()))
  end)

  it("a wait raises, in a task as outside of one", function()
    local function sleep() fleet.sleep(0) end
    local ran, message = in_finaliser(sleep)
    assert.is_false(ran)
    assert.matches("called from a finaliser", message)
    fleet.run(function() ran, message = in_finaliser(sleep) end)
    assert.is_false(ran)
    assert.matches("called from a finaliser", message)
  end)

  it("a client may be closed, a task started and cancelled", function()
    local ended
    local client = seam.client(seam.done)
    fleet.run(function()
      local task = fleet.spawn(function() fleet.sleep(1000) end)
      assert(in_finaliser(function()
        client:close()
        task:cancel()
        fleet.spawn(function() ended = true end)
      end))
      assert.is_false((pcall(task.wait, task)))
    end)
    assert.is_true(ended)
    assert.equal("closed", select(3, client:products()))
  end)
end)
