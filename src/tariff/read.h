/* Reads a tariff from a tree of nodes. Each kind of object has a table of rows: a member's name and the
 * function that reads it. Unknown members and values of another type become problems with their path.
 *
 * The builders add seasons and rates through the same functions, so that the same checks apply.
 */
#ifndef FLEET_TARIFF_READ_H
#define FLEET_TARIFF_READ_H

#include "base/value.h"
#include "tariff/tariff.h"

enum { DEEPEST = 12, MOST_SLOTS = 6 };

struct step {
  struct bytes name; /* data NULL: the place in a list */
  int64_t index;
};

struct reader {
  struct tariff *t;
  struct arena *a;
  struct node *problems; /* a list */
  bool buy_only;         /* sell_tariff is not read */
  enum tariff_side side;
  struct bytes season, label; /* being read; data NULL: none */
  struct step path[DEEPEST];
  int depth;
  struct bytes charge_name; /* of the daily charge being read */
  double charge_amount;
  int slots[MOST_SLOTS]; /* whole numbers of the season or period being read, by place in its rows */
  unsigned given;        /* bit per slot */
  bool was_bad;          /* one of them was no such number */
};

void read_content(struct reader *r, const struct node *content);

/* Adds a season; dates are month, day, month, day as given. Its labels follow. */
void build_season(struct reader *r, enum tariff_side side, struct bytes name, const int dates[4],
                  bool has_periods);
/* Adds a price to the energy rates that were added last, which are those of season. */
void build_rate(struct reader *r, enum tariff_side side, struct bytes season, struct bytes label,
                const struct node *price);

#endif
