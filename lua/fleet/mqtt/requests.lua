-- Accepted requests in the store. Each is claimed before its command is sent, so that a repeated message is never sent again, even after a
-- crash. One record per car or site: { newest = list, past = lines }.
--
-- An id is remembered for a day, or longer if messages may be older than that, however many requests follow. When the record is full,
-- entries are dropped whose message has a time and would be rejected for its age. If that is not enough, new requests are rejected.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local past = require "fleet.mqtt.past"
local tables = require "fleet.util.tables"
local tasks = require "fleet.async"

local M = {}

local most_kept = 5000
local whole_answers = 20 -- of the newest requests; of the others only the outcome is kept
local window = 86400 -- seconds
local clock_slack = 60 -- seconds by which a sender's clock may be ahead
local tries = 5
local same_for = 10 -- seconds in which a message without an id counts as a copy of the previous one

M.clock_slack = clock_slack

local function wall()
  return (select(2, tasks.loop.clock()))
end

local function key(context, id)
  return "mqtt/" .. context.config.account .. "/requests/" .. id
end

local function read(context, id)
  local text, generation, kind = context.store:get(key(context, id))
  if text == nil and kind then return nil, generation, kind end
  local record = text and core.json_decode(text)
  if type(record) ~= "table" then record = {} end
  return { newest = record.newest or {}, past = past.read(record.past or "") }, generation
end

-- Changes the record, and tries again when another process wrote it. change(record) -> what to return, whether to write.
local function update(context, id, change)
  local err, kind
  for _ = 1, tries do
    local record, generation, failed = read(context, id)
    if not record then return nil, generation, failed end
    local value, write = change(record)
    if not write then return value end
    local done
    done, err, kind = context.store:put(key(context, id), core.json_encode(record), { generation = generation, durable = true })
    if done then return value end
    if kind ~= "conflict" then break end
  end
  return nil, err, kind
end

-- ---- content of the record ----

-- A request without an id is not kept: it can only be recognised for a moment.
local function put_away(record, entry, max_age)
  if entry.bare then return tasks.age(entry.at) > same_for end
  entry.refused_at = entry.sent_at and entry.sent_at + max_age + clock_slack
  record.past = past.add(record.past, entry)
  return true
end

-- Keeps requests without an answer: the next bridge must answer them.
local function shorten(record, max_age)
  local kept, surplus = {}, #record.newest - whole_answers
  for i, entry in ipairs(record.newest) do
    if i > surplus or not entry.result or not put_away(record, entry, max_age) then kept[#kept + 1] = entry end
  end
  record.newest = kept
end

local function room(record, max_age)
  local longest = math.max(window, max_age + clock_slack)
  shorten(record, max_age)
  record.past = past.without_first(record.past, function(at) return tasks.age(at) > longest end)
  if past.count(record.past) >= most_kept then record.past = past.without_refusable(record.past, wall()) end
  return past.count(record.past) < most_kept
end

-- ---- finding a request ----

local function by_id(record, id)
  for i = #record.newest, 1, -1 do
    if record.newest[i].id == id then return record.newest[i] end
  end
end

local function known(record, id)
  local entry = by_id(record, id)
  if entry then return entry end
  local result, what = past.find(record.past, id)
  return result and { id = id, result = result, what = what }
end

-- Whether a message without an id equals the previous one at its topic, a moment ago. The age of a time ahead of this clock, from before
-- this process started, is unknown.
local function copy_of_last(record, request)
  local list = record.newest
  for i = #list, 1, -1 do
    local entry = list[i]
    if entry.topic == request.topic then
      local age = tasks.age(entry.at)
      local is_known = age > 0 or entry.at <= wall() + same_for
      return entry.bare and entry.id == request.id and is_known and age <= same_for and entry or nil
    end
  end
end

local function new_entry(request)
  return {
    id = request.id, topic = request.topic, command = request.command, bare = request.bare, at = wall(), sent_at = request.at,
    what = request.what,
  }
end

--- Claims a request { id =, topic =, command =, bare =, at = } for a car or site; max_age: of its messages, in seconds. Returns true if it
--- is new, the entry of an earlier claim, or nil, err, kind: then it must not be sent.
function M.claim(context, id, request, max_age)
  local claimed, err, kind = update(context, id, function(record)
    local entry
    if request.bare then entry = copy_of_last(record, request) else entry = known(record, request.id) end
    if entry then return entry, false end
    if not room(record, max_age) then return "full", false end
    record.newest[#record.newest + 1] = new_entry(request)
    return true, true
  end)
  if claimed ~= "full" then return claimed, err, kind end
  return errors.failure("busy", most_kept .. " requests are remembered already: send fewer a day, or give each its time ('at')")
end

--- The entry of a claimed request, nil when there is none, or nil, err.
function M.find(context, id, request)
  local record, err = read(context, id)
  if not record then return nil, err end
  if request.bare then return copy_of_last(record, request) end
  return known(record, request.id)
end

--- Stores the answer of a claimed request.
function M.finish(context, id, request, result)
  return update(context, id, function(record)
    local entry = by_id(record, request.id)
    if not entry then return true, false end
    entry.result = result
    return true, true
  end)
end

--- Answers requests that were claimed and have no answer because the process died, with result_of(entry). Returns the list of { entry,
--- result }.
function M.abandoned(context, id, result_of)
  return update(context, id, function(record)
    local found = {}
    for _, entry in ipairs(record.newest) do
      if not entry.result then
        entry.result = result_of(entry)
        found[#found + 1] = { entry = tables.copy(entry), result = entry.result }
      end
    end
    return found, #found > 0
  end)
end

return M
