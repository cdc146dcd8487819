-- A proxy of spec/torture/redis.lua, on a Unix socket, until it is killed or its parent is gone.
--   lua5.4 spec/torture/redis_proxy.lua FILE SOCKET      FILE: JSON, see redis.lua

local core = require "fleet.core"
local fleet = require "fleet"

local file = assert(io.open(arg[1]))
local given = core.json_decode(file:read("a"))
file:close()

local client = assert(fleet.new {
  base_url = given.base_url, auth_url = given.auth_url, token_url = given.token_url, client_id = "app", client_secret = "app-secret",
  redirect_uri = "https://app.example.com/callback", store = given.store, store_key = given.store_key, key = given.key,
  commands = "signed", timeout = 10, budgets = given.budgets, pacing = given.pacing,
})
assert(require("fleet.proxy").new { client = client, listen = "unix:" .. arg[2], audit = function() end })
local stop_at = fleet.loop.clock() + given.seconds + 60
fleet.run(function() fleet.sleep(stop_at - fleet.loop.clock()) end)
