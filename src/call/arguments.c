/* The arguments of a call together: their names, what is missing, the plain request and the signed values. */
#include "call/arguments.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- rows and their parameters ---- */

/* NULL: the row has no such parameter. */
static const struct param *param_named(const struct row *row, const char *name, size_t size) {
  for (const struct param *q = row->params; q && q->name; q++)
    if (strlen(q->name) == size && memcmp(q->name, name, size) == 0) return q;
  return NULL;
}

bool handle_implies(const struct row *row, const struct param *q) {
  if (q->place != IN_PATH && q->place != IN_QUERY) return false;
  if (strcmp(row->handle, "vehicle") == 0) return q->type == TYPE_VIN;
  return strcmp(row->handle, "site") == 0 && strcmp(q->name, "energy_site_id") == 0;
}

static bool in_table(const struct row *row, const struct param *q) {
  return q->place != IN_PATH && !handle_implies(row, q);
}

static size_t param_names(const struct row *row, const char *names[static MOST_PARAMS]) {
  size_t count = 0;
  for (const struct param *q = row->params; q && q->name && count < MOST_PARAMS; q++)
    if (in_table(row, q)) names[count++] = q->name;
  return count;
}

bool takes_params(const struct row *row) {
  const char *names[MOST_PARAMS];
  return param_names(row, names) > 0 || row->flags & ROW_BODY_AS_GIVEN;
}

static bool is_named(const struct node *part, const char *name) {
  return part->key == KEY_NAME && bytes_equal(part->name, bytes_of(name));
}

/* The member as given, also null, which no parameter accepts; NULL: absent. */
static const struct node *member(const struct node *object, const char *name) {
  for (const struct node *part = object ? object->first : NULL; part; part = part->next)
    if (is_named(part, name)) return part;
  return NULL;
}

static const struct node *given(const struct arguments *a, const char *name) {
  return name ? member(a->params, name) : NULL;
}

/* Whether the parameter was given with just this boolean. */
static bool is_boolean(const struct arguments *a, const char *name, bool value) {
  const struct node *found = given(a, name);
  return node_is(found, NODE_BOOLEAN) && found->boolean == value;
}

/* ---- the names ---- */

/* The three histories of the service name the ends of a range in three ways. */
static const char *const range_names[][3] = {{"start_date", "startTime", "date_from"},
                                             {"end_date", "endTime", "date_to"}};

/* The name that this row has for the end of a range that is given by another one, or NULL. */
static const char *range_name(const struct row *row, const struct node *part) {
  const char *own = NULL;
  for (size_t i = 0; i < sizeof range_names / sizeof *range_names; i++) {
    bool is_one = false;
    for (int j = 0; j < 3; j++) is_one |= is_named(part, range_names[i][j]);
    for (int j = 0; is_one && j < 3; j++)
      if (param_named(row, range_names[i][j], strlen(range_names[i][j]))) own = range_names[i][j];
  }
  return own;
}

/* An option among the parameters: the error says where it belongs. */
static void unknown_parameter(const struct arguments *a, const struct node *part, const char *const *names,
                              size_t count) {
  for (const struct option *o = call_option_rows; o->name; o++)
    if (is_named(part, o->name))
      mistake(a, "'%s' is an option of the call: pass it in the table after the parameters", o->name);
  const char *own = range_name(a->row, part);
  if (own)
    mistake(a, "unknown parameter '%.*s': here it is '%s'", (int)part->name.size,
            (const char *)part->name.data, own);
  unknown_name(a, "parameter", part->name, names, count);
}

/* An older name of a parameter; both names at once are a mistake. */
static bool is_former_name(const struct arguments *a, const struct node *part) {
  for (const struct param *q = a->row->params; q && q->name; q++) {
    if (!q->former || !is_named(part, q->former)) continue;
    if (given(a, q->name)) mistake(a, "'%s' is the older name of '%s': give one of them", q->former, q->name);
    return true;
  }
  return false;
}

static void check_names(const struct arguments *a) {
  const char *names[MOST_PARAMS];
  size_t count = param_names(a->row, names);
  for (const struct node *part = a->params->first; part; part = part->next) {
    if (part->key != KEY_NAME && count)
      mistake(a, "parameters are given by name, as { %s = ... }", names[0]);
    else if (part->key != KEY_NAME)
      mistake(a, "it takes no parameters");
    bool known = false;
    for (size_t i = 0; i < count && !known; i++) known = is_named(part, names[i]);
    if (!known && !is_former_name(a, part)) unknown_parameter(a, part, names, count);
  }
}

/* ---- flags that need each other ---- */

static const char *next_word(const char *words, char word[static 64]) {
  size_t size = strcspn(words, " ");
  snprintf(word, 64, "%.*s", (int)size, words);
  return words + size + strspn(words + size, " ");
}

