/* Names that a caller wrote: what an unknown one was probably meant to be. An unknown name has one wording
 * everywhere. */
#ifndef FLEET_BASE_NEAREST_H
#define FLEET_BASE_NEAREST_H

#include "base/buf.h"

/* The name in names that is nearest to name, or NULL when none is near. */
const char *nearest(const char *name, const char *const *names, size_t count);
/* "unknown option 'x'", with the nearest name or all names. */
void unknown_sentence(struct buf *out, const char *what, const char *name, const char *const *names,
                      size_t count);
/* "'option' cannot be 'x'", with the nearest name or all names. */
void choice_sentence(struct buf *out, const char *option, const char *value, const char *const *names,
                     size_t count);

#endif
