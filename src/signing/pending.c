#include "signing/pending.h"

#include <stdlib.h>
#include <string.h>

static bool resize(struct pending_list *s, size_t capacity) {
  struct pending *r = realloc(s->list, capacity * sizeof *r);
  if (r) s->list = r, s->capacity = capacity;
  return r != NULL;
}

static void drop_oldest(struct pending_list *s, size_t n) {
  if (n == 0) return;
  s->count -= n;
  memmove(s->list, s->list + n, s->count * sizeof *s->list);
}

static void drop_expired(struct pending_list *s, double now) {
  size_t n = 0;
  while (n < s->count && now - s->list[n].sent > PENDING_LIFE) n++;
  drop_oldest(s, n);
  if (s->capacity > 4 && s->count <= 4) resize(s, 4);
}

struct pending *pending_add(struct pending_list *s, const struct message_random *d, double now,
                            struct err *e) {
  drop_expired(s, now);
  if (s->count == PENDING_KEPT) drop_oldest(s, 1);
  if (s->count == s->capacity && !resize(s, s->capacity ? s->capacity * 2 : 2))
    return err_out_of_memory(e), NULL;
  struct pending *r = &s->list[s->count++];
  memset(r, 0, sizeof *r);
  memcpy(r->uuid, d->uuid, UUID_SIZE);
  memcpy(r->address, d->address, ADDRESS_SIZE);
  r->sent = now;
  return r;
}

static bool is(const unsigned char *own, size_t size, struct bytes b) {
  return bytes_equal((struct bytes){own, size}, b);
}

struct pending *pending_find(struct pending_list *s, enum domain domain, const struct message *m,
                             struct err *e) {
  if (m->from_domain != (uint32_t)domain)
    return err_set(e, KIND_protocol, "the answer comes from another domain than the one asked"), NULL;
  for (size_t i = s->count; i-- > 0;) {
    struct pending *r = &s->list[i];
    if (!is(r->address, ADDRESS_SIZE, m->to_address)) continue;
    if (m->request_uuid.data && !is(r->uuid, UUID_SIZE, m->request_uuid)) continue;
    return r;
  }
  return err_set(e, KIND_protocol, "the answer belongs to no request that this session made lately"), NULL;
}

const struct pending *pending_of(const struct pending_list *s, struct bytes uuid) {
  for (size_t i = s->count; i-- > 0;)
    if (is(s->list[i].uuid, UUID_SIZE, uuid)) return &s->list[i];
  return NULL;
}
