#include "signing/epoch.h"

#include <math.h>
#include <string.h>

bool epoch_is(const unsigned char own[EPOCH_SIZE], struct bytes epoch) {
  return epoch.size == EPOCH_SIZE && memcmp(own, epoch.data, EPOCH_SIZE) == 0;
}

static bool older(const struct epoch_state *s, const struct session_info *i) {
  if (s->known && epoch_is(s->epoch, i->epoch)) return i->clock_time < s->clock_time;
  return s->has_past && epoch_is(s->past_epoch, i->epoch) && i->clock_time < s->past_clock;
}

static struct epoch_state enter_epoch(struct epoch_state s, const struct session_info *i) {
  if (s.known) {
    s.has_past = true;
    memcpy(s.past_epoch, s.epoch, EPOCH_SIZE);
    s.past_clock = s.clock_time;
  }
  memcpy(s.epoch, i->epoch.data, EPOCH_SIZE);
  s.counter = i->counter;
  return s;
}

struct epoch_state epoch_update(struct epoch_state s, const struct session_info *i, double now, bool *taken) {
  *taken = i->epoch.size == EPOCH_SIZE && !older(&s, i);
  if (!*taken) return s;
  if (s.known && i->counter > (epoch_is(s.epoch, i->epoch) ? s.counter : 0)) s.shared = true;
  if (!s.known || !epoch_is(s.epoch, i->epoch)) s = enter_epoch(s, i);
  if (i->counter > s.counter) s.counter = i->counter;
  s.clock_time = i->clock_time;
  s.epoch_start = now - i->clock_time;
  s.confirmed = now;
  s.known = true;
  return s;
}

uint32_t epoch_expiry(const struct epoch_state *s, double now, double lifetime) {
  double at = floor(now - s->epoch_start + lifetime);
  if (!(at >= 1)) return 1;
  return at > EPOCH_SECONDS ? EPOCH_SECONDS : (uint32_t)at;
}

bool never_taken(const struct message_id *m, const struct session_info *i, double passed) {
  if (!epoch_is(m->epoch, i->epoch)) return i->clock_time > passed;
  return i->counter < m->counter;
}
