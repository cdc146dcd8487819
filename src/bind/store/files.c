#include "bind/lua/bind.h"

#include "base/draft.h"
#include "base/file.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- arguments ---- */

static const char *check_path(lua_State *L, int index) {
  size_t size;
  const char *path = luaL_checklstring(L, index, &size);
  luaL_argcheck(L, size > 0 && strlen(path) == size, index, "a path without zero bytes expected");
  return path;
}

static int answer(lua_State *L, bool done, const struct err *e) {
  if (!done) return push_failure(L, e);
  lua_pushboolean(L, true);
  return 1;
}

/* What was opened before a fork belongs to the parent. */
static bool usable(long pid, struct err *e) {
  return pid == (long)getpid() ||
         err_set(e, KIND_closed, "it was opened before a fork: open the store again");
}

static void push_facts(lua_State *L, const struct file_facts *facts) {
  lua_createtable(L, 0, 2);
  set_integer(L, "mode", facts->mode);
  set_boolean(L, "mine", facts->mine);
}

/* ---- files and directories ---- */

/* core.file_read(path, limit) -> bytes, { mode, mine }; nil, err, "not_found" or "store". A symbolic link is
 * refused. */
static int l_file_read(lua_State *L) {
  const char *path = check_path(L, 1);
  lua_Integer limit = luaL_checkinteger(L, 2);
  luaL_argcheck(L, limit > 0, 2, "a number of bytes expected");
  struct err e;
  err_clear(&e);
  struct file_facts facts;
  struct buf *content = push_scratch(L);
  enum file_result result = file_read(content, path, (size_t)limit, 0, &facts, &e);
  if (result == FILE_ABSENT) e.kind = KIND_not_found;
  if (result != FILE_OK) return push_failure(L, &e);
  push_buf(L, content);
  push_facts(L, &facts);
  return 2;
}

/* core.real_path(path) -> path without symbolic links; nil, err, "store" */
static int l_real_path(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *path = check_path(L, 1);
  struct buf *real = push_scratch(L);
  if (!file_real_path(real, path, &e)) return push_failure(L, &e);
  push_buf(L, real);
  return 1;
}

/* core.directory_make(path) -> true; nil, err, "store" */
static int l_directory_make(lua_State *L) {
  struct err e;
  err_clear(&e);
  return answer(L, directory_make(check_path(L, 1), &e), &e);
}

/* core.directory_list(path) -> list of names, without those that begin with a dot; nil, err, "store" */
static int l_directory_list(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *path = check_path(L, 1);
  struct buf *names = push_scratch(L);
  if (!directory_list(names, path, &e)) return push_failure(L, &e);
  push_name_list(L, names);
  return 1;
}

/* ---- drafts ---- */

static void release_draft(void *object) {
  file_draft_close(object);
}

static const struct box_type draft_type;

static struct file_draft *check_draft(lua_State *L) {
  return box_check(L, 1, &draft_type);
}

/* draft:reserve(bytes) -> true: so many bytes can be written; nil, err, "store" */
static int l_draft_reserve(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct file_draft *d = check_draft(L);
  lua_Integer size = luaL_checkinteger(L, 2);
  luaL_argcheck(L, size >= 0 && size <= 1 << 30, 2, "a number of bytes expected");
  return answer(L, usable(d->pid, &e) && file_draft_reserve(d, (size_t)size, &e), &e);
}

/* draft:write(bytes [, durable]) -> true: the draft's whole content, on the disk when durable; nil, err,
 * "store" */
static int l_draft_write(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct file_draft *d = check_draft(L);
  struct bytes content = check_bytes(L, 2);
  bool durable = lua_toboolean(L, 3);
  return answer(L, usable(d->pid, &e) && file_draft_write(d, content, durable, &e), &e);
}

/* draft:keep([durable [, new]]) -> true: the draft has taken the file's place and is closed; nil, err,
 * "store". new: there must be no such file: else nil, err, "conflict" */
static int l_draft_keep(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct file_draft *d = check_draft(L);
  bool durable = lua_toboolean(L, 2);
  bool (*keep)(struct file_draft *, bool, struct err *) =
      lua_toboolean(L, 3) ? file_draft_keep_new : file_draft_keep;
  bool done = usable(d->pid, &e) && keep(d, durable, &e);
  if (done) box_close(L, 1);
  return answer(L, done, &e);
}

/* draft:fd() -> the descriptor that a reply's body may be written to */
static int l_draft_fd(lua_State *L) {
  lua_pushinteger(L, check_draft(L)->fd);
  return 1;
}

static const luaL_Reg draft_methods[] = {{"fd", l_draft_fd},
                                         {"reserve", l_draft_reserve},
                                         {"write", l_draft_write},
                                         {"keep", l_draft_keep},
                                         {NULL, NULL}};

static const struct box_type draft_type = {"fleet.draft", release_draft, draft_methods, NULL};

/* core.file_draft(directory, name [, ending]) -> draft; closing it removes what was not kept. Without an
 * ending its own name is random. nil, err, "store", or "busy" while another process writes a draft with that
 * ending. */
static int l_file_draft(lua_State *L) {
  struct err e;
  err_clear(&e);
  const char *directory = check_path(L, 1), *name = check_path(L, 2);
  const char *ending = luaL_optstring(L, 3, NULL);
  luaL_argcheck(L, !strchr(name, '/'), 2, "a name without slashes expected");
  luaL_argcheck(L, !ending || !strchr(ending, '/'), 3, "an ending without slashes expected");
  struct file_draft *d = box_new(L, &draft_type, sizeof *d, 0);
  *d = (struct file_draft)FILE_DRAFT_INIT;
  if (!file_draft_open(d, directory, name, ending, &e)) return push_failure(L, &e);
  box_open(L, -1);
  return 1;
}

/* ---- waiting ---- */

/* core.pause(seconds): blocks, for at most a tenth of a second: what a store does where the caller gave no
 * sleep. */
static int l_pause(lua_State *L) {
  lua_Number seconds = luaL_checknumber(L, 1);
  if (!(seconds > 0)) return 0;
  if (seconds > 0.1) seconds = 0.1;
  nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL);
  return 0;
}

#ifdef FLEET_FAULT_POINTS
/* core.fault_point(n): the process kills itself at the nth file step from now; 0: never */
static int l_fault_point(lua_State *L) {
  file_fault_after((long)luaL_checkinteger(L, 1));
  return 0;
}
#endif

void open_files(lua_State *L) {
  static const luaL_Reg functions[] = {{"file_read", l_file_read},
                                       {"file_draft", l_file_draft},
                                       {"real_path", l_real_path},
                                       {"directory_make", l_directory_make},
                                       {"directory_list", l_directory_list},
                                       {"pause", l_pause},
#ifdef FLEET_FAULT_POINTS
                                       {"fault_point", l_fault_point},
#endif
                                       {NULL, NULL}};
  box_define(L, &draft_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
