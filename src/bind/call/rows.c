#include "bind/lua/bind.h"
#include "call/arguments.h"

#include <stddef.h>
#include <string.h>

/* The tables as Lua data, for the engines, generators and specs on that side. Every call makes a fresh list,
 * so that what a caller changes in it changes nothing else. Columns keep their names; an absent one is nil.
 * One list of columns describes each struct of src/tables/rows.h: to add a column is to name it there. */

enum form {
  END, /* of the columns */
  AS_TEXT,
  AS_WORDS,  /* a text of words, as a list */
  AS_TEXTS,  /* an array that ends with NULL, as a list */
  AS_NUMBER, /* a double; nil where it is 0 */
  AS_COUNT,  /* an int; nil where it is 0 */
  AS_INTEGER,
  AS_BOOLEAN,
  AS_NAME, /* an enumeration by its names */
  AS_KIND,
  AS_OUTCOME,
  AS_FLAGS,   /* bits as booleans, in a table of this name */
  AS_MEMBERS, /* bits as booleans beside the columns */
  AS_OBJECTS  /* an array of structs, as a list; nil where it is NULL */
};

struct flag {
  unsigned bit;
  const char *name;
};

struct column {
  const char *name;
  enum form form;
  size_t offset;
  union {
    const char *const *names;
    const struct flag *flags;
    const struct shape *shape;
  };
};

/* A struct as a table. columns: the first is a text that is NULL behind the last of an array. finish: sets
 * the members that need more than a column, or NULL. */
struct shape {
  size_t size;
  const struct column *columns;
  void (*finish)(lua_State *L, const void *object);
};

static const struct shape param_shape;
static void push_objects(lua_State *L, const struct shape *shape, const void *first);

static void push_words(lua_State *L, const char *words) {
  lua_newtable(L);
  while (words && *words) {
    size_t size = strcspn(words, " ");
    lua_pushlstring(L, words, size);
    list_append(L, -2);
    words += size + strspn(words + size, " ");
  }
}

static void push_texts(lua_State *L, const char *const *texts) {
  lua_newtable(L);
  for (; *texts; texts++) {
    lua_pushstring(L, *texts);
    list_append(L, -2);
  }
}

static void set_flags(lua_State *L, const struct flag *flag, unsigned bits) {
  for (; flag->name; flag++) set_boolean(L, flag->name, (bits & flag->bit) != 0);
}

static void set_column(lua_State *L, const struct column *column, const void *object) {
  const void *at = (const char *)object + column->offset;
  switch (column->form) {
  case END:
    return;
  case AS_TEXT:
    set_text(L, column->name, *(const char *const *)at);
    return;
  case AS_WORDS:
    push_words(L, *(const char *const *)at);
    break;
  case AS_TEXTS:
    push_texts(L, *(const char *const *const *)at);
    break;
  case AS_NUMBER:
    if (*(const double *)at != 0) set_number(L, column->name, *(const double *)at);
    return;
  case AS_COUNT:
    if (*(const int *)at != 0) set_integer(L, column->name, *(const int *)at);
    return;
  case AS_INTEGER:
    set_integer(L, column->name, *(const int *)at);
    return;
  case AS_BOOLEAN:
    set_boolean(L, column->name, *(const bool *)at);
    return;
  case AS_NAME:
    set_text(L, column->name, column->names[*(const int *)at]);
    return;
  case AS_KIND:
    if (*(const enum kind *)at != KIND_none) set_text(L, column->name, kind_name(*(const enum kind *)at));
    return;
  case AS_OUTCOME:
    set_text(L, column->name, outcome_name(*(const enum outcome *)at));
    return;
  case AS_MEMBERS:
    set_flags(L, column->flags, *(const unsigned *)at);
    return;
  case AS_FLAGS:
    lua_newtable(L);
    set_flags(L, column->flags, *(const unsigned *)at);
    break;
  case AS_OBJECTS:
    if (!*(const void *const *)at) return;
    push_objects(L, column->shape, *(const void *const *)at);
    break;
  }
  lua_setfield(L, -2, column->name);
}

