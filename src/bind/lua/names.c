/* Names that the caller wrote: an unknown one raises and says which was probably meant. */
#include "bind/lua/bind.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int raise_unknown(lua_State *L, const char *what, const char *name, const char *const *names, size_t count) {
  struct buf *sentence = push_scratch(L);
  unknown_sentence(sentence, what, name, names, count);
  return usage_error(L, "%s", buf_text(sentence));
}

int choice_at(lua_State *L, int index, const char *const *names, size_t count) {
  const char *given = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  for (size_t i = 0; given && i < count; i++)
    if (names[i] && strcmp(names[i], given) == 0) return (int)i;
  return -1;
}

static int by_text(const void *left, const void *right) {
  return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Pushes the names that the table has as keys, as a list. */
static void push_keys(lua_State *L, int table) {
  lua_newtable(L);
  int list = lua_gettop(L);
  for (lua_pushnil(L); lua_next(L, table); lua_settop(L, list + 1)) {
    lua_pushvalue(L, list + 1);
    list_append(L, list);
  }
}

/* The list at index as an array, or the sorted keys of a table. The texts are valid as long as the table.
 * Leaves two values on the stack. */
static const char **push_names(lua_State *L, int index, size_t *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  bool is_list = luaL_len(L, index) > 0;
  if (is_list)
    lua_pushvalue(L, index);
  else
    push_keys(L, index);
  int list = lua_gettop(L);
  *count = (size_t)luaL_len(L, list);
  const char **names = lua_newuserdatauv(L, (*count + 1) * sizeof *names, 0);
  for (size_t i = 0; i < *count; i++) {
    lua_geti(L, list, (lua_Integer)i + 1);
    if (lua_type(L, -1) != LUA_TSTRING) luaL_argerror(L, index, "names expected");
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  if (!is_list) qsort(names, *count, sizeof *names, by_text);
  return names;
}

typedef void sentence_writer(struct buf *, const char *, const char *, const char *const *, size_t);

static int push_sentence(lua_State *L, sentence_writer *write) {
  const char *what = luaL_checkstring(L, 1), *name = luaL_tolstring(L, 2, NULL);
  size_t count;
  const char **names = push_names(L, 3, &count);
  struct buf *sentence = push_scratch(L);
  write(sentence, what, name, names, count);
  push_buf(L, sentence);
  box_close(L, -2);
  return 1;
}

/* core.unknown(what, name, names) -> "unknown what 'name'…" */
static int l_unknown(lua_State *L) {
  return push_sentence(L, unknown_sentence);
}

/* core.unknown_choice(option, value, names) -> "'option' cannot be 'value'…" */
static int l_unknown_choice(lua_State *L) {
  return push_sentence(L, choice_sentence);
}

void check_options(lua_State *L, int index, const char *const *names, size_t count) {
  if (lua_isnoneornil(L, index)) return;
  luaL_checktype(L, index, LUA_TTABLE);
  for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
    const char *given = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = strcmp(names[i], given) == 0;
    if (!known) raise_unknown(L, "option", given, names, count);
  }
}

void open_names(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"unknown", l_unknown}, {"unknown_choice", l_unknown_choice}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
