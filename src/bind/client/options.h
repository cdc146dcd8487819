/* The options of fleet.new, checked against their rows. */
#ifndef FLEET_BIND_CLIENT_OPTIONS_H
#define FLEET_BIND_CLIENT_OPTIONS_H

#include "bind/lua/bind.h"

enum { CHOICES_MOST = 16 };

/* Raises that an option is none of its choices. */
int raise_choice(lua_State *L, const char *option, const char *value, const char *const *names, size_t count);

#endif
