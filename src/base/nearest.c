#include "base/nearest.h"

#include <stdint.h>
#include <string.h>

enum { NAME_MAX_LENGTH = 64, FEW = 8, SHORTEST_BEGINNING = 3 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edit distance in which two exchanged neighbours count once (optimal string alignment). */
static size_t distance(const char *a, size_t m, const char *b, size_t n) {
  size_t rows[3][NAME_MAX_LENGTH + 1], *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= n; j++) above[j] = j;
  for (size_t i = 1; i <= m; i++) {
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], before[j - 2] + 1);
    }
    size_t *oldest = before;
    before = above, above = row, row = oldest;
  }
  return above[n];
}

/* Near is what differs in a third of its letters: more, and any short word is near to any other. */
static const char *nearest_spelling(const char *name, size_t length, const char *const *names, size_t count) {
  size_t best = SIZE_MAX;
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t other = strlen(names[i]);
    if (other > NAME_MAX_LENGTH) continue;
    size_t d = distance(name, length, names[i], other);
    if (d < best && d <= ((length > other ? length : other) + 1) / 3) best = d, found = names[i];
  }
  return found;
}

static const char *first_beginning(const char *name, size_t length, const char *const *names, size_t count) {
  for (size_t i = 0; i < count && length >= SHORTEST_BEGINNING; i++)
    if (strncmp(names[i], name, length) == 0) return names[i];
  return NULL;
}

const char *nearest(const char *name, const char *const *names, size_t count) {
  size_t length = strlen(name);
  if (length > NAME_MAX_LENGTH) return NULL;
  const char *found = nearest_spelling(name, length, names, count);
  return found ? found : first_beginning(name, length, names, count);
}

static void add_names(struct buf *out, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) buf_format(out, "%s'%s'", i ? ", " : "", names[i]);
}

/* What was probably meant; what there is, where that is little, or where nothing is near and all is wanted.
 */
static void add_hint(struct buf *out, const char *name, const char *const *names, size_t count, bool all) {
  const char *near = nearest(name, names, count);
  if (!count) buf_text_add(out, ": it takes none");
  if (near) buf_format(out, ", did you mean '%s'?", near);
  if (!count || (near && (count == 1 || count > FEW)) || (!near && count > FEW && !all)) return;
  buf_text_add(out, near ? " (one of " : ", it is one of ");
  add_names(out, names, count);
  if (near) buf_put(out, ')');
}

void unknown_sentence(struct buf *out, const char *what, const char *name, const char *const *names,
                      size_t count) {
  buf_format(out, "unknown %s '%s'", what, name);
  add_hint(out, name, names, count, false);
}

void choice_sentence(struct buf *out, const char *option, const char *value, const char *const *names,
                     size_t count) {
  buf_format(out, "'%s' cannot be '%s'", option, value);
  add_hint(out, value, names, count, true);
}
