/* Rows, lists of prices and spot prices, read from the options of a builder into weeks. */
#ifndef FLEET_BIND_TARIFF_ROWS_H
#define FLEET_BIND_TARIFF_ROWS_H

#include "bind/lua/bind.h"
#include "tariff/price_week.h"

#define FROM_ROWS "fleet.tariff.from_rows: "

struct priced_season {
  struct bytes name; /* followed by a NUL */
  bool given[TARIFF_SIDES];
  struct price_week week[TARIFF_SIDES];
};

struct build {
  struct tariff *t; /* keeps the names */
  struct priced_season *seasons;
  size_t season_count, season_room;
};

/* All read the options at index 1 and raise what the caller got wrong. */
void read_rows(lua_State *L, struct build *build);
void read_prices(lua_State *L, struct build *build, const char *option, enum tariff_side side);
bool read_spot(lua_State *L, struct build *build, int zone, struct err *e); /* false: wrong prices */
/* A text that may be a name in a tariff, at the top of the stack; what: "row 3: 'season'". */
const char *check_name(lua_State *L, const char *what);

#endif
