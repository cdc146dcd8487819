#include "bind/lua/bind.h"

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

/* ---- what is returned ---- */

/* Where a failure was raised, its line comes first: a script that does not catch it shows nothing else. */
static int l_err_tostring(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "where");
  lua_getfield(L, 1, "message");
  if (lua_type(L, -1) != LUA_TSTRING) lua_pushliteral(L, "fleet.err");
  if (lua_type(L, 2) == LUA_TSTRING) lua_pushfstring(L, "%s: %s", lua_tostring(L, 2), lua_tostring(L, -1));
  return 1;
}

static void push_err_metatable(lua_State *L) {
  if (!luaL_newmetatable(L, "fleet.err")) return;
  lua_pushcfunction(L, l_err_tostring);
  lua_setfield(L, -2, "__tostring");
}

void push_err(lua_State *L, const struct err *e) {
  lua_createtable(L, 0, 8);
  lua_pushstring(L, kind_name(e->kind));
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, e->message[0] ? e->message : kind_name(e->kind));
  lua_setfield(L, -2, "message");
  if (e->status) lua_pushinteger(L, e->status), lua_setfield(L, -2, "status");
  if (e->fault) lua_pushinteger(L, e->fault), lua_setfield(L, -2, "fault");
  if (e->retry_after > 0) lua_pushnumber(L, e->retry_after), lua_setfield(L, -2, "retry_after");
  if (e->reason[0]) lua_pushstring(L, e->reason), lua_setfield(L, -2, "reason");
  if (e->outcome) lua_pushstring(L, outcome_name(e->outcome)), lua_setfield(L, -2, "outcome");
  push_err_metatable(L);
  lua_setmetatable(L, -2);
}

int push_failure(lua_State *L, const struct err *e) {
  lua_pushnil(L);
  push_err(L, e);
  lua_pushstring(L, kind_name(e->kind));
  return 3;
}

/* core.err{ kind =, message =, outcome =, reason =, status =, retry_after =, ... } -> err with those members
 */
static int l_err(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "kind");
  if (kind_of(luaL_checkstring(L, -1)) == KIND_none) return luaL_error(L, "unknown error kind");
  lua_settop(L, 1);
  push_err_metatable(L);
  lua_setmetatable(L, 1);
  return 1;
}

/* ---- what is raised ---- */

static char library_key;

/* core.library(prefix): the sources of this library's Lua files begin with it */
static int l_library(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &library_key);
  return 0;
}

/* Pushes "file:line", or "" where no code of the caller's stands on this stack (a task that the library
 * started). */
static void push_place(lua_State *L) {
  lua_Debug frame;
  size_t size = 0;
  lua_rawgetp(L, LUA_REGISTRYINDEX, &library_key);
  const char *library = lua_tolstring(L, -1, &size);
  for (int level = 0; lua_getstack(L, level, &frame); level++) {
    lua_getinfo(L, "Sl", &frame);
    if (frame.currentline <= 0 || (library && strncmp(frame.source, library, size) == 0)) continue;
    lua_pushfstring(L, "%s:%d", frame.short_src, frame.currentline);
    lua_remove(L, -2);
    return;
  }
  lua_pushliteral(L, "");
  lua_remove(L, -2);
}

/* Raises the text on top of the stack. */
static int raise_text(lua_State *L) {
  push_place(L);
  if (lua_rawlen(L, -1)) {
    lua_pushfstring(L, "%s: %s", lua_tostring(L, -1), lua_tostring(L, -2));
    return lua_error(L);
  }
  lua_pop(L, 1);
  return lua_error(L);
}

int usage_error(lua_State *L, const char *format, ...) {
  va_list args;
  va_start(args, format);
  lua_pushvfstring(L, format, args);
  va_end(args);
  return raise_text(L);
}

/* core.usage(text): raises it with the caller's line */
static int l_usage(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 1);
  return raise_text(L);
}

/* core.place() -> "file:line" of the caller's own code, or "" */
static int l_place(lua_State *L) {
  push_place(L);
  return 1;
}

