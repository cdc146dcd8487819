/* probe_watchdog: nothing that a spec does ends the run or holds it for ever.
 *
 * start() handles SIGPIPE, so that writing to a program that is gone is an error of that write. (A handler,
 * unlike SIG_IGN, does not reach the programs that specs start.) watch(name, seconds) begins a limit for a
 * spec file, watch() ends it. When it is over, the processes that the run has started are killed, which ends
 * what waits for them, and an error with the name of the file is raised in the main coroutine. If the file
 * goes on all the same, the run ends with status 1 after as many seconds again. */

#include "bind/lua/versions.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

/* The processes of this run carry its number in their environment, also those whose parent is gone. */
static const char mark[] = "SPEC_RUN_OF_FLEET";
static const char killer[] =
    "for p in /proc/[0-9]*; do id=${p#/proc/}; [ $id = $1 ] || [ $id = $$ ] || "
    "! grep -qsz \"^SPEC_RUN_OF_FLEET=$1$\" $p/environ || kill -9 $id; done 2>/dev/null";

static struct {
  lua_State *L;
  char name[256], pid[24];
  int length, seconds;
  bool over; /* the limit has passed once */
} watched;

static void set_timer(int seconds) {
  struct itimerval timer = {.it_value = {.tv_sec = seconds}};
  setitimer(ITIMER_REAL, &timer, NULL);
}

static void say(const char *text) {
  if (write(STDERR_FILENO, watched.name, (size_t)watched.length) < 0) return;
  if (write(STDERR_FILENO, text, strlen(text)) < 0) return;
}

static void kill_started(void) {
  pid_t child = fork();
  if (child == 0) {
    execl("/bin/sh", "sh", "-c", killer, "sh", watched.pid, (char *)NULL);
    _exit(127);
  }
}

static void raise_limit(lua_State *L, lua_Debug *at) {
  (void)at;
  lua_sethook(L, NULL, 0, 0);
  luaL_error(L, "%s took longer than %d s", watched.name, watched.seconds);
}

/* Calls only what a signal handler may: lua_sethook is made for it. */
static void on_alarm(int number) {
  (void)number;
  if (watched.over) {
    say(" holds the run: ended\n");
    kill_started();
    _exit(1);
  }
  watched.over = true;
  say(" took too long: its processes are killed\n");
  kill_started();
  lua_sethook(watched.L, raise_limit, LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
  set_timer(watched.seconds);
}

static void on_pipe(int number) {
  (void)number;
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction action = {.sa_handler = handler};
  sigaction(number, &action, NULL);
}

static lua_State *main_thread(lua_State *L) {
#ifdef LUA_RIDX_MAINTHREAD
  lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
  lua_State *main = lua_tothread(L, -1);
  lua_pop(L, 1);
  return main;
#else
  return L; /* specs are run by the main thread */
#endif
}

static int l_start(lua_State *L) {
  watched.L = main_thread(L);
  snprintf(watched.pid, sizeof watched.pid, "%ld", (long)getpid());
  setenv(mark, watched.pid, 1);
  handle(SIGPIPE, on_pipe);
  handle(SIGALRM, on_alarm);
  return 0;
}

static int l_watch(lua_State *L) {
  const char *name = luaL_optstring(L, 1, "");
  watched.seconds = (int)luaL_optinteger(L, 2, 0);
  watched.length = snprintf(watched.name, sizeof watched.name, "%s", name);
  if (watched.length >= (int)sizeof watched.name) watched.length = (int)sizeof watched.name - 1;
  watched.over = false;
  set_timer(watched.seconds);
  return 0;
}

/* default_sigpipe(on): as in a host that has never heard of it, for specs that prove that it is spared. */
static int l_default_sigpipe(lua_State *L) {
  handle(SIGPIPE, lua_toboolean(L, 1) ? SIG_DFL : on_pipe);
  return 0;
}

static const luaL_Reg functions[] = {
    {"start", l_start}, {"watch", l_watch}, {"default_sigpipe", l_default_sigpipe}, {NULL, NULL}};

__attribute__((visibility("default"))) int luaopen_probe_watchdog(lua_State *L) {
  luaL_newlib(L, functions);
  return 1;
}
