#include "tariff/day_text.h"

#include <stdlib.h>
#include <string.h>

const char *const day_names[7] = {"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};

void write_separator(struct buf *out, size_t i, size_t count) {
  if (i > 0) buf_text_add(out, i + 1 < count ? ", " : " and ");
}

struct bytes split_span(struct bytes span, int *day) {
  for (*day = 6; *day >= 0; --*day)
    if (span.size > 4 && span.data[3] == ' ' && memcmp(span.data, day_names[*day], 3) == 0)
      return (struct bytes){span.data + 4, span.size - 4};
  return span;
}

struct hours {
  struct bytes text;
  unsigned days; /* a bit per day, Monday is 1 */
  size_t place;  /* of the first */
};

static int by_text(const void *left, const void *right) {
  const struct hours *a = left, *b = right;
  size_t size = a->text.size < b->text.size ? a->text.size : b->text.size;
  int order = size ? memcmp(a->text.data, b->text.data, size) : 0;
  if (!order) order = (a->text.size > b->text.size) - (a->text.size < b->text.size);
  return order ? order : (a->place > b->place) - (a->place < b->place);
}

static int by_place(const void *left, const void *right) {
  const struct hours *a = left, *b = right;
  return (a->place > b->place) - (a->place < b->place);
}

/* The same hours become one, in the order in which they came; how many are left. */
static size_t join_hours(struct hours *hours, size_t count) {
  size_t last = 0;
  qsort(hours, count, sizeof *hours, by_text);
  for (size_t i = 1; i < count; i++)
    if (bytes_equal(hours[i].text, hours[last].text))
      hours[last].days |= hours[i].days;
    else
      hours[++last] = hours[i];
  qsort(hours, last + 1, sizeof *hours, by_place);
  return last + 1;
}

/* "Mon-Wed, Fri " */
static void write_days(struct buf *out, unsigned days) {
  bool any = false;
  for (int day = 0; day < 7; day++) {
    int first = day;
    if (!(days >> day & 1)) continue;
    while (days >> (day + 1) & 1) day++;
    if (any) buf_text_add(out, ", ");
    buf_text_add(out, day_names[first]);
    if (day > first) buf_put(out, '-'), buf_text_add(out, day_names[day]);
    any = true;
  }
  if (any) buf_put(out, ' ');
}

bool write_spans(struct buf *out, const struct bytes *spans, size_t count) {
  struct hours *hours = calloc(count + 1, sizeof *hours);
  if (!hours) return false;
  for (size_t i = 0; i < count; i++) {
    int day;
    hours[i].text = split_span(spans[i], &day);
    hours[i].days = day < 0 ? 0 : 1u << day;
    hours[i].place = i;
  }
  if (count) count = join_hours(hours, count);
  for (size_t i = 0; i < count; i++) {
    write_separator(out, i, count);
    write_days(out, hours[i].days);
    buf_add(out, hours[i].text.data, hours[i].text.size);
  }
  free(hours);
  return true;
}
