-- The energy sites of an account, and the mode that is not published.

local fleet = require "fleet"
local seam = require "spec.support.fixtures.host_http"

local products = [[{"response":[{"vin":"5YJ3E1EA7KF000001","id_s":"1"},{"energy_site_id":7,"site_name":"Home"},null,
  {"energy_site_id":"2252147638651584","site_name":"Hut"},{"energy_site_id":null,"id":"x"},{"energy_site_id":"a/b"}],"count":9}]]

describe("client:energy_sites", function()
  it("gives sites with their records, and nothing else of the products", function()
    local client, requests = seam.client(products)
    local found = {}
    for site, record in client:energy_sites() do found[#found + 1] = site.id .. " " .. record.site_name end
    assert.same({ "7 Home", "2252147638651584 Hut" }, found)
    assert.equal("/api/1/products", requests[1].path)
    assert.equal(1, #requests)
    local list = client:energy_sites()
    local first, second, none = list(), list(), list()
    assert.same({ "7", "2252147638651584" }, { first.id, second.id })
    assert.is_nil(none)
    assert.same({ "Home", "Hut" }, { list:collect()[1].site_name, list:collect()[2].site_name })
    client:close()
  end)

  it("raises what fails in a loop, and returns it from collect", function()
    local client = seam.client { { status = 403, headers = {}, body = '{"error":"forbidden"}' } }
    assert.has_error(function() for _ in client:energy_sites() do error("none") end end)
    local list, _, kind = client:energy_sites():collect()
    assert.same({ nil, "forbidden" }, { list, kind })
    assert.has_error(function() client:energy_sites { page = 1 } end)
    client:close()
  end)
end)

describe("the mode backup", function()
  local function site()
    return seam.site(function(request)
      return seam.answer(request.method == "POST" and '{"response":{"code":201,"message":"Updated"}}'
        or '{"response":{"default_real_mode":"backup"}}')
    end)
  end

  it("is sent with force, and can be read back", function()
    local s, requests = site()
    assert.is_true(assert(s:operation({ default_real_mode = "backup" }, { force = true, read_back = true, timeout = 2 })).changed)
    assert.equal('{"default_real_mode":"backup"}', requests[1].body)
    assert.equal("backup", assert(s:site_info()).default_real_mode)
  end)

  it("raises without force, naming it; an unknown mode raises with it", function()
    local s, requests = site()
    assert.error_matches(function() s:operation { default_real_mode = "backup" } end, "force = true")
    assert.has_error(function() s:operation({ default_real_mode = "party" }, { force = true }) end)
    assert.equal(0, #requests)
    for _, row in ipairs(fleet.endpoints()) do
      for _, param in ipairs(row.name == "operation" and row.params or {}) do
        if param.name == "default_real_mode" then assert.equal("backup", param.forced) end
      end
    end
  end)
end)
