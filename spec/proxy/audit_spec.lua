-- The lines that `fleet proxy` writes of commands: each is the entry as JSON.
local cli_proxy = require "fleet.cli.proxy"
local core = require "fleet.core"

describe("an audit line", function()
  local lines, write

  before_each(function()
    lines = {}
    local stderr = { flush = function() return true end }
    function stderr.write(_, text)
      lines[#lines + 1] = text
      return true
    end
    write = cli_proxy.audit { stderr = stderr }
  end)

  local function written(entry)
    lines[1] = nil
    write(entry)
    assert.matches("^[^\n]+\n$", lines[1])
    return core.json_decode(lines[1])
  end

  local function entry(more)
    local made = { time = 1700000000.057, who = "local", vin = "0001", command = "honk_horn", outcome = "done", status = 200, ms = 12 }
    for name, value in pairs(more or {}) do made[name] = value end
    return made
  end

  for name, more in pairs {
    ["of the usual kind"] = {}, ["at a whole second"] = { time = 1700000000 }, ["just before one"] = { time = 1700000000.999 },
    ["of a failure"] = { kind = "asleep", outcome = "not_sent", status = 408 }, ["of a repeated answer"] = { repeated = true },
    ["of an account whose name is hostile"] = { account = 'a"\\b' },
  } do
    it(name .. " says what the entry says", function() assert.same(entry(more), written(entry(more))) end)
  end

  it("says its own moment and duration, whichever lines came before", function()
    for _, time in ipairs { 1700000000.001, 1700000000.01, 1700000000.1, 1700000001.1, 1700000001.001, 1699999999.1 } do
      for _, ms in ipairs { 0, 7, 70, 999, 1000, 1001, 123456, 7 } do
        assert.same(entry { time = time, ms = ms }, written(entry { time = time, ms = ms }))
      end
    end
  end)

  it("that cannot be written to its file is reported once, and again after one that could", function()
    local full = io.open("/dev/full", "a")
    if not full then return pending("needs /dev/full") end
    full:close()
    local stderr = { write = function(_, ...) lines[#lines + 1] = table.concat { ... } end }
    local to_file, reopen = cli_proxy.audit({ stderr = stderr }, "/dev/full")
    for _ = 1, 3 do
      local done, why = to_file(entry())
      assert.is_nil(done)
      assert.matches("space", why)
    end
    assert.equal(1, #lines)
    assert.matches("^fleet: %-%-audit /dev/full: .*space.*lost%.\n$", lines[1])
    reopen()
    assert.is_nil((to_file(entry())))
  end)

  it("that was written says so", function()
    assert.same({ true }, { write(entry()) })
  end)
end)
