-- One text for the same bytes: whoever compares texts must not be shown the same bytes in another one (RFC 4648 section 3.5).
local core = require "fleet.core"

describe("base64", function()
  it("is written and read in one form", function()
    for text, bytes in pairs { [""] = "", ["YQ=="] = "a", ["YWI="] = "ab", ["YWJj"] = "abc", ["+/+/"] = "\251\255\191" } do
      assert.equal(text, core.base64(bytes))
      assert.equal(bytes, core.unbase64(text))
    end
  end)

  for _, text in ipairs { "YR==", "YWJ=", "YQ", "YQ=", "YWI", "Y===", "====", "YQ==YQ==", "-_-_", "YQ==\n", " YQ=", "Y\0==" } do
    it("is refused as " .. string.format("%q", text), function()
      local ran, bytes = pcall(core.unbase64, text)
      assert.is_true(not ran or bytes == nil)
    end)
  end
end)
