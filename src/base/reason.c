#include "base/reason.h"

#include <string.h>
#include <strings.h>

/* The signing proxy puts words of its own before the vehicle's (doc/protocol.md#reasons). */
static size_t prefix_of(const char *text, const char *const *prefixes) {
  for (; *prefixes; prefixes++) {
    size_t size = strlen(*prefixes);
    if (strncasecmp(text, *prefixes, size) == 0) return size;
  }
  return 0;
}

const char *reason_words(const char *text) {
  return text + prefix_of(text, proxy_prefixes);
}

static bool reason_matches(const struct reason *r, const char *text) {
  size_t size = strlen(text), length = strlen(r->text);
  if (r->match == MATCH_PART) return strcasestr(text, r->text) != NULL;
  if (r->match == MATCH_TAIL) return size >= length && strcasecmp(text + size - length, r->text) == 0;
  return strcasecmp(text, r->text) == 0;
}

const struct reason *reason_of(const char *text) {
  text = reason_words(text);
  text += prefix_of(text, reason_prefixes);
  for (const struct reason *r = reason_rows; r->text; r++)
    if (reason_matches(r, text)) return r;
  return NULL;
}
