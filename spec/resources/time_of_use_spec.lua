-- A tariff that is sent: checked first, left out when it is in force, read back, and settled like any other write.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

local function tariff(price)
  return fleet.tariff.flat { price = price, currency = "EUR", name = "Flat", utility = "Utility" }
end

local function info_with(stored)
  return seam.answer('{"response":{"tariff_content_v2":' .. stored:encode() .. '}}')
end

-- A site whose service answers a POST with `posted`, and shows `shown`.
local function site_that(posted, shown)
  local state = { shown = shown, posted = posted, posts = 0 }
  local client = seam.client(function(request)
    if request.method == "GET" then return info_with(state.shown) end
    state.posts = state.posts + 1
    return type(state.posted) == "table" and state.posted or seam.answer(state.posted)
  end)
  return client:energy_site(7), state
end

local accepted = '{"response":{"code":201,"message":"Updated"}}'

describe("a tariff of a site", function()
  local old, new = tariff(0.2), tariff(0.3)

  it("is not sent when it is in force, and is when the caller insists", function()
    local site, state = site_that(accepted, new:normalised())
    assert.is_false(assert(site:time_of_use_settings(new)).changed)
    assert.equal(0, state.posts)
    assert.is_true(assert(site:time_of_use_settings(new, { force = true })).changed)
    assert.equal(1, state.posts)
  end)

  it("is read back where that is asked for, and a mismatch can be settled", function()
    local site, state = site_that(accepted, old)
    local value, err, kind = site:time_of_use_settings(new, { read_back = true, timeout = 2 })
    assert.same({ nil, "conflict", "unknown", "7" }, { value, kind, err.outcome, err.site })
    assert.is_false(site:settle(err))
    state.shown = new
    assert.is_true(site:settle(err))
    assert.equal(1, state.posts)
  end)

  it("can be settled when the reply was lost", function()
    local state = { shown = old }
    local client = seam.client(function(request)
      if request.method == "GET" then return info_with(state.shown) end
      return nil, "the connection ended", true
    end)
    local site = client:energy_site(7)
    local _, err = site:time_of_use_settings(new, { idempotent = false })
    assert.equal("unknown", err.outcome)
    assert.is_false(site:settle(err))
    state.shown = new
    assert.is_true(site:settle(err))
    assert.has_error(function() client:energy_site(8):settle(err) end)
  end)
end)
