-- What a wrong argument raises names the function as the caller knows it.

local fleet = require "fleet"

describe("a wrong argument", function()
  it("is refused with the public name of the function and the caller's line, not with one inside the module", function()
    for name, arguments in pairs {
      time = { {} }, base64 = { {} }, unbase64 = { true }, command = { {} }, jws_verify = { {} }, session = { 5 }, receiver = { false },
      decode_command = { "infotainment", {} },
    } do
      local ok, message = pcall(fleet[name], arguments[1], arguments[2])
      assert.is_false(ok)
      assert.matches("names_spec%.lua:%d+: " .. name .. ": .* expected, got ", message)
      assert.not_matches("fleet.core", message, 1, true)
    end
    local key = fleet.key.generate()
    for _, bad in ipairs { 5, true, {} } do
      assert.error_matches(function() key:save(bad) end, "key:save: a path expected, got " .. type(bad))
      assert.error_matches(function() fleet.key.load(bad) end, "key.load: a path or PEM text expected, got " .. type(bad), 1, true)
    end
    local client = fleet.new { token = "x" }
    assert.error_matches(function() client.partner:register { x = 1 } end, "partner%.register: unknown parameter 'x'")
    assert.error_matches(function() client.user:me { x = 1 } end, "user%.me: unknown option 'x'")
    local _, message = pcall(fleet.command, "honk_horn", 5)
    assert.matches("command: a table of parameters expected, got number", message, 1, true)
    _, message = pcall(fleet.jws_verify, "a.b.c", nil)
    assert.matches("jws_verify: the bytes of a public key expected, got nil", message, 1, true)
  end)
end)
