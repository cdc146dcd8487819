/* One row for each kind of finding: its list in a report, its members, and its sentence.
 *
 * In a sentence $name is a member of the finding, or a text that lua/fleet/tariff/explain.lua makes of one.
 */
#ifndef FLEET_TARIFF_KINDS_H
#define FLEET_TARIFF_KINDS_H

#include "tariff/tariff.h"

enum tariff_list { TARIFF_PROBLEMS, TARIFF_NORMALISATIONS, TARIFF_WARNINGS, TARIFF_LISTS };
const char *tariff_side_name(enum tariff_side side); /* "buy" or "sell" */
extern const char *const tariff_lists[TARIFF_LISTS]; /* their names in a report */

/* clang-format off */
enum { ON_SIDE = 1, ON_CHARGES = 2, ON_SEASON = 4, ON_LABEL = 8, SPAN = 16, DATES = 32, LABELS = 64, SEASONS = 128,
       PRICE = 256, BECOMES = 512, PAIR = 1024, RANGES = 2048 };
/* clang-format on */

struct tariff_kind_row {
  const char *name;
  enum tariff_list list;
  unsigned members; /* bits; 0: the reader sets the members */
  const char *sentence;
};

/* By enum tariff_kind, then the kinds that only the reader finds. Ends with a NULL name. */
extern const struct tariff_kind_row tariff_kind_rows[];

#endif
