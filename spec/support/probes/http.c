/* The HTTP pillar for specs: poller, requests and decisions as they are in C. */
#include "bind/lua/bind.h"
#include "http/multi.h"
#include "http/other_host.h"
#include "http/outcome.h"
#include "http/retry_after.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- poller ---- */

static void release_poller(void *object) {
  poller_close(object);
}

static const struct box_type poller_type;

static int l_poller(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct poller *p = box_new(L, &poller_type, sizeof *p, 0);
  if (!poller_open(p, &e)) return push_failure(L, &e);
  box_open(L, -1);
  return 1;
}

static unsigned check_events(lua_State *L, int index) {
  const char *text = luaL_checkstring(L, index);
  return (strchr(text, 'r') ? (unsigned)POLLER_READ : 0) | (strchr(text, 'w') ? (unsigned)POLLER_WRITE : 0);
}

static int l_watch(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct poller *p = box_check(L, 1, &poller_type);
  int fd = (int)luaL_checkinteger(L, 2);
  if (!poller_watch(p, fd, check_events(L, 3), (uint32_t)luaL_optinteger(L, 4, 7), &e))
    return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

static int l_arm(lua_State *L) {
  poller_arm(box_check(L, 1, &poller_type), luaL_checknumber(L, 2));
  return 0;
}

static void push_event(lua_State *L, const struct poller_event *event) {
  lua_createtable(L, 0, 3);
  lua_pushinteger(L, event->fd);
  lua_setfield(L, -2, "fd");
  lua_pushinteger(L, event->tag);
  lua_setfield(L, -2, "tag");
  lua_pushfstring(L, "%s%s%s", event->events & POLLER_READ ? "r" : "",
                  event->events & POLLER_WRITE ? "w" : "", event->events & POLLER_ERROR ? "e" : "");
  lua_setfield(L, -2, "events");
}

static int l_wait(lua_State *L) {
  struct poller_event events[64];
  struct poller *p = box_check(L, 1, &poller_type);
  int count = poller_wait(p, events, (int)luaL_optinteger(L, 3, 64), luaL_checknumber(L, 2));
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    push_event(L, &events[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

static int l_poller_fd(lua_State *L) {
  struct poller *p = box_check(L, 1, &poller_type);
  struct err e;
  if (!poller_export(p, &e)) return luaL_error(L, "%s", e.message);
  lua_pushinteger(L, p->fd);
  return 1;
}

static int l_poller_armed(lua_State *L) {
  struct poller *p = box_check(L, 1, &poller_type);
  lua_pushnumber(L, p->armed);
  return 1;
}

static int l_poller_forked(lua_State *L) {
  lua_pushboolean(L, poller_forked(box_check(L, 1, &poller_type)));
  return 1;
}

static const luaL_Reg poller_methods[] = {
    {"watch", l_watch},
    {"arm", l_arm},
    {"wait", l_wait},
    {"fd", l_poller_fd},
    {"armed", l_poller_armed},
    {"forked", l_poller_forked},
    {NULL, NULL},
};

static const struct box_type poller_type = {"probe.poller", release_poller, poller_methods, NULL};

/* ---- http ---- */

struct client {
  struct poller poller;
  struct http *http;
};

static const char *const failure_names[] = {
#define X(NAME, name) #name,
    HTTP_FAILURES(X)
#undef X
        NULL};

static void release_client(void *object) {
  struct client *c = object;
  http_close(c->http);
  poller_close(&c->poller);
}

static const struct box_type client_type;

static struct client *check_client(lua_State *L) {
  return box_check(L, 1, &client_type);
}

static int l_http(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct client *c = box_new(L, &client_type, sizeof *c, 0);
  if (!poller_open(&c->poller, &e)) return push_failure(L, &e);
  if (!http_open(&c->http, &c->poller, &e)) {
    poller_close(&c->poller);
    return push_failure(L, &e);
  }
  box_open(L, -1);
  return 1;
}

static const char *text_field(lua_State *L, const char *name, const char *fallback) {
  lua_getfield(L, 2, name); /* stays on the stack: the text lives as long as the call */
  return luaL_optstring(L, -1, fallback);
}

static double number_field(lua_State *L, const char *name, double fallback) {
  lua_getfield(L, 2, name);
  return luaL_optnumber(L, -1, fallback);
}

static const char *const *header_field(lua_State *L) {
  if (lua_getfield(L, 2, "headers") == LUA_TNIL) return NULL;
  lua_Integer count = luaL_len(L, -1);
  const char **lines = lua_newuserdatauv(L, ((size_t)count + 1) * sizeof *lines, 0);
  for (lua_Integer i = 0; i < count; i++) {
    lua_rawgeti(L, -2, i + 1);
    lines[i] = lua_tostring(L, -1); /* the table keeps it */
    lua_pop(L, 1);
  }
  lines[count] = NULL;
  return lines;
}

static struct http_request check_request(lua_State *L) {
  luaL_checktype(L, 2, LUA_TTABLE);
  luaL_checkstack(L, 40, NULL);
  struct http_request r = {
      .method = text_field(L, "method", "GET"),
      .url = text_field(L, "url", NULL),
      .headers = header_field(L),
      .timeout = number_field(L, "timeout", 20),
      .connect_timeout = number_field(L, "connect_timeout", 0),
      .max_response = (size_t)number_field(L, "max_response", 1e7),
      .ca_file = text_field(L, "ca_file", NULL),
      .unix_path = text_field(L, "unix_path", NULL),
      .proxy = text_field(L, "proxy", NULL),
      .idle_limit = number_field(L, "idle_limit", 0),
  };
  lua_getfield(L, 2, "environment_proxy");
  r.environment_proxy = lua_toboolean(L, -1);
  lua_getfield(L, 2, "http2");
  r.http2 = lua_toboolean(L, -1);
  if (lua_getfield(L, 2, "body") != LUA_TNIL) r.body = check_bytes(L, -1);
  return r;
}

static int l_submit(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct client *c = check_client(L);
  struct http_request r = check_request(L);
  struct http_transfer *t = http_submit(c->http, &r, &e);
  if (!t) return push_failure(L, &e);
  transfer_set_user(t, t);
  lua_pushlightuserdata(L, t);
  return 1;
}

static void client_step(struct client *c, double seconds) {
  struct poller_event events[256];
  http_run(c->http, events, 256, seconds);
}

/* step(seconds): waits at most so long for something to do, and does it. */
static int l_step(lua_State *L) {
  client_step(check_client(L), luaL_optnumber(L, 2, 0));
  return 0;
}

static void push_response(lua_State *L, struct http_transfer *t) {
  struct http_response *r = transfer_response(t);
  lua_createtable(L, 0, 8);
  lua_pushlightuserdata(L, transfer_user(t));
  lua_setfield(L, -2, "transfer");
  set_text(L, "failure", failure_names[r->failure]);
  set_text(L, "headers", buf_text(&r->headers));
  set_bytes(L, "body", (struct bytes){(const unsigned char *)buf_text(&r->body), r->body.size});
  set_text(L, "message", r->message);
  set_boolean(L, "sent", r->sent);
  set_integer(L, "status", r->status);
  lua_pushnumber(L, r->seconds);
  lua_setfield(L, -2, "seconds");
}

/* take(keep): a finished request's response, or nil. */
static int l_take(lua_State *L) {
  struct client *c = check_client(L);
  struct http_transfer *t = http_take(c->http);
  if (!t) return 0;
  push_response(L, t);
  if (!lua_toboolean(L, 2)) http_drop(c->http, t);
  return 1;
}

static struct http_transfer *check_transfer(lua_State *L) {
  luaL_checktype(L, 2, LUA_TLIGHTUSERDATA);
  return lua_touserdata(L, 2);
}

static int l_cancel(lua_State *L) {
  http_cancel(check_client(L)->http, check_transfer(L));
  return 0;
}

static int l_drop(lua_State *L) {
  http_drop(check_client(L)->http, check_transfer(L));
  return 0;
}

static int l_in_flight(lua_State *L) {
  lua_pushinteger(L, http_in_flight(check_client(L)->http));
  return 1;
}

static int l_timeout(lua_State *L) {
  lua_pushnumber(L, http_timeout(check_client(L)->http));
  return 1;
}

static int l_client_fd(lua_State *L) {
  lua_pushinteger(L, check_client(L)->poller.fd);
  return 1;
}

/* fork(): the child closes the client and ends; returns the child's exit status. */
static int l_fork(lua_State *L) {
  struct client *c = check_client(L);
  pid_t child = fork();
  if (child == 0) {
    release_client(c);
    _exit(3);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  return 1;
}

static double cpu_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool bench_submit(struct client *c, const struct http_request *r) {
  struct err e;
  err_clear(&e);
  return http_submit(c->http, r, &e);
}

/* bench(request, in flight, count): CPU seconds per request and how many failed. */
static int l_bench(lua_State *L) {
  struct client *c = check_client(L);
  struct http_request r = check_request(L);
  long in_flight = (long)luaL_checkinteger(L, 3), count = (long)luaL_checkinteger(L, 4), started = 0,
       failed = 0;
  double before = cpu_seconds();
  for (long done = 0; done < count;) {
    while (started < count && started - done < in_flight && bench_submit(c, &r)) started++;
    client_step(c, -1);
    for (struct http_transfer *t; (t = http_take(c->http)); done++) {
      failed += transfer_response(t)->failure != HTTP_OK;
      http_drop(c->http, t);
    }
  }
  lua_pushnumber(L, (cpu_seconds() - before) / (double)count);
  lua_pushinteger(L, failed);
  return 2;
}

static const luaL_Reg client_methods[] = {
    {"submit", l_submit},       {"step", l_step},       {"take", l_take},
    {"cancel", l_cancel},       {"drop", l_drop},       {"fork", l_fork},
    {"in_flight", l_in_flight}, {"timeout", l_timeout}, {"fd", l_client_fd},
    {"bench", l_bench},         {NULL, NULL},
};

static const struct box_type client_type = {"probe.http", release_client, client_methods, NULL};

/* ---- outcome ---- */

static const char *const trait_names[] = {"none", "by_state", "sign", "plain", "proxy"};
static const char *const state_names[] = {"unknown", "online", "asleep", "offline", NULL};
static const char *const next_names[] = {"fail", "refresh", "region", "repeat"};

static int option_field(lua_State *L, const char *name, const char *const *names) {
  const char *text = text_field(L, name, names[0]);
  for (int i = 0; names[i]; i++)
    if (strcmp(names[i], text) == 0) return i;
  return luaL_error(L, "no such %s", name);
}

static struct bytes bytes_field(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  return lua_isnil(L, -1) ? (struct bytes){NULL, 0} : check_bytes(L, -1);
}

static bool flag_field(lua_State *L, const char *name) {
  lua_getfield(L, 2, name);
  bool set = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return set;
}

static void push_row(lua_State *L, const struct status *row) {
  lua_createtable(L, 0, 7);
  lua_pushinteger(L, row->status);
  lua_setfield(L, -2, "status");
  lua_pushstring(L, row->text);
  lua_setfield(L, -2, "text");
  lua_pushstring(L, row->also);
  lua_setfield(L, -2, "also");
  lua_pushstring(L, kind_name(row->kind));
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, outcome_name(row->outcome));
  lua_setfield(L, -2, "outcome");
  lua_pushstring(L, trait_names[row->trait]);
  lua_setfield(L, -2, "trait");
  lua_pushstring(L, row->advice);
  lua_setfield(L, -2, "advice");
}

static void push_verdict(lua_State *L, const struct verdict *v) {
  lua_createtable(L, 0, 5);
  lua_pushstring(L, kind_name(v->kind));
  lua_setfield(L, -2, "kind");
  lua_pushstring(L, outcome_name(v->outcome)); /* nil for none */
  lua_setfield(L, -2, "outcome");
  lua_pushboolean(L, v->transient);
  lua_setfield(L, -2, "transient");
  lua_pushnumber(L, v->retry_after);
  lua_setfield(L, -2, "retry_after");
  lua_pushboolean(L, v->page);
  lua_setfield(L, -2, "page");
  lua_pushinteger(L, v->fault.number);
  lua_setfield(L, -2, "fault");
  if (!v->row) return;
  push_row(L, v->row);
  lua_setfield(L, -2, "row");
}

static struct verdict judge(lua_State *L) {
  struct exchange x = {
      .failure = (enum http_failure)option_field(L, "failure", failure_names),
      .status = (int)number_field(L, "status", 0),
      .sent = flag_field(L, "sent"),
      .write = flag_field(L, "write"),
      .proxied = flag_field(L, "proxied"),
      .unreadable = flag_field(L, "unreadable"),
      .text = bytes_field(L, "text"),
      .words = bytes_field(L, "words"),
      .details = bytes_field(L, "details"),
      .headers = bytes_field(L, "headers"),
      .state = (enum vehicle_state)option_field(L, "state", state_names),
      .wall = number_field(L, "wall", 0),
  };
  return outcome_judge(&x);
}

/* judge(nil, exchange) */
static int l_judge(lua_State *L) {
  luaL_checkstack(L, 40, NULL);
  struct verdict v = judge(L);
  push_verdict(L, &v);
  return 1;
}

/* next(nil, exchange with the members of history) → what, wait */
static int l_next(lua_State *L) {
  luaL_checkstack(L, 40, NULL);
  struct verdict v = judge(L);
  struct history h = {
      .write = flag_field(L, "write"),
      .idempotent = flag_field(L, "idempotent"),
      .own_token = flag_field(L, "own_token"),
      .other_host = flag_field(L, "other_host"),
      .refreshes = (int)number_field(L, "refreshes", 0),
      .regions = (int)number_field(L, "regions", 0),
      .repeats = (int)number_field(L, "repeats", 0),
      .left = number_field(L, "left", 30),
  };
  double wait;
  lua_pushstring(L, next_names[outcome_next(&v, &h, &wait)]);
  lua_pushnumber(L, wait);
  return 2;
}

static int l_retry_after(lua_State *L) {
  lua_pushnumber(L, retry_after(check_bytes(L, 1), check_bytes(L, 2), luaL_checknumber(L, 3)));
  return 1;
}

/* other_host(headers, text, hosts...) → base URL or nil */
static int l_other_host(lua_State *L) {
  const char *hosts[16] = {NULL};
  for (int i = 0; i < 15 && !lua_isnoneornil(L, i + 3); i++) hosts[i] = luaL_checkstring(L, i + 3);
  struct buf out = BUF_INIT;
  if (!other_host_named(check_bytes(L, 1), check_bytes(L, 2), hosts, &out)) return 0;
  lua_pushlstring(L, buf_text(&out), out.size);
  buf_free(&out);
  return 1;
}

static int l_statuses(lua_State *L) {
  lua_newtable(L);
  for (int i = 0;; i++) {
    push_row(L, &status_rows[i]);
    lua_rawseti(L, -2, i + 1);
    if (status_rows[i].status == 0 && !status_rows[i].text) return 1;
  }
}

/* ---- descriptors and signals ---- */

static int l_pipe(lua_State *L) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return luaL_error(L, "no pipe");
  lua_pushinteger(L, ends[0]);
  lua_pushinteger(L, ends[1]);
  return 2;
}

static int l_open(lua_State *L) {
  lua_pushinteger(L, open(luaL_checkstring(L, 1), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  return 1;
}

static int l_fileno(lua_State *L) {
  luaL_Stream *stream = luaL_checkudata(L, 1, LUA_FILEHANDLE);
  lua_pushinteger(L, fileno(stream->f));
  return 1;
}

static int l_close(lua_State *L) {
  close((int)luaL_checkinteger(L, 1));
  return 0;
}

static int l_write(lua_State *L) {
  struct bytes data = check_bytes(L, 2);
  lua_pushinteger(L, write((int)luaL_checkinteger(L, 1), data.data, data.size));
  return 1;
}

/* sigpipe(): "default", "blocked" and so on, as the host sees it; a waiting SIGPIPE is named, too. */
static int l_sigpipe(lua_State *L) {
  struct sigaction action;
  sigset_t mask, waiting;
  sigaction(SIGPIPE, NULL, &action);
  pthread_sigmask(SIG_SETMASK, NULL, &mask);
  sigpending(&waiting);
  lua_pushfstring(L, "%s%s%s", action.sa_handler == SIG_DFL ? "default" : "handled",
                  sigismember(&mask, SIGPIPE) ? " blocked" : "",
                  sigismember(&waiting, SIGPIPE) ? " waiting" : "");
  return 1;
}

/* block_sigpipe(block, raise): as a host may do before it calls us. */
static int l_block_sigpipe(lua_State *L) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGPIPE);
  if (!lua_toboolean(L, 1)) sigtimedwait(&set, NULL, &(struct timespec){0, 0});
  pthread_sigmask(lua_toboolean(L, 1) ? SIG_BLOCK : SIG_UNBLOCK, &set, NULL);
  if (lua_toboolean(L, 2)) raise(SIGPIPE);
  return 0;
}

static int l_setenv(lua_State *L) {
  const char *value = luaL_optstring(L, 2, NULL);
  if (value)
    setenv(luaL_checkstring(L, 1), value, 1);
  else
    unsetenv(luaL_checkstring(L, 1));
  return 0;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

static int l_now(lua_State *L) {
  lua_pushnumber(L, poller_now());
  return 1;
}

static const luaL_Reg functions[] = {
    {"poller", l_poller},
    {"http", l_http},
    {"judge", l_judge},
    {"next", l_next},
    {"retry_after", l_retry_after},
    {"other_host", l_other_host},
    {"statuses", l_statuses},
    {"pipe", l_pipe},
    {"open", l_open},
    {"fileno", l_fileno},
    {"close", l_close},
    {"write", l_write},
    {"sigpipe", l_sigpipe},
    {"block_sigpipe", l_block_sigpipe},
    {"setenv", l_setenv},
    {"live", l_live},
    {"now", l_now},
    {NULL, NULL},
};

__attribute__((visibility("default"))) int luaopen_probe_http(lua_State *L) {
  box_define(L, &poller_type);
  box_define(L, &client_type);
  luaL_newlib(L, functions);
  return 1;
}
