#include "bind/lua/bind.h"

#include "http/multi.h"
#include "signing/wire/codec.h"
#include "crypto/context.h"

/* Loading reads no file and no network, starts no thread and installs no handler; it only fills one table. */

static void (*const openers[])(lua_State *) = {
    open_errors,   open_names,    open_json,     open_secret,       open_rows,   open_plan,    open_reply,
    open_result,   open_next,     open_handle,   open_loop,         open_zone,   open_files,   open_records,
    open_counters, open_seals,    open_crypto,   open_certificates, open_oauth,  open_signals, open_keys,
    open_commands, open_messages, open_sessions, open_receiver,     open_tariffs};

/* core.versions() -> { libcurl =, openssl =, ["protobuf-c"] = }: of the libraries that run, which need not be
 * those of the build. */
static int l_versions(lua_State *L) {
  lua_createtable(L, 0, 3);
  lua_pushstring(L, http_version());
  lua_setfield(L, -2, "libcurl");
  lua_pushstring(L, crypto_version());
  lua_setfield(L, -2, "openssl");
  lua_pushstring(L, codec_version());
  lua_setfield(L, -2, "protobuf-c");
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_core(lua_State *L);

int luaopen_fleet_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) openers[i](L);
  lua_pushcfunction(L, l_versions);
  lua_setfield(L, -2, "versions");
  return 1;
}
