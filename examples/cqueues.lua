-- Inside a host with its own event loop: only the waiting is replaced, once. Here the host is cqueues.
local cqueues = require "cqueues"
local fleet = require "fleet"

fleet.loop.wait = function(seconds) cqueues.poll(fleet.loop, seconds) end

local client = fleet.new { base_url = os.getenv "FLEET_BASE_URL", token = os.getenv "FLEET_TOKEN", store = os.getenv "FLEET_STORE" }
local queue = cqueues.new()

for car in client:vehicles() do
  queue:wrap(function() print(tostring(car), assert(car:info()).state) end)
end
queue:wrap(function() print("the host goes on while the calls wait") end)
assert(queue:loop())
client:close()
