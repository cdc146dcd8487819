#include "bind/lua/json.h"

#include "base/json_scan.h"

#include <endian.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct writer {
  lua_State *L;
  struct buf *out;
  const char *lists;
  const char *name; /* of the member being written, for messages */
  bool is_element;  /* of a list: the name is that of the list, not its own */
  int depth;
};

static void write_value(struct writer *w, int index);

static int refuse(struct writer *w, const char *what) {
  return usage_error(w->L, "%s cannot be written as JSON (in '%s')", what, w->name);
}

/* A member beside the elements would be lost without a word. */
static void check_list(struct writer *w, int index, lua_Integer size) {
  for (lua_pushnil(w->L); lua_next(w->L, index); lua_pop(w->L, 1), size--)
    if (lua_type(w->L, -2) != LUA_TNUMBER) refuse(w, "a table with both list elements and members");
  if (size != 0) refuse(w, "a list with holes");
}

static void write_list(struct writer *w, int index) {
  lua_Integer size = luaL_len(w->L, index);
  check_list(w, index, size);
  buf_put(w->out, '[');
  for (lua_Integer i = 1; i <= size; i++) {
    if (i > 1) buf_put(w->out, ',');
    lua_geti(w->L, index, i);
    w->is_element = true;
    write_value(w, lua_gettop(w->L));
    lua_pop(w->L, 1);
  }
  buf_put(w->out, ']');
}

struct member {
  uint64_t first; /* eight bytes of the name as a number, in which most names differ already */
  struct bytes name;
  int value; /* its place on the stack */
};

static int by_name(const void *a, const void *b) {
  const struct member *one = a, *other = b;
  if (one->first != other->first) return one->first < other->first ? -1 : 1;
  return strcmp((const char *)one->name.data, (const char *)other->name.data);
}

static uint64_t first_bytes(struct bytes name) {
  uint64_t first = 0;
  if (name.size >= sizeof first) return memcpy(&first, name.data, sizeof first), be64toh(first);
  for (size_t i = 0; i < sizeof first; i++) first = first << 8 | (i < name.size ? name.data[i] : 0);
  return first;
}

static struct member member_at(struct writer *w, int name) {
  struct bytes text;
  if (lua_type(w->L, name) != LUA_TSTRING) refuse(w, "a table with both list elements and members");
  text.data = (const unsigned char *)lua_tolstring(w->L, name, &text.size);
  if (memchr(text.data, 0, text.size)) refuse(w, "a name with a zero byte");
  return (struct member){first_bytes(text), text, name + 1};
}

enum { FEW_MEMBERS = 64 };

/* Shell's way, with Ciura's gaps: of so few it takes a third of what qsort takes. */
static void sort_few(struct member *members, size_t count) {
  static const size_t gaps[] = {57, 23, 10, 4, 1};
  for (size_t g = 0; g < sizeof gaps / sizeof *gaps; g++)
    for (size_t gap = gaps[g], i = gap; i < count; i++) {
      struct member one = members[i];
      size_t at = i;
      for (; at >= gap && by_name(&one, &members[at - gap]) < 0; at -= gap) members[at] = members[at - gap];
      members[at] = one;
    }
}

/* Leaves names and values on the stack, where they stay alive; the array is a userdata so that a raise loses
 * nothing. */
static struct member *sorted_members(struct writer *w, int index, size_t *count) {
  int base = lua_gettop(w->L);
  for (lua_pushnil(w->L); lua_next(w->L, index); lua_pushvalue(w->L, -2)) luaL_checkstack(w->L, 8, "JSON");
  *count = (size_t)(lua_gettop(w->L) - base) / 2;
  struct member *members = lua_newuserdatauv(w->L, (*count + 1) * sizeof *members, 0);
  for (size_t i = 0; i < *count; i++) members[i] = member_at(w, base + 1 + 2 * (int)i);
  if (*count <= FEW_MEMBERS)
    sort_few(members, *count);
  else
    qsort(members, *count, sizeof *members, by_name);
  return members;
}

static void write_object(struct writer *w, int index) {
  size_t count;
  int top = lua_gettop(w->L);
  const struct member *members = sorted_members(w, index, &count);
  const char *outer = w->name;
  buf_put(w->out, '{');
  for (size_t i = 0; i < count; i++) {
    if (i) buf_put(w->out, ',');
    buf_json_string(w->out, members[i].name);
    buf_put(w->out, ':');
    w->name = (const char *)members[i].name.data;
    w->is_element = false;
    write_value(w, members[i].value);
  }
  w->name = outer;
  buf_put(w->out, '}');
  lua_settop(w->L, top);
}

/* An empty table that is a list says so in its metatable, __jsontype = "array", as other libraries have it.
 */
static bool is_marked(lua_State *L, int index) {
  if (luaL_getmetafield(L, index, "__jsontype") == LUA_TNIL) return false;
  const char *mark = lua_tostring(L, -1);
  bool list = mark && strcmp(mark, "array") == 0;
  lua_pop(L, 1);
  return list;
}

static void write_table(struct writer *w, int index) {
  if (++w->depth > JSON_DEPTH) refuse(w, "a table that deep");
  luaL_checkstack(w->L, 8, "JSON");
  bool empty = true, named_list = !w->is_element && word_in(w->lists, w->name, strlen(w->name));
  lua_pushnil(w->L);
  if (lua_next(w->L, index)) {
    lua_pop(w->L, 2);
    empty = false;
  }
  bool list = empty ? named_list || is_marked(w->L, index) : luaL_len(w->L, index) > 0;
  if (list)
    write_list(w, index);
  else
    write_object(w, index);
  w->depth--;
}

static void write_number(struct writer *w, int index) {
  if (lua_isinteger(w->L, index))
    buf_integer(w->out, lua_tointeger(w->L, index));
  else if (!buf_json_number(w->out, lua_tonumber(w->L, index)))
    refuse(w, "a number that is not finite");
}

static void write_string(struct writer *w, int index) {
  size_t size;
  const char *text = lua_tolstring(w->L, index, &size);
  buf_json_string(w->out, (struct bytes){(const unsigned char *)text, size});
}

static void write_value(struct writer *w, int index) {
  switch (lua_type(w->L, index)) {
  case LUA_TNIL:
    buf_text_add(w->out, "null");
    return;
  case LUA_TBOOLEAN:
    buf_text_add(w->out, lua_toboolean(w->L, index) ? "true" : "false");
    return;
  case LUA_TNUMBER:
    write_number(w, index);
    return;
  case LUA_TSTRING:
    write_string(w, index);
    return;
  case LUA_TTABLE:
    write_table(w, index);
    return;
  case LUA_TLIGHTUSERDATA:
    if (lua_touserdata(w->L, index) == NULL) {
      buf_text_add(w->out, "null");
      return;
    }
  }
  refuse(w, luaL_typename(w->L, index));
}

void json_encode(lua_State *L, int index, struct buf *out, const char *lists) {
  struct writer w = {.L = L, .out = out, .lists = lists, .name = "value"};
  write_value(&w, lua_absindex(L, index));
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

void open_json_write(lua_State *L) {
  lua_pushcfunction(L, l_json_encode);
  lua_setfield(L, -2, "json_encode");
}
