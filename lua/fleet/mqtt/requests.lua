-- Requests that were taken up, in the store: each is claimed before its command is sent, so that a message which comes
-- again, or again after a crash, is never sent again. One record per car or site.
--
-- An id is remembered for a day, or as long as a message may be old where that is longer; how many came meanwhile does not
-- matter. Of more than fits into the record those go first whose message says its time and would be refused as old; where
-- that does not help, nothing new is taken up.

local core = require "fleet.core"
local errors = require "fleet.util.errors"
local tables = require "fleet.util.tables"

local M = {}

local most_kept = 5000
local whole_answers = 100 -- of the newest; of the others what became of them
local window = 86400 -- seconds
local clock_slack = 60 -- seconds that a sender's clock may be ahead
local tries = 5
local same_for = 10 -- seconds in which a message without an id is taken for a copy of the one before it

M.clock_slack = clock_slack

local function key(account, id)
  return "mqtt/" .. account.config.account .. "/requests/" .. id
end

local function read(account, id)
  local text, generation, kind = account.store:get(key(account, id))
  if text == nil and kind then return nil, generation, kind end
  local list = text and core.json_decode(text)
  return type(list) == "table" and list or {}, generation
end

-- ---- what is kept ----

local function keep(list, stays)
  local last = 0
  for i = 1, #list do
    local entry = list[i]
    list[i] = nil
    if stays(entry) then
      last = last + 1
      list[last] = entry
    end
  end
end

-- What has no answer yet stays: the next bridge must answer it.
local function forget(list, now, max_age)
  local long = math.max(window, max_age + clock_slack)
  keep(list, function(entry) return not entry.result or now - entry.at <= (entry.bare and same_for or long) end)
end

local function forget_refusable(list, now, max_age)
  keep(list, function(entry) return not entry.result or not entry.sent_at or now - entry.sent_at <= max_age + clock_slack end)
end

local function shorten(list)
  for i = 1, #list - whole_answers do
    local entry = list[i]
    local result = entry.result
    if result and entry.topic then
      entry.topic, entry.result = nil, { outcome = result.outcome, changed = result.changed, at = result.at }
    end
  end
end

local function room(list, now, max_age)
  forget(list, now, max_age)
  if #list >= most_kept then forget_refusable(list, now, max_age) end
  shorten(list)
  return #list < most_kept
end

-- Changes the record, again where somebody else wrote it meanwhile. change(list) -> what to return, whether to write.
local function update(account, id, change)
  local err, kind
  for _ = 1, tries do
    local list, generation, failed = read(account, id)
    if not list then return nil, generation, failed end
    local value, write = change(list)
    if not write then return value end
    local done
    done, err, kind = account.store:put(key(account, id), core.json_encode(list), { generation = generation, durable = true })
    if done then return value end
    if kind ~= "conflict" then break end
  end
  return nil, err, kind
end

local function by_id(list, id)
  for i = #list, 1, -1 do
    if list[i].id == id then return list[i] end
  end
end

-- A message without an id: the same as the one before it at that topic, a moment ago.
local function copy_of_last(list, request, now)
  for i = #list, 1, -1 do
    local entry = list[i]
    if entry.topic == request.topic then
      local same = entry.bare and entry.id == request.id and now - entry.at <= same_for
      return same and entry or nil
    end
  end
end

local function new_entry(request, now)
  return {
    id = request.id, topic = request.topic, command = request.command, bare = request.bare, at = now, sent_at = request.at,
  }
end

--- Claims a request { id =, topic =, command =, bare =, at = } for a car or site; max_age: seconds that its messages may be
--- old. Returns true where it is new, the entry of the one that was claimed before, or nil, err, kind: then it must not be
--- sent.
function M.claim(account, id, request, now, max_age)
  local claimed, err, kind = update(account, id, function(list)
    local entry
    if request.bare then entry = copy_of_last(list, request, now) else entry = by_id(list, request.id) end
    if entry then return entry, false end
    if not room(list, now, max_age) then return "full", false end
    list[#list + 1] = new_entry(request, now)
    return true, true
  end)
  if claimed ~= "full" then return claimed, err, kind end
  return errors.failure("busy", most_kept .. " requests are remembered already: send fewer a day, or give each its time ('at')")
end

--- Keeps the answer of a claimed request.
function M.finish(account, id, request, result)
  return update(account, id, function(list)
    local entry = by_id(list, request.id)
    if not entry then return true, false end
    entry.result = result
    return true, true
  end)
end

--- Requests that were claimed and have no answer: the process died between. They get the answer of result_of(entry).
--- Returns the list of { entry, result }.
function M.abandoned(account, id, result_of)
  return update(account, id, function(list)
    local found = {}
    for _, entry in ipairs(list) do
      if not entry.result then
        entry.result = result_of(entry)
        found[#found + 1] = { entry = tables.copy(entry), result = entry.result }
      end
    end
    return found, #found > 0
  end)
end

return M
