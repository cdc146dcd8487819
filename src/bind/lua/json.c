#include "bind/lua/json.h"

#include "base/json_scan.h"
#include "bind/lua/value.h"

#include <locale.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the locale ---- */

struct reader {
  locale_t c_numeric;
};

static void reader_release(void *object) {
  struct reader *r = object;
  if (r->c_numeric) freelocale(r->c_numeric);
  r->c_numeric = (locale_t)0;
}

static const struct box_type reader_type = {"fleet.json", reader_release, NULL, NULL};
static const char decode_key, new_key, reader_key, locale_key;

static struct reader *the_reader(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &locale_key);
  struct reader *r = lua_touserdata(L, -1);
  lua_pop(L, 1);
  return r;
}

/* ---- reading ---- */

/* Walks what lua-cjson made; overflow: a number was too large for a double. */
struct tidier {
  lua_State *L;
  const char *ids;
  bool overflow;
  struct known_name { /* the members of a list's elements have the same names, each at one address */
    const char *name;
    bool id;
  } known[16];
};

/* Whether the name at key is an id's. */
static bool is_id(struct tidier *t, int key) {
  size_t size;
  const char *name = lua_tolstring(t->L, key, &size);
  struct known_name *known = &t->known[((uintptr_t)name >> 5) % 16];
  if (known->name != name) *known = (struct known_name){name, word_in(t->ids, name, size)};
  return known->id;
}

/* Lua's own way goes through printf, which costs three times as much. */
static void push_digits(lua_State *L, lua_Integer value) {
  char text[24], *at = text + sizeof text;
  unsigned long long rest = value < 0 ? 0ull - (unsigned long long)value : (unsigned long long)value;
  do *--at = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0) *--at = '-';
  lua_pushlstring(L, at, (size_t)(text + sizeof text - at));
}

/* All its digits: an id that is cut would be another's. */
static void push_fraction(lua_State *L, lua_Number value) {
  char text[32];
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  lua_pushstring(L, text);
}

/* Pushes what Lua shall see of this number; false when that is the number itself. */
static bool push_tidy_number(struct tidier *t, lua_Number value, bool id) {
  bool whole = value > -9e18 && value < 9e18 && value == (lua_Number)(lua_Integer)value;
  bool integral = whole && value > -1e15 && value < 1e15;
  if (!integral && !isfinite(value)) t->overflow = true;
  if (!integral && !id) return false;
  if (whole && id)
    push_digits(t->L, (lua_Integer)value);
  else if (integral)
    lua_pushinteger(t->L, (lua_Integer)value);
  else
    push_fraction(t->L, value);
  return true;
}

static void tidy(struct tidier *t, int table);

/* The pair at the top is key, value; leaves the key. named: it is a name, and no place in a list. */
static void tidy_member(struct tidier *t, int table, bool named) {
  lua_State *L = t->L;
  int type = lua_type(L, -1);
  if (type == LUA_TNUMBER) {
    if (push_tidy_number(t, lua_tonumber(L, -1), named && t->ids && is_id(t, -2))) {
      lua_replace(L, -2);
      lua_pushvalue(L, -2);
      lua_insert(L, -2);
      lua_rawset(L, table);
      return;
    }
  } else if (type == LUA_TTABLE) {
    tidy(t, lua_gettop(L));
  } else if (type == LUA_TLIGHTUSERDATA && named) {
    lua_pushvalue(L, -2);
    lua_pushnil(L);
    lua_rawset(L, table);
  }
  lua_pop(L, 1);
}

/* What lua-cjson makes is a list or has names, never both. */
static void tidy(struct tidier *t, int table) {
  lua_State *L = t->L;
  luaL_checkstack(L, 8, "JSON");
  lua_pushnil(L);
  if (!lua_next(L, table)) return;
  bool named = lua_type(L, -2) == LUA_TSTRING;
  do tidy_member(t, table, named);
  while (lua_next(L, table));
}

/* Of the text at the top, which stays. Between the two switches nothing may raise: the locale would stay, and
 * be freed under the host's thread. */
static int decode_protected(lua_State *L, locale_t locale) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &decode_key);
  lua_pushvalue(L, -2);
  locale_t before = locale ? uselocale(locale) : (locale_t)0;
  int status = lua_pcall(L, 1, 1, 0);
  if (locale) uselocale(before);
  return status;
}

/* lua-cjson keeps one decimal point for the whole process and takes it from the locale whenever an instance
 * is made. */
static void take_point(lua_State *L) {
  lua_rawgetp(L, LUA_REGISTRYINDEX, &new_key);
  lua_pcall(L, 0, 0, 0);
}

/* Replaces the text at the top by its value; false: it is popped. First under the "C" locale. Where another
 * module made an instance of lua-cjson under another locale, that fails for fractions: then lua-cjson reads
 * the decimal point again from the locale that the host has now, which the host's own use of it needs, too.
 */
static bool decode(lua_State *L, const struct reader *r) {
  bool done = decode_protected(L, r->c_numeric) == LUA_OK;
  if (!done) {
    lua_pop(L, 1);
    take_point(L);
    done = decode_protected(L, (locale_t)0) == LUA_OK;
  }
  lua_remove(L, -2);
  if (!done) lua_pop(L, 1);
  return done;
}

/* Pushes the text as lua-cjson can read it: lone surrogates are replaced, long integers in quotes. False: out
 * of memory, and nothing is pushed. */
