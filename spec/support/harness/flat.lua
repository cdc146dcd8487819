-- Makes so many requests and prints by how much what is alive, Lua's memory and the process grew after the first two fifths. In a
-- process of its own: what other specs left behind in the heap would blur the figures. Arguments: address, requests.
local core = require "fleet.core"
local fleet = require "fleet"
local garbage = require "spec.support.harness.garbage"

local url, total = ...
local client = fleet.new { token = "a-token", base_url = url }

local function requests(count)
  fleet.run(function()
    local tasks = {}
    for i = 1, 64 do
      tasks[i] = fleet.spawn(function()
        while count > 0 do
          count = count - 1
          assert(client:products())
        end
      end)
    end
    for _, task in ipairs(tasks) do task:wait() end
  end)
end

local function figures()
  garbage.collect()
  local file = io.open("/proc/self/statm")
  local _, pages = file:read("n", "n")
  file:close()
  return core.live(), math.floor(collectgarbage("count") * 1024), pages * 4096
end

total = tonumber(total)
requests(math.floor(total * 2 / 5))
local live, lua, resident = figures()
requests(total - math.floor(total * 2 / 5))
local live_after, lua_after, resident_after = figures()
print(live_after - live, lua_after - lua, resident_after - resident)
