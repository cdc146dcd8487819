-- An HTTP server in the same loop as the client that asks it: it answers and is closed.
local fleet = require "fleet"

local server = assert(require("fleet.server").new {
  loop = fleet.loop,
  on_request = function(request)
    print(request.method .. " " .. request.path)
    request:respond(200, { ["Content-Type"] = "application/json" }, '{"response":{"state":"online"}}')
  end,
})

local client = fleet.new { base_url = "http://127.0.0.1:" .. server:port(), token = "any" }
print(assert(client:vehicle("5YJ3E1EA7KF000001"):info()).state)
client:close()
server:close()
