-- The lines that `fleet proxy` writes of commands: each is the entry as JSON, whichever way it was written.
local cli_proxy = require "fleet.cli.proxy"
local core = require "fleet.core"

describe("an audit line", function()
  local lines, write, again

  before_each(function()
    local _
    lines = {}
    write, _, again = cli_proxy.audit { stderr = { write = function(_, text) lines[#lines + 1] = text end, flush = function() end } }
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

  it("of the same kind says the same as the first at another time, whoever wrote between them", function()
    local known, tail = again(entry())
    for _, time in ipairs { 1700000000.001, 1700000001, 1699999999.9996 } do
      for _, seconds in ipairs { 0, 0.0004, 0.0005, 0.07, 12.3456 } do
        write(entry { command = "flash_lights" })
        known(seconds, time, tail)
        local whole = math.floor(time * 1000 + 0.5) / 1000
        assert.same(entry { time = whole, ms = math.floor(seconds * 1000 + 0.5) }, core.json_decode(lines[#lines]))
      end
    end
    known(-1, 1700000000, tail) -- a clock that was set back
    assert.same(entry { time = 1700000000, ms = 0 }, core.json_decode(lines[#lines]))
  end)

  it("of another command, status or vehicle is another one", function()
    local lists = { vin = { "0001", "0002" }, command = { "honk_horn", "flash_lights" }, status = { 200, 500 }, who = { "a", "b" } }
    for name, list in pairs(lists) do
      local first, of_first = again(entry { [name] = list[1] })
      local second, of_second = again(entry { [name] = list[2] })
      first(0.001, 1700000000, of_first)
      second(0.002, 1700000000, of_second)
      assert.same(entry { [name] = list[1], ms = 1, time = 1700000000 }, core.json_decode(lines[#lines - 1]))
      assert.same(entry { [name] = list[2], ms = 2, time = 1700000000 }, core.json_decode(lines[#lines]))
    end
  end)

  for name, more in pairs { kind = { kind = "asleep" }, account = { account = 'a"' }, ["a repeated answer"] = { repeated = true } } do
    it("with what needs care is written anew each time: " .. name, function() assert.is_nil(again(entry(more))) end)
  end
end)
