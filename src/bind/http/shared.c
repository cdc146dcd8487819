#include "bind/http/shared.h"

#include <stdlib.h>

bool shared_http_open(struct shared_http *s, struct err *e) {
  s->references = 1;
  s->poller = (struct poller){.fd = -1};
  return poller_open(&s->poller, e) && http_open(&s->http, &s->poller, e);
}

void shared_http_release(struct shared_http *s) {
  if (--s->references > 0) return;
  if (s->http) http_close(s->http);
  poller_close(&s->poller);
  free(s);
}

void shared_http_drop(struct shared_http *s, struct http_transfer *t) {
  http_drop(s->http, t);
  shared_http_release(s);
}
