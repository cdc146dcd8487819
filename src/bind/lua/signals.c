#include "base/signal_fd.h"
#include "bind/lua/bind.h"

#include <errno.h>

/* Signals that end a program, as a descriptor that a loop can watch: for programs such as `fleet sim` that
 * have something to close. The module itself never calls this (a good guest installs no handler and changes
 * no mask). */

struct signals {
  int fd;
};

static void release_signals(void *object) {
  struct signals *s = object;
  signal_fd_close(s->fd);
}

static const luaL_Reg signals_methods[];
static const struct box_type signals_type = {"fleet.signals", release_signals, signals_methods, NULL};

static const struct {
  int number;
  const char *name;
} known[] = {{SIGINT, "interrupt"}, {SIGTERM, "terminate"}, {SIGHUP, "hangup"}};

enum { KNOWN = sizeof known / sizeof *known };

/* core.signals() -> signals: from now on this thread gets SIGINT, SIGTERM and SIGHUP through signals:fd()
 * only */
static int l_signals(lua_State *L) {
  int numbers[KNOWN];
  struct err e;
  err_clear(&e);
  struct signals *s = box_new(L, &signals_type, sizeof *s, 0);
  for (int i = 0; i < KNOWN; i++) numbers[i] = known[i].number;
  s->fd = signal_fd_open(numbers, KNOWN);
  if (s->fd < 0) {
    err_set(&e, KIND_service, "no descriptor for signals (errno %d)", errno);
    return push_failure(L, &e);
  }
  box_open(L, -1);
  return 1;
}

static int l_fd(lua_State *L) {
  const struct signals *s = box_check(L, 1, &signals_type);
  lua_pushinteger(L, s->fd);
  return 1;
}

/* signals:take() -> "interrupt", "terminate" or "hangup" when one arrived, else nothing */
static int l_take(lua_State *L) {
  const struct signals *s = box_check(L, 1, &signals_type);
  int number = signal_fd_take(s->fd);
  for (int i = 0; i < KNOWN; i++) {
    if (number != known[i].number) continue;
    lua_pushstring(L, known[i].name);
    return 1;
  }
  return 0;
}

static const luaL_Reg signals_methods[] = {{"fd", l_fd}, {"take", l_take}, {NULL, NULL}};

void open_signals(lua_State *L) {
  box_define(L, &signals_type);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_signals);
  lua_setfield(L, -2, "signals");
}