static bool all_false(const struct arguments *a, const char *words) {
  char word[64];
  while (*words) {
    words = next_word(words, word);
    if (!is_boolean(a, word, false)) return false;
  }
  return true;
}

void check_params(const struct arguments *a) {
  if (!a->params || a->row->flags & ROW_BODY_AS_GIVEN) return;
  check_names(a);
  for (const struct param *q = a->row->params; q && q->name; q++)
    if (q->one_true && is_boolean(a, q->name, true) && all_false(a, q->one_true))
      mistake(a, "one of these must be true: %s", q->one_true);
}

static bool is_switched_off(const struct arguments *a) {
  for (const struct param *q = a->row->params; q->name; q++)
    if (q->flags & SWITCH) return is_boolean(a, q->name, false);
  return false;
}

/* Parameters that another one makes necessary: a vehicle reads a missing time as midnight. With message_only,
 * only a PIN is necessary. */
static void check_required_with(const struct arguments *a, const struct param *q) {
  char word[64];
  if (!q->required_with || is_switched_off(a) || (a->message_only && !(q->flags & PIN))) return;
  for (const char *at = q->required_with; *at;) {
    at = next_word(at, word);
    if (is_boolean(a, word, true)) mistake(a, "'%s' is missing: '%s' is true", q->name, word);
  }
}

static void missing(const struct arguments *a, const struct param *q) {
  bool described = q->doc && q->unit;
  mistake(a, "'%s' is missing%s%s%s%s", q->name, q->doc ? ": " : "", q->doc ? q->doc : "",
          described ? ", in " : "", described ? q->unit : "");
}

/* A row with ROW_ANY_OF needs at least one parameter. */
static void check_any(const struct arguments *a, size_t count) {
  const char *names[MOST_PARAMS];
  if (a->row->flags & ROW_ANY_OF && count == 0 && param_names(a->row, names) > 0)
    mistake(a, "at least one parameter is needed, such as '%s'", names[0]);
}

/* ---- the value of a parameter ---- */

static const struct node *arena_text(const struct arguments *a, const struct buf *text) {
  if (text->failed) a->arena->failed = true;
  return node_text_copy(a->arena, buf_bytes(text));
}

static const struct node *joined(const struct arguments *a, const struct param *q, const struct node *list) {
  struct buf text = BUF_INIT;
  const struct node *one = first_element(list);
  if (!one) mistake(a, "'%s' must be a text, or a list with at least one", q->name);
  for (; one; one = next_element(one)) {
    struct bytes part = text_value(a, q, one);
    if (one->index > 1) buf_put(&text, ',');
    buf_add(&text, part.data, part.size);
  }
  const struct node *value = arena_text(a, &text);
  buf_free(&text);
  return value;
}

static const struct node *default_value(const struct arguments *a, const struct param *q) {
  if (q->flags & NOW) return node_format(a->arena, "%.0f", floor(a->wall * 1000));
  return q->fallback ? node_text(a->arena, bytes_of(q->fallback)) : NULL;
}

/* The value that is sent for a parameter: the one given, a default, or NULL. A missing one is a mistake. */
static const struct node *param_value(const struct arguments *a, const struct param *q) {
  if (handle_implies(a->row, q)) return node_text(a->arena, a->id);
  const struct node *value = given(a, q->name);
  if (!value) value = given(a, q->former);
  if (value && q->flags & JOINED && node_is_table(value)) return joined(a, q, value);
  if (value && q->member && node_is(value, NODE_TEXT)) {
    struct node *object = node_new(a->arena, NODE_OBJECT);
    node_set(object, q->member, node_text(a->arena, value->text));
    return object;
  }
  if (!value) value = default_value(a, q);
  if (value) return value;
  if (q->flags & (REQUIRED | FROM_STATE)) missing(a, q);
  if (a->params) check_required_with(a, q);
  return NULL;
}

/* A copy under the name of the parameter: an id is text, also where it is given as a number. */
static void keep_value(const struct arguments *a, const struct param *q, const struct node *value,
                       struct node *object) {
  struct buf id = BUF_INIT;
  if ((q->type == TYPE_ID || q->type == TYPE_VIN) && !node_is(value, NODE_TEXT)) {
    plain_value(a, q, value, &id);
    value = arena_text(a, &id);
  }
  node_set(object, q->name, node_copy(a->arena, value));
  buf_free(&id);
}

