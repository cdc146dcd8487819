/* Lua values and JSON text as the trees that the core takes: what a spec cannot see from Lua. */
#include "bind/lua/bind.h"
#include "bind/lua/value.h"

#include <string.h>

static const char *const type_names[] = {"nil",  "boolean", "integer", "number",
                                         "text", "list",    "object",  "other"};

static struct node *check_json(lua_State *L, int index, struct arena *a) {
  return json_read(a, check_bytes(L, index), NULL);
}

static void add_key(struct buf *out, const struct node *part) {
  if (part->key == KEY_INDEX)
    buf_integer(out, part->index);
  else
    buf_add(out, part->name.data, part->name.size);
  buf_text_add(out, part->key == KEY_OTHER ? "?=" : "=");
}

static void describe(struct buf *out, const struct node *value) {
  buf_text_add(out, type_names[value->type]);
  if (value->type != NODE_LIST && value->type != NODE_OBJECT) {
    if (value->type == NODE_OTHER) buf_put(out, ' '), buf_add(out, value->text.data, value->text.size);
    return;
  }
  buf_put(out, '{');
  for (const struct node *part = value->first; part; part = part->next) {
    add_key(out, part);
    describe(out, part);
    if (part->next) buf_put(out, ',');
  }
  buf_put(out, '}');
}

static int push_described(lua_State *L, const struct node *value) {
  if (!value) return 0;
  struct buf *out = push_scratch(L);
  describe(out, value);
  push_buf(L, out);
  return 1;
}

/* describe(value) -> "object{a=integer,b=list{1=text}}" */
static int l_describe(lua_State *L) {
  luaL_checkany(L, 1);
  return push_described(L, value_at(L, 1, push_arena(L)));
}

/* describe_json(text) -> the same of JSON text; nothing: it is none */
static int l_describe_json(lua_State *L) {
  return push_described(L, check_json(L, 1, push_arena(L)));
}

/* copy(value) -> the value, read and copied as a tree, and pushed again */
static int l_copy(lua_State *L) {
  luaL_checkany(L, 1);
  struct arena *a = push_arena(L);
  push_value(L, node_copy(a, value_at(L, 1, a)));
  return 1;
}

/* read(text) -> what the JSON text says; nothing: it is none */
static int l_read(lua_State *L) {
  const struct node *value = check_json(L, 1, push_arena(L));
  if (!value) return 0;
  push_value(L, value);
  return 1;
}

/* rewrite(text, lists) -> the same JSON written again; or nil and what JSON cannot say, and in which member
 */
static int l_rewrite(lua_State *L) {
  struct json_refusal why;
  lua_settop(L, 2);
  const struct node *value = check_json(L, 1, push_arena(L));
  struct buf *out = push_scratch(L);
  if (!value) return 0;
  if (json_write(value, luaL_optstring(L, 2, NULL), out, &why)) {
    push_buf(L, out);
    return 1;
  }
  lua_pushnil(L);
  lua_pushlstring(L, (const char *)why.what.data, why.what.size);
  lua_pushlstring(L, (const char *)why.name.data, why.name.size);
  return 3;
}

__attribute__((visibility("default"))) int luaopen_probe_value(lua_State *L) {
  static const luaL_Reg functions[] = {{"describe", l_describe}, {"describe_json", l_describe_json},
                                       {"copy", l_copy},         {"read", l_read},
                                       {"rewrite", l_rewrite},   {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
