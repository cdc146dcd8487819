#include "signing/session_internal.h"

#include <math.h>
#include <string.h>

enum { EXPORT_VERSION = 2, EXPORT_FIXED = 3 + VIN_SIZE + PUBLIC_SIZE + EPOCH_SIZE + 4 + 4 + 8 + 8 + 8 };

static void put_u64(struct buf *b, uint64_t v) {
  buf_u32be(b, (uint32_t)(v >> 32));
  buf_u32be(b, (uint32_t)v);
}

static uint64_t milliseconds(double seconds) {
  return seconds > 0 && seconds < 1e15 ? (uint64_t)(seconds * 1000) : 0;
}

/* Only the holder of the private key can have written what carries this tag. */
static bool export_tag(const struct session *s, struct bytes state, unsigned char tag[MAC_SIZE]) {
  unsigned char scalar[SCALAR_SIZE], own[MAC_SIZE];
  bool ok = key_scalar(s->key, scalar) &&
            crypto_hmac_once(s->crypto, (struct bytes){scalar, SCALAR_SIZE}, bytes_of("fleet session state"),
                             own) &&
            crypto_hmac_once(s->crypto, (struct bytes){own, MAC_SIZE}, state, tag);
  wipe(scalar, sizeof scalar);
  wipe(own, sizeof own);
  return ok;
}

bool session_export(const struct session *s, uint32_t ahead, double now, double wall, struct buf *out,
                    struct err *e) {
  unsigned char tag[MAC_SIZE];
  if (!s->state.known)
    return err_set(e, KIND_invalid, "the session has not begun: there is nothing to export");
  uint32_t left = UINT32_MAX - s->state.counter;
  size_t start = out->size;
  buf_put(out, EXPORT_VERSION);
  buf_put(out, (unsigned char)s->domain);
  buf_put(out, (unsigned char)(s->state.shared | s->seals << 1));
  buf_add(out, s->vin, VIN_SIZE);
  buf_add(out, s->secrets.vehicle, PUBLIC_SIZE);
  buf_add(out, s->state.epoch, EPOCH_SIZE);
  buf_u32be(out, s->state.counter + (ahead < left ? ahead : left));
  buf_u32be(out, s->state.clock_time);
  put_u64(out, milliseconds(now - s->state.epoch_start));
  put_u64(out, milliseconds(wall));
  put_u64(out, milliseconds(fmin(session_age(s, now), SESSION_LONG_AGO)));
  if (!buf_ok(out)) return err_out_of_memory(e);
  if (!export_tag(s, (struct bytes){out->data + start, out->size - start}, tag))
    return err_set(e, KIND_service, "the session could not be exported");
  buf_add(out, tag, sizeof tag);
  return buf_ok(out) || err_out_of_memory(e);
}

struct reader {
  const unsigned char *at;
};

static const unsigned char *take(struct reader *r, size_t size) {
  const unsigned char *from = r->at;
  r->at += size;
  return from;
}

static uint64_t take_number(struct reader *r, size_t size) {
  uint64_t v = 0;
  for (size_t i = 0; i < size; i++) v = v << 8 | *take(r, 1);
  return v;
}

static double take_seconds(struct reader *r) {
  return (double)take_number(r, 8) / 1000;
}

static bool is_own_state(const struct session *s, struct bytes in) {
  unsigned char tag[MAC_SIZE];
  if (in.size != EXPORT_FIXED + MAC_SIZE) return false;
  return export_tag(s, (struct bytes){in.data, EXPORT_FIXED}, tag) &&
         bytes_equal_secret((struct bytes){tag, MAC_SIZE}, (struct bytes){in.data + EXPORT_FIXED, MAC_SIZE});
}

/* A wall clock that is earlier than the time of saving is not believed: then no time has passed, and the
 * vehicle's last word is old. */
static void set_times(struct epoch_state *s, struct reader *r, double now, double wall) {
  double vehicle = take_seconds(r), saved = take_seconds(r), age = take_seconds(r);
  double passed = wall > saved ? wall - saved : 0;
  s->epoch_start = now - vehicle - passed;
  s->confirmed = now - (wall < saved ? SESSION_LONG_AGO : age + passed);
}

bool session_import(struct session *s, struct bytes in, double now, double wall) {
  struct reader r = {in.data};
  struct session_secrets k;
  struct err ignored;
  err_clear(&ignored);
  if (!is_own_state(s, in) || take_number(&r, 1) != EXPORT_VERSION ||
      take_number(&r, 1) != (uint64_t)s->domain)
    return false;
  uint64_t flags = take_number(&r, 1);
  struct epoch_state state = {.known = true, .shared = flags & 1};
  if (memcmp(take(&r, VIN_SIZE), s->vin, VIN_SIZE) != 0) return false;
  struct bytes vehicle = {take(&r, PUBLIC_SIZE), PUBLIC_SIZE};
  if (!session_derive(s, vehicle, &k, &ignored)) return false;
  memcpy(state.epoch, take(&r, EPOCH_SIZE), EPOCH_SIZE);
  state.counter = (uint32_t)take_number(&r, 4);
  state.clock_time = (uint32_t)take_number(&r, 4);
  set_times(&state, &r, now, wall);
  s->secrets = k;
  s->state = state;
  s->pinned = true;
  s->seals = flags & 2;
  crypto_forget(s->crypto, s->owner);
  wipe(&k, sizeof k);
  return true;
}
