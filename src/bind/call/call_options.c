#include "bind/call/call_options.h"

#include <string.h>

enum { MOST_OPTIONS = 20 };

static bool flag_option(const struct plan *p, const char *name, bool fallback) {
  bool value = fallback;
  if (lua_getfield(p->L, p->options, name) != LUA_TNIL) {
    if (!lua_isboolean(p->L, -1)) call_usage_error(p, "option '%s' must be true or false", name);
    value = lua_toboolean(p->L, -1);
  }
  lua_pop(p->L, 1);
  return value;
}

static void not_seconds(const struct plan *p, const struct option *o) {
  struct buf *range = push_scratch(p->L);
  buf_format(range, "%.14g to %.14g", o->min, o->max);
  call_usage_error(p, "option 'timeout' must be seconds, %s", buf_text(range));
}

static double timeout_option(const struct plan *p) {
  double value = 0;
  if (lua_getfield(p->L, p->options, "timeout") != LUA_TNIL) {
    const struct option *o = call_option_rows; /* the first */
    value = lua_type(p->L, -1) == LUA_TNUMBER ? lua_tonumber(p->L, -1) : 0;
    if (!(value >= o->min && value <= o->max)) not_seconds(p, o);
  }
  lua_pop(p->L, 1);
  return value;
}

static enum token_kind token_kind_named(const char *name) {
  for (int i = TOKEN_USER; i <= TOKEN_BUSINESS; i++)
    if (strcmp(token_kind_names[i], name) == 0) return (enum token_kind)i;
  return TOKEN_END;
}

static enum token_kind auth_option(const struct plan *p) {
  enum token_kind value = TOKEN_END;
  if (lua_getfield(p->L, p->options, "auth") != LUA_TNIL) {
    if (lua_type(p->L, -1) == LUA_TSTRING) value = token_kind_named(lua_tostring(p->L, -1));
    if (value == TOKEN_END) call_usage_error(p, "option 'auth' must be 'user', 'partner' or 'business'");
  }
  lua_pop(p->L, 1);
  return value;
}

static bool has_forced_value(const struct row *row) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (q->forced) return true;
  return false;
}

bool option_concerns(const struct option *o, const struct row *row) {
  switch (o->rows) {
  case FOR_ALL:
    return true;
  case FOR_LIVE:
    return row->flags & ROW_LIVE;
  case FOR_WRITES:
    return row_is_write(row);
  case FOR_CHANGES:
    return row->flags & (ROW_COMMAND | ROW_SETTING);
  case FOR_FORCED:
    return row->billing != BILLED_FREE || row->flags & (ROW_DEPRECATED | ROW_CHECKED) ||
           has_forced_value(row);
  case FOR_SETTINGS:
    return row->flags & ROW_SETTING;
  }
  return false;
}

/* Only force is harmless where nothing is refused: it promises nothing. */
static const char *const why_not[] = {
    [FOR_LIVE] = "calls that need the vehicle awake: this one does not",
    [FOR_WRITES] = "calls that change something: this one may always be repeated",
    [FOR_CHANGES] =
        "commands and energy settings: the reply to this call does not say whether it changed anything",
    [FOR_SETTINGS] = "energy settings: this call is not read back",
};

/* An option that would do nothing is refused; false, where that is its default, says nothing. The value is at
 * the top. */
static void check_concern(const struct plan *p, const char *name) {
  const struct option *o = call_option_rows;
  while (strcmp(o->name, name) != 0) o++;
  if (option_concerns(o, p->row) || !why_not[o->rows]) return;
  if (o->fallback && lua_isboolean(p->L, -1) && !lua_toboolean(p->L, -1)) return;
  if (lua_isboolean(p->L, -1)) call_usage_error(p, "option '%s' is for %s", name, why_not[o->rows]);
}

static void check_option_names(const struct plan *p) {
  const char *names[MOST_OPTIONS];
  size_t count = 0;
  for (const struct option *o = call_option_rows; o->name && count < MOST_OPTIONS; o++)
    names[count++] = o->name;
  for (lua_pushnil(p->L); lua_next(p->L, p->options); lua_pop(p->L, 1)) {
    const char *given = lua_type(p->L, -2) == LUA_TSTRING ? lua_tostring(p->L, -2) : "?";
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = strcmp(names[i], given) == 0;
    if (!known) unknown_name(p, "option", given, names, count);
    check_concern(p, given);
  }
}

static bool idempotent_by_id(const struct plan *p) {
  if (!(p->row->flags & ROW_IDEMPOTENT_WITH_ID) || !p->params) return false;
  bool given = lua_getfield(p->L, p->params, "id") != LUA_TNIL;
  lua_pop(p->L, 1);
  return given;
}

void read_call_options(struct plan *p) {
  struct request *r = p->request;
  r->idempotent = p->row->flags & ROW_IDEMPOTENT || !request_is_write(r) || idempotent_by_id(p);
  if (!p->options) return;
  check_option_names(p);
  r->timeout = timeout_option(p);
  r->token_kind = auth_option(p);
  r->idempotent = flag_option(p, "idempotent", r->idempotent);
  r->strict = flag_option(p, "strict", false);
  r->raw = flag_option(p, "raw", false);
  r->wake = flag_option(p, "wake", false);
  r->force = flag_option(p, "force", false);
  r->read_back = flag_option(p, "read_back", false);
  if (r->raw && p->row->paging != PAGED_NO)
    call_usage_error(p, "option 'raw' is not for pages, which are put together here");
}
