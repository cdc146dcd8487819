#include "base/text.h"

#include <string.h>
#include <strings.h>

struct bytes text_cut(struct bytes b, size_t limit) {
  return (struct bytes){b.data, b.size < limit ? b.size : limit};
}

struct bytes text_skip(struct bytes b, size_t count) {
  return (struct bytes){b.data + count, b.size - count};
}

bool text_starts(struct bytes b, const char *prefix) {
  size_t size = strlen(prefix);
  return b.size >= size && strncasecmp((const char *)b.data, prefix, size) == 0;
}

bool text_is(struct bytes b, const char *wanted) {
  return b.size == strlen(wanted) && text_starts(b, wanted);
}

struct bytes text_after(struct bytes b, const char *part) {
  for (; b.size; b = text_skip(b, 1))
    if (text_starts(b, part)) return text_skip(b, strlen(part));
  return (struct bytes){NULL, 0};
}

bool word_in(const char *words, const char *name, size_t size) {
  for (const char *at = words; at && *at; at++) {
    size_t same = 0;
    while (same < size && at[same] == name[same] && name[same]) same++;
    if (same == size && (at[same] == ' ' || !at[same])) return true;
    while (*at && *at != ' ') at++;
    if (!*at) return false;
  }
  return false;
}
