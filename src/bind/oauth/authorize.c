#include "oauth/authorize.h"

#include "bind/crypto/context.h"
#include "bind/lua/secret.h"
#include "bind/oauth/oauth.h"
#include "oauth/callback.h"

/* ---- the box of what must come back ---- */

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

static struct bytes choice_member(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool given = !lua_isnil(L, -1), wanted = lua_toboolean(L, -1);
  lua_pop(L, 1);
  return bytes_of(!given ? NULL : wanted ? "true" : "false");
}

static struct authorize read_authorize(lua_State *L) {
  return (struct authorize){
      .page = text_member(L, 1, "page"),
      .client_id = text_member(L, 1, "client_id"),
      .redirect_uri = text_member(L, 1, "redirect_uri"),
      .scope = text_member(L, 1, "scope"),
      .locale = text_member(L, 1, "locale"),
      .prompt = text_member(L, 1, "prompt"),
      .login_hint = text_member(L, 1, "login_hint"),
      .prompt_missing_scopes = choice_member(L, "prompt_missing_scopes"),
      .require_requested_scopes = choice_member(L, "require_requested_scopes"),
      .show_keypair_step = choice_member(L, "show_keypair_step"),
  };
}

static void set_text(lua_State *L, const char *name, const struct buf *text) {
  if (!text->size) return;
  push_buf(L, text);
  lua_setfield(L, -2, name);
}

/* core.authorize_address{ page, client_id, redirect_uri, scope, open_source, nonce, … } -> address, { state,
 * redirect_uri, nonce, code_verifier } */
static int l_authorize_address(lua_State *L) {
  struct err e = ERR_INIT;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct pending *p = new_pending(L);
  struct buf *address = push_scratch(L);
  struct authorize a = read_authorize(L);
  lua_getfield(L, 1, "open_source");
  struct crypto *c = state_crypto(L, &e);
  bool drawn = c && pending_draw(p, c, &a, lua_toboolean(L, -1), text_member(L, 1, "nonce"), &e);
  if (!drawn || !authorize_address(c, address, &a, p, &e)) return push_failure(L, &e);
  push_buf(L, address);
  lua_createtable(L, 0, 4);
  set_text(L, "state", &p->state);
  set_text(L, "nonce", &p->nonce);
  set_text(L, "code_verifier", &p->code_verifier);
  lua_getfield(L, 1, "redirect_uri");
  lua_setfield(L, -2, "redirect_uri");
  box_close(L, 2);
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

/* core.oauth_challenge(verifier) -> the S256 challenge of RFC 7636 */
static int l_challenge(lua_State *L) {
  struct err e = ERR_INIT;
  struct bytes verifier = check_bytes(L, 1);
  struct crypto *c = state_crypto(L, &e);
  struct buf *text = push_scratch(L);
  if (!c || !authorize_challenge(c, text, verifier, &e)) return push_failure(L, &e);
  push_buf(L, text);
  return 1;
}

/* ---- what comes back ---- */

/* core.callback(text, state, auth_url, token_url) -> the code as a fleet.secret; or nil, err, kind, and
 * whether the address is of this sign-in */
static int l_callback(lua_State *L) {
  struct err e = ERR_INIT;
  struct bytes text = check_bytes(L, 1);
  struct callback_expected x = {check_bytes(L, 2), luaL_checkstring(L, 3), luaL_checkstring(L, 4)};
  struct buf *code = push_secret(L);
  enum callback_end end = callback_read(text, &x, code, &e);
  if (end == CALLBACK_CODE) return 1;
  push_failure(L, &e);
  lua_pushboolean(L, end == CALLBACK_REFUSED);
  return 4;
}

void open_authorize(lua_State *L) {
  static const luaL_Reg functions[] = {{"authorize_address", l_authorize_address},
                                       {"consent_address", l_consent_address},
                                       {"oauth_challenge", l_challenge},
                                       {"callback", l_callback},
                                       {NULL, NULL}};
  box_define(L, &pending_type);
  lua_pop(L, 1);
  luaL_setfuncs(L, functions, 0);
}
