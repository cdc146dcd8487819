-- What is UTF-8 by RFC 3629, and what becomes of the rest.

local core = require "fleet.core"

local good = {
  "", "plain \0 \127", "é", "\194\128", "\223\191", "\224\160\128", "\237\159\191", "\238\128\128", "\239\191\191", "\240\144\128\128",
  "\244\143\191\191", "a€b😀c",
}
-- What is none, and how many bytes of it become U+FFFD.
local bad = {
  { "\128", 1 }, { "\255", 1 }, { "\192\175", 2 }, { "\193\191", 2 }, { "\224\159\191", 3 }, { "\237\160\128", 3 },
  { "\240\143\191\191", 4 }, { "\244\144\128\128", 4 }, { "\245\128\128\128", 4 }, { "\226\130", 2 }, { "\195", 1 },
}

describe("text", function()
  it("that is UTF-8 stays as it is", function()
    for _, one in ipairs(good) do
      assert.is_true(core.utf8_valid(one), one)
      assert.equal(one, core.utf8_repaired(one))
    end
  end)

  it("that is not loses what is not, and nothing else", function()
    for _, one in ipairs(bad) do
      assert.is_false(core.utf8_valid(one[1]))
      assert.equal("é" .. string.rep("\239\191\189", one[2]) .. "ü", core.utf8_repaired("é" .. one[1] .. "ü"))
    end
  end)
end)
