-- What the simulator takes for JSON in a request is JSON, and no more (RFC 8259).

local json = require "fleet.sim.json"

describe("the simulator's reader of JSON", function()
  it("accepts every valid character in a string", function()
    for _, text in ipairs { "a", "\127", "\127\\n", "\195\169", "\226\130\172", "\\u00e9", "\\ud83d\\ude00", '\\"', "\\/" } do
      assert.is_string((json.decode('["' .. text .. '"]') or {})[1], text)
    end
    assert.equal("a\127\nb", json.decode('["a\127\\nb"]')[1])
  end)

  it("refuses those that must be escaped, and halves of pairs", function()
    for _, text in ipairs { "\0", "\1", "\n", "\31", "\\x", "\\u12g4", "\\ud83d", "\\ude00", "\\" } do
      local value, problem = json.decode('["' .. text .. '"]')
      assert.is_nil(value, text)
      assert.is_string(problem)
    end
  end)
end)
