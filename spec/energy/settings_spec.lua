-- What the reply to an energy setting proves: doc/protocol.md#energy-settings.

local seam = require "spec.support.fixtures.host_http"

local settings = {
  { "backup", { backup_reserve_percent = 20 } },
  { "operation", { default_real_mode = "autonomous" } },
  { "storm_mode", { enabled = true } },
  { "grid_import_export", { customer_preferred_export_rule = "pv_only" } },
  { "off_grid_vehicle_charging_reserve", { off_grid_vehicle_charging_reserve_percent = 30 } },
  { "time_of_use_settings", require("fleet").tariff.flat { price = 0.2, currency = "EUR", name = "a", utility = "b" } },
}

-- Each setting, answered by this body.
local function answered(body, check)
  for _, setting in ipairs(settings) do
    local site = seam.site(function(request)
      return seam.answer(request.method == "POST" and body or '{"response":{}}')
    end)
    check(setting[1], site[setting[1]](site, setting[2]))
  end
end

local function fails(body, kind, outcome)
  answered(body, function(name, value, err)
    assert.is_nil(value, name .. " " .. body)
    assert.same({ kind, outcome }, { err.kind, err.outcome }, name .. " " .. body)
    assert.is_nil(string.find(tostring(err), "[Tt]he vehicle"), tostring(err))
  end)
end

describe("the reply to an energy setting", function()
  it("is a success by its code, in either spelling, or by its result", function()
    for body, code in pairs {
      ['{"response":{"code":201,"message":"Updated"}}'] = 201, ['{"response":{"Code":200,"Message":"Updated"}}'] = 200,
      ['{"response":{"code":"204","message":"Updated"}}'] = "204",
    } do
      answered(body, function(name, value)
        assert.same({ true, code, "Updated" }, { value.changed, value.code, value.message }, name)
      end)
    end
    answered('{"response":{"result":true,"reason":""}}', function(_, value) assert.is_true(value.changed) end)
    answered('{"response":{"result":false,"reason":"already_set"}}', function(_, value) assert.is_false(value.changed) end)
  end)

  it("is unknown where it says both that the setting was taken and that it was not", function()
    fails('{"response":{"code":201,"Code":500,"message":"Updated"}}', "protocol", "unknown")
    fails('{"response":{"code":500,"Code":201}}', "protocol", "unknown")
    fails('{"response":{"code":201,"message":"Updated"},"error":"internal error"}', "service", "unknown")
    answered('{"response":{"code":201,"Code":201}}', function(_, value) assert.is_true(value.changed) end)
  end)

  it("is a refusal by a code from 400 on, of which the text says more", function()
    fails('{"response":{"code":400,"message":"Bad request"}}', "invalid", "refused")
    fails('{"response":{"Code":400,"Message":"not allowed"}}', "refused", "refused")
    fails('{"response":{"code":"403","message":"no"}}', "forbidden", "refused")
    fails('{"response":{"code":404}}', "not_found", "refused")
    fails('{"response":{"code":500,"message":"Timed out"}}', "timeout", "unknown")
    fails('{"response":{"code":503,"message":"later"}}', "service", "unknown")
    fails('{"response":{"result":true,"code":500}}', "service", "unknown")
  end)

  it("speaks of the site in a refusal", function()
    fails('{"response":{"result":false,"reason":"not_supported"}}', "refused", "refused")
    fails('{"response":{"result":false}}', "refused", "refused")
    fails('{"response":{"error":"operation_timedout"}}', "timeout", "unknown")
    fails('{"response":null,"error":"timeout"}', "timeout", "unknown")
    local site = seam.site '{"response":{"result":false,"reason":"not_supported"}}'
    local _, err = site:backup { backup_reserve_percent = 20 }
    assert.matches("The site is not equipped for it", tostring(err))
    _, err = seam.car({ seam.refused "not_supported" }):honk_horn()
    assert.matches("The vehicle is not equipped for it", tostring(err))
  end)

  it("leaves the outcome unknown where it says neither", function()
    for _, body in ipairs {
      '{}', '{"response":{}}', '{"response":true}', '{"response":"ok"}', '{"response":null}', "", '{"response":{"code":null}}',
      '{"response":{"message":"Updated"}}', '{"response":{"code":0}}', '{"response":{"code":{}}}', '{"response":{"code":302}}',
    } do
      fails(body, "protocol", "unknown")
    end
  end)

  it("does not advise to wake a site", function()
    local site = seam.site { { status = 408, headers = {}, body = '{"error":"vehicle unavailable: vehicle is offline or asleep"}' } }
    local _, err = site:backup { backup_reserve_percent = 20 }
    assert.is_nil(string.find(tostring(err), "wake", 1, true), tostring(err))
  end)

  it("is an error with strict where the site holds the tariff already", function()
    local tariff = settings[6][2]
    local site = seam.site(function() return seam.answer('{"response":{"tariff_content_v2":' .. tariff:encode() .. "}}") end)
    assert.is_false(assert(site:time_of_use_settings(tariff)).changed)
    local _, err = site:time_of_use_settings(tariff, { strict = true })
    assert.same({ "refused", "not_sent" }, { err.kind, err.outcome })
  end)

  it("sends a tariff that was read as the site wrote it: a period without members is a period", function()
    local content = '{"daily_charges":[],"name":"x","seasons":{"Year":{"tou_periods":{"A":{"periods":[{}]}}}}}'
    local sent
    local site = seam.site(function(request)
      if request.method == "GET" then return seam.answer('{"response":{"tariff_content_v2":' .. content .. "}}") end
      sent = request.body
      return seam.answer('{"response":{"code":201,"message":"Updated"}}')
    end)
    assert(site:time_of_use_settings(assert(site:site_info()).tariff_content_v2, { force = true }))
    assert.equal('{"tou_settings":{"tariff_content_v2":' .. content .. "}}", sent)
  end)
end)