static void push_object(lua_State *L, const struct shape *shape, const void *object) {
  lua_newtable(L);
  for (const struct column *column = shape->columns; column->form; column++) set_column(L, column, object);
  if (shape->finish) shape->finish(L, object);
}

static void push_objects(lua_State *L, const struct shape *shape, const void *first) {
  lua_newtable(L);
  for (const char *at = first; *(const char *const *)(const void *)(at + shape->columns->offset);
       at += shape->size) {
    push_object(L, shape, at);
    list_append(L, -2);
  }
}

/* ---- words for bits and enumerations ---- */

/* clang-format off */
#define BIT(bit, word) { bit, #word }

static const struct flag param_flags[] = {
  BIT(REQUIRED, required), BIT(SECRET, secret), BIT(PIN, pin), BIT(NUMBER_AS_TEXT, number_as_text),
  BIT(SWITCH, switch), BIT(FRESH_ID, fresh_id), BIT(WHOLE, whole), BIT(FROM_STATE, from_state),
  BIT(NOW, now), BIT(FILLED, filled), BIT(JOINED, joined), BIT(OBJECT_TOO, object_too), {0}};

static const struct flag row_flags[] = {
  BIT(ROW_COMMAND, command), BIT(ROW_IDEMPOTENT, idempotent), BIT(ROW_LIVE, live),
  BIT(ROW_NEEDS_PROTOCOL, needs_protocol), BIT(ROW_EITHER_FORM, either_form),
  BIT(ROW_PLAIN_FIRST, plain_first), BIT(ROW_CHARGING_SCOPE, charging_scope), BIT(ROW_SETTING, setting),
  BIT(ROW_THIRD_PARTY, third_party), BIT(ROW_NO_BUSINESS, no_business), BIT(ROW_DEPRECATED, deprecated),
  BIT(ROW_BODY_AS_GIVEN, body_as_given), BIT(ROW_READ, read),
  BIT(ROW_IDEMPOTENT_WITH_ID, idempotent_with_id), BIT(ROW_ANY_OF, any_of), BIT(ROW_CHECKED, checked),
  BIT(ROW_UNPUBLISHED, unpublished), BIT(ROW_BY_NAME_ONLY, by_name_only), {0}};

static const struct flag value_flags[] = {
  BIT(VALUE_OBJECT, object), BIT(VALUE_LIST, list), BIT(VALUE_TEXTS, texts), BIT(VALUE_TEXT, text),
  BIT(VALUE_BOOLEAN, boolean), BIT(VALUE_NOTHING, nothing), BIT(VALUE_BYTES, bytes),
  BIT(VALUE_BASE64, base64), {0}};

static const struct flag option_flags[] = {
  BIT(SECRET, secret), {0}};

/* Lua types that an option of fleet.new takes beside its own. */
static const struct flag also_flags[] = {
  BIT(ALSO_FUNCTION, function), BIT(ALSO_TABLE, table), BIT(ALSO_OBJECT, userdata), {0}};
/* clang-format on */

/* Names of the enumerations, in their order. */
static const char *const type_names[] = {"string", "integer", "number", "boolean", "id",
                                         "vin",    "time",    "date",   "days",    "strings",
                                         "vins",   "object",  "tariff", "bytes",   "public_key"};
static const char *const place_names[] = {"path", "query", "body", "local"};
static const char *const paging_names[] = {"no", "page", "page_no", "offset"};
static const char *const domain_names[] = {NULL, NULL, "vehicle_security", "infotainment"};
static const char *const trait_names[] = {NULL, "by_state", "sign", "plain", "proxy"};
static const char *const match_names[] = {"whole", "tail", "part"};

static const char *const field_kind_names[] = {NULL,   "number", "integer",  "boolean", "text",
                                               "time", "enum",   "location", "object"};

/* ---- members that need more than a column ---- */

static void finish_choice(lua_State *L, const void *object) {
  const struct choice *c = object;
  if (c->text)
    set_text(L, "value", c->text);
  else
    set_number(L, "value", c->number);
}

static void finish_param(lua_State *L, const void *object) {
  const struct param *q = object;
  if (q->min != 0 || q->max != 0) {
    set_number(L, "min", q->min);
    set_number(L, "max", q->max);
  }
  if (q->forced) set_text(L, "forced", q->forced->name);
}

