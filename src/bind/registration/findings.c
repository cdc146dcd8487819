/* The application's key in its places: here, hosted, registered, on the vehicle. "Key not paired" has six
 * causes (doc/protocol.md#registration), and which of them it is shows only when the places are compared.
 */
#include "bind/lua/bind.h"

#include "base/hostname.h"
#include "bind/crypto/context.h"
#include "bind/registration/line.h"
#include "crypto/key.h"

#include <ctype.h>
#include <string.h>

/* In the order in which they are looked for. */
static const struct {
  const char *name, *doc;
} causes[] = {
    {"no_key",
     "there is no usable private key here: absent, public, RSA, of a TLS certificate, open to others"},
    {"not_hosted", "the public key cannot be fetched from the domain, or something else stands there"},
    {"not_registered", "the domain is not registered in this region: it was never, or another one was"},
    {"replaced", "the hosted key is not the registered one"},
    {"wrong_key", "the key here is not the registered one: vehicles know another"},
    {"not_accepted", "the owner has not added the key to this vehicle"},
};

/* registration.causes() -> list of { name =, doc = } */
static int l_causes(lua_State *L) {
  lua_newtable(L);
  for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
    lua_createtable(L, 0, 2);
    set_text(L, "name", causes[i].name);
    set_text(L, "doc", causes[i].doc);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

/* ---- the facts ---- */

/* What is known of a place. The texts belong to the facts, which stay on the stack. */
struct key_place {
  bool given, missing;
  struct bytes key; /* 65 bytes, or empty */
  const char *problem, *fix, *url;
};

struct facts {
  lua_State *L;
  int lines; /* the list, a place on the stack */
  struct key_place key, hosted, registered;
  const char *domain, *region;
};

static const char *text_of(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
  lua_pop(L, 1);
  return text;
}

static struct key_place place_of(lua_State *L, int facts, const char *name) {
  struct key_place p = {0};
  if (lua_getfield(L, facts, name) == LUA_TTABLE) {
    int table = lua_gettop(L);
    lua_getfield(L, table, "bytes");
    if (lua_type(L, -1) == LUA_TSTRING) p.key = check_bytes(L, table + 1);
    luaL_argcheck(L, !p.key.size || p.key.size == PUBLIC_SIZE, facts, "a public key has 65 bytes");
    lua_getfield(L, table, "missing");
    p.given = true, p.missing = lua_toboolean(L, -1);
    p.problem = text_of(L, table, "problem"), p.fix = text_of(L, table, "fix");
    p.url = text_of(L, table, "url");
    lua_settop(L, table);
  }
  lua_pop(L, 1);
  return p;
}

/* ---- the lines ---- */

enum { SHORT = 16 }; /* digits of a fingerprint, enough to tell two keys apart */

/* Pushes the beginning of a fingerprint. */
static const char *push_short(lua_State *L, struct bytes key) {
  struct err e;
  err_clear(&e);
  struct crypto *c = state_crypto(L, &e);
  struct buf *hex = push_scratch(L);
  if (!c || !key_public_fingerprint(c, key.data, hex)) luaL_error(L, "out of memory");
  lua_pushlstring(L, buf_text(hex), SHORT);
  lua_remove(L, -2);
  return lua_tostring(L, -1);
}

static void add_line(const struct facts *f, struct line line) {
  line_push(f->L, &line);
  list_append(f->L, f->lines);
  lua_settop(f->L, f->lines);
}

static void look_here(const struct facts *f) {
  if (f->key.key.size) {
    const char *print = push_short(f->L, f->key.key);
    add_line(f, (struct line){"key", LINE_GOOD, .message = lua_pushfstring(f->L, "fingerprint %s", print)});
    return;
  }
  add_line(f,
           (struct line){"key", LINE_BAD, "no_key", f->key.problem ? f->key.problem : "the client has no key",
                         "name the private key of the application with 'key', or make one with 'fleet "
                         "keygen'"});
}

static void look_hosted(const struct facts *f) {
  const struct key_place *p = &f->hosted;
  if (p->key.size)
    add_line(f, (struct line){"hosted key", LINE_GOOD, .message = p->url});
  else
    add_line(f, (struct line){"hosted key", LINE_BAD, "not_hosted",
                              lua_pushfstring(f->L, "%s: %s", p->url ? p->url : "", p->problem), p->fix});
}

static void look_registered(const struct facts *f) {
  const struct key_place *p = &f->registered;
  if (p->key.size) {
    const char *text = lua_pushfstring(f->L, "%s in %s", f->domain, f->region);
    add_line(f, (struct line){"registration", LINE_GOOD, .message = text});
  } else if (p->missing) {
    const char *text = lua_pushfstring(f->L, "%s is not registered in %s", f->domain, f->region);
    add_line(f, (struct line){"registration", LINE_BAD, "not_registered", text,
                              "run 'fleet setup', or look whether another domain was registered"});
  } else {
    const char *text = lua_pushfstring(f->L, "could not be looked at: %s", p->problem);
    add_line(f, (struct line){"registration", LINE_UNKNOWN, .message = text});
  }
}

static void add_comparison(const struct facts *f, const char *cause, const char *text, const char *fix) {
  add_line(f, (struct line){"comparison", cause ? LINE_BAD : LINE_GOOD, cause, text, fix});
}

static void tell_replaced(const struct facts *f) {
  bool ours = f->key.key.size && bytes_equal(f->key.key, f->registered.key);
  const char *file = push_short(f->L, f->hosted.key), *known = push_short(f->L, f->registered.key);
  add_comparison(f, "replaced",
                 lua_pushfstring(f->L, "the hosted key (%s) is not the registered one (%s)", file, known),
                 ours ? "host the public half of the key here again: it is the registered one"
                      : "register again with 'fleet setup'; owners must then pair again");
}

static void tell_wrong(const struct facts *f, struct bytes other, const char *what) {
  const char *own = push_short(f->L, f->key.key), *theirs = push_short(f->L, other);
  add_comparison(f, "wrong_key",
                 lua_pushfstring(f->L, "the key here (%s) is not the %s one (%s)", own, what, theirs),
                 "give the client the private key that belongs to it; or host the public half of this one, "
                 "register, and let owners pair again");
}

/* Which of two halves differ. */
static void compare_places(const struct facts *f) {
  struct bytes own = f->key.key, file = f->hosted.key, known = f->registered.key;
  struct bytes other = known.size ? known : file;
  const char *what = known.size ? "registered" : "hosted";
  if (file.size && known.size && !bytes_equal(file, known))
    tell_replaced(f);
  else if (own.size && other.size && !bytes_equal(own, other))
    tell_wrong(f, other, what);
  else if (own.size && other.size)
    add_comparison(f, NULL,
                   lua_pushfstring(f->L, "the same key here and %s",
                                   file.size && known.size ? "hosted and registered" : what),
                   NULL);
}

/* Whether the domain is well written; a line says it. */
static bool look_at_domain(const struct facts *f, struct bytes domain) {
  struct buf *sentence = push_scratch(f->L);
  bool wrong = domain_sentence(domain, sentence);
  if (wrong)
    add_line(f, (struct line){"domain", LINE_BAD, "not_hosted", buf_text(sentence), "mend the spelling"});
  else
    add_line(f, (struct line){"domain", LINE_GOOD, .message = f->domain});
  return !wrong;
}

/* registration.findings(facts) -> what they say, line by line (line.h). facts: domain =, region = (for the
 * sentences), key = { bytes = } or { problem = }, hosted = and registered = as registration.judge and
 * registration.registered give them; each may be nil (not looked at). A domain that is wrong as it is written
 * ends the list. */
static int l_findings(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct facts f = {.L = L, .lines = 3};
  f.key = place_of(L, 1, "key"), f.hosted = place_of(L, 1, "hosted");
  f.registered = place_of(L, 1, "registered");
  f.domain = text_of(L, 1, "domain"), f.region = text_of(L, 1, "region");
  lua_getfield(L, 1, "domain");
  struct bytes domain = f.domain ? check_bytes(L, 2) : (struct bytes){NULL, 0};
  lua_newtable(L);
  look_here(&f);
  if (!look_at_domain(&f, domain)) return 1;
  if (f.hosted.given) look_hosted(&f);
  if (f.registered.given) look_registered(&f);
  compare_places(&f);
  return 1;
}

/* ---- what the service holds ---- */

static int push_place(lua_State *L, const char *name) {
  lua_createtable(L, 0, 1);
  lua_insert(L, -2);
  lua_setfield(L, -2, name);
  return 1;
}

static int push_missing(lua_State *L) {
  lua_pushboolean(L, true);
  return push_place(L, "missing");
}

/* PEM, or the hexadecimal digits of the point. */
static bool read_public(struct bytes text, struct buf *out) {
  struct err e;
  err_clear(&e);
  unsigned char public[PUBLIC_SIZE];
  bool pem = key_public_parse(text, public, &e);
  if (pem) buf_add(out, public, sizeof public);
  return pem || (text.size == 2 * PUBLIC_SIZE && memcmp(text.data, "04", 2) == 0 && buf_unhex(out, text));
}

/* registration.registered(value, err), of partner:public_key -> { bytes = }, { missing = true } or { problem
 * = } */
static int l_registered(lua_State *L) {
  lua_settop(L, 2);
  if (lua_istable(L, 2)) {
    const char *kind = text_of(L, 2, "kind");
    if (kind && (strcmp(kind, "not_found") == 0 || strcmp(kind, "unregistered") == 0)) return push_missing(L);
    lua_getfield(L, 2, "message");
    return push_place(L, "problem");
  }
  if (lua_istable(L, 1)) lua_getfield(L, 1, "public_key");
  if (lua_type(L, -1) != LUA_TSTRING) return push_missing(L);
  struct bytes text = check_bytes(L, lua_gettop(L));
  struct buf *key = push_scratch(L);
  if (read_public(text, key)) {
    push_buf(L, key);
    return push_place(L, "bytes");
  }
  lua_pushliteral(L, "the service's answer holds no public key");
  return push_place(L, "problem");
}

/* registration.fingerprint(65 bytes) -> its beginning, enough to tell two keys apart */
static int l_short(lua_State *L) {
  struct bytes key = check_bytes(L, 1);
  luaL_argcheck(L, key.size == PUBLIC_SIZE, 1, "65 bytes expected");
  push_short(L, key);
  return 1;
}

void open_findings(lua_State *L) {
  static const luaL_Reg functions[] = {{"causes", l_causes},
                                       {"findings", l_findings},
                                       {"registered", l_registered},
                                       {"fingerprint", l_short},
                                       {NULL, NULL}};
  luaL_newlib(L, functions);
  lua_setfield(L, -2, "registration");
}
