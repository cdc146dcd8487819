/* Names of a tariff: copied into it, compared, sorted. Arrays that grow. */
#ifndef FLEET_TARIFF_NAMES_H
#define FLEET_TARIFF_NAMES_H

#include "tariff/tariff.h"

/* A copy that lives as long as the tariff. data NULL: out of memory, which is sticky in the tariff. */
struct bytes copy_text(struct tariff *t, struct bytes text);
bool is_named(struct bytes name, const char *text);
int compare_names(struct bytes a, struct bytes b); /* by byte */

/* One more element, zeroed, at the end of the growing array whose pointer is at array; NULL when memory
 * is out. */
void *add_item(void *array, size_t *count, size_t *room, size_t size);
#define ADD(owner, plural, one)                                                                              \
  add_item(&(owner)->plural, &(owner)->one##_count, &(owner)->one##_room, sizeof *(owner)->plural)

struct named {
  struct bytes name;
  size_t place, first; /* first: the place of the first of that name */
};

/* Sorts by name, equal names by place, and sets the first of each. */
void sort_names(struct named *names, size_t count);
/* Sorts the result of sort_names by first, then place. */
void sort_by_first(struct named *names, size_t count);

#endif
