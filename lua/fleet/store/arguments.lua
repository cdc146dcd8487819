-- The arguments of a store's methods, checked before any store sees them. Each function raises for a wrong argument.

local errors = require "fleet.util.errors"

local M = {}

local function bad(method, position, text, ...)
  errors.usage("bad argument #%d to '%s': %s", position, method, string.format(text, ...))
end

local function is_count(value)
  return type(value) == "number" and value >= 0 and value < math.huge
end

local function check_count(method, value, what)
  if not is_count(value) then bad(method, 2, "%s expected", what) end
end

local function check_key(method, key)
  if type(key) ~= "string" then bad(method, 1, "a key (string) expected, got %s", type(key)) end
  if #key == 0 or #key > 512 or string.find(key, "%c") then
    bad(method, 1, "a key is 1 to 512 bytes without control characters")
  end
end

local function check_table_of_options(method, options)
  if type(options) ~= "table" then bad(method, 3, "a table of options expected") end
end

function M.get(key)
  check_key("get", key)
end

local put_options = {
  generation = "number", durable = "boolean", behind = "boolean", ttl = "number", ticket = "table", lease = "table",
}

function M.put(key, value, options)
  check_key("put", key)
  if type(value) ~= "string" then bad("put", 2, "a value (string) expected, got %s", type(value)) end
  if options == nil then return end
  check_table_of_options("put", options)
  for name, given in pairs(options) do
    local wanted = put_options[name]
    if not wanted then bad("put", 3, "unknown option '%s'", tostring(name)) end
    if type(given) ~= wanted then bad("put", 3, "option '%s' must be a %s", name, wanted) end
  end
  for _, name in ipairs { "lease", "ticket" } do
    if options[name] and options[name].key ~= key then bad("put", 3, "the %s is of another key", name) end
  end
end

local function is_counter_name(name)
  return type(name) == "string" and #name > 0 and #name <= 128 and not string.find(name, "[%c ]")
end

function M.add(key, amounts, options)
  check_key("add", key)
  if type(amounts) ~= "table" then bad("add", 2, "a table of amounts expected, got %s", type(amounts)) end
  local count = 0
  for name, amount in pairs(amounts) do
    count = count + 1
    if count > 256 then bad("add", 2, "at most 256 counters at once expected") end
    if not is_counter_name(name) then bad("add", 2, "a counter's name is 1 to 128 bytes without spaces") end
    if type(amount) ~= "number" or amount % 1 ~= 0 or math.abs(amount) > 9e15 then
      bad("add", 2, "the amount of '%s' must be a whole number", name)
    end
  end
  if options == nil then return end
  check_table_of_options("add", options)
  for name, value in pairs(options) do
    if name ~= "ttl" then bad("add", 3, "unknown option '%s'", tostring(name)) end
    if not is_count(value) then bad("add", 3, "option 'ttl': seconds expected") end
  end
end

local pace_members = { most = true, now = true, within = true, rest = true, named = true }

function M.pace(key, step)
  check_key("pace", key)
  if type(step) ~= "table" then bad("pace", 2, "a table expected, got %s", type(step)) end
  for name, value in pairs(step) do
    if not pace_members[name] then bad("pace", 2, "unknown member '%s'", tostring(name)) end
    if not is_count(value) then bad("pace", 2, "member '%s': a number from 0 on expected", name) end
  end
  if not (step.now and (step.most or 0) > 0 and (step.within or step.rest)) then
    bad("pace", 2, "most above 0, now, and within or rest expected")
  end
end

function M.delete(key, generation)
  check_key("delete", key)
  if generation ~= nil then check_count("delete", generation, "a generation") end
end

function M.reserve(key, bytes)
  check_key("reserve", key)
  check_count("reserve", bytes, "a number of bytes")
end

function M.lease(key, ttl)
  check_key("lease", key)
  check_count("lease", ttl, "seconds")
end

return M
