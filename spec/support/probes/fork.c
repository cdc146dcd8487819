/* probe_fork() goes on in both processes, as fork does: nothing in the child, whose exit status the parent
 * gets. probe_fork(fn) runs fn in a child, collects what it can, and returns the child's exit status: what
 * fork does to open handles can be seen from Lua no other way. The child ends by _exit, as forked children
 * do. */

#include "bind/lua/versions.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static int run_child(lua_State *L) {
  int bad = lua_pcall(L, 0, 0, 0) != LUA_OK;
  if (bad) fprintf(stderr, "%s\n", lua_tostring(L, -1));
  lua_gc(L, LUA_GCCOLLECT, 0);
  fflush(NULL);
  return bad;
}

static int l_fork(lua_State *L) {
  int status = 0;
  if (!lua_isnone(L, 1)) luaL_checktype(L, 1, LUA_TFUNCTION);
  lua_settop(L, 1);
  fflush(NULL);
  pid_t child = fork();
  if (child < 0) return luaL_error(L, "fork failed");
  if (child == 0 && lua_isnil(L, 1)) return 0;
  if (child == 0) _exit(run_child(L));
  waitpid(child, &status, 0);
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_probe_fork(lua_State *L) {
  lua_pushcfunction(L, l_fork);
  return 1;
}
