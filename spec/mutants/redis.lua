-- Small mistakes in the Redis store.
local scripts, link, store = "lua/fleet/store/redis/scripts.lua", "lua/fleet/store/redis/link.lua", "lua/fleet/store/redis.lua"
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
  { store, "if lease.behind then return lease.behind end", "", { own } },
  { store, "if async.real() >= self.link.quiet_until then return true end", "if true then return true end", { own } },
  { store, "if type(copies) == \"number\" and copies >= self.place.replicas then", "if type(copies) == \"number\" then", { own } },
  { "lua/fleet/store/redis/address.lua", "if facts.mode % 64 ~= 0 then", "if false then", { own } },
  { "lua/fleet/store/redis/address.lua", "string.find(host, \"^127%.%d+%.%d+%.%d+$\")", "string.find(host, \"^127%.\")", { own } },
  { "src/redis/tls.c", "SSL_CTX_set_verify(t->context, SSL_VERIFY_PEER, NULL);", "", { own } },
  { "src/redis/tls.c", "return SSL_set1_host(ssl, host) == 1 && SSL_set", "return SSL_set", { own } },
  { "src/redis/channel.c", "MSG_NOSIGNAL", "0", { own } },
}
