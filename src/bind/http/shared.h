/* The poller and the multi handle, which a loop and its replies share. Finalisers run in any order when a
 * state is closed: the last of them frees both. */
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
