#include "http/streams.h"

#include <math.h>
#include <stdlib.h>

static const struct method methods[] = {
    {"GET", true, false}, {"POST", false, true}, {"DELETE", false, false}};

static void leave(struct http_transfer *t) {
  struct transfer_list *list = t->list;
  *(t->previous ? &t->previous->next : &list->first) = t->next;
  *(t->next ? &t->next->previous : &list->last) = t->previous;
}

void transfer_move(struct transfer_list *list, struct http_transfer *t) {
  if (t->list) leave(t);
  t->list = list;
  t->next = NULL;
  t->previous = list->last;
  *(list->last ? &list->last->next : &list->first) = t;
  list->last = t;
}

/* ---- checking ---- */

static const struct method *find_method(const char *name) {
  for (size_t i = 0; name && i < sizeof methods / sizeof *methods; i++)
    if (strcmp(methods[i].name, name) == 0) return &methods[i];
  return NULL;
}

static bool is_token(char c) { /* RFC 9110 5.6.2 */
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         strchr("!#$%&'*+-.^_`|~", c);
}

/* No control characters but tabs. Eight bytes at a time: a token may be long. */
static bool value_valid(const char *at, const char *end) {
  const uint64_t each = UINT64_MAX / 255;
  for (uint64_t word; end - at >= 8; at += 8) {
    memcpy(&word, at, 8);
    uint64_t low = (word - each * 0x20) & ~word, delete = word ^ each * 0x7F;
    if ((low | ((delete - each) & ~delete)) & each * 0x80) break; /* perhaps: byte by byte from here */
  }
  while (at < end && ((unsigned char)*at >= 0x20 || *at == '\t') && *at != 0x7F) at++;
  return at == end;
}

static bool header_valid(const char *line) {
  const char *p = line;
  while (*p && is_token(*p)) p++;
  return p > line && *p == ':' && value_valid(p, p + strlen(p));
}

static bool url_valid(const char *url) {
  if (!url || !(text_starts(url, strlen(url), "http://") || text_starts(url, strlen(url), "https://")))
    return false;
  for (const char *p = url; *p; p++)
    if (*p <= ' ' || *p == 0x7F) return false; /* also bytes above 0x7F: they must be percent-encoded */
  return true;
}

static bool request_valid(const struct http_request *r, const struct method *m, struct err *e) {
  if (!m) return err_set(e, KIND_invalid, "the request's method is not known");
  if (!url_valid(r->url))
    return err_set(e, KIND_invalid, "the request's address is not an http or https address");
  if (m->safe && r->body.data) return err_set(e, KIND_invalid, "a %s request takes no body", m->name);
  if (!(r->timeout > 0 && isfinite(r->timeout)))
    return err_set(e, KIND_invalid, "the request's time limit must be above zero");
  for (int i = 0; r->headers && r->headers[i]; i++) /* the line itself may hold a secret */
    if (!header_valid(r->headers[i]))
      return err_set(e, KIND_invalid, "header line %d is not \"Name: value\"", i + 1);
  return true;
}

/* ---- copying ---- */

static void copy_line(struct http_transfer *t, size_t *count, const char *line) {
  char *at = (char *)t->copy.data + t->copy.size;
  buf_add(&t->copy, line, strlen(line) + 1);
  t->lines[*count] = (struct curl_slist){at, NULL};
  if (*count) t->lines[*count - 1].next = &t->lines[*count];
  ++*count;
}

bool transfer_has_body(const struct http_transfer *t) {
  return t->method->body || t->body_size > 0;
}

/* In front, where libcurl would write it, too: but twice, and each time byte by byte. */
static void ask_for_gzip(struct http_transfer *t, size_t *count) {
  static char line[] = "Accept-Encoding: gzip";
  t->lines[(*count)++] = (struct curl_slist){line, NULL};
}

/* Room for all is taken at once, so that the lines stay where they are. With a body both extra lines switch
 * something of libcurl's off: a Content-Type of its own invention, and waiting for "100 Continue". */
static bool copy_request(struct http_transfer *t, const struct http_request *r, bool gzip) {
  static const char no_type[] = "Content-Type:", no_expect[] = "Expect:";
  size_t size = sizeof no_type + sizeof no_expect + r->body.size, count = 0;
  bool typed = false;
  t->body_size = r->body.size;
  for (int i = 0; r->headers && r->headers[i]; i++) size += strlen(r->headers[i]) + 1;
  if (!buf_reserve(&t->copy, size)) return false;
  if (gzip) ask_for_gzip(t, &count);
  for (int i = 0; r->headers && r->headers[i]; i++) {
    typed |= transfer_has_body(t) && text_starts(r->headers[i], strlen(r->headers[i]), no_type);
    copy_line(t, &count, r->headers[i]);
  }
  if (transfer_has_body(t) && !typed) copy_line(t, &count, no_type);
  if (transfer_has_body(t)) copy_line(t, &count, no_expect);
  buf_add(&t->copy, r->body.data, r->body.size);
  t->has_lines = count > 0;
  t->max_response = r->max_response;
  t->timeout = r->timeout;
  t->idle_limit = r->idle_limit;
  t->started = poller_now();
  t->length = -1;
  if (r->http2 && text_starts(r->url, 8, "https://")) t->origin = streams_origin(r->url);
  return true;
}

struct http_transfer *transfer_new(const struct http_request *r, bool gzip, struct err *e) {
  const struct method *m = find_method(r->method);
  size_t lines = 3; /* of ours, at most */
  if (!request_valid(r, m, e)) return NULL;
  for (int i = 0; r->headers && r->headers[i]; i++) lines++;
  struct http_transfer *t = malloc(sizeof *t + lines * sizeof *t->lines); /* calloc finds no recent block */
  if (t) *t = (struct http_transfer){.method = m};
  if (t && copy_request(t, r, gzip)) return t;
  free(t);
  err_out_of_memory(e);
  return NULL;
}

void transfer_free(struct http_transfer *t) {
  if (t->list) leave(t);
  buf_free(&t->copy);
  buf_free(&t->response.headers);
  buf_free(&t->response.body);
  free(t);
}

void transfer_set_user(struct http_transfer *t, void *user) {
  t->user = user;
}

void *transfer_user(const struct http_transfer *t) {
  return t->user;
}

struct http_response *transfer_response(struct http_transfer *t) {
  return &t->response;
}
