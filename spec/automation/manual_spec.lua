-- The examples run, their months are what the pages show, and `fleet run` runs the file of automations.

local cli = require "spec.support.harness.cli"
local measured = require "spec.support.harness.measured"

local slurp = require("spec.support.harness.files").read

for _, name in ipairs(measured.names) do
  it("the page of " .. name .. " shows what is measured and drawn today (make look writes it)", function()
    local month, text = measured.of(name)
    assert.equal(text, measured.shown(slurp("doc/manual/automation-" .. name .. ".md")))
    local title = string.match(slurp("examples/automation_" .. name .. ".lua"), 'title = "(.-)"')
    assert.is_true(slurp("doc/manual/pictures/automation-" .. name .. ".svg") == month:svg { title = title }, "make look")
  end)
end

describe("fleet run", function()
  local function service(state)
    return function(request)
      local body = string.find(request.url, "vehicle_data", 1, true) and '{"response":{"state":"online","charge_state":' ..
        '{"charging_state":"Stopped","battery_level":40,"charge_limit_soc":60},"vehicle_state":{"sentry_mode":true}}}'
        or '{"response":{"vin":"5YJSFLEE9KF000002","state":"' .. state .. '"}}'
      return { status = 200, headers = {}, body = body }
    end
  end

  local function run(argv, state)
    local sent = {}
    local answer = service(state or "online")
    local result = cli.run(argv, { env = { FLEET_TOKEN = "x" }, new = function(options)
      options.token, options.base_url = "x", "https://service.example"
      function options.http(request)
        sent[#sent + 1] = request.method .. " " .. string.match(request.url, "[^/?]+%f[?%z]")
        return answer(request)
      end
      return require("fleet").new(options)
    end })
    return result, table.concat(sent, ", ")
  end

  it("--dry-run prints what it would send and what that costs, and sends nothing", function()
    local result, sent = run { "run", "examples/automation.lua", "--dry-run" }
    assert.equal(0, result.status, result.err)
    assert.is_nil(string.find(sent, "POST", 1, true), sent)
    assert.matches("would send set_sentry_mode: sentry mode is not as wanted", result.out)
    assert.matches("cost: %d commands? %(0%.00%d USD%); a month: about", result.out)
  end)

  it("--dry-run says of a sleeping car why nothing happens, without a live call", function()
    local result, sent = run({ "run", "examples/automation.lua", "--dry-run" }, "asleep")
    assert.is_nil(string.find(sent, "vehicle_data", 1, true), sent)
    assert.matches("charge_by of [^\n]*\n  nothing to send: [^\n]* asleep", result.out)
  end)

  it("--json gives the same as one value", function()
    local result = run { "run", "examples/automation.lua", "--dry-run", "--json" }
    assert.equal("charge_by", result.json[1].name)
    assert.is_number(result.json[1].month.usd)
  end)

  for _, case in ipairs {
    { "a file that is not there", "examples/nothing.lua", "cannot open" },
    { "a file that returns something else", "examples/time.lua", "must return a function" },
  } do
    it("refuses " .. case[1], function()
      local result = run { "run", case[2], "--dry-run" }
      assert.equal(2, result.status)
      assert.is_truthy(string.find(result.err, case[3], 1, true), result.err)
    end)
  end
end)
