local probe = require "probe_signing"
local signing = require "spec.support.fixtures.signing"
local unhex, hex, whole = signing.unhex, signing.hex, signing.whole
local vectors = signing.vectors "protocol"

describe("metadata", function()
  it("of every request in the vectors is theirs byte for byte", function()
    for _, v in ipairs(vectors.requests) do
      assert.equal(v.metadata, hex(probe.request_metadata {
        method = v.method == "gcm" and 5 or 8, domain = whole(v.domain), vin = v.vin, epoch = unhex(v.epoch),
        expires_at = whole(v.expires_at), counter = whole(v.counter), flags = whole(v.flags),
      }), v.name)
    end
  end)

  it("of every answer in the vectors is theirs byte for byte", function()
    for _, v in ipairs(vectors.responses) do
      assert.equal(v.metadata, hex(probe.response_metadata {
        domain = whole(v.domain), vin = v.vin, counter = whole(v.counter), flags = whole(v.flags),
        request_hash = unhex(v.request_hash), fault = whole(v.fault),
      }), v.name)
    end
  end)

  it("of every session info in the vectors is theirs byte for byte", function()
    for _, v in ipairs(vectors.session_info) do
      assert.equal(v.metadata, hex(probe.info_metadata(v.vin, unhex(v.challenge))), v.name)
    end
  end)

  it("skips what is absent and writes what is empty", function()
    assert.equal("ff", hex(probe.items {}))
    assert.equal("ff", hex(probe.items { { 3, false } }))
    assert.equal("0300ff", hex(probe.items { { 3, "" } }))
  end)

  it("refuses items out of order, twice, or longer than 255 bytes", function()
    assert.is_string(probe.items { { 1, "a" }, { 2, "b" } })
    assert.is_nil(probe.items { { 2, "b" }, { 1, "a" } })
    assert.is_nil(probe.items { { 1, "a" }, { 1, "a" } })
    assert.is_string(probe.items { { 1, ("x"):rep(255) } })
    assert.is_nil(probe.items { { 1, ("x"):rep(256) } })
    assert.is_nil(probe.items { { 1, ("x"):rep(255) }, { 2, ("x"):rep(255) } })
  end)
end)
