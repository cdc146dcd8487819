#include "bind/call/value.h"

#include "base/json_scan.h"
#include "bind/lua/json.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 2 }; /* response, and the row's own member */

/* A value on its way through the door stands at the top of the stack; text is the reply, entered the members
 * that lead to the value. Only where its table does not tell what it is, is it looked up in the text. */
struct door {
  lua_State *L;
  const struct row *row;
  struct bytes text;
  const char *entered[DEEPEST];
  int depth;
};

/* The first character of the value in the reply. */
static char first_of(const struct door *d) {
  struct bytes text = d->text;
  for (int i = 0; i < d->depth; i++)
    if (!json_member(&text, d->entered[i])) return '\0';
  return json_first(text);
}

/* Replaces the table at the top by its member. */
static bool enter(struct door *d, const char *name) {
  if (lua_type(d->L, -1) != LUA_TTABLE || !name) return false;
  lua_pushstring(d->L, name);
  if (lua_rawget(d->L, -2) == LUA_TNIL) {
    lua_pop(d->L, 1);
    return false;
  }
  d->entered[d->depth++] = name;
  lua_remove(d->L, -2);
  return true;
}

/* A member that is null is gone from the table, but the service did wrap its reply. */
static void unwrap(struct door *d) {
  if (enter(d, "response") || lua_type(d->L, -1) != LUA_TTABLE) return;
  struct bytes text = d->text;
  if (!json_member(&text, "response")) return;
  d->entered[d->depth++] = "response";
  lua_pop(d->L, 1);
  lua_pushlightuserdata(d->L, NULL);
}

/* ---- kinds ---- */

static const struct {
  unsigned kind;
  const char *name;
} kind_names[] = {{VALUE_OBJECT, "an object"}, {VALUE_LIST, "a list"},   {VALUE_TEXTS, "a list of texts"},
                  {VALUE_TEXT, "a text"},      {VALUE_BASE64, "base64"}, {VALUE_BOOLEAN, "true or false"},
                  {VALUE_NOTHING, "nothing"}};
enum { KINDS = sizeof kind_names / sizeof *kind_names };

static const char *name_of(unsigned kinds) {
  for (int i = 0; i < KINDS; i++)
    if (kinds & kind_names[i].kind) return kind_names[i].name;
  return "a number";
}

static bool has_element(lua_State *L, int table) {
  bool has = lua_rawgeti(L, table, 1) != LUA_TNIL;
  lua_pop(L, 1);
  return has;
}

static bool is_empty(lua_State *L, int table) {
  lua_pushnil(L);
  if (!lua_next(L, table)) return true;
  lua_pop(L, 2);
  return false;
}

static unsigned kind_of_table(const struct door *d) {
  int table = lua_gettop(d->L);
  bool empty = is_empty(d->L, table);
  if (empty ? first_of(d) == '[' : has_element(d->L, table)) return VALUE_LIST | VALUE_TEXTS;
  return !empty || first_of(d) == '{' ? VALUE_OBJECT : 0;
}

static unsigned kind_of_value(const struct door *d) {
  switch (lua_type(d->L, -1)) {
  case LUA_TTABLE:
    return kind_of_table(d);
  case LUA_TSTRING: /* a long integer is a string by now */
    return first_of(d) == '"' ? VALUE_TEXT | VALUE_BASE64 : 0;
  case LUA_TBOOLEAN:
    return VALUE_BOOLEAN;
  case LUA_TLIGHTUSERDATA:
    return VALUE_NOTHING;
  }
  return 0;
}

/* ---- elements of lists ---- */

/* Whether the table at value has the member whose name stands at name. Leaves what it found. */
static bool has_member(lua_State *L, int value, int name) {
  lua_pushvalue(L, name);
  return lua_rawget(L, value) != LUA_TNIL;
}

static bool has_identity(const struct door *d, int value, int known) {
  for (const char *at = d->row->identity; at && *at;) {
    size_t size = strcspn(at, " ");
    lua_pushlstring(d->L, at, size);
    lua_replace(d->L, known);
    if (has_member(d->L, value, known)) return true;
    lua_settop(d->L, value);
    at += size + strspn(at + size, " ");
  }
  return !d->row->identity && !is_empty(d->L, value);
}

/* The records of a list are known by the same member as a rule: its name stays at known. What has a member is
 * no list. Both leave what they found above the value. */
