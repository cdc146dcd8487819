/* A fleet.oauth_token as an argument of other functions. */
#ifndef FLEET_BIND_OAUTH_TOKEN_H
#define FLEET_BIND_OAUTH_TOKEN_H

#include "bind/lua/bind.h"
#include "oauth/token.h"

const struct token *check_token(lua_State *L, int index);
/* A member of the table at index that is a fleet.oauth_token; NULL: nil or false. */
const struct token *token_member(lua_State *L, int index, const char *name);

#endif
