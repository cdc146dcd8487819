#include "bind/registration/line.h"

void line_push(lua_State *L, const struct line *line) {
  lua_createtable(L, 0, 5);
  set_text(L, "name", line->name);
  if (line->ok != LINE_UNKNOWN) set_boolean(L, "ok", line->ok == LINE_GOOD);
  set_text(L, "cause", line->cause);
  set_text(L, "message", line->message);
  set_text(L, "fix", line->fix);
}
