#include "bind/lua/bind.h"
#include "crypto/x509.h"

static void push_certificate(lua_State *L, const struct certificate *one) {
  lua_createtable(L, 0, 2);
  set_integer(L, "until_utc", (lua_Integer)one->until);
  set_boolean(L, "has_issuer", one->has_issuer);
}

/* core.certificates(pem, host or nil) -> list of { until_utc =, has_issuer = }, and whether it holds servers'
 * certificates of which none names the host; or nil, err, kind */
static int l_certificates(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct chain chain;
  struct bytes host = lua_isnoneornil(L, 2) ? bytes_of("") : check_bytes(L, 2);
  if (!x509_chain(check_bytes(L, 1), host, &chain, &e)) return push_failure(L, &e);
  lua_createtable(L, (int)chain.count, 0);
  for (size_t i = 0; i < chain.count; i++) {
    push_certificate(L, &chain.at[i]);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_pushboolean(L, host.size && chain.servers && !chain.named);
  return 2;
}

void open_certificates(lua_State *L) {
  lua_pushcfunction(L, l_certificates);
  lua_setfield(L, -2, "certificates");
}
