#include "oauth/authorize.h"

#include "base/hostname.h"
#include "base/vin.h"

#include "bind/crypto/context.h"
#include "bind/lua/secret.h"
#include "bind/oauth/token.h"
#include "oauth/callback.h"

/* ---- state, nonce and verifier of a sign-in ---- */

static void release_pending(void *object) {
  pending_free(object);
}

static const struct box_type pending_type = {"fleet.pending", release_pending, NULL, NULL};

static struct pending *new_pending(lua_State *L) {
  struct pending *p = box_new(L, &pending_type, sizeof *p, 0);
  box_open(L, -1);
  return p;
}

/* ---- addresses ---- */

enum { OPTIONS = 1, CONFIG, PAGE, SCOPES, PENDING }; /* places on the stack */

static struct bytes choice_member(lua_State *L, const char *name) {
  lua_getfield(L, OPTIONS, name);
  bool given = !lua_isnil(L, -1), wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return bytes_of(!given ? NULL : wanted ? "true" : "false");
}

static struct authorize read_authorize(lua_State *L) {
  return (struct authorize){
      .page = check_bytes(L, PAGE),
      .client_id = text_member(L, CONFIG, "client_id"),
      .redirect_uri = text_member(L, CONFIG, "redirect_uri"),
      .scope = check_bytes(L, SCOPES),
      .locale = text_member(L, OPTIONS, "locale"),
      .prompt = text_member(L, OPTIONS, "prompt"),
      .login_hint = text_member(L, OPTIONS, "login_hint"),
      .prompt_missing_scopes = choice_member(L, "prompt_missing_scopes"),
      .require_requested_scopes = choice_member(L, "require_requested_scopes"),
      .show_keypair_step = choice_member(L, "show_keypair_step"),
  };
}

static bool has_secret(lua_State *L) {
  bool given = lua_getfield(L, CONFIG, "client_secret") != LUA_TNIL;
  lua_pop(L, 1);
  return given;
}

/* core.authorize_address(options, config, page) -> address, { state, redirect_uri, nonce, code_verifier } */
static int l_authorize_address(lua_State *L) {
  struct err e;
  err_clear(&e);
  luaL_checktype(L, OPTIONS, LUA_TTABLE);
  luaL_checktype(L, CONFIG, LUA_TTABLE);
  lua_settop(L, PAGE);
  lua_getfield(L, OPTIONS, "scopes");
  struct pending *p = new_pending(L);
  struct buf *address = push_scratch(L);
  struct authorize a = read_authorize(L);
  struct crypto *c = state_crypto(L, &e);
  bool drawn = c && pending_draw(p, c, &a, !has_secret(L), text_member(L, OPTIONS, "nonce"), &e);
  if (!drawn || !authorize_address(c, address, &a, p, &e)) return push_failure(L, &e);
  push_buf(L, address);
  lua_createtable(L, 0, 4);
  set_buf(L, "state", &p->state);
  set_buf(L, "nonce", &p->nonce);
  set_buf(L, "code_verifier", &p->code_verifier);
  lua_getfield(L, CONFIG, "redirect_uri");
  lua_setfield(L, -2, "redirect_uri");
  box_close(L, PENDING);
  return 2;
}

/* core.consent_address(page, client_id or nil, back_url or nil) -> address */
static int l_consent_address(lua_State *L) {
  struct bytes none = {NULL, 0};
  struct bytes page = check_bytes(L, 1);
  struct bytes client_id = lua_isnoneornil(L, 2) ? none : check_bytes(L, 2);
  struct bytes back_url = lua_isnoneornil(L, 3) ? none : check_bytes(L, 3);
  struct buf *address = push_scratch(L);
  consent_address(address, page, client_id, back_url);
  push_buf(L, address);
  return 1;
}

static void check_vin(lua_State *L, int index) {
  if (lua_isnil(L, index)) return;
  if (lua_type(L, index) != LUA_TSTRING || !is_vin(check_bytes(L, index)))
    usage_error(L, "pairing_url: 'vin' is not a VIN: " VIN_SPELLING);
}

/* core.pairing_address(page, domain, vin or nil) -> address; raises for a wrong domain or VIN */
static int l_pairing_address(lua_State *L) {
  luaL_checkstring(L, 1);
  lua_settop(L, 3);
  struct buf *wrong = push_scratch(L);
  if (domain_sentence(lua_type(L, 2) == LUA_TSTRING ? check_bytes(L, 2) : bytes_of(NULL), wrong))
    return usage_error(L, "pairing_url: %s", buf_text(wrong));
  check_vin(L, 3);
  bool car = !lua_isnil(L, 3);
  lua_pushfstring(L, "%s%s%s%s", lua_tostring(L, 1), lua_tostring(L, 2), car ? "?vin=" : "",
                  car ? lua_tostring(L, 3) : "");
  return 1;
}

/* core.oauth_challenge(verifier) -> the S256 challenge of RFC 7636 */
static int l_challenge(lua_State *L) {
  struct err e;
  err_clear(&e);
  struct bytes verifier = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  struct buf *text = push_scratch(L);
  if (!c || !authorize_challenge(c, text, verifier, &e)) return push_failure(L, &e);
  push_buf(L, text);
  return 1;
}

/* ---- the callback ---- */

/* A member of the second result of authorize_url. The table keeps the text. */
static struct bytes pending_member(lua_State *L, const char *name) {
  bool whole = lua_istable(L, 2) && lua_getfield(L, 2, name) == LUA_TSTRING;
  if (!whole) usage_error(L, "bad argument #2 to 'authorize': the second result of authorize_url expected");
  struct bytes text = check_bytes(L, -1);
  lua_pop(L, 1);
  return text;
}

/* core.callback(text, pending, auth_url, token_url) -> the code as a fleet.secret; or nil, err, kind, and
 * whether the address is of this sign-in */
static int l_callback(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (lua_type(L, 1) != LUA_TSTRING)
    return usage_error(L, "bad argument #1 to 'authorize': the callback address expected");
  pending_member(L, "redirect_uri");
  struct callback_expected x = {pending_member(L, "state"), luaL_checkstring(L, 3), luaL_checkstring(L, 4)};
  struct buf *code = push_secret(L);
  enum callback_end end = callback_read(check_bytes(L, 1), &x, code, &e);
  if (end == CALLBACK_CODE) return 1;
  push_failure(L, &e);
  lua_pushboolean(L, end == CALLBACK_REFUSED);
  return 4;
}

void open_authorize(lua_State *L) {
  static const luaL_Reg functions[] = {{"authorize_address", l_authorize_address},
                                       {"consent_address", l_consent_address},
                                       {"pairing_address", l_pairing_address},
                                       {"oauth_challenge", l_challenge},
                                       {"callback", l_callback},
                                       {NULL, NULL}};
  box_define(L, &pending_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
