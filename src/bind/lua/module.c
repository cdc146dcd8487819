#include "bind/lua/bind.h"
#include "bind/lua/fleet.h"

#include "http/multi.h"
#include "signing/wire/codec.h"
#include "crypto/context.h"

/* Loading reads no file and no network, starts no thread and installs no handler; it only fills one table. */

static void (*const openers[])(lua_State *) = {
    open_errors,   open_names,      open_json,    open_secret,   open_rows,      open_plan,     open_forward,
    open_request,  open_reply,      open_result,  open_handle,   open_loop,      open_zone,     open_files,
    open_records,  open_counters,   open_seals,   open_crypto,   open_authorize, open_grant,    open_token,
    open_region,   open_token_need, open_signals, open_keys,     open_commands,  open_messages, open_sessions,
    open_receiver, open_tariffs,    open_redact,  open_hostname, open_text,      open_decisions};

/* core.versions() -> { libcurl =, tls =, openssl =, ["protobuf-c"] = }: of the libraries that run, which need
 * not be those of the build; tls is what libcurl does TLS with. */
static int l_versions(lua_State *L) {
  lua_createtable(L, 0, 4);
  set_text(L, "libcurl", http_version());
  set_text(L, "tls", http_tls_version());
  set_text(L, "openssl", crypto_version());
  set_text(L, "protobuf-c", codec_version());
  return 1;
}

#ifdef __SANITIZE_ADDRESS__
#define CHECKED_WITH "AddressSanitizer"
#elif defined(FLEET_FAULT_POINTS)
#define CHECKED_WITH "fault points"
#else
#define CHECKED_WITH NULL
#endif

/* core.build() -> { lua =, compiler =, poller =, pointer_bits =, checked_with = }: how this object was made.
 */
static int l_build(lua_State *L) {
  lua_createtable(L, 0, 5);
  lua_pushliteral(L, LUA_RELEASE);
  lua_setfield(L, -2, "lua");
  lua_pushliteral(L, __VERSION__);
  lua_setfield(L, -2, "compiler");
  set_text(L, "poller", poller_name);
  set_integer(L, "pointer_bits", (lua_Integer)sizeof(void *) * 8);
  set_text(L, "checked_with", CHECKED_WITH);
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_core(lua_State *L);

int luaopen_fleet_core(lua_State *L) {
  luaL_checkversion(L);
  lua_newtable(L);
  for (size_t i = 0; i < sizeof openers / sizeof *openers; i++) openers[i](L);
  lua_pushcfunction(L, l_versions);
  lua_setfield(L, -2, "versions");
  lua_pushcfunction(L, l_build);
  lua_setfield(L, -2, "build");
  return 1;
}
