/* Rows as tables for Lua. */
#ifndef FLEET_BIND_ROWS_H
#define FLEET_BIND_ROWS_H

#include "bind/lua/bind.h"
#include "tables/rows.h"

void push_row(lua_State *L, const struct row *r);
void push_vendor(lua_State *L, const struct vendor *v);

#endif
