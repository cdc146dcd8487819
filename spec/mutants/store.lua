local file, both, seal = "spec/store/file_spec.lua", "spec/contract/stores_spec.lua", "spec/store/sealed_spec.lua"
local disk, damage = "spec/store/disk_spec.lua", "spec/store/damage_spec.lua"
local memory = "spec/store/memory_spec.lua"

return {
  { "src/base/draft.c", "if (done && durable) done = fsync(d->fd) == 0;", "", { disk } },
  { "src/store/put.c", "if (result != STORE_DONE || directory_sync(s->directory)) return result;", "return result;", { disk } },
  { "src/store/put.c", "before->exists && before->record.fence > l->fence", "false", { damage } },
  { "src/store/put.c", "!lock_is_ours(&l->lock) ||", "", { damage } },
  { "src/store/put.c", "alive ? before->record.generation : 0", "before->record.generation", { file, both } },
  { "src/store/put.c", "return same ? STORE_DONE : STORE_AGAIN;", "return STORE_DONE;", { disk } },
  { "src/store/put.c", "before->record.generation >= p->drawn", "before->record.generation > p->drawn", { file, both } },
  { "src/store/lease.c", "if (is_wanted(s, key, fd) && fsync(fd) == 0)", "if (is_wanted(s, key, fd))", { disk } },
  { "src/store/lease.c", "if (!facts.mine) {", "if (false) {", { damage } },
  { "src/store/lease.c", "current.record.generation < generation", "true", { file, damage } },
  { "src/store/lease.c", "|| !bytes_equal(left.key, key)", "", { file } },
  { "src/store/lease.c", "lock_write(&l->lock, ++l->fence, e)", "lock_write(&l->lock, l->fence, e)", { file, both } },
  { "src/store/look.c", "if (!facts->mine)", "if (false)", { file, damage } },
  { "src/store/look.c", "wall < r->ends", "wall <= r->ends", { file, both } },
  { "src/store/look.c", "result == RECORD_OK && bytes_equal(f->record.key, key)", "result == RECORD_OK", { file } },
  { "src/store/lock.c", "memcmp(again, text.data, NUMBER_SIZE) == 0", "true", { file, damage } },
  { "src/store/lock.c", "s.st_nlink == 0", "false", { damage } },
  { "src/store/record.c", "&& bytes_equal(buf_bytes(&digest), expected)", "", { file } },
  { "src/store/seal.c", "if (memcmp(id, k->id, SEAL_ID_SIZE) != 0)", "if (false)", { seal } },
  { "lua/fleet/store/sealed.lua", "if self.proved[key] or not core.is_secret_record(key) then return true end",
    "if true then return true end", { seal } },
  { "src/bind/store/seals.c", "|| bytes_equal(word, bytes_of(words[1]))", "", { seal } },
  { "src/bind/store/records.c", "found.generation < h.generation", "found.generation <= h.generation", { file, both } },
  { "src/bind/store/records.c", "held_find(L, &h) && h.may_wait", "held_find(L, &h) && false", { file, both } },
  { "src/bind/store/records.c", "held_find(L, &h) && h.may_wait", "held_find(L, &h)", { file, both } },
  { "lua/fleet/store/memory.lua", "if generation and generation ~= found then",
    "if generation and generation < found then", { memory, both } },
  { "lua/fleet/store/memory.lua", "if held and held.ends > now then", "if held and held.ends >= now then", { memory, both } },
}
