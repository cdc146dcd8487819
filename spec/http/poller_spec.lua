-- The one descriptor of the loop: sockets, pipes and a timer, with epoll or with poll(2).

local probe = require "probe_http"
local garbage = require "spec.support.harness.garbage"

local poller, read_end, write_end

-- Waits until an event is there or the condition holds: a signal (SIGCONT) ends the wait of a poller early.
local function wait_for(from, condition)
  for _ = 1, 100 do
    local events = from:wait(20)
    if events[1] or condition and condition() then return events end
  end
  error "it never came to that"
end

before_each(function()
  poller = assert(probe.poller())
  read_end, write_end = probe.pipe()
end)

after_each(function()
  poller:close()
  probe.close(read_end)
  probe.close(write_end)
  garbage.collect()
  assert.equal(0, probe.live())
end)

describe("a poller", function()
  it("returns the ready descriptor, its events, and its tag", function()
    assert(poller:watch(read_end, "r", 0xFFFFFFFF))
    assert.same({}, poller:wait(0))
    probe.write(write_end, "x")
    assert.same({ { fd = read_end, tag = 0xFFFFFFFF, events = "r" } }, poller:wait(0))
    assert.same({ { fd = read_end, tag = 0xFFFFFFFF, events = "r" } }, poller:wait(-1)) -- until it is read
  end)

  it("replaces what a descriptor is watched for", function()
    assert(poller:watch(write_end, "r", 1))
    assert.same({}, poller:wait(0))
    assert(poller:watch(write_end, "rw", 2))
    assert.same({ { fd = write_end, tag = 2, events = "w" } }, poller:wait(0))
    assert(poller:watch(write_end, "", 2))
    assert.same({}, poller:wait(0))
    assert(poller:watch(write_end, "", 2)) -- not watched any more: no matter
  end)

  it("reports that the other side has closed", function()
    assert(poller:watch(read_end, "r"))
    probe.close(write_end)
    assert.same({ { fd = read_end, tag = 7, events = "e" } }, poller:wait(0))
  end)

  it("gives no more events than there is room for, and the others next", function()
    local other_read, other_write = probe.pipe()
    assert(poller:watch(write_end, "w"))
    assert(poller:watch(other_write, "w"))
    local first, second = poller:wait(0, 1), poller:wait(0, 1)
    assert.equal(1, #first)
    assert.equal(1, #second)
    assert.not_equal(first[1].fd, second[1].fd)
    probe.close(other_read)
    probe.close(other_write)
  end)

  it("refuses what cannot be waited for, with a sentence", function()
    local file = assert(io.open("Makefile"))
    local fd = probe.fileno(file)
    local ok, err, kind = poller:watch(fd, "r")
    file:close()
    assert.is_nil(ok)
    assert.equal("invalid", kind)
    assert.truthy(err.message:find("cannot be waited for", 1, true))
    assert.equal("descriptor 9999 is not open", select(2, poller:watch(9999, "r")).message)
  end)

  it("closes twice without harm, and is then refused by name", function()
    poller:close()
    poller:close()
    assert.has_error(function() poller:wait(0) end, "probe.poller is closed")
  end)
end)

describe("its timer", function()
  local outer

  before_each(function() outer = assert(probe.poller()) end)
  after_each(function() outer:close() end)

  -- Whether somebody who waits for the descriptor alone would be woken.
  local function wakes(seconds)
    assert(outer:watch(poller:fd(), "r"))
    return #(seconds == 0 and outer:wait(0) or wait_for(outer)) == 1
  end

  local function has_fired() return poller:armed() == 0 end

  it("makes the descriptor readable, and counts as no event", function()
    poller:arm(0.01)
    assert.is_true(wakes())
    assert.same({}, poller:wait(0))
    assert.is_false(wakes(0))
    assert.equal(0, poller:armed())
  end)

  it("fires at once when no time is left", function()
    poller:arm(0)
    assert.is_true(wakes())
  end)

  it("ends the poller's own wait", function()
    poller:arm(0.01)
    assert.same({}, wait_for(poller, has_fired))
  end)

  it("is set earlier, never later, until it has fired", function()
    poller:arm(1000)
    local first = poller:armed()
    poller:arm(2000)
    poller:arm(-1)
    assert.equal(first, poller:armed())
    poller:arm(0.01)
    assert.is_true(poller:armed() < first)
    assert.same({}, wait_for(poller, has_fired))
    poller:arm(1000)
    assert.is_true(poller:armed() > first)
  end)

  it("takes any number of seconds", function()
    for _, seconds in ipairs { 0 / 0, -math.huge, -1 } do
      poller:arm(seconds)
      assert.equal(0, poller:armed())
    end
    poller:arm(math.huge)
    assert.equal(math.huge, poller:armed())
    poller:arm(1e300)
    assert.is_false(wakes(0))
  end)
end)