static void set_tokens(lua_State *L, const enum token_kind *kind) {
  lua_newtable(L);
  for (; *kind != TOKEN_END; kind++) {
    lua_pushstring(L, token_kind_names[*kind]);
    list_append(L, -2);
  }
  lua_setfield(L, -2, "tokens");
}

/* params, and what follows from them: implied: the handle knows it; secrets: no log may show them. */
static void set_params(lua_State *L, const struct row *row) {
  static const struct param none = {0};
  const struct param *first = row->params ? row->params : &none;
  bool from_state = false;
  lua_newtable(L); /* secrets */
  push_objects(L, &param_shape, first);
  for (const struct param *q = first; q->name; q++) {
    lua_rawgeti(L, -1, q - first + 1);
    set_boolean(L, "implied", handle_implies(row, q));
    lua_pop(L, 1);
    from_state |= (q->flags & FROM_STATE) != 0;
    if (!(q->flags & (SECRET | PIN))) continue;
    lua_pushboolean(L, true);
    lua_setfield(L, -3, q->name);
  }
  lua_setfield(L, -3, "params");
  lua_setfield(L, -2, "secrets");
  set_boolean(L, "from_state", from_state);
}

/* pointer: what core.row gives; write: a failure has an outcome; from_state: a parameter has that flag. */
static void finish_row(lua_State *L, const void *object) {
  const struct row *r = object;
  lua_pushlightuserdata(L, (void *)(uintptr_t)r);
  lua_setfield(L, -2, "pointer");
  set_boolean(L, "write", row_is_write(r));
  set_text(L, "billing", billing_rows[r->billing].name);
  lua_newtable(L);
  set_flags(L, value_flags, row_value(r));
  lua_setfield(L, -2, "value");
  set_tokens(L, r->tokens);
  set_params(L, r);
}

static void finish_reason(lua_State *L, const void *object) {
  const struct reason *r = object;
  set_boolean(L, "changed", r->kind != KIND_none);
}

static void finish_status(lua_State *L, const void *object) {
  const struct status *s = object;
  set_text(L, "doc", s->advice);
}

static void finish_option(lua_State *L, const void *object) {
  const struct option *o = object;
  set_boolean(L, "lines", (o->also & ALSO_LINES) != 0);
  if (o->max != 0) set_number(L, "min", o->min), set_number(L, "max", o->max);
}

/* minimum_delta: true, false, "metres", or nil where it is not known */
static void finish_field(lua_State *L, const void *object) {
  const struct telemetry_field *f = object;
  if (f->minimum_delta == DELTA_METRES)
    set_text(L, "minimum_delta", "metres");
  else if (f->minimum_delta != DELTA_UNKNOWN)
    set_boolean(L, "minimum_delta", f->minimum_delta == DELTA_YES);
}

/* ---- the columns ---- */

/* clang-format off */
#define COLUMN(type, member, form, more) { #member, form, offsetof(struct type, member), {more} }
#define TEXT(type, member) COLUMN(type, member, AS_TEXT, NULL)
#define WORDS(type, member) COLUMN(type, member, AS_WORDS, NULL)
#define TEXTS(type, member) COLUMN(type, member, AS_TEXTS, NULL)
#define NUMBER(type, member) COLUMN(type, member, AS_NUMBER, NULL)
#define COUNT(type, member) COLUMN(type, member, AS_COUNT, NULL)
#define INTEGER(type, member) COLUMN(type, member, AS_INTEGER, NULL)
#define BOOLEAN(type, member) COLUMN(type, member, AS_BOOLEAN, NULL)
#define FAILURE(type) COLUMN(type, kind, AS_KIND, NULL), COLUMN(type, outcome, AS_OUTCOME, NULL)
#define NAME(type, member, list) COLUMN(type, member, AS_NAME, .names = list)
#define FLAGS(type, member, list) COLUMN(type, member, AS_FLAGS, .flags = list)
#define MEMBERS(type, member, list) COLUMN(type, member, AS_MEMBERS, .flags = list)
#define OBJECTS(type, member, of) COLUMN(type, member, AS_OBJECTS, .shape = of)

