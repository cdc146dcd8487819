#include "oauth/refresh.h"

#include <stddef.h>
#include <string.h>

struct step {
  enum refresh_action last;
  enum refresh_event event;
  enum refresh_action next;
};

static const struct step steps[] = {
    {REFRESH_begin, EVENT_ok, REFRESH_lease},
    {REFRESH_lease, EVENT_ok, REFRESH_read},
    {REFRESH_lease, EVENT_busy, REFRESH_peek}, /* who holds it may just have written the pair we want */
    {REFRESH_peek, EVENT_newer, REFRESH_done},
    {REFRESH_peek, EVENT_ok, REFRESH_wait},
    {REFRESH_wait, EVENT_ok, REFRESH_lease},
    {REFRESH_wait, EVENT_late, REFRESH_fail},
    {REFRESH_read, EVENT_newer, REFRESH_done},
    {REFRESH_read, EVENT_ok, REFRESH_reserve},
    {REFRESH_reserve, EVENT_ok, REFRESH_exchange},
    {REFRESH_exchange, EVENT_ok, REFRESH_save},
    {REFRESH_exchange, EVENT_unanswered, REFRESH_renew}, /* it may have been used: the same token once more */
    {REFRESH_exchange, EVENT_refused, REFRESH_look_again},
    {REFRESH_renew, EVENT_ok, REFRESH_repeat},
    {REFRESH_repeat, EVENT_ok, REFRESH_save},
    {REFRESH_repeat, EVENT_refused, REFRESH_look_again},
    {REFRESH_look_again, EVENT_newer, REFRESH_done}, /* only the newest token's refusal counts */
    {REFRESH_look_again, EVENT_ok, REFRESH_previous},
    {REFRESH_previous, EVENT_ok, REFRESH_save},
    {REFRESH_save, EVENT_ok, REFRESH_done},
    {REFRESH_save, EVENT_conflict, REFRESH_take_over},
    {REFRESH_save, EVENT_failed, REFRESH_keep},
    {REFRESH_take_over, EVENT_newer, REFRESH_done},
    {REFRESH_take_over, EVENT_ok, REFRESH_done},
    {REFRESH_take_over, EVENT_conflict, REFRESH_keep},
    {REFRESH_take_over, EVENT_failed, REFRESH_keep},
    {REFRESH_keep, EVENT_ok, REFRESH_done},
};

enum refresh_action refresh_next(enum refresh_action last, enum refresh_event event) {
  for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
    if (steps[i].last == last && steps[i].event == event) return steps[i].next;
  return REFRESH_fail;
}

static int find(const char *const *names, const char *name) {
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], name) == 0) return i;
  return -1;
}

#define X(name) #name,
static const char *const action_names[] = {REFRESH_ACTIONS(X) NULL};
static const char *const event_names[] = {REFRESH_EVENTS(X) NULL};
#undef X

const char *refresh_action_name(enum refresh_action action) {
  return action_names[action];
}

int refresh_action_of(const char *name) {
  return find(action_names, name);
}

int refresh_event_of(const char *name) {
  return find(event_names, name);
}
