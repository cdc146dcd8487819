-- The stores, opened by name, and what their files share.
--
-- A store is a file lua/fleet/store/<name>.lua that returns { open =, sample = }: open opens it, and sample opens an empty one for specs.
-- doc/manual/own-store.md has the promises of a store and their reasons; spec/contract/stores_spec.lua tests every promise on every store.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = { object = require("fleet.store.object").new }

--- The clock of stores that are opened without one: () -> mono, wall. A host's loop may replace it.
M.clock = core.clock

--- The clock of a store's options, or the common one.
function M.clock_of(options)
  return options and options.clock or function() return M.clock() end
end

local forget_every = 60 -- seconds

--- Expiry times of the keys that a process put with a ttl. Once a minute, forget(key) is called for expired keys, so that unfinished
--- sign-ins do not pile up. Times are of the monotonic clock: setting the wall clock expires nothing that this process wrote.
local Ends = {}
Ends.__index = Ends

function M.new_ends(forget)
  return setmetatable({ forget = forget, ends_of = {}, offset_of = {}, last = nil }, Ends)
end

local function forget_ended(self, mono)
  self.last = mono
  local ended = {}
  for key, ends in pairs(self.ends_of) do
    if ends <= mono then ended[#ended + 1] = key end
  end
  for _, key in ipairs(ended) do
    self.ends_of[key] = nil
    self.forget(key)
    self.offset_of[key] = nil
  end
end

--- Records that a key was put for `ttl` seconds, or for ever (nil); wall: the wall clock, for a store that writes expiry times.
function Ends.note(self, key, ttl, mono, wall)
  self.ends_of[key] = ttl and mono + ttl
  self.offset_of[key] = ttl and wall and wall - mono
  if ttl and (not self.last or mono - self.last >= forget_every) then forget_ended(self, mono) end
end

--- The wall clock by which the expiry of a key's record is judged. For a record of this process: the time of its write, advanced by the
--- monotonic clock. For a record of another process: the present time.
function Ends.wall_of(self, key, mono, wall)
  local offset = self.offset_of[key]
  return offset and mono + offset or wall
end

--- Returns a function that passes each different text to warn once. warn may be nil.
function M.warner(warn)
  local reported = {}
  return function(text)
    if warn and not reported[text] then warn(text) end
    reported[text] = true
  end
end

-- The name of the store and its place. A Redis address is passed whole.
local function place_of(text)
  if text == "memory" then return text end
  if string.find(text, "^rediss?:") or string.find(text, "^redis%+unix:") then return "redis", text end
  local name, place = string.match(text, "^([a-z]+):(.+)$")
  if name then return name, place end
  return "file", text
end

--- Opens a store by text, as the command line and FLEET_STORE give it: "memory", "file:/path", a path, or the address of a Redis.
function M.open(text, options)
  if type(text) ~= "string" then errors.usage("fleet.store.open: a text is needed, got %s", type(text)) end
  local name, place = place_of(text)
  if not place then return M[name](options) end
  return M[name](place, options)
end

--- fleet.store.<name>(...) opens the store of lua/fleet/store/<name>.lua.
return setmetatable(M, {
  __index = function(_, name)
    local found, store = pcall(require, "fleet.store." .. tostring(name))
    local open = found and type(store) == "table" and store.sample and store.open
    if not open then
      local why = found and "its file defines none" or tostring(store)
      errors.usage("there is no store '%s' (%s)", tostring(name), why)
    end
    M[name] = open
    return open
  end,
})
