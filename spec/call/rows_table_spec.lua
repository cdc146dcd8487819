-- The rows as Lua sees them are made one by one, and all at once: each is one table, however it was found.

local core = require "fleet.core"

describe("the rows in Lua", function()
  local rows

  before_each(function()
    local before = package.loaded["fleet.call.rows"]
    package.loaded["fleet.call.rows"] = nil
    rows = require "fleet.call.rows"
    package.loaded["fleet.call.rows"] = before
  end)

  local function made()
    local count = 0
    for _ in pairs(rows.by_name) do count = count + 1 end
    return count
  end

  it("are made when they are asked for, one at a time", function()
    assert.equal(0, made())
    local row = rows.by_name.wake_up
    assert.equal(row, rows.by_method[row.handle][row.method])
    assert.equal(row, rows.by_name.wake_up)
    assert.equal(1, made())
  end)

  it("are the same by handle and method, and in the list of all", function()
    local products = rows.by_method.client.products
    assert.equal(products, rows.by_name.products)
    for _, row in ipairs(rows.all()) do
      assert.equal(row, rows.by_name[row.name])
      assert.equal(row, rows.by_method[row.handle][row.method])
      if row.name == "products" then assert.equal(products, row) end
    end
    assert.equal(#core.endpoints() + #core.commands(), #rows.all())
    assert.equal(#rows.all(), made())
  end)

  it("say what the lists of the core say", function()
    for _, row in ipairs(core.commands()) do assert.same(row, rows.by_name[row.name]) end
  end)

  it("do not have what is no row, and all names where they are looked through", function()
    assert.is_nil(rows.by_name.nothing)
    assert.is_nil(rows.by_name[1])
    assert.is_nil(rows.by_method.vehicle.products)
    assert.is_nil(rows.by_method.client[true])
    assert.is_table(rows.all_by_name().flash_lights)
    assert.equal(#rows.all(), made())
  end)
end)
