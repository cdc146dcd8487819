-- What counts, audits and limits is loaded by the clients that ask for it, and by no other.

local write = require("spec.support.harness.files").write

local script = [[
  package.path = "./?.lua;" .. package.path
  local seam = require "spec.support.fixtures.host_http"
  local car = seam.car({ seam.done, seam.done }, %s)
  assert(car:honk_horn())
  assert(car:vehicle_data {})
  local names = {}
  for name in pairs(package.loaded) do
    if name:find "^fleet%%.metrics" or name == "fleet.budget.gate" then names[#names + 1] = name end
  end
  table.sort(names)
  print(table.concat(names, " "))]]

local function loaded_with(options)
  local path = os.tmpname()
  write(path, string.format(script, options))
  local pipe = assert(io.popen("lua5.4 " .. path .. " 2>&1"))
  local text = pipe:read "l"
  pipe:close()
  os.remove(path)
  return text
end

describe("a client", function()
  it("without metrics, audit, budgets and pacing loads nothing of them", function()
    assert.equal("", loaded_with "{}")
  end)

  for options, expected in pairs {
    ["{ audit = print }"] = "fleet.metrics.audit", ["{ pacing = {} }"] = "fleet.budget.gate",
    ["{ budgets = { usd_per_day = 1 } }"] = "fleet.budget.gate",
  } do
    it("with " .. options .. " loads " .. expected, function()
      assert.matches(expected .. "$", (loaded_with(options:gsub("print", "function() end"))))
    end)
  end
end)