struct node *take_params(const struct arguments *a) {
  struct node *object = node_new(a->arena, NODE_OBJECT);
  size_t count = 0;
  for (const struct param *q = a->row->params; q && q->name; q++) {
    if (!in_table(a->row, q)) continue;
    const struct node *value = param_value(a, q);
    struct node *fresh = !value && q->flags & FRESH_ID ? node_new(a->arena, NODE_INTEGER) : NULL;
    if (fresh) fresh->integer = (int64_t)a->fresh_id, value = fresh;
    if (!value) continue;
    struct buf written = BUF_INIT; /* writing a value checks it */
    json_value(a, q, value, &written);
    buf_free(&written);
    keep_value(a, q, value, object);
    count += q->place == IN_BODY;
  }
  check_any(a, count);
  return object;
}

/* ---- the plain request ---- */

const struct param *next_placeholder(const struct row *row, const char **at) {
  const char *name = strchr(*at, '{');
  if (!name) return NULL;
  size_t size = strcspn(++name, "}");
  *at = name + size + 1;
  return param_named(row, name, size);
}

static void add_encoded(const struct arguments *a, const struct param *q, const struct node *value,
                        struct buf *target) {
  struct buf text = BUF_INIT;
  plain_value(a, q, value, &text);
  buf_percent(target, buf_bytes(&text));
  target->failed |= text.failed;
  buf_free(&text);
}

void write_path(const struct arguments *a, struct buf *target) {
  const char *from = a->row->path, *to = from;
  for (const struct param *q; (q = next_placeholder(a->row, &to)); from = to) {
    const struct node *value = member(a->path, q->name);
    if (!value && a->id.data && handle_implies(a->row, q)) value = node_text(a->arena, a->id);
    buf_add(target, from, strcspn(from, "{"));
    if (value)
      add_encoded(a, q, value, target);
    else
      mistake(a, "'%s' is missing", q->name);
  }
  buf_text_add(target, from);
}

/* lua/fleet/call/pages.lua writes these itself. */
static bool turns_pages(const struct row *row, const struct param *q) {
  static const char *const words[] = {"", "page per_page", "pageNo pageSize", "limit offset"};
  return word_in(words[row->paging], q->name, strlen(q->name));
}

static bool add_query(const struct arguments *a, struct buf *target) {
  const char *separator = "?";
  if (a->row->query) {
    buf_format(target, "?%s", a->row->query);
    separator = "&";
  }
  for (const struct param *q = a->row->params; q && q->name; q++) {
    const struct node *value = q->place == IN_QUERY ? param_value(a, q) : NULL;
    struct buf text = BUF_INIT;
    if (!value) continue;
    plain_value(a, q, value, &text);
    if (!turns_pages(a->row, q)) {
      buf_format(target, "%s%s=", separator, q->name);
      buf_percent(target, buf_bytes(&text));
      separator = "&";
    }
    target->failed |= text.failed;
    buf_free(&text);
  }
  return separator[0] == '&';
}

static void add_members(const struct arguments *a, struct buf *body) {
  size_t count = 0;
  buf_put(body, '{');
  for (const struct param *q = a->row->params; q && q->name; q++) {
    const struct node *value = q->place == IN_BODY ? param_value(a, q) : NULL;
    if (!value) continue;
    if (count++) buf_put(body, ',');
    buf_json_string(body, bytes_of(q->name));
    buf_put(body, ':');
    json_value(a, q, value, body);
  }
  buf_put(body, '}');
  check_any(a, count);
}

/* Parameters of the module itself are checked like the others and not sent. */
static void check_locals(const struct arguments *a) {
  for (const struct param *q = a->row->params; q && q->name; q++) {
    const struct node *value = q->place == IN_LOCAL ? param_value(a, q) : NULL;
    struct buf text = BUF_INIT;
    if (value && q->type != TYPE_OBJECT) plain_value(a, q, value, &text);
    buf_free(&text);
  }
}

bool write_content(const struct arguments *a, struct buf *target, struct buf *body, bool *has_body) {
  const struct row *row = a->row;
  bool has_query = add_query(a, target);
  *has_body = strcmp(row->verb, "POST") == 0;
  if (*has_body && row->flags & ROW_BODY_AS_GIVEN) {
    if (a->params)
      table_json(a, a->params, NULL, body);
    else
      buf_text_add(body, "{}");
  } else if (*has_body) {
    if (row->wrap) buf_format(body, "{\"%s\":", row->wrap);
    add_members(a, body);
    if (row->wrap) buf_put(body, '}');
  }
  check_locals(a);
  return has_query;
}

/* ---- the signed command ---- */

void signed_values(const struct arguments *a, struct value values[MOST_PARAMS]) {
  size_t i = 0;
  for (const struct param *q = a->row->params; q && q->name && i < MOST_PARAMS; q++, i++) {
    values[i] = (struct value){0};
    const struct node *value = q->place == IN_BODY ? param_value(a, q) : NULL;
    if (value) signed_value(a, q, value, &values[i]);
  }
}
