-- Stores records in Redis streams, one stream per vehicle, and the newest values in a hash that other processes read. One script does both
-- atomically. A record that is written again after a broken connection gives a second entry, which consumers recognise by its txid.

local compat = require "fleet.util.compat"
local core = require "fleet.core"
local errors = require "fleet.util.errors"
local fields = require "fleet.telemetry.fields"
local lines = require "fleet.telemetry.outputs.lines"
local redis = require "fleet.store.redis"
local vehicles = require "fleet.telemetry.vehicle"

local M = {}

-- KEYS: stream, hash. ARGV: MAXLEN, record, vin, topic, txid, then field, time and value (JSON, or empty: unknown) of each field.
-- All reads come before the first write: a script that fails later would add an entry at each new attempt. A value whose time cannot be
-- read is of another program and is replaced.
local script = [[
local newer = {}
for i = 6, #ARGV, 3 do
  local known = redis.call('HGET', KEYS[2], ARGV[i])
  local at = known and tonumber(string.match(known, '^%S+') or '')
  if not at or not (tonumber(ARGV[i + 1]) < at) then newer[#newer + 1] = i end
end
redis.call('XADD', KEYS[1], 'MAXLEN', '~', ARGV[1], '*', 'vin', ARGV[3], 'topic', ARGV[4], 'txid', ARGV[5], 'record', ARGV[2])
for _, i in ipairs(newer) do redis.call('HSET', KEYS[2], ARGV[i], ARGV[i + 1] .. ' ' .. ARGV[i + 2]) end
return 1
]]

local Redis = { name = "redis" }
Redis.__index = Redis

-- What to do about an error of the connection, by a part of its text.
local cures = {
  { "NOPERM", "the user needs the commands EVAL, XADD, HGET, HSET, HGETALL, SCRIPT and PING, and the keys of the prefix" },
  { "NOAUTH", "add password_file or password_env to the address, as in redis://localhost?password_env=NAME" },
  { "WRONGPASS", "correct the user or the password, which password_file or password_env of the address names" },
  { "password", "correct password_file or password_env of the address" },
  { "wrong version number", "the server has no TLS at this port: correct the port, or use redis:// on the same machine" },
  { "closed the connection", "a server with TLS needs rediss:// in place of redis://" },
  { "is not believed", "name the authority of its certificate in the address: rediss://HOST?ca_file=FILE" },
  { "error:", "correct ca_file of the address" }, -- of OpenSSL, about the file
}

--- given.address: as of fleet.store.redis, with its further options; given.stream: the prefix of the keys ("telemetry:"); given.most:
--- entries of a stream (10000). It connects at first use. Returns the output, or nil, err, kind.
function M.new(given)
  local prefix, most = given.stream or "telemetry:", given.most or 10000
  if type(prefix) ~= "string" then errors.usage "fleet.telemetry: 'stream' of the output redis must be a text" end
  if type(most) ~= "number" or most % 1 ~= 0 or most < 1 then
    errors.usage "fleet.telemetry: 'most' of the output redis must be a whole number from 1"
  end
  local own = {}
  for name, value in pairs(given) do
    if name ~= "stream" and name ~= "most" then own[name] = value end
  end
  local opened, err, kind = redis.open(own)
  if not opened then return nil, err, kind end
  return setmetatable({ redis = opened, prefix = prefix, most = string.format("%.0f", most) }, Redis)
end

local function keys_of(self, vin) return self.prefix .. vin, self.prefix .. vin .. ":values" end

-- A value is stored as { v = value }, because older JSON decoders reject a bare value.
local function add_fields(words, record)
  local at = string.format("%.3f", math.min(record.at, record.arrived))
  local function add(name, text)
    if not fields.is_kept(name) then return end
    words[#words + 1], words[#words + 2], words[#words + 3] = name, at, text
  end
  for name, value in pairs(record.values or {}) do add(name, core.json_encode { v = value }) end
  for _, name in ipairs(record.invalid or {}) do add(name, "") end
  for name in pairs(record.texts or {}) do add(name, "") end
end

--- Connects. Returns true, or nil, err, kind with what to do.
function Redis:check()
  local done, err, kind = self.redis.acts.link:ready()
  if done then return true end
  for _, cure in ipairs(cures) do
    if string.find(err.message, cure[1], 1, true) then return errors.failure(kind, err.message .. ": " .. cure[2]) end
  end
  return errors.failure(kind, err.message .. ": start the server, or correct the address")
end

--- Adds a record. Returns true once Redis has answered, or nil, err, kind.
function Redis:store(record)
  local stream, hash = keys_of(self, record.vin)
  local words = { "2", stream, hash, self.most, lines.line(record), record.vin, record.topic, record.txid or "" }
  add_fields(words, record)
  local done, err, kind = self.redis.acts.link:call(false, "EVAL", script, compat.unpack(words))
  if not done then return nil, err, kind end
  return true
end

--- Takes newer values of a vehicle that any receiver has written to this Redis. Returns true, or nil, err, kind.
function Redis:refresh(vehicle)
  local _, hash = keys_of(self, vehicle.vin)
  local list, err, kind = self.redis.acts.link:call(false, "HGETALL", hash)
  if not list then return nil, err, kind end
  for i = 1, #list, 2 do
    local at, text = string.match(list[i + 1], "^(%S+) (.*)$")
    local kept = {} -- of an empty text: the value is unknown
    if text ~= "" then kept = text and core.json_decode(text) end
    if type(kept) == "table" then vehicles.take(vehicle, list[i], kept.v, tonumber(at)) end
  end
  return true
end

function Redis:close() self.redis:close() end

return M
