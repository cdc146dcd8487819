-- The scripts that run on the server: one for each step of the store contract, so that each step is atomic and uses one clock, the
-- server's. A record is one hash; records share nothing.
--
--   v value   g its generation   e when it expires   f the last fence   o owner of the lease   u until when
--   t, r      a reservation: its name, and bytes that reserve memory for the coming value
--   w         the name of the last write: a write that is sent again because its answer was lost is not done twice
--   c:<name>  a counter
--   x, z      it was deleted: up to which generation, and until when that is remembered. A record that is missing without such a
--             mark was evicted; a process that remembers it restores it
--
-- Besides the records, client/<client> has the number of that client's last addition, for an hour: an addition that is sent again because
-- its answer was lost counts once.
--
-- A hash expires with its content: tidy() sets its expiry. A record without an expiry gets none.
--
-- Generations and fences continue from the clock in microseconds: they also grow when no earlier value remains, and stay below 2^53.
-- ARGV[1] moves the clock, in milliseconds: specs only.

local core = require "fleet.core"

local prelude = [[
local key, time = KEYS[1], redis.call('TIME')
local micro = time[1] * 1000000 + time[2]
local shift = tonumber(ARGV[1])
local now = math.floor(micro / 1000) + shift
local function whole(x) return string.format('%.0f', x) end
local function field(x) return tonumber(x or nil) or 0 end
local function tidy()
  local r = redis.call('HMGET', key, 'g', 'e', 'u', 'o', 't', 'z')
  local e, u, z = field(r[2]), r[4] and field(r[3]) or 0, field(r[6])
  if r[1] and e == 0 then return redis.call('PERSIST', key) end
  local ends = r[1] and e or 0
  if u > ends then ends = u end
  if z > ends then ends = z end
  if r[5] and now + 600000 > ends then ends = now + 600000 end
  if ends == 0 then return redis.call('DEL', key) end
  return redis.call('PEXPIREAT', key, whole(ends - shift))
end
local function current(g, e)
  if not g or e and field(e) <= now then return 0 end
  return field(g)
end
local function counters()
  local all, lines = redis.call('HGETALL', key), {}
  for i = 1, #all, 2 do
    if string.sub(all[i], 1, 2) == 'c:' then lines[#lines + 1] = string.sub(all[i], 3) .. ' ' .. all[i + 1] .. '\n' end
  end
  table.sort(lines)
  return table.concat(lines)
end
local function found(v, g, e)
  local generation = current(g, e)
  if generation == 0 then return false, 0 end
  return v or counters(), generation
end
local function drop(v)
  redis.call('HDEL', key, 'v', 'g', 'e', 'w')
  if v then return end
  for _, name in ipairs(redis.call('HKEYS', key)) do
    if string.find(name, '^[cs]:') then redis.call('HDEL', key, name) end
  end
end
]]

local texts = {}

-- -> { 1 if it was deleted, else 0; value; generation }
texts.get = [[
local r = redis.call('HMGET', key, 'v', 'g', 'e', 'x')
return { r[4] and 1 or 0, found(r[1], r[2], r[3]) }
]]

-- write, value, generation, ttl, owner, ticket, draw, release -> generation | 'lease' | 'generation'
-- The reservation is freed first, so that a full memory does not reject the write.
texts.put = [[
local write, value, wanted, ttl, owner, ticket, draw, release = unpack(ARGV, 2, 9)
local r = redis.call('HMGET', key, 'g', 'e', 'o', 't', 'w', 'v', 'x')
local g = field(r[1])
if r[5] == write then return g end
if owner ~= '' and r[3] ~= owner then return 'lease' end
if wanted ~= '' and current(r[1], r[2]) ~= tonumber(wanted) then return 'generation' end
if ticket ~= '' and r[4] == ticket then redis.call('HDEL', key, 'r', 't') end
if r[1] and not r[6] then drop(false) end
local drawn = field(draw)
g = drawn > g and drawn or math.max(g + 1, micro)
redis.call('HSET', key, 'v', value, 'g', whole(g), 'w', write)
if ttl ~= '' then redis.call('HSET', key, 'e', whole(now + tonumber(ttl))) elseif r[2] then redis.call('HDEL', key, 'e') end
if release ~= '' then redis.call('HDEL', key, 'o', 'u') end
if r[7] then redis.call('HDEL', key, 'x', 'z') end
if not r[1] or r[2] or ttl ~= '' then tidy() end
return g
]]

-- generation, lifetime of the mark -> 1 | 'generation'
texts.delete = [[
local r = redis.call('HMGET', key, 'g', 'e', 'v')
if ARGV[2] ~= '' and current(r[1], r[2]) ~= tonumber(ARGV[2]) then return 'generation' end
drop(r[3])
redis.call('HSET', key, 'x', whole(math.max(field(r[1]), micro)), 'z', whole(now + tonumber(ARGV[3])))
tidy()
return 1
]]

-- owner, ttl -> { fence; 1 if it was deleted, else 0; value; generation } | 'busy'
texts.lease = [[
local r = redis.call('HMGET', key, 'f', 'o', 'u', 'v', 'g', 'e', 'x')
local fence = field(r[1])
if r[2] ~= ARGV[2] then
  if r[2] and field(r[3]) > now then return 'busy' end
  fence = math.max(fence + 1, micro)
  redis.call('HSET', key, 'f', whole(fence), 'o', ARGV[2], 'u', whole(now + tonumber(ARGV[3])))
  if not r[5] or r[6] then tidy() end
end
return { fence, r[7] and 1 or 0, found(r[4], r[5], r[6]) }
]]

-- owner, ttl -> 1 | 'lease'
texts.renew = [[
if redis.call('HGET', key, 'o') ~= ARGV[2] then return 'lease' end
redis.call('HSET', key, 'u', whole(now + tonumber(ARGV[3])))
tidy()
return 1
]]

-- owner -> 1
texts.release = [[
if redis.call('HGET', key, 'o') == ARGV[2] then
  redis.call('HDEL', key, 'o', 'u')
  tidy()
end
return 1
]]

-- owner, fence, ttl -> 1. Restores a lease that the server lost, with all its data or since its snapshot. The server may name an earlier
-- owner: the larger fence is the later lease.
texts.resume = [[
local r = redis.call('HMGET', key, 'f', 'o')
local fence, mine = field(r[1]), tonumber(ARGV[3])
if fence < mine or fence == mine and not r[2] then
  redis.call('HSET', key, 'f', ARGV[3], 'o', ARGV[2], 'u', whole(now + tonumber(ARGV[4])))
  tidy()
end
return 1
]]

-- value, generation, forgot, ttl -> { 1 when deleted, else 0; value; generation } after the script. Restores a record that the server
-- lost, unless a newer one exists or it was deleted later. When the server lost no data, a missing record was deleted.
texts.restore = [[
local r, mine = redis.call('HMGET', key, 'g', 'x'), tonumber(ARGV[3])
if field(r[1]) < mine and field(r[2]) < mine and (r[1] or ARGV[4] ~= '') then
  redis.call('HSET', key, 'v', ARGV[2], 'g', ARGV[3])
  if ARGV[5] ~= '' then redis.call('HSET', key, 'e', whole(now + tonumber(ARGV[5]))) else redis.call('HDEL', key, 'e') end
  if r[2] then redis.call('HDEL', key, 'x', 'z') end
  tidy()
end
r = redis.call('HMGET', key, 'v', 'g', 'e', 'x')
return { r[4] and 1 or 0, found(r[1], r[2], r[3]) }
]]

-- ticket, bytes -> 1
texts.reserve = [[
redis.call('HSET', key, 't', ARGV[2], 'r', string.rep('0', tonumber(ARGV[3])))
tidy()
return 1
]]

-- ticket -> 1
texts.unreserve = [[
if redis.call('HGET', key, 't') == ARGV[2] then
  redis.call('HDEL', key, 't', 'r')
  tidy()
end
return 1
]]

-- KEYS[2]: the client's; number, ttl, name, amount, … -> { name, total, … } of these, or of all when none is given | 'counters'. An amount
-- of 0 creates no counter: callers use it to read further totals.
texts.add = [[
local r = redis.call('HMGET', key, 'v', 'g', 'e')
local totals = {}
if r[2] and current(r[2], r[3]) == 0 then
  drop(r[1])
  r = {}
end
if r[1] then
  local rest = string.gsub(r[1], '([^%s%c]+) (%-?%d+)\n', function(name, total)
    totals[#totals + 1] = { name, total }
    if #name <= 128 and #total <= 16 then return '' end
  end)
  if rest ~= '' then return 'counters' end
  drop(true)
  for _, counter in ipairs(totals) do redis.call('HSET', key, 'c:' .. counter[1], counter[2]) end
  totals = {}
end
local names, fields = {}, {}
for i = 4, #ARGV, 2 do
  names[#names + 1] = ARGV[i]
  fields[#fields + 1] = 'c:' .. ARGV[i]
end
if #names > 0 and field(redis.call('GET', KEYS[2])) < tonumber(ARGV[2]) then
  for i = 4, #ARGV, 2 do
    if ARGV[i + 1] ~= '0' then redis.call('HINCRBY', key, 'c:' .. ARGV[i], ARGV[i + 1]) end
  end
  redis.call('SET', KEYS[2], ARGV[2], 'PX', 3600000)
  redis.call('HSET', key, 'g', whole(math.max(field(r[2]) + 1, micro)))
  if ARGV[3] ~= '' then redis.call('HSET', key, 'e', whole(now + tonumber(ARGV[3]))) elseif r[3] then redis.call('HDEL', key, 'e') end
  tidy()
end
if #names > 0 then
  for i, count in ipairs(redis.call('HMGET', key, unpack(fields))) do
    totals[2 * i - 1] = names[i]
    totals[2 * i] = count or '0'
  end
  return totals
end
local all = redis.call('HGETALL', key)
for i = 1, #all, 2 do
  if string.sub(all[i], 1, 2) == 'c:' then
    totals[#totals + 1] = string.sub(all[i], 3)
    totals[#totals + 1] = all[i + 1]
  end
end
return totals
]]

-- most, within, rest, named (thousandths of a call, milliseconds) -> milliseconds until the call may start. The bucket is that of
-- util/bucket.lua.
texts.pace = [[
local r = redis.call('HMGET', key, 'v', 'g', 'e')
local most, within, rest, named = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5])
local level, at, kept = string.match(current(r[2], r[3]) ~= 0 and r[1] or '', '^(%-?%d+) (%d+) (%d+)$')
level, at, kept = tonumber(level), tonumber(at), tonumber(kept)
if not level or at > now + 86400000 then level, at, kept = most, now, most end
most = math.min(most, kept)
if now > at then level, at = math.min(most, level + (now - at) * most / 60000), now end
local wait = 0
if rest then
  at, level = math.max(at, now + math.min(rest, 86400000)), math.min(level, 1000)
  if named then most = math.min(most, named) end
else
  level = level - 1000
  wait = math.ceil(at - now + math.max(-level, 0) * 60000 / most)
  if wait > within then return whole(wait) end
end
if r[2] and not r[1] then drop(false) end
redis.call('HSET', key, 'v', whole(level) .. ' ' .. whole(at) .. ' ' .. whole(most), 'g', whole(math.max(field(r[2]) + 1, micro)),
  'e', whole(at + (most - level) * 60000 / most + 60000))
tidy()
return whole(wait)
]]

-- -> { microseconds now, microseconds when this data began, microseconds when this run of the server was first met }
-- A new run has loaded a file or was a replica: the newest writes may be missing.
local handshake = [[
local time, key, run = redis.call('TIME'), KEYS[1], ''
local micro = string.format('%.0f', time[1] * 1000000 + time[2])
local info = redis.pcall('INFO', 'server')
if type(info) == 'string' then run = string.match(info, 'run_id:(%w+)') or '' end
redis.call('HSETNX', key, 'data', micro)
if redis.call('HGET', key, 'run') ~= run then redis.call('HSET', key, 'run', run, 'met', micro) end
return { micro, redis.call('HGET', key, 'data'), redis.call('HGET', key, 'met') }
]]

-- ---- valid answers: the word of a failure, or the script's result. Any other answer is not from this server. ----

local function is_number(value)
  return type(value) == "number" and value >= 0 and value < 2 ^ 53
end

local function is_digits(value)
  return type(value) == "string" and #value <= 16 and string.find(value, "^%d+$") ~= nil
end

local function is_one(value)
  return value == 1
end

-- Checks for { …, deleted, value, generation } from position `at` on.
local function is_record(list, at)
  local deleted, value, generation = list[at], list[at + 1], list[at + 2]
  if deleted ~= 0 and deleted ~= 1 or not is_number(generation) then return false end
  return value == false and generation == 0 or type(value) == "string" and generation > 0
end

local function is_found(value)
  return type(value) == "table" and is_record(value, 1)
end

local function is_totals(list)
  if type(list) ~= "table" then return false end
  for i = 1, #list, 2 do
    local name, total = list[i], list[i + 1]
    if type(name) ~= "string" or type(total) ~= "string" or not string.find(total, "^%-?%d+$") or #total > 17 then return false end
  end
  return true
end

local function is_digit_list(count)
  return function(value)
    if type(value) ~= "table" then return false end
    for i = 1, count do
      if not is_digits(value[i]) then return false end
    end
    return true
  end
end

-- By script: the words of its failures, then a check of its result.
local answers = {
  get = { is_found }, restore = { is_found }, pace = { is_digits }, renew = { is_one, lease = true }, release = { is_one },
  resume = { is_one }, reserve = { is_one }, unreserve = { is_one }, delete = { is_one, generation = true },
  put = { function(value) return is_number(value) and value > 0 end, lease = true, generation = true },
  lease = {
    function(value) return type(value) == "table" and is_number(value[1]) and value[1] > 0 and is_record(value, 2) end, busy = true,
  },
  add = { is_totals, counters = true },
}

-- By the first word of a command that is not a script.
local commands = {
  PING = function(value) return value == "PONG" end,
  TIME = is_digit_list(2),
  WAIT = is_number,
}

local M = { handshake = handshake, is_handshake = is_digit_list(3), all = {}, sha_of = {} }

--- Whether a server may give this answer to a script, or, with script = false, to a command of these words.
function M.may_answer(script, words, value)
  if not script then return commands[words[1]] == nil or commands[words[1]](value) end
  return script.answers[1](value) or type(value) == "string" and script.answers[value] == true
end

local function hex(bytes)
  return (string.gsub(bytes, ".", function(byte) return string.format("%02x", string.byte(byte)) end))
end

for name, text in pairs(texts) do
  local whole = prelude .. text
  local script = { name = name, text = whole, sha = hex(core.sha1(whole)), keys = "1", answers = answers[name] }
  M[name], M.all[#M.all + 1], M.sha_of[whole] = script, script, script.sha
end
M.add.keys, M.add.number_at = "2", 7 -- positions in the words of its command

return M
