-- The settings of connections, read once: what the caller's table becomes afterwards is nothing to them.

local core = require "fleet.core"
local fleet = require "fleet"
local server = require "fleet.server"
local tasks = require "fleet.async"

local function name_of(i)
  return "name-" .. ("x"):rep(60) .. i
end

describe("settings of connections", function()
  it("keep their texts when the table is emptied", function()
    local seen
    local made = server.new { loop = fleet.loop, host = "127.0.0.1", port = 0, on_request = function(request)
      seen = request.headers["user-agent"]
      request:respond(200)
    end }
    local given = { agent_line = "User-Agent: " .. name_of(1) }
    local settings = core.settings(given)
    given.agent_line = nil
    collectgarbage()
    local others = {} -- where the text may have been
    for i = 2, 2000 do others[i] = "User-Agent: " .. name_of(i) end
    fleet.run(function()
      local url = ("http://127.0.0.1:%d/"):format(made:port())
      assert(tasks.exchange("submit_raw", { method = "GET", url = url }, settings, 5)):close()
    end)
    made:close()
    assert.equal(name_of(1), seen, #others)
  end)

  it("take a number for a text, and no other value", function()
    assert.has_no.errors(function() core.settings { ca_file = 7 } end)
    for _, value in ipairs { true, {}, print, "a\0b" } do
      assert.has_error(function() core.settings { ca_file = value } end)
    end
  end)

  it("take no number beyond their bounds", function()
    for _, value in ipairs { -1, 0 / 0, 1 / 0, 2 ^ 64 } do
      assert.has_error(function() core.settings { max_response = value } end)
      assert.has_error(function() core.settings { connect_timeout = value } end)
    end
    assert.has_no.errors(function() core.settings { max_response = 2 ^ 63, connect_timeout = 0 } end)
  end)
end)
