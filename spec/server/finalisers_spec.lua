-- What is closed while a server is made.

local fleet = require "fleet"
local server = require "fleet.server"

local function answer(request) request:respond(200, {}, "fine") end

local function open(options)
  options.loop, options.on_request = options.loop or fleet.loop, answer
  return assert(server.new(options))
end

describe("a server that closes while another takes its place over", function()
  it("is not asked any more", function()
    local old = open {}
    local loop = { watch = function(_, ...)
      old:close()
      return fleet.loop.watch(...)
    end }
    local port = old:port()
    local new = open { loop = loop, takes_over = old }
    assert.equal(port, new:port())
    new:close()
  end)
end)
