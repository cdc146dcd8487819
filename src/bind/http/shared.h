/* What a loop and its replies hold together: at state close finalisers run in no useful order, so the poller
 * and the multi handle live until the loop and the last reply have let go of them. */
#ifndef FLEET_BIND_SHARED_HTTP_H
#define FLEET_BIND_SHARED_HTTP_H

#include "http/multi.h"

struct shared_http {
  struct poller poller;
  struct http *http;
  int references;
};

bool shared_http_open(struct shared_http *s, struct err *e);
void shared_http_release(struct shared_http *s);
void shared_http_drop(struct shared_http *s, struct http_transfer *t); /* also drops the reference */

#endif
