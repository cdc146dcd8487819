#include "bind/bind.h"

/* Loading reads no file and no network, starts no thread and installs no handler; it only fills one table. */

static void (*const openers[])(lua_State *) = {open_json, open_rows, open_client, open_reply,   open_resource, open_loop,
                                               open_zone, open_files, open_oauth, open_signals, open_signing, open_tariffs};

__attribute__((visibility("default"))) int luaopen_fleet_core(lua_State *L);

int luaopen_fleet_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) openers[i](L);
  return 1;
}
