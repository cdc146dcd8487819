/* What the bindings of OAuth share: reading a table's members as views, and tokens among them. */
#ifndef FLEET_BIND_OAUTH_H
#define FLEET_BIND_OAUTH_H

#include "bind/lua/bind.h"
#include "oauth/token.h"

/* A member of the table at index, a string or a fleet.secret that the table keeps alive; data NULL: nil. */
struct bytes text_member(lua_State *L, int index, const char *name);
double number_member(lua_State *L, int index, const char *name);

const struct token *check_token(lua_State *L, int index);
/* A member that is a fleet.oauth_token; NULL: nil or false. */
const struct token *token_member(lua_State *L, int index, const char *name);

#endif
