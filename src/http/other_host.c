#include "http/other_host.h"

#include "base/text.h"
#include "http/header.h"

#include <string.h>

enum { SEARCHED = 16 * 1024 }; /* of a text, in bytes */

static bool is_host_byte(unsigned char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == ':';
}

static bool ends_host(unsigned char c) {
  return c && strchr("/,;\"' )}]\\\r\n", c);
}

/* The base URL at the start of b: scheme and authority, and nothing odd behind. A user name would end at an
 * '@', so that what looks like the host is none: refused with everything else that is unexpected. */
static struct bytes base_url_at(struct bytes b, const char *scheme) {
  struct bytes none = {NULL, 0};
  size_t size = strlen(scheme);
  if (!text_starts(b, scheme)) return none;
  while (size < b.size && is_host_byte(b.data[size])) size++;
  if (size == strlen(scheme) || (size < b.size && !ends_host(b.data[size]))) return none;
  return text_cut(b, size);
}

static bool is_accepted(struct bytes url, const char *host) {
  if (strstr(host, "://")) return text_is(url, host);
  struct bytes authority = text_after(url, "https://");
  if (!text_starts(url, "https://")) return false;
  if (authority.size > 4 && text_is(text_skip(authority, authority.size - 4), ":443")) authority.size -= 4;
  if (*host != '.') return text_is(authority, host);
  size_t size = strlen(host);
  return authority.size > size && !memchr(authority.data, ':', authority.size) && *authority.data != '.' &&
         text_is(text_skip(authority, authority.size - size), host);
}

static bool take_url(struct bytes at, const char *const *hosts, struct buf *base_url) {
  struct bytes url = base_url_at(at, "https://");
  if (!url.data) url = base_url_at(at, "http://");
  for (; url.data && *hosts; hosts++) {
    if (!is_accepted(url, *hosts)) continue;
    buf_add(base_url, url.data, url.size);
    return buf_ok(base_url);
  }
  return false;
}

bool other_host_accepted(struct bytes address, const char *const *hosts, struct buf *base_url) {
  return take_url(text_cut(address, SEARCHED), hosts, base_url);
}

bool other_host_named(struct bytes headers, struct bytes text, const char *const *hosts,
                      struct buf *base_url) {
  struct bytes name, value, at = text_after(text_cut(text, SEARCHED), "base URL: ");
  if (at.data && take_url(at, hosts, base_url)) return true;
  while (header_next(&headers, &name, &value))
    if (text_is(name, "alt-svc") && text_starts(value, "h2=") &&
        take_url(text_skip(value, 3), hosts, base_url))
      return true;
  return false;
}
