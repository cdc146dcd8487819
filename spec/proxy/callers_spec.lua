-- Calls a minute of callers who bring tokens that only the service can judge: tokens cost nothing, addresses do.
local callers = require "fleet.proxy.callers"
local virtual = require "spec.support.harness.virtual"

describe("calls a minute, with tokens that are passed on,", function()
  local time, known

  before_each(function()
    time = virtual.install()
    known = callers.new { per_minute = 2 }
  end)
  after_each(function() time.restore() end)

  local function take(token, address)
    return (callers.take((known:by_token(token, address)), time.now()))
  end

  it("are those of an address, whatever tokens come from there", function()
    assert.is_true(take("first", "192.0.2.1"))
    assert.is_true(take("second", "192.0.2.1"))
    assert.is_nil(take("third", "192.0.2.1"))
    assert.is_true(take("third", "192.0.2.2"))
    time.advance(31)
    assert.is_true(take("third", "192.0.2.1"))
  end)

  it("are those of a network of IPv6, which one household has", function()
    assert.is_true(take("first", "2001:db8:0:7::1"))
    assert.is_true(take("second", "2001:db8:0:7:a:b:c:d"))
    assert.is_nil(take("third", "2001:db8:0:7::ffff"))
    assert.is_true(take("third", "2001:db8:0:8::1"))
    assert.is_true(take("fourth", "::1"))
    assert.is_true(take("fourth", "::ffff:192.0.2.9"))
    assert.is_true(take("fifth", "192.0.2.9"))
    assert.is_nil(take("sixth", "192.0.2.9"))
  end)

  it("are one minute for all beyond some hundred addresses at a time, until a minute has passed", function()
    for i = 1, 256 do assert.is_true(take("a", "10.0.1." .. i)) end
    assert.is_true(take("a", "10.0.2.1"))
    assert.is_true(take("a", "10.0.2.2"))
    assert.is_nil(take("a", "10.0.2.3"))
    time.advance(61)
    assert.is_true(take("a", "10.0.2.3"))
    assert.is_true(take("a", "10.0.2.3"))
    assert.is_nil(take("a", "10.0.2.3"))
    assert.is_true(take("a", "10.0.2.4"))
  end)

  it("keep the caller's name in audit lines that of his token", function()
    local first, second = known:by_token("token", "192.0.2.1"), known:by_token("token", "192.0.2.2")
    assert.equal(first.name, second.name)
    assert.not_equal(first.name, (known:by_token("other", "192.0.2.1")).name)
  end)
end)
