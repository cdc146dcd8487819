#include "stream/bind_certificates.h"

#include "stream/inspect.h"
#include "stream/issue.h"
#include "stream/trust.h"

#include <string.h>

static const char *text_member(lua_State *L, const char *name, bool needed) {
  lua_getfield(L, 1, name);
  if (lua_isnil(L, -1) && !needed) return NULL;
  struct bytes text = {NULL, 0};
  if (lua_type(L, -1) == LUA_TSTRING) text = check_bytes(L, -1);
  if (!text.data || memchr(text.data, 0, text.size)) usage_error(L, "option '%s' must be a text", name);
  return (const char *)text.data; /* stays on the stack */
}

/* issue { subject =, host =, usage =, authority =, days =, issuer =, issuer_key = } -> certificate, key |
 * nil, err, kind: PEM texts */
static int l_issue(lua_State *L) {
  static const char *const names[] = {"subject", "host",   "usage",     "authority",
                                      "days",    "issuer", "issuer_key"};
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_options(L, 1, names, sizeof names / sizeof *names);
  struct issue wanted = {.subject = text_member(L, "subject", true),
                         .host = text_member(L, "host", false),
                         .usage = text_member(L, "usage", false),
                         .issuer = bytes_of(text_member(L, "issuer", false)),
                         .issuer_key = bytes_of(text_member(L, "issuer_key", false))};
  lua_getfield(L, 1, "authority");
  wanted.authority = lua_toboolean(L, -1);
  lua_getfield(L, 1, "days");
  wanted.days = (long)luaL_checkinteger(L, -1);
  struct buf *certificate = push_scratch(L), *key = push_scratch(L);
  if (!issue_certificate(&wanted, certificate, key, &e)) return push_failure(L, &e);
  push_buf(L, certificate);
  push_buf(L, key);
  return 2;
}

/* Certificates in a box, so that a raise leaks nothing. */
struct certificates {
  STACK_OF(X509) * all;
};

static void release_certificates(void *object) {
  sk_X509_pop_free(((struct certificates *)object)->all, X509_free);
}

static const struct box_type certificates_type = {"fleet.stream.certificates", release_certificates, NULL,
                                                  NULL};

static void push_hosts(lua_State *L, X509 *certificate) {
  struct buf *hosts = push_scratch(L);
  certificate_hosts(certificate, hosts);
  lua_newtable(L);
  for (const char *at = buf_text(hosts), *end; (end = strchr(at, '\n')); at = end + 1) {
    lua_pushlstring(L, at, (size_t)(end - at));
    list_append(L, lua_gettop(L) - 1);
  }
  lua_remove(L, -2);
}

static void push_facts(lua_State *L, X509 *certificate, const struct certificate_facts *f) {
  lua_createtable(L, 0, 9);
  set_text(L, "subject", f->subject);
  set_text(L, "issuer", f->issuer);
  set_text(L, "fingerprint", f->fingerprint);
  set_integer(L, "from", (lua_Integer)f->from);
  set_integer(L, "until_utc", (lua_Integer)f->until);
  set_boolean(L, "authority", f->authority);
  set_boolean(L, "self_issued", f->self_issued);
  push_hosts(L, certificate);
  lua_setfield(L, -2, "hosts");
}

/* certificates(pem) -> list of { subject =, issuer =, fingerprint =, from =, until_utc =, authority =,
 * self_issued =, hosts = } | nil, err, kind */
static int l_certificates(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes pem = check_bytes(L, 1);
  struct certificates *c = box_new(L, &certificates_type, sizeof *c, 0);
  int box = lua_gettop(L);
  c->all = certificates_of(pem, "the text", &e);
  if (!c->all) return push_failure(L, &e);
  box_open(L, box);
  lua_createtable(L, sk_X509_num(c->all), 0);
  for (int i = 0; i < sk_X509_num(c->all); i++) {
    struct certificate_facts facts;
    if (!certificate_facts(sk_X509_value(c->all, i), &facts, &e)) return push_failure(L, &e);
    push_facts(L, sk_X509_value(c->all, i), &facts);
    lua_rawseti(L, -2, i + 1);
  }
  box_close(L, box);
  return 1;
}

/* verify_server(chain, authorities, host, alone, at = now) -> true | nil, err, kind: as a vehicle does.
 * alone: without the certificates that the server sends beside its own */
static int l_verify_server(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes chain_pem = check_bytes(L, 1), ca_pem = check_bytes(L, 2);
  const char *host = luaL_checkstring(L, 3);
  bool alone = lua_toboolean(L, 4);
  lua_Integer at = luaL_optinteger(L, 5, 0);
  STACK_OF(X509) *chain = certificates_of(chain_pem, "chain", &e);
  STACK_OF(X509) *authorities = chain ? certificates_of(ca_pem, "client_ca", &e) : NULL;
  bool good = authorities && trust_server(chain, authorities, host, alone, (int64_t)at, &e);
  sk_X509_pop_free(chain, X509_free);
  sk_X509_pop_free(authorities, X509_free);
  if (!good) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

/* key_fits(certificate, key) -> true | nil, err, kind */
static int l_key_fits(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes certificate = check_bytes(L, 1), key = check_bytes(L, 2);
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  bool good = context ? use_chain(context, certificate, key, &e) : err_out_of_memory(&e);
  SSL_CTX_free(context);
  if (!good) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

void open_stream_certificates(lua_State *L) {
  static const luaL_Reg functions[] = {{"issue", l_issue},
                                       {"certificates", l_certificates},
                                       {"verify_server", l_verify_server},
                                       {"key_fits", l_key_fits},
                                       {NULL, NULL}};
  box_define(L, &certificates_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
