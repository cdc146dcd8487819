-- The editor types and the page of the Lua interface name what there is, and all of it.

local fleet = require "fleet"
local process = require "spec.support.harness.process"
local files = require "spec.support.harness.files"

local types = files.read(process.root .. "/lua/fleet/types.lua")

-- What is public of a module, but not a function of its own: built by name, or for the library's other rooms.
local left_out = {
  store = { "clock", "clock_of", "new_ends", "expiry", "object", "warner" },
  tariff = { "stored_as" }, chart = {}, metrics = {},
  automation = { "prices" }, loop = { "pollfd", "getfd", "speed" }, key = {},
}

describe("the Lua interface", function()
  it("names every public function of the modules", function()
    for name, exceptions in pairs(left_out) do
      local known = {}
      for _, exception in ipairs(exceptions) do known[exception] = true end
      for member, value in pairs(fleet[name]) do
        if type(value) == "function" and not known[member] then
          assert.is_truthy(string.find(types, "function fleet." .. name .. "." .. member .. "(", 1, true), name .. "." .. member)
        end
      end
    end
    for member, value in pairs(fleet) do
      if type(value) == "function" then
        assert.is_truthy(string.find(types, "function fleet." .. member .. "(", 1, true), member)
      end
    end
  end)

  it("names nothing of a module that is not there", function()
    local count = 0
    for module, member in string.gmatch(types, "\nfunction fleet%.([%w_]+)%.([%w_]+)%(") do
      assert.is_truthy(fleet[module][member], module .. "." .. member)
      count = count + 1
    end
    for member in string.gmatch(types, "\nfunction fleet%.([%w_]+)%(") do assert.is_truthy(fleet[member], member) end
    assert.is_true(count > 20)
  end)

  it("names the methods that tariffs, stores and tasks have", function()
    local tariff = assert(fleet.tariff.flat { price = 0.2, currency = "EUR", name = "Flat" })
    local store = fleet.store.memory()
    local task = fleet.spawn(function() end)
    for object, methods in pairs { tariff = tariff, store = store, task = task } do
      for name in string.gmatch(types, "\nfunction " .. object .. ":([%w_]+)%(") do
        assert.equal("function", type(methods[name]), object .. ":" .. name)
      end
    end
    fleet.drain()
  end)

  it("is on its page as it is in the types", function()
    assert.is_true(files.read(process.root .. "/doc/api.md") == require("doc.generate.api").markdown(), "run make doc")
  end)
end)
