-- A row that the simulator has no handler for is answered with the row's own example.
local core = require("fleet.core")
local handlers = require("fleet.sim.handlers")
local json = require("fleet.sim.json")
local simulated = require("spec.support.fixtures.simulated")

local TYPED = {
  name = "typed", verb = "GET", path = "/api/1/users/typed", tokens = { "user" }, scope = "user_data", params = {}, flags = {},
  value = { object = true },
}

local function answered(members)
  local endpoints, row = core.endpoints(), {}
  for _, source in ipairs({ TYPED, members }) do
    for name, value in pairs(source) do row[name] = value end
  end
  endpoints[#endpoints + 1] = row
  local reply = simulated.new(nil, { endpoints = endpoints }):call(row.verb, row.path, row.verb == "POST" and {} or nil)
  return reply.status, reply.body
end

describe("a row without a handler", function()
  for _, case in ipairs({
    { "its example", { reply = '{"response":{"level":7}}' }, '{"response":{"level":7}}' },
    { "its example, as it stands", { reply = '{"codes":[null]}' }, '{"codes":[null]}' },
    { "an empty object", {}, '{"response":{}}' },
    { "an empty list", { value = { list = true } }, '{"response":[]}' },
    { "an empty page", { paging = "page" }, '{"count":0,"response":[]}' },
    { "an empty page of its own form", { paging = "page_no", items = "data" }, '{"data":[]}' },
    { "no bytes", { value = { bytes = true } }, "" },
    { "no bytes in base64", { value = { base64 = true } }, '{"response":""}' },
    { "what a setting says", { verb = "POST", flags = { setting = true } }, '{"response":{"code":201,"message":"Updated"}}' },
  }) do
    it("answers with " .. case[1], function()
      assert.same({ 200, case[3] }, { answered(case[2]) })
    end)
  end

  it("asks for token and scope all the same", function()
    local endpoints = core.endpoints()
    endpoints[#endpoints + 1] = TYPED
    local sim = simulated.new(nil, { endpoints = endpoints })
    assert.equal(401, sim:get(TYPED.path, "nobody").status)
    assert.equal(403, sim:get(TYPED.path, sim:login({ scope = "openid vehicle_cmds" }).access_token).status)
  end)

  it("has an example that can be read", function()
    local count = 0
    for _, row in ipairs(core.endpoints()) do
      if row.reply then
        count = count + 1
        assert.is_nil(handlers[row.name], row.name .. " has a handler and an example")
        assert.is_table(json.decode(row.reply), row.name)
      end
    end
    assert.is_true(count > 0)
  end)

  it("that is a command is obeyed", function()
    local commands = core.commands()
    commands[#commands + 1] = {
      name = "polish", verb = "POST", path = "/api/1/vehicles/{vin}/command/polish", tokens = { "user" }, scope = "vehicle_cmds",
      params = {}, flags = { command = true },
    }
    assert.equal("", (simulated.new(simulated.garage(), { commands = commands }):command("polish")))
    assert.equal(400, (simulated.new(simulated.garage()):command("polish")))
  end)
end)
