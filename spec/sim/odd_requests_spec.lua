-- Whatever a program sends, the simulator answers as a service does: never with a failure of its own.

local core = require "fleet.core"
local simulated = require "spec.support.fixtures.simulated"

local bodies = { "", "1", "true", "false", "null", '"text"', "[]", "{}", "[1]", "[null]", '{"a":null}', "{", "\0", string.rep("[", 500),
  '{"percent":null}', '{"percent":[]}', '{"percent":{}}', '{"percent":-1e308}', '{"on":"maybe"}', '{"vins":1}', '{"vins":[null]}',
  '{"config":[]}',
  '{"tou_settings":1}', '{"tou_settings":{"tariff_content_v2":null}}', '{"backup_reserve_percent":true}', '{"routable_message":"x"}',
  '{"routable_message":1}', '{"token":5}' }
local queries = { "", "?vin=", "?vin=1&vin=2", "?kind=day", "?kind=", "?page=x&page_size=-1", "?start_date=1&end_date=2", "?%zz", "?a[]=1" }

local function path_of(row)
  return (string.gsub(row.path, "{([%w_]+)}", function(name)
    return name == "vin" and simulated.CAR or name == "energy_site_id" and "1000001" or "1"
  end))
end

local function garage()
  return {
    accounts = { { email = "owner@x" }, { email = "friend@x" }, { email = "fleet@x", business = true, auth_code = "B" } },
    vehicles = { { vin = simulated.CAR, drivers = { { email = "friend@x", hide_private = true } } } },
    energy_sites = { { energy_site_id = 1000001 } },
    apps = { { client_id = "c1", client_secret = "x", redirect_uris = { "http://app/cb" }, domain = "example.com" },
      { client_id = "open", redirect_uris = { "http://app/cb" } } },
  }
end

-- The token of an application without a secret.
local function open_source(sim)
  local code = assert(sim:code({ client_id = "open", code_challenge = core.oauth_challenge(string.rep("v", 43)) }))
  return assert(sim:token({ grant_type = "authorization_code", client_id = "open", code = code, audience = "http://base",
    redirect_uri = "http://app/cb", code_verifier = string.rep("v", 43) }, "auth").json.access_token)
end

local tokens = {
  ["a third party's"] = function(sim) return sim:login().access_token end,
  ["a driver's"] = function(sim) return sim:login({ login_hint = "friend@x" }).access_token end,
  ["a partner's"] = function(sim) return sim:partner() end,
  ["a business's"] = function(sim) return sim:partner(nil, { auth_code = "B" }) end,
  ["an open-source app's"] = open_source,
  ["no"] = function() return "" end,
}

describe("an odd request", function()
  for _, rows in ipairs { core.endpoints(), core.commands() } do
    for _, row in ipairs(rows) do
      it("is answered by the service: " .. row.name, function()
        for kind, token_of in pairs(tokens) do
          local sim = simulated.new(garage())
          local token = token_of(sim)
          local function sent(verb, target, body)
            local reply = sim:call(verb, target, body, token)
            assert.is_nil(string.find(reply.body or "", "the simulator failed", 1, true), kind .. ": " .. verb .. " " .. target .. " "
              .. body .. "\n" .. tostring(reply.body))
            assert.is_true(reply.status >= 200 and reply.status < 600)
          end
          for _, body in ipairs(bodies) do sent(row.verb, path_of(row), row.verb == "GET" and "" or body) end
          for _, query in ipairs(queries) do sent(row.verb, path_of(row) .. query, row.verb == "POST" and "{}" or "") end
        end
      end)
    end
  end

  it("without a vin, or of an unknown kind, is rejected with the reason", function()
    local sim = simulated.new()
    for _, path in ipairs { "/api/1/dx/warranty/details", "/api/1/dx/vehicles/subscriptions/eligibility",
      "/api/1/dx/vehicles/upgrades/eligibility" } do
      assert.equal(400, sim:get(path).status)
      assert.equal(200, sim:get(path .. "?vin=" .. simulated.CAR).status)
    end
    assert.equal(400, sim:get("/api/1/energy_sites/1000001/calendar_history?kind=day").status)
    assert.equal(405, sim:call("DELETE", "/api/1/energy_sites/1000001/live_status").status)
  end)
end)
