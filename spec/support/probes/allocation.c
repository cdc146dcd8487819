/* probe_allocation(path, cpath, code, limit, count) runs code in a state of its own whose allocator fails
 * count allocations that grow, from the limit-th on (every one when count is left out), once arm(true) was
 * called by the code. Returns "done", or "no memory", or the error's text; and how many bytes the closed
 * state still holds. What running out of memory does can be seen from Lua no other way. */

#include "bind/lua/versions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct budget {
  bool armed;
  long left;  /* growing allocations that still succeed while armed */
  long fails; /* and how many fail after them; negative: all */
  long bytes; /* held now */
};

static void *limited(void *user, void *block, size_t old, size_t size) {
  struct budget *b = user;
  if (!block) old = 0;
  if (size == 0) {
    free(block);
    b->bytes -= (long)old;
    return NULL;
  }
  if (size > old && b->armed && b->left-- <= 0 && b->fails != 0) {
    b->fails--;
    return NULL;
  }
  void *fresh = realloc(block, size);
  if (fresh) b->bytes += (long)size - (long)old;
  return fresh;
}

static int l_arm(lua_State *L) {
  struct budget *b = lua_touserdata(L, lua_upvalueindex(1));
  b->armed = lua_toboolean(L, 1);
  return 0;
}

struct job {
  const char *path, *cpath, *code;
  struct budget *budget;
};

static void set_path(lua_State *L, const char *name, const char *value) {
  lua_getglobal(L, "package");
  lua_pushstring(L, value);
  lua_setfield(L, -2, name);
  lua_pop(L, 1);
}

static int run_inside(lua_State *L) {
  const struct job *job = lua_touserdata(L, 1);
  luaL_openlibs(L);
  set_path(L, "path", job->path);
  set_path(L, "cpath", job->cpath);
  lua_pushlightuserdata(L, job->budget);
  lua_pushcclosure(L, l_arm, 1);
  lua_setglobal(L, "arm");
  if (luaL_loadstring(L, job->code) != LUA_OK) return lua_error(L);
  lua_call(L, 0, 0);
  return 0;
}

static const char *run_job(lua_State *other, struct job *job, char *text, size_t size) {
  lua_pushcfunction(other, run_inside);
  lua_pushlightuserdata(other, job);
  int status = lua_pcall(other, 1, 0, 0);
  job->budget->armed = false;
  if (status == LUA_OK) return "done";
  if (status == LUA_ERRMEM) return "no memory";
  const char *message = lua_tostring(other, -1);
  strncat(text, message ? message : "no text", size - 1);
  return text;
}

static int l_run(lua_State *L) {
  struct budget budget = {.left = (long)luaL_checkinteger(L, 4), .fails = (long)luaL_optinteger(L, 5, -1)};
  struct job job = {luaL_checkstring(L, 1), luaL_checkstring(L, 2), luaL_checkstring(L, 3), &budget};
  char text[256] = "";
  lua_State *other = lua_newstate(limited, &budget);
  if (!other) return luaL_error(L, "no memory for a state");
  const char *result = run_job(other, &job, text, sizeof text);
  lua_close(other);
  lua_pushstring(L, result);
  lua_pushinteger(L, budget.bytes);
  return 2;
}

__attribute__((visibility("default"))) int luaopen_probe_allocation(lua_State *L) {
  lua_pushcfunction(L, l_run);
  return 1;
}
