-- Every block of Lua of the cookbook runs as it stands, with what its first lines promise, and prints what it should.

local process = require "spec.support.harness.process"
local services = require "spec.support.servers.service"
local files = require "spec.support.harness.files"
local markdown = require "spec.support.harness.markdown"
local fleet = require "fleet"

local vin, second = "5YJ3FLEE9RF000001", "5YJSFLEE9KF000002"

-- heading → what its block prints
local prints = {
  ["Poll without waking"] = { "online\n", "battery\t%d+ %%\n" },
  ["Charge at night, in the cheapest hours"] = { "%a" },
  ["Charge between two hours of the night"] = { "^added\t1\n$" },
  ["A message when charging stops"] = { "last seen:\t%u%a+\n" },
  ["The invoices of a month into a folder"] = { "saved\t%S+\n" },
  ["The energy of a month as CSV, day by day"] = { "^day,solar Wh,", "\n2026%-10%-25,%d+" },
  ["Send a tariff made from spot prices"] = { "^changed\ttrue\nchanged\tfalse\n$" },
  ["The same command to many cars of a spreadsheet"] = { vin .. "\tset\n" .. second .. "\tset\n" },
  ["A link that lets another person drive the car"] = { "^https://", "pending\n$" },
  ["Take a driver off the car"] = { "^%a+\t%d+\n" },
  ["A telemetry configuration from a template"] = { "^nil\t%S" },
  ["Send a command and be certain"] = { "^sentry\ton\n$" },
  ["Warm the car before you leave"] = { "^climate\t%a+\n$" },
  ["Doors and windows that were left open"] = { "^open:\tnothing\n$" },
  ["Fill the home battery before a storm"] = { "^reserve\t%d+\t%->\t100\n$" },
  ["What the sun, the battery and the grid give now"] = { "^solar %-?%d+ W, battery %d+ %%, grid %-?%d+ W\n$" },
  ["Two accounts in one program"] = { "mine\tfleet explain auth\n", "yours\tfleet explain auth\n" },
  ["Replace a key"] = { "^fingerprint\t%x+\n", "https://%S+\n$" },
  ["Every call in a file of JSON lines"] = { '^{"call":"GET /api/1/vehicles/{vin}","status":200}\n$' },
  ["Send a destination to the car"] = { "^sent\ttrue\n$" },
  ["Let other programs use the car"] = { "^true\n$" },
}

describe("the cookbook", function()
  local service, client, given, written
  local found = markdown.lua(files.read(process.root .. "/doc/manual/cookbook.md"))

  setup(function()
    service = services.start {
      vehicles = { { vin = vin, vehicle_command_protocol_required = false, drivers = { { email = "jo@example.com" } } },
        { vin = second, vehicle_command_protocol_required = false } },
      energy_sites = { { energy_site_id = 1000001 } },
      charging_history = { { vin = vin, chargeStartDateTime = "2026-10-10T10:00:00Z" } },
    }
    local store = fleet.store.memory()
    client = service:sign_in(service:client { store = store })
    local token = require("cjson").decode((store:get "token/default/user")).access_token
    given = {
      fleet = fleet, client = client, vin = vin, second_vin = second, site_id = "1000001", folder = process.temporary "cookbook",
      store = fleet.store.memory(), base_url = service.addresses.base_url, token = token,
      print = function(...)
        for i = 1, select("#", ...) do written[#written + 1] = (i > 1 and "\t" or "") .. tostring((select(i, ...))) end
        written[#written + 1] = "\n"
      end,
    }
  end)
  teardown(function()
    client:close()
    service:stop()
  end)

  it("has a block that is run here for every task", function()
    local headings = {}
    for _, block in ipairs(found) do
      headings[block.heading] = true
      assert.is_truthy(prints[block.heading], block.heading)
    end
    for heading in pairs(prints) do assert.is_true(headings[heading], heading) end
    assert.equal(21, #found)
  end)

  for _, block in ipairs(found) do
    it("runs: " .. block.heading, function()
      written = {}
      local environment = setmetatable({}, { __index = function(_, name) return given[name] or _G[name] end })
      local chunk = assert(load(block.text, "=" .. block.heading, "t", environment))
      local sleep = fleet.sleep
      given.fleet = setmetatable({ sleep = function() end }, { __index = fleet })
      chunk()
      given.fleet = fleet
      assert.equal(sleep, fleet.sleep)
      local text = table.concat(written)
      for _, pattern in ipairs(prints[block.heading] or {}) do assert.matches(pattern, text) end
    end)
  end
end)
