-- `make bench` tells every budget, and says so where one was not measured.

local budgets = require "spec.bench.budgets"
local files = require "spec.support.harness.files"

describe("the budgets", function()
  it("are all there, each once", function()
    local named = {}
    for _, group in ipairs(budgets.groups) do
      assert.truthy(files.read("spec/bench/" .. group.script))
      for _, name in ipairs(group) do
        assert.is_nil(named[name], name)
        named[name] = true
      end
    end
    for _, name in ipairs {
      "sign", "sign-lua", "sign-heap", "handshake", "request-1", "request-64", "request-1000", "tariff", "tariff-rows", "tariff-growth",
      "store-turn", "store-cpu", "cancel", "session-memory", "client-memory", "request-memory", "require", "proxy-cpu", "proxy-p99",
      "proxy-memory", "many-vehicles", "redis-trips", "store-open",
    } do
      assert.is_true(named[name], name)
    end
  end)

  it("are printed as they were measured, and a missing one fails the run", function()
    local lines = { a = "a 1.00 2 ok", b = "b 3.00 2 over" }
    local function print_all(groups, ended)
      local printed = {}
      local good = budgets.print_all(groups, function() return lines, ended end, function(line) printed[#printed + 1] = line end)
      return good, printed
    end
    local good, printed = print_all({ { script = "x", "a" }, { script = "y", "b" } }, true)
    assert.is_true(good)
    assert.same({ lines.a, lines.b }, printed)
    good, printed = print_all({ { script = "x", "a", "c" } }, true)
    assert.is_false(good)
    assert.same({ lines.a, "c - - failed" }, printed)
    assert.is_false((print_all({ { script = "x", "a" } }, false)))
  end)
end)
