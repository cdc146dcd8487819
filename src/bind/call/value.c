#include "bind/call/value.h"

#include "base/json_scan.h"
#include "bind/lua/json.h"

#include <stdio.h>
#include <string.h>

enum { DEEPEST = 2 }; /* response, and the row's own member */

/* The value to check is at the top of the stack. text is the reply, entered the path of member names to the
 * value: an empty Lua table is looked up in the text, where [] and {} differ. */
struct shape_check {
  lua_State *L;
  const struct row *row;
  struct bytes text;
  const char *entered[DEEPEST];
  int depth;
};

/* The first character of the value in the reply. */
static char first_of(const struct shape_check *c) {
  struct bytes text = c->text;
  for (int i = 0; i < c->depth; i++)
    if (!json_member(&text, c->entered[i])) return '\0';
  return json_first(text);
}

/* Replaces the table at the top by its member. */
static bool enter(struct shape_check *c, const char *name) {
  if (lua_type(c->L, -1) != LUA_TTABLE || !name) return false;
  lua_pushstring(c->L, name);
  if (lua_rawget(c->L, -2) == LUA_TNIL) {
    lua_pop(c->L, 1);
    return false;
  }
  c->entered[c->depth++] = name;
  lua_remove(c->L, -2);
  return true;
}

/* Enters `response`. A null member is absent from the Lua table, so the text decides whether it exists. */
static void unwrap(struct shape_check *c) {
  if (enter(c, "response") || lua_type(c->L, -1) != LUA_TTABLE) return;
  struct bytes text = c->text;
  if (!json_member(&text, "response")) return;
  c->entered[c->depth++] = "response";
  lua_pop(c->L, 1);
  lua_pushlightuserdata(c->L, NULL);
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

static unsigned kind_of_table(const struct shape_check *c) {
  int table = lua_gettop(c->L);
  bool empty = is_empty(c->L, table);
  if (empty ? first_of(c) == '[' : has_element(c->L, table)) return VALUE_LIST | VALUE_TEXTS;
  return !empty || first_of(c) == '{' ? VALUE_OBJECT : 0;
}

static unsigned kind_of_value(const struct shape_check *c) {
  switch (lua_type(c->L, -1)) {
  case LUA_TTABLE:
    return kind_of_table(c);
  case LUA_TSTRING: /* a long integer is a string by now */
    return first_of(c) == '"' ? VALUE_TEXT | VALUE_BASE64 : 0;
  case LUA_TBOOLEAN:
    return VALUE_BOOLEAN;
  case LUA_TLIGHTUSERDATA:
    return VALUE_NOTHING;
  }
  return 0;
}

/* ---- elements of lists ---- */

/* Whether the table at value has the member whose name is at index name. Leaves the member on the stack. */
static bool has_member(lua_State *L, int value, int name) {
  lua_pushvalue(L, name);
  return lua_rawget(L, value) != LUA_TNIL;
}

static bool has_identity(const struct shape_check *c, int value, int known) {
  for (const char *at = c->row->identity; at && *at;) {
    size_t size = strcspn(at, " ");
    lua_pushlstring(c->L, at, size);
    lua_replace(c->L, known);
    if (has_member(c->L, value, known)) return true;
    lua_settop(c->L, value);
    at += size + strspn(at + size, " ");
  }
  return !c->row->identity && !is_empty(c->L, value);
}

/* Whether the value is a record: a table with a member of the row's identity. The name of the member that the
 * last record had is at `known` and is tried first. Leaves values above `value`. */
static bool is_record(const struct shape_check *c, int value, int known) {
  if (lua_type(c->L, value) != LUA_TTABLE) return false;
  if (has_member(c->L, value, known)) return true;
  lua_settop(c->L, value);
  return !has_element(c->L, value) && has_identity(c, value, known);
}

static bool is_element(const struct shape_check *c, unsigned kinds, int value, int known) {
  return (kinds & VALUE_LIST && is_record(c, value, known)) ||
         (kinds & VALUE_TEXTS && lua_type(c->L, value) == LUA_TSTRING);
}

/* Checks every element of the list at the top; nulls are left out. */
static bool check_elements(const struct shape_check *c, unsigned kinds) {
  lua_State *L = c->L;
  int list = lua_gettop(L), known = list + 1, value = list + 2;
  lua_Integer count = (lua_Integer)lua_rawlen(L, list), kept = 0;
  lua_pushboolean(L, false); /* no member has that name */
  for (lua_Integer i = 1; i <= count; i++) {
    bool null = lua_rawgeti(L, list, i) == LUA_TLIGHTUSERDATA;
    if (!null && !is_element(c, kinds, value, known)) return false;
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

static bool check_kind(const struct shape_check *c, char what[static 64]) {
  unsigned promised = row_value(c->row), found = kind_of_value(c), both = promised & found;
  if (!both) {
    snprintf(what, 64, "holds %s instead of %s", name_of(found), name_of(promised));
    return false;
  }
  if (both & (VALUE_LIST | VALUE_TEXTS) && !check_elements(c, both)) {
    snprintf(what, 64, "holds a list with elements that are no %s", both & VALUE_LIST ? "records" : "texts");
    return false;
  }
  return true;
}

/* ---- the check ---- */

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
static bool take_page(struct shape_check *c, char what[static 64]) {
  int body = lua_gettop(c->L);
  lua_newtable(c->L);
  lua_pushvalue(c->L, body);
  take_total(c->L, body, body + 1);
  unwrap(c);
  take_total(c->L, lua_gettop(c->L), body + 1);
  enter(c, c->row->items);
  lua_Integer length = lua_istable(c->L, -1) ? (lua_Integer)lua_rawlen(c->L, -1) : 0;
  if (!check_kind(c, what)) return false;
  lua_setfield(c->L, body + 1, "records");
  lua_pushinteger(c->L, length);
  lua_setfield(c->L, body + 1, "length");
  if (lua_type(c->L, body) == LUA_TTABLE && lua_getfield(c->L, body, "pagination") == LUA_TTABLE)
    lua_setfield(c->L, body + 1, "pagination");
  lua_settop(c->L, body + 1);
  lua_remove(c->L, body);
  return true;
}

/* The list at the top becomes { [name] = list }. */
static void wrap_bare(lua_State *L, const char *name) {
  lua_newtable(L);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
}

bool take_value(lua_State *L, const struct row *row, struct bytes text, char what[static 64]) {
  struct shape_check c = {.L = L, .row = row, .text = text};
  luaL_checkstack(L, 8, "reply");
  if (row->paging != PAGED_NO) return take_page(&c, what);
  unwrap(&c);
  if (!(row->value & VALUE_ANY) && !check_kind(&c, what)) return false;
  if (lua_type(L, -1) == LUA_TLIGHTUSERDATA) {
    lua_pop(L, 1);
    lua_newtable(L);
    if (row->bare) wrap_bare(L, row->bare);
  } else if (row->bare && lua_istable(L, -1) && kind_of_table(&c) & VALUE_LIST) {
    wrap_bare(L, row->bare);
  }
  return true;
}
