/* A line of a report about the application's key: { name =, ok = true, false or nil (could not be looked at),
 * cause =, message =, fix = }.
 */
#ifndef FLEET_BIND_LINE_H
#define FLEET_BIND_LINE_H

#include "bind/lua/bind.h"

struct line {
  const char *name;
  enum { LINE_UNKNOWN, LINE_GOOD, LINE_BAD } ok;
  const char *cause, *message, *fix; /* each may be NULL */
};

void line_push(lua_State *L, const struct line *line);

#endif
