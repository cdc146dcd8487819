#include "bind/oauth/oauth.h"

void open_oauth(lua_State *L) {
  open_authorize(L);
  open_grant(L);
  open_token(L);
  open_region(L);
  open_token_need(L);
}