static const struct column choice_columns[] = {
  TEXT(choice, name), TEXT(choice, field), {0}};
static const struct shape choice_shape = {sizeof(struct choice), choice_columns, finish_choice};

static const struct column param_columns[] = {
  TEXT(param, name), NAME(param, place, place_names), NAME(param, type, type_names),
  MEMBERS(param, flags, param_flags), TEXT(param, former), NUMBER(param, signed_max),
  OBJECTS(param, choices, &choice_shape), TEXT(param, word), TEXT(param, fallback),
  TEXT(param, required_with), TEXT(param, unit), WORDS(param, lists), TEXT(param, field),
  TEXT(param, member), TEXT(param, doc), {0}};
static const struct shape param_shape = {sizeof(struct param), param_columns, finish_param};

static const struct column row_columns[] = {
  TEXT(row, name), TEXT(row, handle), TEXT(row, method), TEXT(row, verb), TEXT(row, path),
  TEXT(row, query), TEXT(row, wrap), TEXT(row, items), NAME(row, paging, paging_names),
  WORDS(row, identity), WORDS(row, ids), NAME(row, domain, domain_names), TEXT(row, message),
  TEXT(row, settle), TEXT(row, since), TEXT(row, until), TEXT(row, who), TEXT(row, replacement),
  TEXT(row, scope), FLAGS(row, flags, row_flags), TEXT(row, doc), TEXT(row, begins), TEXT(row, example),
  TEXT(row, reply), {0}};
static const struct shape row_shape = {sizeof(struct row), row_columns, finish_row};

static const struct column billing_columns[] = {
  TEXT(billing_row, name), COUNT(billing_row, per_dollar), COUNT(billing_row, per_minute),
  BOOLEAN(billing_row, found_only), TEXT(billing_row, doc), {0}};
static const struct shape billing_shape = {sizeof(struct billing_row), billing_columns, NULL};

static const struct column reason_columns[] = {
  TEXT(reason, text), NAME(reason, match, match_names), TEXT(reason, where), FAILURE(reason),
  TEXT(reason, doc), {0}};
static const struct shape reason_shape = {sizeof(struct reason), reason_columns, finish_reason};

static const struct column status_columns[] = {
  TEXT(status, text), INTEGER(status, status), TEXT(status, also), NAME(status, trait, trait_names),
  FAILURE(status), {0}};
static const struct shape status_shape = {sizeof(struct status), status_columns, finish_status};

static const struct column fault_columns[] = {
  TEXT(fault, name), INTEGER(fault, number), BOOLEAN(fault, resync), FAILURE(fault), TEXT(fault, doc), {0}};
static const struct shape fault_shape = {sizeof(struct fault), fault_columns, NULL};

static const struct column region_columns[] = {
  TEXT(region, name), TEXT(region, base_url), TEXT(region, auth_url), TEXT(region, token_url), {0}};
static const struct shape region_shape = {sizeof(struct region), region_columns, NULL};

static const struct column vendor_columns[] = {
  TEXT(vendor, name), OBJECTS(vendor, regions, &region_shape), TEXTS(vendor, host_endings),
  TEXTS(vendor, closed_hosts), TEXT(vendor, authorize_path), TEXT(vendor, consent_path),
  TEXT(vendor, token_path), TEXT(vendor, health_path), TEXT(vendor, key_path), TEXT(vendor, pairing_url),
  TEXT(vendor, invitation_url), TEXT(vendor, jws_algorithm), TEXT(vendor, jws_audience), {0}};
static const struct shape vendor_shape = {sizeof(struct vendor), vendor_columns, NULL};

static const struct column option_columns[] = {
  TEXT(option, name), NAME(option, type, type_names), TEXT(option, fallback),
  OBJECTS(option, choices, &choice_shape), TEXT(option, environment),
  MEMBERS(option, flags, option_flags), BOOLEAN(option, lua_only), FLAGS(option, also, also_flags),
  TEXT(option, doc), {0}};
static const struct shape option_shape = {sizeof(struct option), option_columns, finish_option};

