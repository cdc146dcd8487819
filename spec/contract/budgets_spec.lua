-- `make bench` tells every budget, and says so where one was not measured.

local budgets = require "spec.bench.budgets"
local files = require "spec.support.harness.files"

describe("the budgets", function()
  it("are all there, each once", function()
    local told = {}
    for _, group in ipairs(budgets.groups) do
      assert.truthy(files.read("spec/bench/" .. group.script))
      for _, name in ipairs(group) do
        assert.is_nil(told[name], name)
        told[name] = true
      end
    end
    for _, name in ipairs {
      "sign", "sign-lua", "sign-heap", "handshake", "request-1", "request-64", "request-1000", "tariff", "tariff-rows", "tariff-growth",
      "store-turn", "store-cpu", "cancel", "session-memory", "client-memory", "request-memory", "require", "proxy-cpu", "proxy-p99",
      "proxy-memory", "many-vehicles", "redis-trips", "store-open",
    } do
      assert.is_true(told[name], name)
    end
  end)

  it("are told as they were measured, and one that was not fails the run", function()
    local lines = { a = "a 1.00 2 ok", b = "b 3.00 2 over" }
    local function told(groups, ended)
      local said = {}
      local good = budgets.tell(groups, function() return lines, ended end, function(line) said[#said + 1] = line end)
      return good, said
    end
    local good, said = told({ { script = "x", "a" }, { script = "y", "b" } }, true)
    assert.is_true(good)
    assert.same({ lines.a, lines.b }, said)
    good, said = told({ { script = "x", "a", "c" } }, true)
    assert.is_false(good)
    assert.same({ lines.a, "c - - failed" }, said)
    assert.is_false((told({ { script = "x", "a" } }, false)))
  end)
end)
