-- A host's finaliser may close the client whose token is being read or written.

local core = require "fleet.core"
local finalisers = require "spec.support.harness.finalisers"

describe("a finaliser of the host's that closes a token in use", function()
  local scope = string.rep("offline_access ", 40)
  local text = string.format('{"access_token":"%s","scope":"%s"}', string.rep("t", 3000), scope)

  local function made() return assert(core.token_record(text)) end

  it("changes none of its facts", function()
    finalisers.closing(made, function(token) assert(token:facts().scope == scope) end)
  end)

  it("changes no record that is kept, and no access token that is sent", function()
    local whole = made():json()
    finalisers.closing(made, function(token)
      assert(token:json() == whole)
      assert(token:access() == string.rep("t", 3000))
    end)
  end)
end)
