-- The stores, opened by name, and what their files share.
--
-- A store is a file, lua/fleet/store/<name>.lua, that returns { open =, sample = }: how to open one, and how a spec opens an
-- empty one. What stores promise, and why each promise is needed, is in doc/manual/stores.md;
-- spec/contract/stores_spec.lua finds every store and tries every promise on it.

local core = require "fleet.core"
local errors = require "fleet.util.errors"

local M = { object = require("fleet.store.object").new }

--- What stores measure time by when they are given no clock: () -> mono, wall. A host's loop may set it.
M.clock = core.clock

--- The clock of a store's options, or the common one.
function M.clock_of(options)
  return options and options.clock or function() return M.clock() end
end

local forget_every = 60 -- seconds

--- Sign-ins that nobody finishes must not pile up. Returns expire(key, now, ends), to be called for each key
--- that is put with a ttl; it calls forget(key) for the earlier ones whose time has passed, once a minute.
function M.expiry(forget)
  local ends_of, last = {}, nil
  return function(key, now, ends)
    ends_of[key] = ends
    if last and now - last < forget_every then return end
    last = now
    for _, old in ipairs(core.take_ended(ends_of, now)) do forget(old) end
  end
end

--- When what is put under a key for so many seconds (nil: for good) has ended, by the clock that now is of; nil: never. The
--- store's forget(key) is called for what has ended.
function M.ends(store, key, ttl, now)
  if not ttl then return nil end
  store.expire = store.expire or M.expiry(function(old) store:forget(old) end)
  store.expire(key, now, now + ttl)
  return now + ttl
end

--- A function that tells warn (nil: nobody) each thing once.
function M.warner(warn)
  local said = {}
  return function(text)
    if warn and not said[text] then warn(text) end
    said[text] = true
  end
end

--- Opens by text, as the command line and FLEET_STORE say it: "memory", "file:/path", a path, or the address of a Redis.
function M.open(text, options)
  local name, place = core.store_place(text)
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
