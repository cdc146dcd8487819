/* The settle column of a row, part by part: what a read must show when a write was done (see "Settling" in
 * tables/rows.h). The views point into the column.
 */
#ifndef FLEET_BASE_SETTLE_H
#define FLEET_BASE_SETTLE_H

#include "base/buf.h"

enum settle_op { SETTLE_TEXT, SETTLE_NUMBER, SETTLE_TARIFF };

struct settle_part {
  struct bytes path, value; /* value: literals joined by "|", $parameter or @section.path */
  enum settle_op op;
  struct bytes when; /* the conditions, may be empty */
};

/* The next piece of a text that separator cuts; false at the end. rest is what is left. */
bool settle_cut(struct bytes *rest, const char *separator, struct bytes *piece);
bool settle_next(struct bytes *column, struct settle_part *out);
/* The next "$name=value" of the conditions of a part. */
bool settle_condition(struct bytes *when, struct bytes *name, struct bytes *value);
/* The next $name that stands in a text. */
bool settle_parameter(struct bytes *text, struct bytes *name);

#endif
