/* Looking through text of the service: views, never copies; letters are compared case-blind, as in header
 * names and hosts. */
#ifndef FLEET_BASE_TEXT_H
#define FLEET_BASE_TEXT_H

#include "base/buf.h"

struct bytes text_cut(struct bytes b, size_t limit);
struct bytes text_skip(struct bytes b, size_t count); /* count is at most the size */
bool text_starts(struct bytes b, const char *prefix);
bool text_is(struct bytes b, const char *wanted);

/* The bytes after the first occurrence of part; data NULL: it does not occur. */
struct bytes text_after(struct bytes b, const char *part);

/* Whether name is one of the space-separated words; words NULL: there are none. */
bool word_in(const char *words, const char *name, size_t size);

#endif
