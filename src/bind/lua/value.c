#include "bind/lua/value.h"

#include "base/json_cursor.h"
#include "base/text.h"
#include "bind/lua/bind.h"

#include <math.h>
#include <string.h>

enum { ARENA_LIMIT = 1 << 27 };

static void release_arena(void *object) {
  arena_end(object);
}

static const struct box_type arena_type = {"fleet.arena", release_arena, NULL, NULL};

struct arena *push_arena(lua_State *L) {
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &arena_type) == LUA_TNIL) {
    box_define(L, &arena_type);
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
  struct arena *arena = box_new(L, &arena_type, sizeof *arena, 0);
  arena_start(arena, ARENA_LIMIT);
  box_open(L, -1);
  return arena;
}

/* ---- from Lua ---- */

static struct bytes string_at(lua_State *L, int index) {
  size_t size;
  const char *text = lua_tolstring(L, index, &size);
  return (struct bytes){(const unsigned char *)text, size};
}

static struct node *new_value(lua_State *L, struct arena *a, enum node_type type) {
  struct node *value = node_new(a, type);
  if (value) return value;
  if (a->left < sizeof *value) usage_error(L, "a table holds too many values, or holds itself");
  luaL_error(L, "out of memory");
  return NULL;
}

static struct node *read_value(lua_State *L, int index, struct arena *a, int depth);

/* The key below the top is that of value. A __tostring of the key is not called: it could change the table.
 */
static void set_key(lua_State *L, struct node *value, struct arena *a) {
  if (lua_type(L, -2) == LUA_TSTRING) {
    value->key = KEY_NAME;
    value->name = string_at(L, -2);
  } else if (lua_isinteger(L, -2)) {
    value->key = KEY_INDEX;
    value->index = lua_tointeger(L, -2);
  } else {
    const struct node *written = node_written(a, read_value(L, lua_gettop(L) - 1, a, JSON_DEPTH));
    value->key = KEY_OTHER;
    if (written) value->name = written->text;
  }
}

static bool is_marked_list(lua_State *L, int table) {
  if (luaL_getmetafield(L, table, "__jsontype") == LUA_TNIL) return false;
  const char *mark = lua_tostring(L, -1);
  bool list = mark && strcmp(mark, "array") == 0;
  lua_pop(L, 1);
  return list;
}

static struct node *read_table(lua_State *L, int table, struct arena *a, int depth) {
  struct node *value = new_value(L, a, NODE_OBJECT);
  int64_t count = 0;
  bool only_places = true;
  luaL_checkstack(L, 8, "value");
  for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), count++) {
    struct node *part = read_value(L, lua_gettop(L), a, depth + 1);
    set_key(L, part, a);
    only_places &= part->key == KEY_INDEX;
    node_add(value, part);
  }
  node_sort(value);
  bool list = count ? only_places && value->first->index == 1 && value->last->index == count
                    : is_marked_list(L, table);
  if (list) value->type = NODE_LIST;
  return value;
}

static struct node *read_number(lua_State *L, int index, struct arena *a) {
  bool whole = lua_isinteger(L, index);
  struct node *value = new_value(L, a, whole ? NODE_INTEGER : NODE_NUMBER);
  if (whole)
    value->integer = lua_tointeger(L, index);
  else
    value->number = lua_tonumber(L, index);
  return value;
}

static struct node *read_value(lua_State *L, int index, struct arena *a, int depth) {
  int type = lua_type(L, index);
  struct node *value;
  if (type == LUA_TTABLE && depth < JSON_DEPTH) return read_table(L, index, a, depth);
  if (type == LUA_TNUMBER) return read_number(L, index, a);
  if (type == LUA_TNIL || (type == LUA_TLIGHTUSERDATA && !lua_touserdata(L, index)))
    return new_value(L, a, NODE_NIL);
  if (type == LUA_TBOOLEAN) {
    value = new_value(L, a, NODE_BOOLEAN);
    value->boolean = lua_toboolean(L, index);
    return value;
  }
  value = new_value(L, a, type == LUA_TSTRING ? NODE_TEXT : NODE_OTHER);
  if (type == LUA_TSTRING)
    value->text = string_at(L, index);
  else
    value->text = bytes_of(type == LUA_TTABLE ? "a table that deep" : lua_typename(L, type));
  return value;
}

struct node *value_at(lua_State *L, int index, struct arena *a) {
  return read_value(L, lua_absindex(L, index), a, 0);
}

