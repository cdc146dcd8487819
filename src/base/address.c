#include "base/address.h"

#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

static size_t span(struct bytes t, const char *set) {
  size_t n = 0;
  while (n < t.size && t.data[n] && strchr(set, t.data[n])) n++;
  return n;
}

static struct bytes after(struct bytes t, size_t size) {
  return (struct bytes){t.data + size, t.size - size};
}

static bool begins(struct bytes t, const char *with) {
  return t.size >= strlen(with) && memcmp(t.data, with, strlen(with)) == 0;
}

/* Cuts the host off the front: a name, an IPv4 address, or an IPv6 address in brackets. Empty: there is none.
 */
static struct bytes take_host(struct bytes *t) {
  struct bytes host = *t;
  if (begins(*t, "[")) {
    size_t n = span(after(*t, 1), "abcdefABCDEF" DIGITS ":");
    bool closed = n && n + 1 < t->size && t->data[n + 1] == ']';
    host.size = closed ? n + 2 : 0;
  } else {
    host.size = span(*t, LETTERS DIGITS "-.");
  }
  *t = after(*t, host.size);
  return host;
}

/* A port, a path, both, or nothing. */
static bool is_rest(struct bytes t) {
  if (begins(t, ":")) {
    size_t digits = span(after(t, 1), DIGITS);
    t = after(t, 1 + digits);
    if (!t.size) return digits > 0;
  }
  return !t.size || (begins(t, "/") && span(t, LETTERS DIGITS "-._~/") == t.size);
}

/* 127.0.0.0/8, written in full. */
static bool is_loopback_number(struct bytes host) {
  int dots = 0;
  if (!begins(host, "127.") || span(host, DIGITS ".") != host.size) return false;
  for (size_t i = 0; i < host.size; i++) {
    bool dot = host.data[i] == '.';
    if (dot && (i + 1 == host.size || host.data[i + 1] == '.')) return false;
    dots += dot;
  }
  return dots == 3;
}

static bool is_near(struct bytes host) {
  return bytes_equal(host, bytes_of("localhost")) || bytes_equal(host, bytes_of("[::1]")) ||
         is_loopback_number(host);
}

enum address address_check(struct bytes *text) {
  bool plain = begins(*text, "http://");
  if (!plain && !begins(*text, "https://")) return ADDRESS_MALFORMED;
  struct bytes rest = after(*text, plain ? 7 : 8), host = take_host(&rest);
  if (!host.size || !is_rest(rest)) return ADDRESS_MALFORMED;
  while (text->data[text->size - 1] == '/') text->size--;
  return plain && !is_near(host) ? ADDRESS_PLAIN : ADDRESS_SOUND;
}

void address_shown(struct buf *out, struct bytes t) {
  size_t at = t.size;
  while (at > 0 && t.data[at - 1] != '@') at--;
  if (at > 0) t = after(t, at);
  size_t end = 0;
  while (end < t.size && t.data[end] != '?' && t.data[end] != '#') end++;
  buf_text_add(out, at > 0 ? "...@" : "");
  buf_add(out, t.data, end);
  buf_text_add(out, end < t.size ? "?..." : "");
}
