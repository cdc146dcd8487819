-- The layer between the core and the user is thin: it orders and waits. The rooms above it (simulator, command line, automations,
-- budgets, metrics, proxy, bridge, charts) and what only some need (drawing, a store on another machine) are products of their own.

local read = require("spec.support.harness.files").read

local rooms = { "client", "call", "async", "oauth", "region", "signing", "resources", "confirm", "store", "registration", "tariff", "util" }
local products = { "^lua/fleet/tariff/panels", "^lua/fleet/tariff/svg", "^lua/fleet/tariff/text",
  "^lua/fleet/call/host_http", -- for hosts that bring an HTTP of their own
  "^lua/fleet/util/bucket" } -- the budgets', which a store of many machines decides by, too
local most = 4249 -- lines of code: without blank ones and comments

-- Whoever adds a store adds one file: the contract and the two stores that every client may need are the layer.
local own_stores = { init = true, object = true, adapted = true, sealed = true, file = true, memory = true }

local function is_product(path)
  local store = string.match(path, "^lua/fleet/store/([%w_]+)")
  if store then return not own_stores[store] end
  for _, pattern in ipairs(products) do
    if string.find(path, pattern) then return true end
  end
end

local function count(text)
  local found = 0
  for line in string.gmatch(text, "[^\n]+") do
    if string.find(line, "%S") and not string.find(line, "^%s*%-%-") then found = found + 1 end
  end
  return found
end

it("lines of code are counted: neither blank ones nor comments", function()
  assert.equal(2, count("-- why\n\nlocal a = 1 -- one\n  -- two\n  \nreturn a\n"))
end)

it("the layer between the core and the user stays thin", function()
  local sum, told = 0, {}
  for _, room in ipairs(rooms) do
    local pipe, own = assert(io.popen("find lua/fleet/" .. room .. " -name '*.lua'")), 0
    for path in pipe:lines() do
      if not is_product(path) then own = own + count(read(path)) end
    end
    pipe:close()
    assert.is_true(own > 0, room)
    sum, told[#told + 1] = sum + own, room .. " " .. own
  end
  assert.is_true(sum <= most, sum .. " lines of " .. most .. ": " .. table.concat(told, ", "))
end)

it("a program that loads the library loads no more than the loop; the rest comes when it is used", function()
  local program = [[
    require "fleet"
    local n = 0
    for name in pairs(package.loaded) do if name:find "^fleet%." then n = n + 1 end end
    print(n)]]
  local pipe = assert(io.popen("lua5.4 -e '" .. program .. "'"))
  local loaded = tonumber(pipe:read("l"))
  pipe:close()
  assert.is_true(loaded <= 16, loaded .. " modules")
end)