/* ---- to Lua ---- */

struct pusher {
  bool reply;
  const char *ids;
};

static void push_node(lua_State *L, const struct node *value, const struct pusher *p);

static void push_bytes(lua_State *L, struct bytes text) {
  lua_pushlstring(L, text.size ? (const char *)text.data : "", text.size);
}

static void mark_list(lua_State *L) {
  static const char metatable_key;
  if (lua_rawgetp(L, LUA_REGISTRYINDEX, &metatable_key) == LUA_TNIL) {
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "array");
    lua_setfield(L, -2, "__jsontype");
    lua_replace(L, -2);
    lua_pushvalue(L, -1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &metatable_key);
  }
  lua_setmetatable(L, -2);
}

/* All digits: an id that is cut would be another's. */
static void push_id(lua_State *L, const struct node *value) {
  char text[32];
  bool whole =
      value->type == NODE_INTEGER || (fabs(value->number) < 9e18 && value->number == floor(value->number));
  if (value->type == NODE_NUMBER && whole)
    lua_pushlstring(L, text, (size_t)snprintf(text, sizeof text, "%.0f", value->number));
  else
    push_bytes(L, value->text);
}

static bool is_id(const struct node *member, const struct pusher *p) {
  return p->ids && member->text.size && (member->type == NODE_INTEGER || member->type == NODE_NUMBER) &&
         word_in(p->ids, (const char *)member->name.data, member->name.size);
}

static void push_list(lua_State *L, const struct node *list, const struct pusher *p) {
  lua_createtable(L, list->last ? (int)list->last->index : 0, 0);
  if (!list->first) mark_list(L);
  for (const struct node *part = list->first; part; part = part->next) {
    push_node(L, part, p);
    lua_rawseti(L, -2, part->index);
  }
}

static void push_object(lua_State *L, const struct node *object, const struct pusher *p) {
  int count = 0;
  for (const struct node *part = object->first; part; part = part->next)
    count += part->type != NODE_NIL || !p->reply;
  lua_createtable(L, 0, count);
  for (const struct node *part = object->first; part; part = part->next) {
    if (part->type == NODE_NIL && p->reply) continue;
    if (part->key == KEY_INDEX)
      lua_pushinteger(L, part->index);
    else
      push_bytes(L, part->name);
    if (is_id(part, p))
      push_id(L, part);
    else
      push_node(L, part, p);
    lua_rawset(L, -3);
  }
}

/* An integer of more digits than a double holds. */
static bool is_long(struct bytes digits) {
  enum { EXACT_DIGITS = 15 };
  if (digits.size <= EXACT_DIGITS || digits.size - (*digits.data == '-') <= EXACT_DIGITS) return false;
  return !memchr(digits.data, '.', digits.size) && !memchr(digits.data, 'e', digits.size) &&
         !memchr(digits.data, 'E', digits.size);
}

static void push_numeral(lua_State *L, const struct node *value) {
  double number = value->type == NODE_NUMBER ? value->number : 0;
  if (is_long(value->text))
    push_bytes(L, value->text);
  else if (value->type == NODE_INTEGER)
    lua_pushinteger(L, value->integer);
  else if (value->text.size && fabs(number) < 1e15 && number == floor(number))
    lua_pushinteger(L, (lua_Integer)number);
  else
    lua_pushnumber(L, number);
}

static void push_node(lua_State *L, const struct node *value, const struct pusher *p) {
  if (!value) luaL_error(L, "out of memory");
  switch (value->type) {
  case NODE_NIL:
    lua_pushlightuserdata(L, NULL);
    break;
  case NODE_BOOLEAN:
    lua_pushboolean(L, value->boolean);
    break;
  case NODE_INTEGER:
  case NODE_NUMBER:
    push_numeral(L, value);
    break;
  case NODE_TEXT:
  case NODE_OTHER:
    push_bytes(L, value->text);
    break;
  case NODE_LIST:
    luaL_checkstack(L, 8, "value");
    push_list(L, value, p);
    break;
  case NODE_OBJECT:
    luaL_checkstack(L, 8, "value");
    push_object(L, value, p);
    break;
  }
}

void push_value(lua_State *L, const struct node *value) {
  push_node(L, value, &(struct pusher){false, NULL});
}

void push_reply_value(lua_State *L, const struct node *value, const char *ids) {
  push_node(L, value, &(struct pusher){true, ids});
}
