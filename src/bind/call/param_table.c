#include "bind/call/handles.h"
#include "bind/call/param_values.h"
#include "bind/signing/context.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The table of parameters as a whole: its names, what is missing, one value after the other. */

bool in_param_table(const struct plan *p, const struct param *q) {
  return q->place != IN_PATH && !handle_implies(p->row, q);
}

size_t param_names(const struct plan *p, const char **names) {
  size_t count = 0;
  for (const struct param *q = p->row->params; q && q->name && count < MOST_PARAMS; q++)
    if (in_param_table(p, q)) names[count++] = q->name;
  return count;
}

/* The three histories of the service name the ends of a range in three ways. */
static const char *const range_names[][3] = {{"start_date", "startTime", "date_from"},
                                             {"end_date", "endTime", "date_to"}};

/* The name that this row has for the end of a range that is given by another one, or NULL. */
static const char *range_name(const struct plan *p, const char *given) {
  const char *own = NULL;
  for (size_t i = 0; i < sizeof range_names / sizeof *range_names; i++) {
    bool is_one = false;
    for (int j = 0; j < 3; j++) is_one |= strcmp(range_names[i][j], given) == 0;
    for (int j = 0; is_one && j < 3; j++)
      if (param_named(p->row, range_names[i][j], strlen(range_names[i][j]))) own = range_names[i][j];
  }
  return own;
}

/* An option among the parameters: the error says where it belongs. */
static void unknown_parameter(const struct plan *p, const char *given, const char *const *names,
                              size_t count) {
  for (const struct option *o = call_option_rows; o->name; o++)
    if (strcmp(o->name, given) == 0)
      call_usage_error(p, "'%s' is an option of the call: it stands in the table after the parameters",
                       given);
  const char *own = range_name(p, given);
  if (own) call_usage_error(p, "unknown parameter '%s': here it is '%s'", given, own);
  unknown_name(p, "parameter", given, names, count);
}

/* An older name of a parameter; both names at once are a mistake. */
static bool is_former_name(const struct plan *p, const char *given) {
  for (const struct param *q = p->row->params; q && q->name; q++) {
    if (!q->former || strcmp(q->former, given) != 0) continue;
    if (lua_getfield(p->L, p->params, q->name) != LUA_TNIL)
      call_usage_error(p, "'%s' is the older name of '%s': give one of them", q->former, q->name);
    lua_pop(p->L, 1);
    return true;
  }
  return false;
}

static void check_names(const struct plan *p) {
  const char *names[MOST_PARAMS];
  size_t count = param_names(p, names);
  for (lua_pushnil(p->L); lua_next(p->L, p->params); lua_pop(p->L, 1)) {
    if (lua_type(p->L, -2) != LUA_TSTRING)
      call_usage_error(p, "parameters are given by name, as { %s = ... }", count ? names[0] : "name");
    const char *given = lua_tostring(p->L, -2);
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = strcmp(names[i], given) == 0;
    if (!known && !is_former_name(p, given)) unknown_parameter(p, given, names, count);
  }
}

/* Whether the parameter was given with just this boolean. */
static bool is_boolean(const struct plan *p, const char *name, bool value) {
  bool is = lua_getfield(p->L, p->params, name) == LUA_TBOOLEAN && lua_toboolean(p->L, -1) == value;
  lua_pop(p->L, 1);
  return is;
}

static const char *next_word(const char *words, char word[static 64]) {
  size_t size = strcspn(words, " ");
  snprintf(word, 64, "%.*s", (int)size, words);
  return words + size + strspn(words + size, " ");
}

static bool all_false(const struct plan *p, const char *words) {
  char word[64];
  while (*words) {
    words = next_word(words, word);
    if (!is_boolean(p, word, false)) return false;
  }
  return true;
}

static void check_one_true(const struct plan *p) {
  for (const struct param *q = p->row->params; q && q->name; q++)
    if (q->one_true && is_boolean(p, q->name, true) && all_false(p, q->one_true))
      call_usage_error(p, "one of these must be true: %s", q->one_true);
}

