-- Two processes on one store, and a service that ended both the token which one of them still has and the one that the other
-- exchanged it for.
local signed_sim = require "spec.support.servers.signed_sim"

describe("a token that is refused, and the one in the store,", function()
  local sim, first, second

  before_each(function()
    sim = signed_sim.start()
    first, second = sim:client(), sim:client()
    assert(second:vehicles():collect())
    sim:expire()
    assert(first:vehicles():collect()) -- exchanged
  end)
  after_each(function()
    first:close()
    second:close()
    sim:close()
  end)

  it("may both be of no use: the call exchanges it all the same", function()
    sim:expire()
    assert(second:vehicles():collect())
  end)

  it("are no reason to exchange where the stored one is good", function()
    local before = sim:token()
    assert(second:vehicles():collect())
    assert.equal(before, sim:token())
  end)

  it("and its successor lead to no further attempt", function()
    sim:expire()
    local asked = 0
    local oauth = sim.sim.service.oauth
    local find = oauth.find
    function oauth.find()
      asked = asked + 1
      return nil, "token expired (401)"
    end
    local vehicles, err = second:vehicles():collect()
    oauth.find = find
    assert.is_nil(vehicles)
    assert.equal("auth", err.kind)
    assert.equal(3, asked) -- with the old one, the stored one and its own
  end)
end)
