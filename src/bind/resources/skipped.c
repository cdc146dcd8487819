/* The vehicles that a telemetry configuration was not sent to, in either form in which the service says it.
 */
#include "bind/lua/bind.h"

#include "tables/rows.h"

#include <stdlib.h>
#include <string.h>

enum { REPLY = 1, SKIPPED = 2, LIST = 3 }; /* records on the stack */

/* What to do about a reason, or NULL. */
static const char *advice_for(lua_State *L, int reason) {
  const char *text = lua_type(L, reason) == LUA_TSTRING ? lua_tostring(L, reason) : NULL;
  for (const struct reason *r = reason_rows; text && r->text; r++)
    if (strcmp(r->where, "telemetry") == 0 && strcmp(r->text, text) == 0) return r->doc;
  return NULL;
}

/* Appends { vin =, reason =, advice = } of two values on the stack. */
static void add(lua_State *L, int vin, int reason) {
  lua_createtable(L, 0, 3);
  lua_pushvalue(L, vin);
  lua_setfield(L, -2, "vin");
  lua_pushvalue(L, reason);
  lua_setfield(L, -2, "reason");
  set_text(L, "advice", advice_for(L, reason));
  list_append(L, LIST);
}

static void add_record(lua_State *L, int record) {
  lua_getfield(L, record, "vin");
  lua_getfield(L, record, "reason");
  add(L, record + 1, record + 2);
}

static void add_vins(lua_State *L, int reason, int vins) {
  for (lua_Integer i = 1; lua_geti(L, vins, i) != LUA_TNIL; i++) {
    add(L, vins + 1, reason);
    lua_settop(L, vins);
  }
}

/* ---- order ---- */

struct record {
  const char *text; /* of the vehicle and the reason; held by a list */
  lua_Integer index;
};

static int by_text(const void *left, const void *right) {
  const struct record *a = left, *b = right;
  int order = strcmp(a->text, b->text);
  return order ? order : (a->index > b->index) - (a->index < b->index);
}

/* Pushes the vehicle and the reason of a record as one text. */
static const char *push_key(lua_State *L, lua_Integer index) {
  int top = lua_gettop(L);
  lua_rawgeti(L, LIST, index);
  lua_getfield(L, -1, "vin"), lua_getfield(L, -2, "reason");
  luaL_tolstring(L, top + 2, NULL), luaL_tolstring(L, top + 3, NULL);
  lua_concat(L, 2);
  lua_replace(L, top + 1);
  lua_settop(L, top + 1);
  return lua_tostring(L, -1);
}

/* Pushes the list in the order of its texts: that of an object's members is accidental. */
static void push_sorted(lua_State *L) {
  size_t count = (size_t)lua_rawlen(L, LIST);
  struct record *records = lua_newuserdatauv(L, (count + 1) * sizeof *records, 0);
  lua_newtable(L); /* holds the texts */
  for (size_t i = 0; i < count; i++) {
    records[i] = (struct record){push_key(L, (lua_Integer)i + 1), (lua_Integer)i + 1};
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  qsort(records, count, sizeof *records, by_text);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    lua_rawgeti(L, LIST, records[i].index);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* Pushes the list of a table at its place: an object from reason to VINs or from VIN to reason, or a list of
 * { vin, reason }. */
static void push_skipped(lua_State *L) {
  lua_newtable(L);
  for (lua_pushnil(L); lua_next(L, SKIPPED); lua_settop(L, LIST + 1)) {
    bool table = lua_istable(L, LIST + 2);
    if (table && lua_type(L, LIST + 1) == LUA_TNUMBER)
      add_record(L, LIST + 2);
    else if (table)
      add_vins(L, LIST + 1, LIST + 2);
    else
      add(L, LIST + 1, LIST + 2);
  }
  push_sorted(L);
}

/* core.with_skipped(reply) -> the same, its skipped_vehicles as a list of { vin =, reason =, advice = } */
static int l_with_skipped(lua_State *L) {
  lua_settop(L, REPLY);
  if (!lua_istable(L, REPLY)) return 1;
  lua_getfield(L, REPLY, "skipped_vehicles");
  if (lua_istable(L, SKIPPED)) {
    push_skipped(L);
    lua_setfield(L, REPLY, "skipped_vehicles");
  }
  lua_settop(L, REPLY);
  return 1;
}

void open_skipped(lua_State *L) {
  lua_pushcfunction(L, l_with_skipped);
  lua_setfield(L, -2, "with_skipped");
}
