#include "base/reason.h"

#include <string.h>
#include <strings.h>

/* The signing proxy puts words of its own before the vehicle's (doc/protocol.md#reasons). */
static size_t prefix_of(const char *text) {
  for (const char *const *prefix = reason_prefixes; *prefix; prefix++) {
    size_t size = strlen(*prefix);
    if (strncasecmp(text, *prefix, size) == 0) return size;
  }
  return 0;
}

const char *reason_words(const char *text) {
  for (size_t size; (size = prefix_of(text)) > 0;) text += size;
  return text;
}

static bool reason_matches(const struct reason *r, const char *text) {
  size_t size = strlen(text), length = strlen(r->text);
  if (r->match == MATCH_PART) return strcasestr(text, r->text) != NULL;
  if (r->match == MATCH_TAIL) return size >= length && strcasecmp(text + size - length, r->text) == 0;
  return strcasecmp(text, r->text) == 0;
}

const struct reason *reason_of(const char *text) {
  text = reason_words(text);
  for (const struct reason *r = reason_rows; r->text; r++)
    if (reason_matches(r, text)) return r;
  return NULL;
}
