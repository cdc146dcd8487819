#include "bind/tariff/table_reader.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void enter(struct reader *r, const char *name, lua_Integer index) {
  r->path[r->depth] = name;
  r->index[r->depth++] = index;
}

/* ---- what the table itself gets wrong ---- */

static void push_path(struct reader *r) {
  luaL_Buffer b;
  luaL_buffinit(r->L, &b);
  for (int i = 0; i < r->depth; i++) {
    char number[32];
    snprintf(number, sizeof number, "[%lld]", (long long)r->index[i]);
    if (i > 0 && r->path[i]) luaL_addchar(&b, '.');
    luaL_addstring(&b, r->path[i] ? r->path[i] : number);
  }
  luaL_pushresult(&b);
}

/* Leaves the new problem on the stack, already in the list. */
static void push_problem(struct reader *r, const char *kind) {
  lua_createtable(r->L, 0, 8);
  lua_pushvalue(r->L, -1);
  lua_rawseti(r->L, r->problems, ++r->count);
  set_text(r->L, "kind", kind);
  set_text(r->L, "side", side_name(r->side));
  set_text(r->L, "season", r->season);
  set_text(r->L, "label", r->label);
  push_path(r);
  lua_setfield(r->L, -2, "path");
}

void bad_value(struct reader *r, const char *expected) {
  lua_State *L = r->L;
  int value = lua_absindex(L, -1), type = lua_type(L, value);
  push_problem(r, "bad_value");
  if (type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN)
    lua_pushvalue(L, value);
  else
    lua_pushfstring(L, "a %s", luaL_typename(L, value));
  if (type == LUA_TNUMBER && !isfinite(lua_tonumber(L, -1)))
    lua_pop(L, 1), lua_pushfstring(L, "%f", lua_tonumber(L, value));
  lua_setfield(L, -2, "value");
  set_text(L, "expected", expected);
  lua_pop(L, 1);
}

/* The name's bytes may be anything a caller wrote: only text is reported as the key. */
static void unknown_key(struct reader *r, int key, const struct member *rows) {
  lua_State *L = r->L;
  const char *names[24];
  size_t count = 0;
  for (const struct member *m = rows; m && m->name; m++) names[count++] = m->name;
  const char *text = lua_type(L, key) == LUA_TSTRING ? lua_tostring(L, key) : NULL;
  push_problem(r, "unknown_key");
  luaL_tolstring(L, key, NULL);
  lua_setfield(L, -2, "key");
  if (text) set_text(L, "nearest", nearest(text, names, count));
  lua_pop(L, 1);
}

/* ---- engines ---- */

/* A JSON null is absent. */
bool is_null(lua_State *L, int index) {
  return lua_islightuserdata(L, index) && !lua_touserdata(L, index);
}

static const struct member *find_member(lua_State *L, int key, const struct member *rows) {
  size_t size;
  if (lua_type(L, key) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, key, &size);
  for (const struct member *m = rows; m->name; m++)
    if (m->size == size && memcmp(m->name, name, size) == 0) return m;
  return NULL;
}

bool is_table(struct reader *r, const char *expected) {
  if (lua_istable(r->L, -1)) return true;
  bad_value(r, expected);
  return false;
}

/* Reads every member of the object on top by its row. */
void read_members(struct reader *r, const struct member *rows) {
  lua_State *L = r->L;
  lua_pushnil(L);
  while (lua_next(L, -2)) { /* key value */
    const struct member *m = find_member(L, -2, rows);
    if (!m) {
      unknown_key(r, lua_absindex(L, -2), rows);
    } else if (!is_null(L, -1)) {
      enter(r, m->name, 0);
      m->read(r, m);
      r->depth--;
    }
    lua_pop(L, 1);
  }
}

/* The text of the key below the value on top; NULL for what cannot be a name: a number, or text that holds a
 * NUL. */
static const char *map_key(lua_State *L) {
  size_t size;
  if (lua_type(L, -2) != LUA_TSTRING) return NULL;
  const char *name = lua_tolstring(L, -2, &size);
  return strlen(name) == size ? name : NULL;
}

/* Calls each for every named entry of the map on top, key below value. */
void read_map(struct reader *r, void (*each)(struct reader *, const char *name)) {
  lua_State *L = r->L;
  if (!is_table(r, "an object")) return;
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    const char *name = map_key(L);
    if (!name) {
      unknown_key(r, lua_absindex(L, -2), NULL);
    } else if (!is_null(L, -1)) {
      enter(r, name, 0);
      each(r, name);
      r->depth--;
    }
    lua_pop(L, 1);
  }
}

static void read_element(struct reader *r, lua_Integer index, void (*each)(struct reader *)) {
  enter(r, NULL, index);
  if (is_table(r, "an object")) each(r);
  r->depth--;
}

/* In the order of the list; then the other members of the table. */
void read_list(struct reader *r, const char *expected, void (*each)(struct reader *)) {
  lua_State *L = r->L;
  if (!is_table(r, expected)) return;
  lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
  for (lua_Integer i = 1; i <= count; i++) {
    if (lua_rawgeti(L, -1, i) != LUA_TNIL) read_element(r, i, each);
    lua_pop(L, 1);
  }
  lua_pushnil(L);
  while (lua_next(L, -2)) {
    lua_Integer i = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
    if (!lua_isinteger(L, -2))
      bad_value(r, expected);
    else if (i < 1 || i > count)
      read_element(r, i, each);
    lua_pop(L, 1);
  }
}
