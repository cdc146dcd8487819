#include "http/parts.h"

#include "base/sigpipe.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum { HEADER_LIMIT = 64 * 1024, USUAL_HEADERS = 512, MANY_HEADERS = 8192 };

static size_t stop(struct http_transfer *t, enum http_failure why) {
  t->stopped = why;
  return 0;
}

/* "HTTP/1.1 200 OK" */
static int status_of(const char *line, size_t size) {
  const char *space = memchr(line, ' ', size);
  int status = 0;
  if (!space) return 0;
  for (const char *p = space + 1; p < line + size && *p >= '0' && *p <= '9' && status < 1000; p++)
    status = status * 10 + (*p - '0');
  return status;
}

/* Eight bytes at a time while both hold as many: room, from the first. What is behind size is lowered, too,
 * and written over. */
static void lower(char *to, const char *from, size_t size, size_t room) {
  const uint64_t each = UINT64_MAX / 255;
  size_t i = 0;
  for (; i < size && i + 8 <= room; i += 8) {
    uint64_t x;
    memcpy(&x, from + i, 8);
    uint64_t seven = x & each * 0x7F, from_a = seven + each * (0x80 - 'A'),
             after_z = seven + each * (0x7F - 'Z');
    x |= (from_a & ~after_z & ~x & each * 0x80) >> 2;
    memcpy(to + i, &x, 8);
  }
  for (; i < size; i++) to[i] = (char)(from[i] | (from[i] >= 'A' && from[i] <= 'Z' ? 0x20 : 0));
}

static void add_header(struct buf *out, const char *line, size_t size) {
  const char *colon = memchr(line, ':', size), *end = line + size, *value = colon ? colon + 1 : end;
  if (!colon || *line == ' ' || *line == '\t') return; /* a folded line: RFC 9112 5.2 */
  while (value < end && (*value == ' ' || *value == '\t')) value++;
  while (end > value && (end[-1] == ' ' || end[-1] == '\t')) end--;
  size_t name = (size_t)(colon - line), text = (size_t)(end - value);
  if (!buf_reserve(out, name + text + 3)) return;
  char *to = (char *)out->data + out->size;
  lower(to, line, name, name + text);
  memcpy(to + name, ": ", 2);
  memcpy(to + name + 2, value, text);
  to[name + 2 + text] = '\n';
  out->size += name + text + 3;
  out->data[out->size] = '\0';
}

/* Two lengths leave open where the reply ends and the next one begins: RFC 9112 6.3. Lines are lower case. */
static bool length_agrees(struct http_transfer *t, const char *line) {
  static const char name[] = "content-length: ";
  if (strncmp(line, name, sizeof name - 1) != 0) return true;
  const char *first = line + sizeof name - 1, *at = first;
  double length = 0;
  for (; *at >= '0' && *at <= '9'; at++) length = length * 10 + (*at - '0');
  bool agrees = at > first && *at == '\n' && (t->length < 0 || t->length == length);
  t->length = length;
  return agrees;
}

static size_t receive_line(struct http_transfer *t, const char *line, size_t text, size_t size) {
  struct buf *headers = &t->response.headers;
  size_t before = headers->size;
  add_header(headers, line, text);
  if (!buf_ok(headers)) return stop(t, HTTP_LOCAL);
  if (length_agrees(t, buf_text(headers) + before)) return size;
  t->detail = "its headers contradict each other about its length";
  return stop(t, HTTP_CUT);
}

size_t receive_header(char *line, size_t one, size_t length, void *user) {
  struct http_transfer *t = ((struct easy *)user)->transfer;
  struct http_response *r = &t->response;
  size_t size = one * length;
  t->header_bytes += size;
  if (t->fd && t->header_bytes >= MANY_HEADERS) ((struct easy *)user)->http->headers_at = t->fd;
  if (t->header_bytes > HEADER_LIMIT) return stop(t, HTTP_TOO_LARGE);
  if (t->headers_done) return size; /* trailers */
  size_t text = size;
  while (text && (line[text - 1] == '\n' || line[text - 1] == '\r')) text--;
  if (text && (*line | 0x20) == 'h' && text_starts(line, text, "HTTP/")) {
    buf_clear(&r->headers);
    buf_reserve(&r->headers, USUAL_HEADERS);
    r->status = status_of(line, text);
    t->length = -1;
  } else if (text == 0) {
    t->headers_done = r->status >= 200; /* 1xx replies come before the true one */
  } else {
    return receive_line(t, line, text, size);
  }
  return buf_ok(&r->headers) ? size : stop(t, HTTP_LOCAL);
}

size_t receive_body(char *data, size_t one, size_t length, void *user) {
  struct http_transfer *t = ((struct easy *)user)->transfer;
  size_t size = one * length;
  if (size > t->max_response) return stop(t, HTTP_TOO_LARGE);
  t->max_response -= size;
  buf_add(&t->response.body, data, size);
  return buf_ok(&t->response.body) ? size : stop(t, HTTP_LOCAL);
}
