/* Reads a Lua table by rows of members: each member goes to its function. Members without a row, and values
 * of another type, are reported with their path. The reader of tariffs uses it. */
#ifndef FLEET_BIND_TABLE_READER_H
#define FLEET_BIND_TABLE_READER_H

#include "bind/tariff/tariffs.h"

struct reader;
struct member;
typedef void read_value(struct reader *r,
                        const struct member *m); /* the value is on top of the stack and stays */

struct member {
  const char *name;
  size_t size;
  read_value *read;
  int low, high; /* of a whole number; low: which text or number of the tariff it is */
};
#define MEMBER(name, ...)                                                                                    \
  { name, sizeof name - 1, __VA_ARGS__ }

enum { DEEPEST = 12, MOST_SLOTS = 6 };

struct reader {
  lua_State *L;
  struct tariff *t;
  int problems; /* stack index of the list */
  lua_Integer count;
  enum tariff_side side;
  const char *season, *label; /* where the reader is, or NULL */
  const char *path[DEEPEST];  /* NULL: the integer beside it */
  lua_Integer index[DEEPEST];
  int depth;
  struct bytes charge_name; /* of the daily charge being read */
  double charge_amount;
  int slots[MOST_SLOTS]; /* whole numbers of the season or period being read, by place in its rows */
  unsigned given;        /* bit per slot */
};

void enter(struct reader *r, const char *name, lua_Integer index); /* one step of the path */
/* The value on top of the stack is not what was expected. */
void bad_value(struct reader *r, const char *expected);
bool is_null(lua_State *L, int index); /* a JSON null is absent */
bool is_table(struct reader *r, const char *expected);

/* Reads every member of the object on top by its row. */
void read_members(struct reader *r, const struct member *rows);
/* Calls each for every named entry of the map on top, key below value. */
void read_map(struct reader *r, void (*each)(struct reader *, const char *name));
/* Calls each for every element of the list on top, in order; then for the other members of the table. */
void read_list(struct reader *r, const char *expected, void (*each)(struct reader *));

/* A tariff that is built is checked by the rules of one that is read, as if its table were somewhere. */

/* Adds the season; dates are month, day, month, day as given. Its labels follow. */
void build_season(struct reader *r, enum tariff_side side, const char *name, const int dates[4],
                  bool has_periods);
/* Adds the value on top of the stack, which stays, to the rates of energy that were added last, those of
 * season. */
void build_rate(struct reader *r, enum tariff_side side, const char *season, const char *label);

#endif
