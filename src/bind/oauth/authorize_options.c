/* The options of a sign-in's address, checked before anything is drawn. */
#include "bind/oauth/oauth.h"

enum { OPTIONS = 1, CONFIG, PAGE, CALL, NAME, VALUE }; /* places on the stack */

enum { TEXT, CHOICE /* of third-party apps only */ };

static const struct {
  const char *name;
  int kind;
} rows[] = {{"locale", TEXT},
            {"login_hint", TEXT},
            {"nonce", TEXT},
            {"prompt", TEXT},
            {"prompt_missing_scopes", CHOICE},
            {"require_requested_scopes", CHOICE},
            {"scopes", TEXT},
            {"show_keypair_step", CHOICE}};

enum { ROWS = sizeof rows / sizeof *rows };

static int unknown(lua_State *L) {
  const char *names[ROWS];
  for (size_t i = 0; i < ROWS; i++) names[i] = rows[i].name;
  struct buf *sentence = push_scratch(L);
  unknown_sentence(sentence, "option", luaL_tolstring(L, NAME, NULL), names, ROWS);
  return usage_error(L, "%s: %s", lua_tostring(L, CALL), buf_text(sentence));
}

static void check_one(lua_State *L, bool open_source) {
  size_t i = 0;
  bool text = lua_type(L, NAME) == LUA_TSTRING;
  while (i < ROWS && !(text && bytes_equal(check_bytes(L, NAME), bytes_of(rows[i].name)))) i++;
  if (i == ROWS) {
    unknown(L);
    return;
  }
  if (rows[i].kind == CHOICE && open_source)
    usage_error(L, "%s: '%s' is for third-party apps; an open-source app has none (set client_secret)",
                lua_tostring(L, CALL), rows[i].name);
  if (rows[i].kind == CHOICE && !lua_isboolean(L, VALUE))
    usage_error(L, "%s: '%s' must be true or false", lua_tostring(L, CALL), rows[i].name);
  if (rows[i].kind == TEXT && lua_type(L, VALUE) != LUA_TSTRING)
    usage_error(L, "%s: '%s' must be a string", lua_tostring(L, CALL), rows[i].name);
}

static bool has(lua_State *L, const char *name) {
  lua_getfield(L, CONFIG, name);
  bool given = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return given;
}

void check_authorize(lua_State *L) {
  static const char *const needed[] = {"client_id", "redirect_uri"};
  bool open_source = !has(L, "client_secret");
  for (lua_pushnil(L); lua_next(L, OPTIONS); lua_settop(L, NAME)) check_one(L, open_source);
  for (int i = 0; i < 2; i++)
    if (!has(L, needed[i])) usage_error(L, "%s: set %s in fleet.new", lua_tostring(L, CALL), needed[i]);
}