static bool is_record(const struct door *d, int value, int known) {
  if (lua_type(d->L, value) != LUA_TTABLE) return false;
  if (has_member(d->L, value, known)) return true;
  lua_settop(d->L, value);
  return !has_element(d->L, value) && has_identity(d, value, known);
}

static bool is_element(const struct door *d, unsigned kinds, int value, int known) {
  return (kinds & VALUE_LIST && is_record(d, value, known)) ||
         (kinds & VALUE_TEXTS && lua_type(d->L, value) == LUA_TSTRING);
}

/* Checks every element of the list at the top; nulls are left out. */
static bool check_elements(const struct door *d, unsigned kinds) {
  lua_State *L = d->L;
  int list = lua_gettop(L), known = list + 1, value = list + 2;
  lua_Integer count = (lua_Integer)lua_rawlen(L, list), kept = 0;
  lua_pushboolean(L, false); /* no member has that name */
  for (lua_Integer i = 1; i <= count; i++) {
    bool null = lua_rawgeti(L, list, i) == LUA_TLIGHTUSERDATA;
    if (!null && !is_element(d, kinds, value, known)) return false;
    if (!null && ++kept != i) {
      lua_pushvalue(L, value);
      lua_rawseti(L, list, kept);
    }
    lua_settop(L, known);
  }
  lua_settop(L, list);
  while (kept < count) {
    lua_pushnil(L);
    lua_rawseti(L, list, ++kept);
  }
  return true;
}

static bool check_kind(const struct door *d, char what[static 64]) {
  unsigned promised = row_value(d->row), found = kind_of_value(d), both = promised & found;
  if (!both) {
    snprintf(what, 64, "holds %s instead of %s", name_of(found), name_of(promised));
    return false;
  }
  if (both & (VALUE_LIST | VALUE_TEXTS) && !check_elements(d, both)) {
    snprintf(what, 64, "holds a list with elements that are no %s", both & VALUE_LIST ? "records" : "texts");
    return false;
  }
  return true;
}

/* ---- the door ---- */

/* Sets total of the table at out to the count of all records, where this table gives it. */
static void take_total(lua_State *L, int table, int out) {
  if (!lua_istable(L, table)) return;
  if (lua_getfield(L, table, "totalResults") == LUA_TNUMBER)
    lua_setfield(L, out, "total");
  else
    lua_pop(L, 1);
}

/* The body at the top becomes { records =, length = with its nulls, total =, pagination = }; the list may be
 * under `response`, under the row's own member, or under both. */
static bool take_page(struct door *d, char what[static 64]) {
  int body = lua_gettop(d->L);
  lua_newtable(d->L);
  lua_pushvalue(d->L, body);
  take_total(d->L, body, body + 1);
  unwrap(d);
  take_total(d->L, lua_gettop(d->L), body + 1);
  enter(d, d->row->items);
  lua_Integer length = lua_istable(d->L, -1) ? (lua_Integer)lua_rawlen(d->L, -1) : 0;
  if (!check_kind(d, what)) return false;
  lua_setfield(d->L, body + 1, "records");
  lua_pushinteger(d->L, length);
  lua_setfield(d->L, body + 1, "length");
  if (lua_type(d->L, body) == LUA_TTABLE && lua_getfield(d->L, body, "pagination") == LUA_TTABLE)
    lua_setfield(d->L, body + 1, "pagination");
  lua_settop(d->L, body + 1);
  lua_remove(d->L, body);
  return true;
}

/* The list at the top becomes { [name] = list }. */
static void wrap_bare(lua_State *L, const char *name) {
  lua_newtable(L);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
}

bool take_value(lua_State *L, const struct row *row, struct bytes text, char what[static 64]) {
  struct door d = {.L = L, .row = row, .text = text};
  luaL_checkstack(L, 8, "reply");
  if (row->paging != PAGED_NO) return take_page(&d, what);
  unwrap(&d);
  if (!(row->value & VALUE_ANY) && !check_kind(&d, what)) return false;
  if (lua_type(L, -1) == LUA_TLIGHTUSERDATA) {
    lua_pop(L, 1);
    lua_newtable(L);
    if (row->bare) wrap_bare(L, row->bare);
  } else if (row->bare && lua_istable(L, -1) && kind_of_table(&d) & VALUE_LIST) {
    wrap_bare(L, row->bare);
  }
  return true;
}
