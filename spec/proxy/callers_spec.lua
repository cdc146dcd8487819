-- Who a caller is and what he may ask for: what a list of callers may say, and the calls a minute of callers who bring tokens that
-- only the service can judge, where tokens cost nothing and addresses do.
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

describe("a list of callers", function()
  local function raised(options)
    local ok, err = pcall(callers.new, options)
    return not ok and tostring(err) or nil
  end

  it("has calls a minute above 0 and below a million, for one as for all", function()
    local range = "'per_minute' is a number above 0 and below 1000000"
    for _, wrong in ipairs { 0, -1, 1e6, math.huge, 0 / 0 } do
      assert.matches(range, raised { callers = { one = { per_minute = wrong } } }, 1, true)
      assert.matches(range, raised { per_minute = wrong }, 1, true)
    end
    for _, right in ipairs { 0.1, 1, 999999 } do
      assert.is_nil(raised { callers = { one = { per_minute = right } }, per_minute = right })
    end
  end)

  it("gives no caller the name of the proxy's own secret: they would share audit lines, queues and Idempotency-Keys", function()
    local one = { secret = ("o"):rep(20) }
    assert.matches("caller 'secret': the name is that of the proxy's own secret", raised { callers = { secret = one } }, 1, true)
    assert.is_nil(raised { callers = { secrets = one }, secret = ("s"):rep(20) })
  end)
end)
