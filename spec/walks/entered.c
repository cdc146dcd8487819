/* Which functions of the core are entered, in order: gcc's -finstrument-functions calls the two hooks below.
 * The Lua side adds its own functions to the same list. Preloaded, since the C library has empty hooks of its
 * own. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <string.h>

enum { MOST = 100000 };

static struct {
  const void *function; /* NULL: an entry of the Lua side */
  lua_Integer id;
} entries[MOST];
static int count;
static bool recording;

void __cyg_profile_func_enter(void *function, void *caller);
void __cyg_profile_func_exit(void *function, void *caller);

void __cyg_profile_func_enter(void *function, void *caller) {
  (void)caller;
  if (recording && count < MOST) entries[count++].function = function;
}

void __cyg_profile_func_exit(void *function, void *caller) {
  (void)function, (void)caller;
}

/* record(on) */
static int l_record(lua_State *L) {
  recording = lua_toboolean(L, 1);
  if (recording) count = 0;
  return 0;
}

/* entered(id): a function of the Lua side */
static int l_entered(lua_State *L) {
  if (!recording || count >= MOST) return 0;
  entries[count].function = NULL;
  entries[count++].id = luaL_checkinteger(L, 1);
  return 0;
}

/* entry(i) -> id | nil, offset in the core as hexadecimal text | nothing */
static int l_entry(lua_State *L) {
  lua_Integer i = luaL_checkinteger(L, 1);
  Dl_info info;
  if (i < 1 || i > count) return 0;
  if (!entries[i - 1].function) {
    lua_pushinteger(L, entries[i - 1].id);
    return 1;
  }
  if (!dladdr(entries[i - 1].function, &info)) return 0;
  lua_pushnil(L);
  lua_pushfstring(L, "%p", (void *)((const char *)entries[i - 1].function - (const char *)info.dli_fbase));
  return 2;
}

int luaopen_walk_entered(lua_State *L);

int luaopen_walk_entered(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"record", l_record}, {"entered", l_entered}, {"entry", l_entry}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}