/* ---- names ---- */

enum { NAME_MAX_LENGTH = 64, FEW = 8, SHORTEST_BEGINNING = 3 };

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edit distance in which two exchanged neighbours count once (optimal string alignment). */
static size_t distance(const char *a, size_t m, const char *b, size_t n) {
  size_t rows[3][NAME_MAX_LENGTH + 1], *before = rows[0], *above = rows[1], *row = rows[2];
  for (size_t j = 0; j <= n; j++) above[j] = j;
  for (size_t i = 1; i <= m; i++) {
    row[0] = i;
    for (size_t j = 1; j <= n; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = least(row[j], before[j - 2] + 1);
    }
    size_t *spare = before;
    before = above, above = row, row = spare;
  }
  return above[n];
}

/* Near is what differs in a third of its letters: more, and any short word is near to any other. */
static const char *nearest_spelling(const char *name, size_t length, const char *const *names, size_t count) {
  size_t best = SIZE_MAX;
  const char *found = NULL;
  for (size_t i = 0; i < count; i++) {
    size_t other = strlen(names[i]);
    if (other > NAME_MAX_LENGTH) continue;
    size_t d = distance(name, length, names[i], other);
    if (d < best && d <= ((length > other ? length : other) + 1) / 3) best = d, found = names[i];
  }
  return found;
}

static const char *first_beginning(const char *name, size_t length, const char *const *names, size_t count) {
  for (size_t i = 0; i < count && length >= SHORTEST_BEGINNING; i++)
    if (strncmp(names[i], name, length) == 0) return names[i];
  return NULL;
}

const char *nearest(const char *name, const char *const *names, size_t count) {
  size_t length = strlen(name);
  if (length > NAME_MAX_LENGTH) return NULL;
  const char *found = nearest_spelling(name, length, names, count);
  return found ? found : first_beginning(name, length, names, count);
}

static void add_names(struct buf *out, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++) buf_format(out, "%s'%s'", i ? ", " : "", names[i]);
}

/* What was probably meant; what there is, where that is little, or where nothing is near and all is wanted.
 */
static void add_hint(struct buf *out, const char *name, const char *const *names, size_t count, bool all) {
  const char *near = nearest(name, names, count);
  if (!count) buf_text_add(out, ": it takes none");
  if (near) buf_format(out, ", did you mean '%s'?", near);
  if (!count || (near && count > FEW) || (!near && count > FEW && !all)) return;
  buf_text_add(out, near ? " (one of " : ", it is one of ");
  add_names(out, names, count);
  if (near) buf_put(out, ')');
}

void unknown_sentence(struct buf *out, const char *what, const char *name, const char *const *names,
                      size_t count) {
  buf_format(out, "unknown %s '%s'", what, name);
  add_hint(out, name, names, count, false);
}

void choice_sentence(struct buf *out, const char *option, const char *value, const char *const *names,
                     size_t count) {
  buf_format(out, "'%s' cannot be '%s'", option, value);
  add_hint(out, value, names, count, true);
}

int raise_unknown(lua_State *L, const char *what, const char *name, const char *const *names, size_t count) {
  struct buf *sentence = push_scratch(L);
  unknown_sentence(sentence, what, name, names, count);
  return usage_error(L, "%s", buf_text(sentence));
}

/* The list at index as an array; its texts live as long as the list. */
static const char **push_names(lua_State *L, int index, size_t *count) {
  luaL_checktype(L, index, LUA_TTABLE);
  *count = (size_t)luaL_len(L, index);
  const char **names = lua_newuserdatauv(L, (*count + 1) * sizeof *names, 0);
  for (size_t i = 0; i < *count; i++) {
    lua_geti(L, index, (lua_Integer)i + 1);
    if (lua_type(L, -1) != LUA_TSTRING) luaL_argerror(L, index, "a list of names expected");
    names[i] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
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

void open_errors(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"err", l_err},     {"library", l_library}, {"usage", l_usage},
      {"place", l_place}, {"unknown", l_unknown}, {"unknown_choice", l_unknown_choice},
      {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
