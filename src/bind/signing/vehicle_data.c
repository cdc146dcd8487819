/* What asks a vehicle for sections of its data. */
#include "bind/lua/bind.h"
#include "signing/wire/reflect.h"
#include "tables/rows.h"

#include <stdio.h>
#include <string.h>

enum { SECTIONS_MOST = 32 };

static size_t section_names(const char **names) {
  size_t count = 0;
  for (const struct section *s = section_rows; s->name && count < SECTIONS_MOST; s++)
    names[count++] = s->name;
  return count;
}

static int none_wanted(lua_State *L) {
  struct buf *list = push_scratch(L);
  for (const struct section *s = section_rows; s->name; s++)
    buf_format(list, "%s%s", s == section_rows ? "" : ", ", s->name);
  return usage_error(L, "signed_data: a list of sections is needed: %s", buf_text(list));
}

static const char *check_section(lua_State *L, int index) {
  const char *names[SECTIONS_MOST],
      *given = lua_type(L, index) == LUA_TSTRING ? lua_tostring(L, index) : NULL;
  for (const struct section *s = section_rows; given && s->name; s++)
    if (strcmp(s->name, given) == 0) return s->member;
  struct buf *sentence = push_scratch(L);
  unknown_sentence(sentence, "section", luaL_tolstring(L, index, NULL), names, section_names(names));
  usage_error(L, "signed_data: %s", buf_text(sentence));
  return NULL;
}

static void release_members(void *object) {
  members_end(object);
}

static const struct box_type members_type = {"fleet.sections", release_members, NULL, NULL};

static bool add_section(struct members *m, const char *member, struct err *e) {
  char path[96];
  snprintf(path, sizeof path, "vehicleAction.getVehicleData.%s", member);
  return members_message(m, path, e);
}

/* core.sections_message{ names of sections } -> bytes of a CarServer.Action; raises for what is no such list
 */
static int l_sections_message(lua_State *L) {
  struct err e;
  err_clear(&e);
  size_t count = lua_istable(L, 1) ? (size_t)lua_rawlen(L, 1) : 0;
  if (!count) return none_wanted(L);
  struct members *m = box_new(L, &members_type, sizeof *m, 0);
  bool ok = members_start(m, "CarServer.Action", &e);
  box_open(L, -1);
  for (size_t i = 1; ok && i <= count; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i);
    ok = add_section(m, check_section(L, lua_gettop(L)), &e);
    lua_pop(L, 1);
  }
  struct buf *out = push_scratch(L);
  if (!ok || !members_write(m, out, &e)) return luaL_error(L, "%s", e.message);
  push_buf(L, out);
  return 1;
}

void open_sections(lua_State *L) {
  box_define(L, &members_type);
  lua_pop(L, 1);
  lua_pushcfunction(L, l_sections_message);
  lua_setfield(L, -2, "sections_message");
}
