-- One of the hot paths, so many times: spec/bench/counts.lua counts the instructions of this process.
--
--   lua5.4 spec/bench/hot_paths.lua <path> <rounds> <address of a server that answers with about 1 KB>

local core = require "fleet.core"
local fleet = require "fleet"

local VIN = "5YJ30123456789ABC"
local path, rounds, url = ...

local function client()
  return fleet.new { token = "a-token", base_url = url, client_id = "app" }
end

local paths = {}

-- A reply of 1 KB over a connection that is kept, one in flight.
function paths.read()
  local one = client()
  return function() assert(one:products()) end
end

-- The same with a body, and its result.
function paths.plain_command()
  local car = client():vehicle(VIN)
  return function() assert(car:set_charge_limit { percent = 80 }) end
end

-- From parameters to the base64 text of the signed message.
function paths.signed_command()
  local key, vehicle = core.key.generate(), core.key.generate()
  local session = core.session { key = key, vin = VIN, domain = "infotainment" }
  local receiver = core.receiver { key = vehicle, vin = VIN, domain = "infotainment", keys = { key:public_bytes() } }
  assert(session:accept((receiver:handle(session:handshake()))))
  return function() assert(session:command("set_charge_limit", { percent = 80 })) end
end

-- A tariff of 2 seasons and 5 periods.
function paths.tariff_check()
  local given = require("spec.support.fixtures.tariff_samples").two_seasons()
  return function() assert(fleet.tariff.check(given)) end
end

-- What the store keeps of a pair, read.
function paths.token_record()
  local text = core.json_encode {
    access_token = ("a"):rep(1000), refresh_token = ("r"):rep(80), saved_at = 1700000000, refreshed_at = 1700000000,
    expires_at = 1700028800, scope = "openid offline_access vehicle_device_data vehicle_cmds",
  }
  return function() assert(core.token_record(text)) end
end

local act = paths[path]()
for _ = 1, tonumber(rounds) do act() end
