#include "store/counters.h"

#include "store/record.h"

#include <string.h>

/* ---- reading ---- */

/* Printable, and not empty. */
static bool counter_name_fits(struct bytes name) {
  if (name.size == 0 || name.size > COUNTER_NAME_LIMIT) return false;
  for (size_t i = 0; i < name.size; i++)
    if (name.data[i] <= ' ' || name.data[i] == 0x7f) return false;
  return true;
}

static bool no_counters(struct err *e) {
  return err_set(e, KIND_store, "the value under the key is not a set of counters");
}

static bool take_total(struct bytes text, int64_t *total) {
  uint64_t number;
  bool negative = text.size && text.data[0] == '-';
  if (negative) text = (struct bytes){text.data + 1, text.size - 1};
  if (!number_take(&text, &number) || text.size) return false;
  *total = negative ? -(int64_t)number : (int64_t)number;
  return true;
}

bool counters_next(struct bytes *text, struct counter *c, struct err *e) {
  if (text->size == 0) return false;
  const unsigned char *end = memchr(text->data, '\n', text->size);
  const unsigned char *space = end ? memchr(text->data, ' ', (size_t)(end - text->data)) : NULL;
  if (!space) return no_counters(e);
  c->name = (struct bytes){text->data, (size_t)(space - text->data)};
  struct bytes number = {space + 1, (size_t)(end - space - 1)};
  if (!counter_name_fits(c->name) || !take_total(number, &c->total)) return no_counters(e);
  *text = (struct bytes){end + 1, text->size - (size_t)(end + 1 - text->data)};
  return true;
}

bool counters_read(struct bytes text, struct counter *list, size_t *count, struct err *e) {
  struct counter c = {.amount = 0};
  for (*count = 0; counters_next(&text, &c, e); ++*count)
    list[*count] = (struct counter){.name = c.name, .amount = c.total};
  return text.size == 0;
}

/* ---- writing ---- */

static void write_line(struct buf *out, const struct counter *c) {
  buf_add(out, c->name.data, c->name.size);
  buf_put(out, ' ');
  buf_integer(out, c->total);
  buf_put(out, '\n');
}

void counters_write(struct buf *out, const struct counter *list, size_t count) {
  for (size_t i = 0; i < count; i++) write_line(out, &list[i]);
}

/* ---- adding ---- */

static struct counter *find(struct counter *list, size_t count, struct bytes name) {
  for (size_t i = 0; i < count; i++)
    if (bytes_equal(list[i].name, name)) return &list[i];
  return NULL;
}

static bool sum(struct counter *c, struct err *e) {
  c->total += c->amount; /* neither is beyond COUNTER_LIMIT */
  return (c->total <= COUNTER_LIMIT && c->total >= -COUNTER_LIMIT) ||
         err_set(e, KIND_store, "a counter counts no further");
}

/* A counter of the list is written with the others, at the end. */
static bool copy_others(struct buf *out, struct bytes text, struct counter *list, size_t count,
                        struct err *e) {
  struct counter old;
  while (counters_next(&text, &old, e)) {
    struct counter *c = find(list, count, old.name);
    if (c)
      c->total = old.total;
    else
      write_line(out, &old);
  }
  return text.size == 0;
}

bool counters_add(struct buf *out, struct bytes text, struct counter *list, size_t count, struct err *e) {
  for (size_t i = 0; i < count; i++) list[i].total = 0;
  if (!copy_others(out, text, list, count, e)) return false;
  for (size_t i = 0; i < count; i++) {
    bool asked_only = list[i].amount == 0 && list[i].total == 0;
    if (!sum(&list[i], e)) return false;
    if (!asked_only) write_line(out, &list[i]);
  }
  return buf_ok(out) || err_out_of_memory(e);
}