static const struct column field_columns[] = {
  TEXT(telemetry_field, since), INTEGER(telemetry_field, number),
  NAME(telemetry_field, kind, field_kind_names), TEXT(telemetry_field, prefix),
  TEXT(telemetry_field, unit), TEXT(telemetry_field, counterpart), {0}};
static const struct shape field_shape = {sizeof(struct telemetry_field), field_columns, finish_field};
/* clang-format on */

/* ---- what Lua calls ---- */

/* handle: NULL for a row by its own name, else name is the method's. */
static const struct row *row_named(const char *name, const char *handle) {
  static const struct row *const tables[] = {endpoint_rows, command_rows};
  for (int i = 0; i < 2; i++)
    for (const struct row *row = tables[i]; row->name; row++) {
      bool found = handle ? strcmp(row->method, name) == 0 && strcmp(row->handle, handle) == 0
                          : strcmp(row->name, name) == 0;
      if (found) return row;
    }
  return NULL;
}

/* core.row_table(name) or core.row_table(method, handle) -> the row as a fresh table, as core.endpoints has
 * it; nil where there is none, as for a name that is no text */
static int l_row_table(lua_State *L) {
  const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
  const struct row *row = row_named(name, luaL_optstring(L, 2, NULL));
  if (row)
    push_object(L, &row_shape, row);
  else
    lua_pushnil(L);
  return 1;
}

/* core.row(name) -> the row as light userdata, for core.plan; nothing for an unknown name */
static int l_row(lua_State *L) {
  const struct row *row = row_named(luaL_checkstring(L, 1), NULL);
  if (!row) return 0;
  lua_pushlightuserdata(L, (void *)(uintptr_t)row);
  return 1;
}

/* core.billing() -> { date =, source =, classes = { … } } */
static int l_billing(lua_State *L) {
  lua_newtable(L);
  set_text(L, "date", billing_date);
  set_text(L, "source", billing_source);
  push_objects(L, &billing_shape, billing_rows);
  lua_setfield(L, -2, "classes");
  return 1;
}

/* The last row matches everything. */
static int l_statuses(lua_State *L) {
  lua_newtable(L);
  for (const struct status *s = status_rows;; s++) {
    push_object(L, &status_shape, s);
    list_append(L, -2);
    if (s->status == 0 && !s->text) return 1;
  }
}

static int l_kinds(lua_State *L) {
  lua_newtable(L);
  for (int kind = KIND_none + 1; kind < KIND_COUNT; kind++) {
    lua_newtable(L);
    set_text(L, "name", kind_rows[kind - 1].name);
    set_integer(L, "exit", KIND_EXIT(kind));
    set_text(L, "doc", kind_rows[kind - 1].doc);
    list_append(L, -2);
  }
  return 1;
}

/* core.telemetry_fields() -> { name = field } */
static int l_telemetry_fields(lua_State *L) {
  lua_newtable(L);
  for (const struct telemetry_field *f = telemetry_fields; f->name; f++) {
    push_object(L, &field_shape, f);
    lua_setfield(L, -2, f->name);
  }
  return 1;
}

/* ---- lists of all rows of a kind: core.endpoints() and the like ---- */

static const struct list {
  const char *name;
  const struct shape *shape;
  const void *first;
} lists[] = {{"endpoints", &row_shape, endpoint_rows},         {"commands", &row_shape, command_rows},
             {"reasons", &reason_shape, reason_rows},          {"faults", &fault_shape, fault_rows},
             {"vendors", &vendor_shape, vendor_rows},          {"options", &option_shape, option_rows},
             {"call_options", &option_shape, call_option_rows}};

static int l_list(lua_State *L) {
  const struct list *list = lua_touserdata(L, lua_upvalueindex(1));
  push_objects(L, list->shape, list->first);
  return 1;
}

void open_rows(lua_State *L) {
  static const luaL_Reg functions[] = {{"row", l_row},
                                       {"row_table", l_row_table},
                                       {"billing", l_billing},
                                       {"statuses", l_statuses},
                                       {"kinds", l_kinds},
                                       {"telemetry_fields", l_telemetry_fields},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    lua_pushlightuserdata(L, (void *)(uintptr_t)&lists[i]);
    lua_pushcclosure(L, l_list, 1);
    lua_setfield(L, -2, lists[i].name);
  }
}
