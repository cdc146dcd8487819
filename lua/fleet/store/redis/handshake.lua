-- The handshake of a connection: authentication, scripts, the server's settings, and whether it lost data. All its commands leave in
-- one write; the commands of the store follow after the last reply.

local address = require "fleet.store.redis.address"
local async = require "fleet.async"
local compat = require "fleet.util.compat"
local error_replies = require "fleet.store.redis.error_replies"
local errors = require "fleet.util.errors"
local scripts = require "fleet.store.redis.scripts"

local unpack = compat.unpack

local M = {}

local settings = { "appendonly", "appendfsync", "save", "maxmemory-policy" }
local dispensable = { CONFIG = true, EVALSHA = true } -- may be refused: settings stay unknown, or memory is full

local function send(link, words)
  if not link.connection then return nil, link.closed_error() end -- a finaliser of the host closed it
  local sent, err = link.connection:send(unpack(words))
  if not sent then return nil, err end
  link.handshake[#link.handshake + 1] = words
  return true
end

local function words_of(place, password)
  local list = {}
  local function add(...)
    list[#list + 1] = { ... }
  end
  if password then add("AUTH", unpack(place.username and { place.username, password } or { password })) end
  if place.database and place.database > 0 then add("SELECT", string.format("%d", place.database)) end
  for _, script in ipairs(scripts.all) do add("SCRIPT", "LOAD", script.text) end
  for _, name in ipairs(settings) do add("CONFIG", "GET", name) end
  add("EVAL", scripts.handshake, "1", place.prefix .. "server")
  return list
end

local function send_all(link, list)
  for _, words in ipairs(list) do
    local sent, err = send(link, words)
    if not sent then return nil, err end
  end
  return true
end

--- Starts the handshake on the connection of a link. Returns true, or nil, err.
function M.begin(link)
  local password, err = address.password(link.place)
  if password == nil then return nil, err end
  link.handshake, link.settings = {}, {}
  return send_all(link, words_of(link.place, password))
end

local function no_redis(link)
  return errors.new("store", link.place.label .. " does not answer as a Redis server that runs scripts")
end

-- Checks of the replies to the handshake. A setting without a reply stays unknown.
local expected = {
  AUTH = function(reply) return reply == "OK" end,
  SELECT = function(reply) return reply == "OK" end,
  SCRIPT = function(reply, words) return reply == scripts.sha_of[words[3]] end,
}

local function note_setting(link, name, reply)
  if type(reply) == "table" and reply[1] == name and type(reply[2]) == "string" then link.settings[name] = reply[2] end
end

-- A restarted server, or a replica in its place, may have lost all data or the newest writes, and cannot say which. Owners take their
-- leases again before other processes can, and each new connection restores the durable records.
local function learn_beginning(link, reply)
  if not scripts.is_handshake(reply) then return nil, no_redis(link) end
  local now, began, met = tonumber(reply[1]), reply[2], tonumber(reply[3])
  link.quiet_until = async.real() + (met - now) / 1e6 + link.place.settle
  local forgot = link.began and link.began ~= began
  link.began = began
  if forgot then link.warn(link.place.label .. " came back without its data: what others knew is lost") end
  return send_all(link, link.owner.memories(forgot))
end

--- Takes a reply. Returns "done" after the last one, true before; or nil, err when the connection is useless, and "refused" as a third
--- value when a new connection would be useless too.
function M.take(link, reply)
  local words = table.remove(link.handshake, 1)
  local problem = type(reply) == "table" and reply.error
  if problem and error_replies.is_passing(problem) then return nil, errors.new("store", link.place.label .. " says " .. problem) end
  if problem and not dispensable[words[1]] then
    return nil, errors.new("store", link.place.label .. " refuses: " .. error_replies.explain(problem)), "refused"
  end
  if not problem and expected[words[1]] and not expected[words[1]](reply, words) then return nil, no_redis(link) end
  if words[1] == "CONFIG" then note_setting(link, words[3], reply) end
  if words[1] == "EVAL" then
    local learnt, err = learn_beginning(link, reply)
    if not learnt then return nil, err end
  end
  return link.handshake[1] == nil and "done" or true
end

return M
