/* What every file of the methods of records stands on; the methods are hung on it in records.c. */
#include "bind/store/records.h"

#include <string.h>

static void release_records(void *object) {
  store_close(&((struct records *)object)->store);
}

const struct box_type records_type = {"fleet.records", release_records, NULL, NULL};

struct records *check_records(lua_State *L) {
  return box_check(L, RECORDS, &records_type);
}

void give_notice(lua_State *L, struct records *r, int box) {
  struct store *s = &r->store;
  char text[sizeof s->notice];
  if (!s->notice[0]) return;
  memcpy(text, s->notice, sizeof text);
  s->notice[0] = '\0';
  if (lua_getiuservalue(L, box, USER_WARN) != LUA_TFUNCTION) return lua_pop(L, 1);
  lua_pushstring(L, text);
  lua_call(L, 1, 0);
}

int push_result(lua_State *L, enum store_result result, const struct err *e) {
  if (result == STORE_FAILED) return push_failure(L, e);
  lua_pushboolean(L, result == STORE_DONE);
  return 1;
}
