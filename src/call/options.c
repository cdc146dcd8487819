/* The options of one call, its last argument: checked against their rows. */
#include "call/arguments.h"

#include <string.h>

enum { MOST_OPTIONS = 20 };

const char *const token_kind_names[] = {NULL, "user", "partner", "business"};

bool row_is_write(const struct row *row) {
  return row->verb[0] != 'G' && !(row->flags & ROW_READ);
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

/* Why an option has no effect for a row. force is absent: it is accepted everywhere. */
static const char *const why_not[] = {
    [FOR_LIVE] = "calls that need the vehicle awake: this one does not",
    [FOR_WRITES] = "calls that change something: this one may always be repeated",
    [FOR_CHANGES] =
        "commands and energy settings: the reply to this call does not say whether it changed anything",
    [FOR_SETTINGS] = "energy settings: this call is not read back",
};

/* false is accepted where it is the default. */
static void check_concern(const struct arguments *a, const struct option *o, const struct node *value) {
  if (option_concerns(o, a->row) || !why_not[o->rows] || !node_is(value, NODE_BOOLEAN)) return;
  if (!o->fallback || value->boolean) mistake(a, "option '%s' is for %s", o->name, why_not[o->rows]);
}

static const struct option *option_named(const struct node *given) {
  for (const struct option *o = call_option_rows; o->name; o++)
    if (given->key == KEY_NAME && bytes_equal(given->name, bytes_of(o->name))) return o;
  return NULL;
}

static void check_names(const struct arguments *a) {
  const char *names[MOST_OPTIONS];
  size_t count = 0;
  for (const struct option *o = call_option_rows; o->name && count < MOST_OPTIONS; o++)
    names[count++] = o->name;
  for (const struct node *given = a->options->first; given; given = given->next) {
    const struct option *o = option_named(given);
    if (given->key != KEY_NAME) mistake(a, "options are given by name, as { timeout = 10 }");
    if (o)
      check_concern(a, o, given);
    else
      unknown_name(a, "option", given->name, names, count);
  }
}

/* The option as given, also null; NULL: absent. */
static const struct node *option_value(const struct arguments *a, const char *name) {
  for (const struct node *given = a->options->first; given; given = given->next)
    if (given->key == KEY_NAME && bytes_equal(given->name, bytes_of(name))) return given;
  return NULL;
}

static bool flag_option(const struct arguments *a, const char *name, bool fallback) {
  const struct node *value = option_value(a, name);
  if (!value) return fallback;
  if (!node_is(value, NODE_BOOLEAN)) return mistake(a, "option '%s' must be true or false", name);
  return value->boolean;
}

static double timeout_option(const struct arguments *a) {
  const struct option *o = call_option_rows; /* the first */
  const struct node *value = option_value(a, "timeout");
  double seconds = 0;
  if (!value) return 0;
  if (!node_as_number(value, &seconds) || !(seconds >= o->min && seconds <= o->max))
    mistake(a, "option 'timeout' must be seconds, %.14g to %.14g", o->min, o->max);
  return seconds;
}

static enum token_kind auth_option(const struct arguments *a) {
  const struct node *value = option_value(a, "auth");
  if (!value) return TOKEN_END;
  for (int i = TOKEN_USER; i <= TOKEN_BUSINESS; i++)
    if (node_is(value, NODE_TEXT) && bytes_equal(value->text, bytes_of(token_kind_names[i])))
      return (enum token_kind)i;
  mistake(a, "option 'auth' must be 'user', 'partner' or 'business'");
  return TOKEN_END;
}

void read_call_options(const struct arguments *a, struct call_options *out) {
  const struct row *row = a->row;
  *out = (struct call_options){0};
  out->idempotent = row->flags & ROW_IDEMPOTENT || !row_is_write(row) ||
                    (row->flags & ROW_IDEMPOTENT_WITH_ID && node_member(a->params, "id"));
  if (!a->options) return;
  check_names(a);
  out->timeout = timeout_option(a);
  out->token_kind = auth_option(a);
  out->idempotent = flag_option(a, "idempotent", out->idempotent);
  out->strict = flag_option(a, "strict", false);
  out->raw = flag_option(a, "raw", false);
  out->wake = flag_option(a, "wake", false);
  out->force = flag_option(a, "force", false);
  out->read_back = flag_option(a, "read_back", false);
  if (out->raw && row->paging != PAGED_NO)
    mistake(a, "option 'raw' is not for pages, which are put together here");
}
