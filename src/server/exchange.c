#include "server/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

struct exchange *exchange_new(struct daemon *d, const char *target) {
  struct exchange *x = calloc(1, sizeof *x);
  if (!x) return NULL;
  x->daemon = d;
  x->holders = 1;
  x->after = d->exchanges;
  if (x->after) x->after->before = x;
  d->exchanges = x;
  x->raw_target = target;
  buf_text_add(&x->target, target);
  return x;
}

void exchange_release(struct exchange *x) {
  if (--x->holders) return;
  buf_free(&x->target);
  buf_free(&x->headers);
  buf_free(&x->body);
  buf_free(&x->reply);
  free(x);
}

static void unlink_exchange(struct exchange *x) {
  if (x->before)
    x->before->after = x->after;
  else
    x->daemon->exchanges = x->after;
  if (x->after) x->after->before = x->before;
  x->before = x->after = NULL;
  x->daemon = NULL;
}

/* ---- the queue of those that have not been taken yet ---- */

void exchange_enqueue(struct daemon *d, struct exchange *x) {
  x->next = NULL;
  if (d->last)
    d->last->next = x;
  else
    d->first = x;
  d->last = x;
}

struct exchange *exchange_dequeue(struct daemon *d) {
  struct exchange *x = d->first;
  if (!x) return NULL;
  d->first = x->next;
  if (!d->first) d->last = NULL;
  x->next = NULL;
  return x;
}

static void forget_queued(struct daemon *d, const struct exchange *gone) {
  struct exchange *all = d->first;
  d->first = d->last = NULL;
  for (struct exchange *x = all, *next; x; x = next) {
    next = x->next;
    if (x != gone) exchange_enqueue(d, x);
  }
}

void exchange_gone(struct exchange *x) {
  if (x->stage == QUEUED) forget_queued(x->daemon, x);
  if (x->response) MHD_destroy_response(x->response);
  x->response = NULL;
  x->daemon->reserved -= x->reserved;
  x->reserved = 0;
  x->connection = NULL;
  x->stage = GONE;
  unlink_exchange(x);
  exchange_release(x);
}

/* ---- asleep and awake ---- */

static void schedule(struct exchange *x, double after) {
  x->due = poller_now() + after;
  deadline_set(x->daemon, x->due);
}

void exchange_resume(struct exchange *x) {
  if (!x->suspended) return;
  x->suspended = false;
  MHD_resume_connection(x->connection);
}

void exchange_suspend(struct exchange *x, double seconds) {
  MHD_suspend_connection(x->connection);
  x->suspended = true;
  schedule(x, seconds);
}

/* ---- answers ---- */

struct MHD_Response *exchange_text(const char *text) {
  struct MHD_Response *r =
      MHD_create_response_from_buffer(strlen(text), (void *)(uintptr_t)text, MHD_RESPMEM_PERSISTENT);
  if (r) MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, "text/plain");
  return r;
}

void exchange_answer(struct exchange *x, unsigned status, struct MHD_Response *response, double delay) {
  if (x->stage == QUEUED) forget_queued(x->daemon, x);
  x->stage = ANSWERED;
  x->status = status;
  x->response = response;
  if (delay > 0)
    schedule(x, delay);
  else
    x->due = 0, exchange_resume(x);
}

bool exchange_answered(const struct exchange *x) {
  return x->stage != QUEUED && x->stage != HANDED;
}

bool exchange_respond(struct exchange *x, unsigned status, struct MHD_Response *response, double delay) {
  bool open = !exchange_answered(x);
  if (open)
    exchange_answer(x, status, response, delay);
  else
    MHD_destroy_response(response);
  return open;
}

bool exchange_is_head(const struct exchange *x) {
  return x->head;
}

bool exchange_reserve(struct exchange *x, size_t size) {
  struct daemon *d = x->daemon;
  if (size > d->limits.max_bodies - d->reserved) return false;
  d->reserved += size;
  x->reserved = size;
  return true;
}

void exchange_read_body(struct exchange *x) {
  if (exchange_answered(x)) return;
  if (!exchange_reserve(x, x->announced)) {
    exchange_answer(x, 503, exchange_text(TOO_MANY_BODIES), 0);
    return;
  }
  x->stage = ARRIVING;
  x->due = poller_now() + x->daemon->limits.arrival;
  exchange_resume(x);
}

bool exchange_drop(struct exchange *x, double delay) {
  if (exchange_answered(x)) return false;
  x->drop = true;
  exchange_answer(x, 0, NULL, delay);
  return true;
}

/* ---- paced answers ---- */

static void allow(struct exchange *x) {
  size_t end = x->pace.cuts && x->pace.cut < x->reply.size ? x->pace.cut : x->reply.size;
  x->allowed = x->pace.piece && x->pace.piece < end - x->allowed ? x->allowed + x->pace.piece : end;
}

/* Gives what the pace allows by now; then the connection sleeps until the timer allows more. */
static ssize_t on_read(void *cls, uint64_t position, char *out, size_t capacity) {
  struct exchange *x = cls;
  size_t left = x->allowed > position ? x->allowed - (size_t)position : 0;
  if (x->daemon->closing || (x->pace.cuts && position >= x->pace.cut))
    return MHD_CONTENT_READER_END_WITH_ERROR;
  if (left > capacity) left = capacity;
  if (left)
    memcpy(out, x->reply.data + position, left);
  else
    exchange_suspend(x, x->pace.every);
  return (ssize_t)left;
}

static void on_free(void *cls) {
  exchange_release(cls);
}

struct MHD_Response *exchange_paced(struct exchange *x, struct bytes body, const struct pace *pace) {
  buf_clear(&x->reply);
  buf_add(&x->reply, body.data, body.size);
  x->pace = *pace;
  x->allowed = 0;
  if (!buf_ok(&x->reply)) return NULL;
  allow(x);
  struct MHD_Response *r = MHD_create_response_from_callback(body.size, 4096, on_read, x, on_free);
  if (r) x->holders++;
  return r;
}

void exchange_expire(struct exchange *x) {
  x->due = 0;
  if (!exchange_answered(x)) {
    exchange_answer(x, 503, exchange_text("no answer within the time limit\n"), 0);
  } else if (x->stage == ANSWERED) {
    if (!x->response && !x->drop) allow(x); /* a paced reply is under way */
    exchange_resume(x);
  }
}

/* ---- what a request says ---- */

const char *exchange_method(const struct exchange *x) {
  return x->method;
}

struct bytes exchange_target(const struct exchange *x) {
  return buf_bytes(&x->target);
}

struct bytes exchange_headers(const struct exchange *x) {
  return buf_bytes(&x->headers);
}

struct bytes exchange_body(const struct exchange *x) {
  return buf_bytes(&x->body);
}
