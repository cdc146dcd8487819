#include "tariff/names.h"

#include <stdlib.h>
#include <string.h>

void *add_item(void *array, size_t *count, size_t *room, size_t size) {
  char *items;
  memcpy(&items, array, sizeof items);
  if (*count == *room) {
    size_t wanted = *room ? *room * 2 : 16;
    char *grown = wanted > SIZE_MAX / 2 / size ? NULL : realloc(items, wanted * size);
    if (!grown) return NULL;
    memcpy(array, &grown, sizeof grown);
    items = grown;
    *room = wanted;
  }
  return memset(items + size * (*count)++, 0, size);
}

int compare_names(struct bytes a, struct bytes b) {
  size_t shorter = a.size < b.size ? a.size : b.size;
  int order = shorter ? memcmp(a.data, b.data, shorter) : 0;
  return order ? order : (a.size > b.size) - (a.size < b.size);
}

bool is_named(struct bytes a, const char *b) {
  return bytes_equal(a, bytes_of(b));
}

/* ---- order ---- */

static int by_number(size_t a, size_t b) {
  return (a > b) - (a < b);
}

static int by_name(const void *left, const void *right) {
  const struct named *a = left, *b = right;
  int order = compare_names(a->name, b->name);
  return order ? order : by_number(a->place, b->place);
}

static int by_first(const void *left, const void *right) {
  const struct named *a = left, *b = right;
  int order = by_number(a->first, b->first);
  return order ? order : by_number(a->place, b->place);
}

void sort_names(struct named *names, size_t count) {
  if (count) qsort(names, count, sizeof *names, by_name);
  for (size_t i = 0; i < count; i++) {
    bool same = i > 0 && bytes_equal(names[i - 1].name, names[i].name);
    names[i].first = same ? names[i - 1].first : names[i].place;
  }
}

void sort_by_first(struct named *names, size_t count) {
  if (count) qsort(names, count, sizeof *names, by_first);
}
