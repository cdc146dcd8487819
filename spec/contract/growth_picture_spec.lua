-- The picture of growth in doc/performance.md is drawn from the table beside it.

local files = require "spec.support.harness.files"
local pages = require "spec.bench.growth_page"

describe("the picture of growth", function()
  local page = files.read "doc/performance.md"

  it("is that of the table: 'lua5.4 spec/bench/growth.lua write' makes both", function()
    assert.equal(pages.draw(page), files.read "doc/performance.svg")
  end)

  it("has a curve for each line of the table, and changes with a figure", function()
    local rows = pages.read(page)
    assert.equal(7, #rows)
    assert.equal(100000, rows[3].counts[4])
    rows[1].costs[3], rows[1].unit, rows[1].figure = rows[1].costs[3] * 2, "signed command", 0
    for _, one in ipairs(rows) do one.unit, one.figure = "one", 0 end
    assert.not_equal(pages.draw(page), pages.draw(pages.replace(page, rows)))
  end)

  it("is drawn of the same figures when the table is written from what it says", function()
    local rows = pages.read(page)
    for _, one in ipairs(rows) do one.unit, one.figure = "one", 0 end
    assert.equal(pages.draw(page), pages.draw(pages.replace(page, rows)))
  end)
end)
