-- What every automation must have: found by its name in lua/fleet/automation/builtin/init.lua, so that nothing is forgotten.

local automations = require "fleet.automation.builtin"
local rows = require "fleet.call.rows"

local slurp = require("spec.support.harness.files").find

it("every file is named, and every name has a file", function()
  local files, names = {}, { ["init"] = true }
  for _, name in ipairs(automations) do names[name] = true end
  local pipe = assert(io.popen("ls lua/fleet/automation/builtin"))
  for line in pipe:lines() do files[string.match(line, "^(.*)%.lua$")] = true end
  pipe:close()
  assert.same(names, files)
end)

it("the lists of automations, and the options on their pages, are those of their files: run make doc after a change", function()
  for path, wanted in pairs(require("doc.generate.automations").files()) do
    assert.is_true(wanted == require("spec.support.harness.files").read(path), path)
  end
end)

it("a default that changes makes its page another one", function()
  local generated = require "doc.generate.automations"
  local page, option = "doc/manual/automation-charge_by.md", require("fleet.automation.builtin.charge_by").options.recheck
  local before = generated.files()[page]
  option.default = option.default - 1
  local after = generated.files()[page]
  option.default = option.default + 1
  assert.is_false(before == after)
  assert.is_truthy(string.find(before, "| `recheck` | " .. string.format("%d", option.default) .. " |", 1, true))
end)

for _, name in ipairs(automations) do
  describe(name, function()
    local definition = require("fleet.automation.builtin." .. name)
    local page = slurp("doc/manual/automation-" .. name .. ".md") or ""

    it("says what it is, who wins, and what must be given", function()
      assert.is_true(#definition.doc > 20)
      assert.equal("number", type(definition.precedence))
      for _, handle in ipairs(definition.handles) do assert.matches("^[carsite|]+$", handle) end
    end)

    it("decides, estimates a month by known classes, and documents every option", function()
      assert.equal("function", type(definition.decide))
      for option, row in pairs(definition.options) do
        assert.is_true(#row.doc > 5 and row.type ~= nil, option)
        local default = row.needed and "needed" or row.default == nil and "" or tostring(row.default)
        local line = string.format("\n| `%s` | %s | %s |\n", option, default, row.doc)
        assert.is_truthy(string.find(page, line, 1, true), "not on its page: " .. line)
      end
      for class in pairs(definition.month { look_every = 1800 }) do
        assert.is_number(require("fleet.automation.cost").per_dollar[class])
      end
    end)

    it("has an example on its page, or one under thirty lines that the page names with its picture", function()
      local example = slurp("examples/automation_" .. name .. ".lua")
      if not example then return assert.is_truthy(string.find(page, "\n```lua\n", 1, true)) end
      local _, lines = string.gsub(example, "\n", "")
      assert.is_true(lines < 30, lines)
      assert.is_truthy(string.find(page, "examples/automation_" .. name .. ".lua", 1, true))
      assert.is_truthy(string.find(page, "pictures/automation-" .. name .. ".svg", 1, true))
    end)
  end)
end

it("every call that an automation makes is a row, so that its price is known", function()
  for _, call in ipairs { "info", "vehicle_data", "live_status", "site_info", "time_of_use_settings", "charge_start", "charge_stop",
    "set_charging_amps", "set_charge_limit", "wake_up" } do
    assert.is_truthy(rows.by_name[call].billing, call)
  end
end)
