#include "bind/registration/line.h"

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}

void line_push(lua_State *L, const struct line *line) {
  lua_createtable(L, 0, 5);
  set_text(L, "name", line->name);
  if (line->ok != LINE_UNKNOWN) lua_pushboolean(L, line->ok == LINE_GOOD), lua_setfield(L, -2, "ok");
  set_text(L, "cause", line->cause);
  set_text(L, "message", line->message);
  set_text(L, "fix", line->fix);
}