static bool push_readable(lua_State *L, struct bytes text) {
  int top = lua_gettop(L);
  const unsigned char *end = text.data + text.size;
  struct bytes lone = {NULL, 0}, number = json_next_long(text.data, end);
  if (memchr(text.data, '\\', text.size)) lone = json_next_lone(text.data, end);
  if (!lone.size && !number.size) return lua_pushlstring(L, (const char *)text.data, text.size), true;
  struct buf *mended = push_scratch(L), *quoted = push_scratch(L);
  if (lone.size) {
    json_mend(text, lone, mended);
    text = buf_bytes(mended);
    number = json_next_long(text.data, text.data + text.size);
  }
  if (number.size) {
    json_quote_long(text, number, quoted);
    text = buf_bytes(quoted);
  }
  bool good = buf_ok(mended) && buf_ok(quoted);
  lua_pushlstring(L, (const char *)text.data, good ? text.size : 0);
  box_close(L, top + 1);
  box_close(L, top + 2);
  lua_replace(L, top + 1);
  lua_settop(L, top + good);
  return good;
}

bool json_decode(lua_State *L, struct bytes text, const char *ids, struct err *e) {
  static const char unreadable[] = "the reply is not JSON that can be read";
  struct tidier t = {.L = L, .ids = ids};
  bool whole = text.size && !memchr(text.data, 0, text.size); /* lua-cjson takes a zero byte for the end */
  if (!whole || !push_readable(L, text) || !decode(L, the_reader(L)))
    return err_set(e, KIND_protocol, unreadable);
  luaL_checkstack(L, 8, "JSON");
  if (lua_istable(L, -1))
    tidy(&t, lua_gettop(L));
  else if (lua_type(L, -1) == LUA_TNUMBER && push_tidy_number(&t, lua_tonumber(L, -1), false))
    lua_remove(L, -2);
  if (!t.overflow) return true;
  lua_pop(L, 1);
  return err_set(e, KIND_protocol, unreadable);
}

static int l_json_decode(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (!json_decode(L, check_bytes(L, 1), luaL_optstring(L, 2, NULL), &e)) return push_failure(L, &e);
  return 1;
}

/* core.json_member(text, name) -> the text of a member's value in the text of an object, or nothing */
static int l_json_member(lua_State *L) {
  struct bytes text = check_bytes(L, 1);
  if (!json_member(&text, luaL_checkstring(L, 2))) return 0;
  lua_pushlstring(L, (const char *)text.data, text.size);
  return 1;
}

/* core.json_fault(text) -> what is wrong with it, as lua-cjson says it: "... at character n"; nothing where
 * it reads */
static int l_json_fault(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  if (decode_protected(L, the_reader(L)->c_numeric) == LUA_OK) return 0;
  luaL_tolstring(L, -1, NULL);
  return 1;
}

/* ---- writing ---- */

void json_encode(lua_State *L, int index, struct buf *out, const char *lists) {
  struct json_refusal why;
  index = lua_absindex(L, index);
  struct arena *a = push_arena(L);
  if (!json_write(value_at(L, index, a), lists, out, &why)) {
    lua_pushlstring(L, (const char *)why.what.data, why.what.size);
    lua_pushlstring(L, (const char *)why.name.data, why.name.size);
    usage_error(L, "%s cannot be written as JSON (in '%s')", lua_tostring(L, -2), lua_tostring(L, -1));
  }
  box_close(L, -1);
  lua_pop(L, 1);
}

static int l_json_encode(lua_State *L) {
  luaL_checkany(L, 1);
  const char *lists = luaL_optstring(L, 2, NULL);
  struct buf *out = push_scratch(L);
  json_encode(L, 1, out, lists);
  push_buf(L, out);
  box_close(L, -2);
  return 1;
}

/* ---- opening ---- */

/* cjson.new() { decode_max_depth = 64, decode_invalid_numbers = false }: nesting, NaN, Infinity and
 * hexadecimal are refused by the library. */
static void open_cjson(lua_State *L) {
  lua_getglobal(L, "require");
  lua_pushliteral(L, "cjson");
  lua_call(L, 1, 1);
  lua_getfield(L, -1, "new");
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &new_key);
  lua_call(L, 0, 1);
  lua_getfield(L, -1, "decode_max_depth");
  lua_pushinteger(L, JSON_DEPTH);
  lua_call(L, 1, 0);
  lua_getfield(L, -1, "decode_invalid_numbers");
  lua_pushboolean(L, false);
  lua_call(L, 1, 0);
  lua_getfield(L, -1, "decode");
  lua_rawsetp(L, LUA_REGISTRYINDEX, &decode_key);
  lua_pop(L, 2);
}

void open_json(lua_State *L) {
  box_define(L, &reader_type);
  lua_pop(L, 1);
  struct reader *r = box_new(L, &reader_type, sizeof *r, 0);
  r->c_numeric = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  if (!r->c_numeric) luaL_error(L, "no memory for the \"C\" locale");
  box_open(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &reader_key);
  lua_pushlightuserdata(L, r); /* lives as long as the state: the registry holds its box */
  lua_rawsetp(L, LUA_REGISTRYINDEX, &locale_key);
  open_cjson(L);
  static const luaL_Reg functions[] = {{"json_decode", l_json_decode},
                                       {"json_encode", l_json_encode},
                                       {"json_member", l_json_member},
                                       {"json_fault", l_json_fault},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
}
