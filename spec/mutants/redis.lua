-- Small mistakes in the Redis store.
local scripts, link, store = "lua/fleet/store/redis/scripts.lua", "lua/fleet/store/redis/link.lua", "lua/fleet/store/redis.lua"
local handshake = "lua/fleet/store/redis/handshake.lua"
local own = "spec/store/redis_spec.lua"

return {
  { scripts, "if owner ~= '' and r[3] ~= owner then return 'lease' end", "", { own, "spec/contract/stores_spec.lua" } },
  { scripts, "if r[5] == write then return g end", "", { own } },
  { scripts, "if ticket ~= '' and r[4] == ticket then redis.call('HDEL', key, 'r', 't') end", "", { own } },
  { scripts, "field(redis.call('GET', KEYS[2])) < tonumber(ARGV[2])", "true", { own } },
  { scripts, "if r[2] and field(r[3]) > now then return 'busy' end", "if r[2] then return 'busy' end", { own } },
  { scripts, "if fence < mine or fence == mine and not r[2] then", "if fence < mine and not r[2] then", { own } },
  { scripts, "if fence < mine or fence == mine and not r[2] then", "if true then", { own } },
  { link, "if entry.script.number_at then number(self, entry) end", "", { own } },
  { link, "if self.began then come_back(self) end", "", { own } },
  { store, "if lease.deferred then return lease.deferred end", "", { own } },
  { store, "if async.real() >= self.link.quiet_until then return true end", "if true then return true end", { own } },
  { store, "if type(copies) == \"number\" and copies >= self.place.replicas then", "if type(copies) == \"number\" then", { own } },
  { "lua/fleet/store/redis/address.lua", "if facts.mode % 64 ~= 0 then", "if false then", { own } },
  { "lua/fleet/store/redis/address.lua", "string.find(host, \"^127%.%d+%.%d+%.%d+$\")", "string.find(host, \"^127%.\")", { own } },
  { "src/redis/tls.c", "SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);", "", { own } },
  { "src/redis/tls.c", "return SSL_set1_host(ssl, host) == 1 && SSL_set", "return SSL_set", { own } },
  { "src/base/sockets.c", "size, MSG_NOSIGNAL", "size, 0", { own } },
  -- what may be answered
  { link, "if scripts.may_answer(entry.script, entry.words, reply) then", "if true then", { own } },
  { link, "  finish(entry, nil, err)\n  return nil, err\nend", "  finish(entry, nil, err)\n  return true\nend", { own } },
  { scripts, "return value == false and generation == 0 or type(value) == \"string\" and generation > 0", "return true", { own } },
  { scripts, "if deleted ~= 0 and deleted ~= 1 or not is_number(generation) then return false end", "", { own } },
  { scripts, "put = { function(value) return is_number(value) and value > 0 end,", "put = { function() return true end,", { own } },
  { scripts, "pace = { is_digits },", "pace = { function() return true end },", { own } },
  { scripts, "renew = { is_one,", "renew = { function() return true end,", { own } },
  { store, "if not totals[name] then", "if false then", { own } },
  { handshake, "if not scripts.is_handshake(reply) then return nil, no_redis(link) end", "", { own } },
  { handshake, "if type(reply) == \"table\" and reply[1] == name and type(reply[2]) == \"string\" then", "if type(reply) == \"table\" then",
    { own } },
  -- what a server threw away, and what was deleted
  { scripts, "and field(r[2]) < mine and", "and", { own } },
  { scripts, "if r[7] then redis.call('HDEL', key, 'x', 'z') end", "", { own } },
  { scripts, "if z > ends then ends = z end", "", { own } },
  { store, "  remember_release(lease)\n  if lease.deferred", "  if lease.deferred", { own } },
}
