-- Ages by a wall clock that is set while the process runs.
local ages = require "fleet.util.ages"
local stores = require "spec.support.fixtures.stores"
local tasks = require "fleet.async"

local year = 365 * 86400

describe("the age of a time that was noted", function()
  local clock, aged

  before_each(function()
    clock = stores.clock()
    aged = ages.new(clock.read)
  end)

  local function note_and_wait(seconds)
    local noted = clock.wall
    clock.advance(seconds)
    return noted
  end

  for _, jump in ipairs { -3 * year, -3600, 0, 3600, 3 * year } do
    it(("counts on when the wall clock is set by %d s"):format(jump), function()
      local noted = note_and_wait(10)
      clock.wall = clock.wall + jump
      assert.equal(10, aged:age(noted))
      clock.advance(50)
      assert.equal(60, aged:age(noted))
      local later = clock.wall
      clock.advance(5)
      assert.equal(5, aged:age(later))
    end)

    it(("is the same after a jump by %d s that is taken back"):format(jump), function()
      local noted = note_and_wait(10)
      clock.wall = clock.wall + jump
      aged:age(noted)
      clock.advance(50)
      clock.wall = clock.wall - jump
      assert.equal(60, aged:age(noted))
    end)
  end

  it("goes by the wall clock for what was noted before the process began, which may have begun in the past", function()
    assert.equal(7 * 86400, aged:age(clock.wall - 7 * 86400))
    local noted = clock.wall + 20 * year
    assert.equal(0, aged:age(noted))
    clock.advance(30)
    clock.wall = clock.wall + 20 * year
    assert.equal(30, aged:age(noted))
  end)

  it("takes no drift of the clocks for a setting", function()
    local noted = note_and_wait(86400)
    clock.wall = clock.wall + 1
    assert.equal(86400, aged:age(noted))
    assert.equal(1, #aged.offsets)
  end)

  it("survives a clock that is set without end", function()
    local noted = note_and_wait(10)
    for i = 1, 1000 do
      clock.wall = clock.wall + i * 100
      aged:steady()
    end
    assert.equal(10, aged:age(noted))
    assert.is_true(#aged.offsets <= 100)
  end)
end)

describe("the steady clock", function()
  it("begins with the wall clock and never jumps", function()
    local clock = stores.clock()
    local aged = ages.new(clock.read)
    local began = clock.wall
    assert.equal(began, aged:steady())
    clock.wall = clock.wall + 20 * year
    clock.advance(60)
    assert.equal(began + 60, aged:steady())
  end)

  it("is that of the loop, also where a host gives it another clock", function()
    local clock, own = stores.clock(), tasks.loop.clock
    local _, wall = own()
    assert.is_true(math.abs(tasks.steady() - wall) < 60)
    assert.is_true(tasks.age(wall) < 60)
    tasks.loop.clock = clock.read
    tasks.steady() -- it is read once under the new clock before that jumps
    local noted = clock.wall
    clock.advance(7)
    clock.wall = clock.wall + 3600
    local age, steady = tasks.age(noted), tasks.steady()
    tasks.loop.clock = own
    assert.same({ 7, noted + 7 }, { age, steady })
  end)
end)
