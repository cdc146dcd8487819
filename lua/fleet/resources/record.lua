-- Reads the record of a car where it is cheapest: in the free list of the account's products, else by itself, which is billed
-- (doc/protocol.md#prices). Neither wakes a car.

local core = require "fleet.core"
local tasks = require "fleet.async"
local pcall = require("fleet.util.compat").pcall -- the called functions may yield

local M = {}

local unlisted_for = 86400 -- seconds in which the list is not read again for a car that it lacked

-- Error kinds of accounts that have no list.
local no_list = { protocol = true, scope = true, forbidden = true, unsupported = true, not_found = true, auth = true }

local longest_list = 100 -- cars; beyond it reading single records costs less than the list

-- The cars among the products, by VIN and by id; empty for a list that is too long, and for a value that is not a list.
local function by_id(list)
  local records, count = {}, 0
  for _, record in ipairs(type(list) == "table" and list or {}) do
    if type(record) == "table" and record.vin and record.state then
      count = count + 1
      for _, id in ipairs { record.vin, record.id_s } do
        if type(id) == "string" and id ~= "" then records[id] = record end
      end
    end
  end
  return count <= longest_list and records or {}
end

local lists = setmetatable({}, { __mode = "k" }) -- context -> { at =, records = by VIN and id, waiting =, not_before = by id }

-- Reads the list. Calls that need it in the meantime wait for the same reply.
local function ask(known, context, client, timeout)
  known.waiting = {}
  local ran, list, err = pcall(client.products, client, { timeout = timeout })
  local waiting = known.waiting
  known.waiting = nil
  if ran and not err then
    known.at, known.records = tasks.now(), by_id(list)
    for id, record in pairs(known.records) do context.states[id] = record.state end
  end
  for _, promise in ipairs(waiting) do tasks.wake(promise) end
  if not ran then error(list, 0) end
  return err
end

-- The list, at most so many seconds old, or nil, err.
local function listed(known, context, client, options)
  local function is_young()
    local age = known.at and tasks.now() - known.at
    return age and age >= 0 and age < options.age
  end
  if is_young() then return known.records end
  local err
  if known.waiting then
    local promise = tasks.promise()
    known.waiting[#known.waiting + 1] = promise
    tasks.await_for(promise, options.timeout or 60)
  else
    err = ask(known, context, client, options.timeout)
  end
  if err then return nil, err end
  return is_young() and known.records or nil
end

--- The record of a car, and whether it was free; or nil, err. options.age: maximum age of a list in seconds; options.timeout.
function M.of(car, options)
  local context, client, id = core.context(car)
  local known = lists[context] or { not_before = {} }
  lists[context] = known
  if tasks.now() >= (known.not_before[id] or -math.huge) then
    local records, err = listed(known, context, client, options)
    if err and not no_list[err.kind] then return nil, err end
    if records and records[id] then return records[id], true end
    if records or err then known.not_before[id] = tasks.now() + unlisted_for end
  end
  local record, err = car:info { timeout = options.timeout }
  if not record then return nil, err end
  return record, false
end

return M
