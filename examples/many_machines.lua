-- One Redis for many workers. It starts a server of its own, on a Unix socket; yours runs already.
local fleet = require "fleet"

local directory = os.tmpname()
os.remove(directory)
os.execute("mkdir -m 700 " .. directory)
os.execute("redis-server --port 0 --unixsocket " .. directory .. "/socket --dir " .. directory
  .. " --appendonly yes --appendfsync always --daemonize yes >/dev/null")
local address = "redis+unix:" .. directory .. "/socket"

-- Two workers: each has a store of its own at the same address. A new server gives no lease for two seconds, so that earlier owners can
-- take theirs again; settle = 0 skips that.
local one = assert(fleet.store.redis { address = address, settle = 0 })
local two = assert(fleet.store.redis { address = address, settle = 0 })

local lease = assert(one:lease("token/default/user", 0.2))
print("the second worker gets", select(3, two:lease("token/default/user", 60)))

fleet.sleep(0.3) -- the first one stalls, and its lease expires
local later = assert(two:lease("token/default/user", 60))
assert(two:put("token/default/user", "the newer pair", { lease = later, durable = true }))
print("the first one's late write", select(3, one:put("token/default/user", "an older pair", { lease = lease })))
print("stored", (one:get("token/default/user")))

for _, store in ipairs { one, two, one } do store:add("count/default/2026-11", { data = 1 }) end
print("calls of both", two:add("count/default/2026-11", {}).data)

for _, found in ipairs(one:findings()) do print(found.name, found.ok, found.message) end
one:close()
two:close()
os.execute("redis-cli -s " .. directory .. "/socket shutdown nosave && rm -r " .. directory)