void check_table(const struct plan *p) {
  if (!p->params || p->row->flags & ROW_BODY_AS_GIVEN) return;
  check_names(p);
  check_one_true(p);
}

static bool switched_off(const struct plan *p) {
  for (const struct param *q = p->row->params; q->name; q++)
    if (q->flags & SWITCH) return is_boolean(p, q->name, false);
  return false;
}

/* What another parameter switches on: a vehicle takes a missing time for midnight. fleet.command writes the
 * message without a time, as the published tools do; it needs a PIN as well. */
static void check_required_with(const struct plan *p, const struct param *q) {
  char word[64];
  if (!q->required_with || !p->params || switched_off(p)) return;
  if (!p->request && !(q->flags & PIN)) return;
  for (const char *at = q->required_with; *at;) {
    at = next_word(at, word);
    if (is_boolean(p, word, true)) call_usage_error(p, "'%s' is missing: '%s' is true", q->name, word);
  }
}

static void missing(const struct plan *p, const struct param *q) {
  const char *about = q->unit ? q->unit : q->doc;
  call_usage_error(p, "'%s' is missing%s%s%s", q->name, about ? " (" : "", about ? about : "",
                   about ? ")" : "");
}

static bool push_given(const struct plan *p, const char *name) {
  if (!p->params || !name) return false;
  if (lua_getfield(p->L, p->params, name) != LUA_TNIL) return true;
  lua_pop(p->L, 1);
  return false;
}

static bool push_fallback(const struct plan *p, const struct param *q) {
  char now[32];
  snprintf(now, sizeof now, "%.0f", floor(system_wall_clock() * 1000));
  const char *text = q->flags & NOW ? now : q->fallback;
  if (text) lua_pushstring(p->L, text);
  return text != NULL;
}

/* The list at the top becomes one text. */
static void join(const struct plan *p, const struct param *q) {
  int list = lua_gettop(p->L);
  lua_Integer count = luaL_len(p->L, list);
  struct buf *text = push_scratch(p->L);
  if (count == 0) call_usage_error(p, "'%s' must be a text, or a list with at least one", q->name);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(p->L, list, i);
    struct bytes one = string_value(p, q, lua_gettop(p->L));
    if (i > 1) buf_put(text, ',');
    buf_add(text, one.data, one.size);
    lua_pop(p->L, 1);
  }
  push_buf(p->L, text);
  lua_replace(p->L, list);
  box_close(p->L, list + 1);
  lua_settop(p->L, list);
}

/* The text at the top becomes a table of it. */
static void wrap_member(const struct plan *p, const char *member) {
  lua_createtable(p->L, 0, 1);
  lua_insert(p->L, -2);
  lua_setfield(p->L, -2, member);
}

/* Pushes the value of a parameter and says whether there is one. */
bool push_param(const struct plan *p, const struct param *q) {
  if (handle_implies(p->row, q)) {
    handle_push_id(p->L, p->handle);
    return true;
  }
  if (push_given(p, q->name) || push_given(p, q->former)) {
    if (q->flags & JOINED && lua_istable(p->L, -1)) join(p, q);
    if (q->member && lua_type(p->L, -1) == LUA_TSTRING) wrap_member(p, q->member);
    return true;
  }
  if (push_fallback(p, q)) return true;
  if (q->flags & (REQUIRED | FROM_STATE)) missing(p, q);
  check_required_with(p, q);
  return false;
}

void check_any(const struct plan *p, size_t given) {
  const char *names[MOST_PARAMS];
  if (p->row->flags & ROW_ANY_OF && given == 0 && param_names(p, names) > 0)
    call_usage_error(p, "at least one parameter is needed, such as '%s'", names[0]);
}

const struct param *param_named(const struct row *row, const char *name, size_t size) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (strlen(q->name) == size && memcmp(q->name, name, size) == 0) return q;
  return NULL;
}
