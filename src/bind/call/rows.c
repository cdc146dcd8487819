#include "bind/call/handles.h"
#include "bind/call/request.h"
#include "bind/lua/bind.h"
#include "tables/rows.h"

#include <string.h>

/* The tables as Lua data, for the engines, generators and specs on that side. Every call makes a fresh list,
 * so that what a caller changes in it changes nothing else. Columns keep their names; an absent one is nil.
 * The flags of a row stand in its table flags, those of a parameter or an option beside its columns. */

struct flag {
  unsigned bit;
  const char *name;
};

static const struct flag param_flags[] = {{REQUIRED, "required"},
                                          {SECRET, "secret"},
                                          {PIN, "pin"},
                                          {NUMBER_AS_TEXT, "number_as_text"},
                                          {SWITCH, "switch"},
                                          {FRESH_ID, "fresh_id"},
                                          {WHOLE, "whole"},
                                          {FROM_STATE, "from_state"},
                                          {NOW, "now"},
                                          {FILLED, "filled"},
                                          {JOINED, "joined"},
                                          {OBJECT_TOO, "object_too"},
                                          {0, NULL}};

static const struct flag row_flags[] = {{ROW_COMMAND, "command"},
                                        {ROW_IDEMPOTENT, "idempotent"},
                                        {ROW_LIVE, "live"},
                                        {ROW_NEEDS_PROTOCOL, "needs_protocol"},
                                        {ROW_EITHER_FORM, "either_form"},
                                        {ROW_PLAIN_FIRST, "plain_first"},
                                        {ROW_CHARGING_SCOPE, "charging_scope"},
                                        {ROW_SETTING, "setting"},
                                        {ROW_THIRD_PARTY, "third_party"},
                                        {ROW_NO_BUSINESS, "no_business"},
                                        {ROW_DEPRECATED, "deprecated"},
                                        {ROW_BODY_AS_GIVEN, "body_as_given"},
                                        {ROW_READ, "read"},
                                        {ROW_IDEMPOTENT_WITH_ID, "idempotent_with_id"},
                                        {ROW_ANY_OF, "any_of"},
                                        {ROW_CHECKED, "checked"},
                                        {ROW_UNPUBLISHED, "unpublished"},
                                        {ROW_BY_NAME_ONLY, "by_name_only"},
                                        {0, NULL}};

static const struct flag value_flags[] = {
    {VALUE_OBJECT, "object"}, {VALUE_LIST, "list"},       {VALUE_TEXTS, "texts"},
    {VALUE_TEXT, "text"},     {VALUE_BOOLEAN, "boolean"}, {VALUE_NOTHING, "nothing"},
    {VALUE_BYTES, "bytes"},   {VALUE_BASE64, "base64"},   {0, NULL}};

static const struct flag option_flags[] = {{SECRET, "secret"}, {0, NULL}};

/* Lua types that an option of fleet.new takes beside its own. */
static const struct flag also_flags[] = {
    {ALSO_FUNCTION, "function"}, {ALSO_TABLE, "table"}, {ALSO_OBJECT, "userdata"}, {0, NULL}};

/* Names of the enumerations, in their order. */
static const char *const type_names[] = {"string", "integer", "number", "boolean", "id",
                                         "vin",    "time",    "date",   "days",    "strings",
                                         "vins",   "object",  "tariff", "bytes",   "public_key"};
static const char *const place_names[] = {"path", "query", "body", "local"};
static const char *const paging_names[] = {"no", "page", "page_no", "offset"};
static const char *const domain_names[] = {NULL, NULL, "vehicle_security", "infotainment"};
static const char *const trait_names[] = {NULL, "by_state", "sign", "plain", "proxy"};
static const char *const match_names[] = {"whole", "tail", "part"};

/* ---- one member of the table at the top ---- */

static void set_flags(lua_State *L, const struct flag *flag, unsigned bits) {
  for (; flag->name; flag++) set_boolean(L, flag->name, (bits & flag->bit) != 0);
}

/* A text of words as a list. */
static void set_words(lua_State *L, const char *name, const char *words) {
  lua_newtable(L);
  for (lua_Integer i = 1; words && *words; i++) {
    size_t size = strcspn(words, " ");
    lua_pushlstring(L, words, size);
    lua_seti(L, -2, i);
    words += size + strspn(words + size, " ");
  }
  lua_setfield(L, -2, name);
}

static void set_texts(lua_State *L, const char *name, const char *const *texts) {
  lua_newtable(L);
  for (lua_Integer i = 1; *texts; texts++, i++) {
    lua_pushstring(L, *texts);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, name);
}

/* ---- parameters ---- */

static void set_choices(lua_State *L, const struct choice *c) {
  if (!c) return;
  lua_newtable(L);
  for (lua_Integer i = 1; c->name; c++, i++) {
    lua_createtable(L, 0, 3);
    set_text(L, "name", c->name);
    if (c->text)
      set_text(L, "value", c->text);
    else
      set_number(L, "value", c->number);
    set_text(L, "field", c->field);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "choices");
}

static void push_param(lua_State *L, const struct param *q) {
  lua_createtable(L, 0, 20);
  set_text(L, "name", q->name);
  set_text(L, "place", place_names[q->place]);
  set_text(L, "type", type_names[q->type]);
  set_flags(L, param_flags, q->flags);
  set_text(L, "former", q->former);
  if (q->min != 0 || q->max != 0) {
    set_number(L, "min", q->min);
    set_number(L, "max", q->max);
  }
  if (q->signed_max != 0) set_number(L, "signed_max", q->signed_max);
  set_choices(L, q->choices);
  if (q->forced) set_text(L, "forced", q->forced->name);
  set_text(L, "word", q->word);
  set_text(L, "fallback", q->fallback);
  set_text(L, "required_with", q->required_with);
  set_text(L, "unit", q->unit);
  set_words(L, "lists", q->lists);
  set_text(L, "field", q->field);
  set_text(L, "member", q->member);
  set_text(L, "doc", q->doc);
}

static void set_params(lua_State *L, const struct row *row) {
  const struct param *q = row->params;
  lua_newtable(L);
  for (lua_Integer i = 1; q && q->name; q++, i++) {
    push_param(L, q);
    set_boolean(L, "implied", handle_implies(row, q));
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "params");
}

/* ---- rows ---- */

static void set_tokens(lua_State *L, const enum token_kind *kind) {
  lua_newtable(L);
  for (lua_Integer i = 1; *kind != TOKEN_END; kind++, i++) {
    lua_pushstring(L, token_kind_names[*kind]);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "tokens");
}

static void set_address(lua_State *L, const struct row *r) {
  set_text(L, "name", r->name);
  set_text(L, "handle", r->handle);
  set_text(L, "method", r->method);
  set_text(L, "verb", r->verb);
  set_text(L, "path", r->path);
  set_text(L, "query", r->query);
  set_text(L, "wrap", r->wrap);
  set_text(L, "items", r->items);
  set_text(L, "paging", paging_names[r->paging]);
  lua_createtable(L, 0, 8);
  set_flags(L, value_flags, row_value(r));
  lua_setfield(L, -2, "value");
  set_words(L, "identity", r->identity);
  set_words(L, "ids", r->ids);
}

static void set_command(lua_State *L, const struct row *r) {
  set_text(L, "domain", domain_names[r->domain]);
  set_text(L, "message", r->message);
  set_text(L, "settle", r->settle);
  set_text(L, "since", r->since);
  set_text(L, "until", r->until);
  set_text(L, "who", r->who);
  set_text(L, "replacement", r->replacement);
}

/* The parameters that no log may show. */
static void set_secrets(lua_State *L, const struct param *q) {
  lua_newtable(L);
  for (; q && q->name; q++)
    if (q->flags & (SECRET | PIN)) set_boolean(L, q->name, true);
  lua_setfield(L, -2, "secrets");
}

static bool takes_from_state(const struct param *q) {
  for (; q && q->name; q++)
    if (q->flags & FROM_STATE) return true;
  return false;
}

/* pointer: what core.row gives; write: a failure has an outcome; from_state: a parameter has that flag. */
static void push_row(lua_State *L, const struct row *r) {
  lua_createtable(L, 0, 48);
  lua_pushlightuserdata(L, (void *)(uintptr_t)r);
  lua_setfield(L, -2, "pointer");
  set_boolean(L, "write", row_is_write(r));
  set_boolean(L, "from_state", takes_from_state(r->params));
  set_secrets(L, r->params);
  set_address(L, r);
  set_command(L, r);
  set_params(L, r);
  set_tokens(L, r->tokens);
  set_text(L, "scope", r->scope);
  set_text(L, "billing", billing_rows[r->billing].name);
  lua_createtable(L, 0, 13);
  set_flags(L, row_flags, r->flags);
  lua_setfield(L, -2, "flags");
  set_text(L, "doc", r->doc);
  set_text(L, "begins", r->begins);
  set_text(L, "example", r->example);
  set_text(L, "reply", r->reply);
}

static int push_rows(lua_State *L, const struct row *r) {
  lua_newtable(L);
  for (lua_Integer i = 1; r->name; r++, i++) {
    push_row(L, r);
    lua_seti(L, -2, i);
  }
  return 1;
}

static int l_endpoints(lua_State *L) {
  return push_rows(L, endpoint_rows);
}

static int l_commands(lua_State *L) {
  return push_rows(L, command_rows);
}

/* handle: NULL for a row by its own name, else name is the method's. */
static const struct row *find(const struct row *rows, const char *name, const char *handle) {
  for (; rows->name; rows++) {
    bool found = handle ? strcmp(rows->method, name) == 0 && strcmp(rows->handle, handle) == 0
                        : strcmp(rows->name, name) == 0;
    if (found) return rows;
  }
  return NULL;
}

/* core.row_table(name) or core.row_table(method, handle) -> the row as a fresh table, as core.endpoints has
 * it; nil where there is none, as for a name that is no text */
static int l_row_table(lua_State *L) {
  const char *name = lua_type(L, 1) == LUA_TSTRING ? lua_tostring(L, 1) : "";
  const char *handle = luaL_optstring(L, 2, NULL);
  const struct row *row = find(endpoint_rows, name, handle);
  if (!row) row = find(command_rows, name, handle);
  if (!row) {
    lua_pushnil(L);
    return 1;
  }
  push_row(L, row);
  return 1;
}

/* ---- failures ---- */

static void set_failure(lua_State *L, enum kind kind, enum outcome outcome, const char *doc) {
  if (kind != KIND_none) set_text(L, "kind", kind_name(kind));
  set_text(L, "outcome", outcome_name(outcome));
  set_text(L, "doc", doc);
}

/* billing() -> { date =, source =, classes = { { name =, per_dollar =, per_minute =, found_only =, doc = }, …
 * }
 * } */
static int l_billing(lua_State *L) {
  lua_createtable(L, 0, 3);
  set_text(L, "date", billing_date);
  set_text(L, "source", billing_source);
  lua_newtable(L);
  lua_Integer i = 1;
  for (const struct billing_row *b = billing_rows; b->name; b++, i++) {
    lua_createtable(L, 0, 5);
    set_text(L, "name", b->name);
    if (b->per_dollar) set_number(L, "per_dollar", b->per_dollar);
    if (b->per_minute) set_number(L, "per_minute", b->per_minute);
    set_boolean(L, "found_only", b->found_only);
    set_text(L, "doc", b->doc);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "classes");
  return 1;
}

static int l_reasons(lua_State *L) {
  lua_newtable(L);
  lua_Integer i = 1;
  for (const struct reason *r = reason_rows; r->text; r++, i++) {
    lua_createtable(L, 0, 7);
    set_text(L, "text", r->text);
    set_text(L, "match", match_names[r->match]);
    set_text(L, "where", r->where);
    set_boolean(L, "changed", r->kind != KIND_none);
    set_failure(L, r->kind, r->outcome, r->doc);
    lua_seti(L, -2, i);
  }
  return 1;
}

/* The last row matches everything. */
static int l_statuses(lua_State *L) {
  lua_newtable(L);
  const struct status *s = status_rows;
  for (lua_Integer i = 1;; s++, i++) {
    lua_createtable(L, 0, 7);
    set_number(L, "status", s->status);
    set_text(L, "text", s->text);
    set_text(L, "also", s->also);
    set_text(L, "trait", trait_names[s->trait]);
    set_failure(L, s->kind, s->outcome, s->advice);
    lua_seti(L, -2, i);
    if (s->status == 0 && !s->text) return 1;
  }
}

static int l_faults(lua_State *L) {
  lua_newtable(L);
  lua_Integer i = 1;
  for (const struct fault *f = fault_rows; f->name; f++, i++) {
    lua_createtable(L, 0, 6);
    set_number(L, "number", f->number);
    set_text(L, "name", f->name);
    set_boolean(L, "resync", f->resync);
    set_failure(L, f->kind, f->outcome, f->doc);
    lua_seti(L, -2, i);
  }
  return 1;
}

static int l_kinds(lua_State *L) {
  lua_newtable(L);
  for (int kind = KIND_none + 1; kind < KIND_COUNT; kind++) {
    lua_createtable(L, 0, 3);
    set_text(L, "name", kind_rows[kind - 1].name);
    set_number(L, "exit", KIND_EXIT(kind));
    set_text(L, "doc", kind_rows[kind - 1].doc);
    lua_seti(L, -2, kind);
  }
  return 1;
}

/* ---- vendors and options ---- */

static void set_regions(lua_State *L, const struct region *r) {
  lua_newtable(L);
  for (lua_Integer i = 1; r->name; r++, i++) {
    lua_createtable(L, 0, 4);
    set_text(L, "name", r->name);
    set_text(L, "base_url", r->base_url);
    set_text(L, "auth_url", r->auth_url);
    set_text(L, "token_url", r->token_url);
    lua_seti(L, -2, i);
  }
  lua_setfield(L, -2, "regions");
}

static void push_vendor(lua_State *L, const struct vendor *v) {
  lua_createtable(L, 0, 12);
  set_text(L, "name", v->name);
  set_regions(L, v->regions);
  set_texts(L, "host_endings", v->host_endings);
  set_texts(L, "closed_hosts", v->closed_hosts);
  set_text(L, "authorize_path", v->authorize_path);
  set_text(L, "consent_path", v->consent_path);
  set_text(L, "token_path", v->token_path);
  set_text(L, "health_path", v->health_path);
  set_text(L, "key_path", v->key_path);
  set_text(L, "pairing_url", v->pairing_url);
  set_text(L, "invitation_url", v->invitation_url);
  set_text(L, "jws_algorithm", v->jws_algorithm);
  set_text(L, "jws_audience", v->jws_audience);
}

static int l_vendors(lua_State *L) {
  lua_newtable(L);
  lua_Integer i = 1;
  for (const struct vendor *v = vendor_rows; v->name; v++, i++) {
    push_vendor(L, v);
    lua_seti(L, -2, i);
  }
  return 1;
}

static int push_options(lua_State *L, const struct option *o) {
  lua_newtable(L);
  for (lua_Integer i = 1; o->name; o++, i++) {
    lua_createtable(L, 0, 8);
    set_text(L, "name", o->name);
    set_text(L, "type", type_names[o->type]);
    set_text(L, "fallback", o->fallback);
    set_choices(L, o->choices);
    set_text(L, "environment", o->environment);
    set_flags(L, option_flags, o->flags);
    set_boolean(L, "lua_only", o->lua_only);
    lua_createtable(L, 0, 3);
    set_flags(L, also_flags, o->also);
    lua_setfield(L, -2, "also");
    set_boolean(L, "lines", (o->also & ALSO_LINES) != 0);
    if (o->max != 0) set_number(L, "min", o->min), set_number(L, "max", o->max);
    set_text(L, "doc", o->doc);
    lua_seti(L, -2, i);
  }
  return 1;
}

static int l_options(lua_State *L) {
  return push_options(L, option_rows);
}

static int l_call_options(lua_State *L) {
  return push_options(L, call_option_rows);
}

/* telemetry_fields() -> { name = { since =, minimum_delta = true, false, "metres" or nil, number =, kind =,
 * prefix =, unit =, counterpart = } } */
static int l_telemetry_fields(lua_State *L) {
  static const char *const kinds[] = {NULL,   "number", "integer",  "boolean", "text",
                                      "time", "enum",   "location", "object"};
  lua_newtable(L);
  for (const struct telemetry_field *f = telemetry_fields; f->name; f++) {
    lua_createtable(L, 0, 6);
    set_text(L, "since", f->since);
    set_integer(L, "number", f->number);
    set_text(L, "kind", kinds[f->kind]);
    set_text(L, "prefix", f->prefix);
    set_text(L, "unit", f->unit);
    set_text(L, "counterpart", f->counterpart);
    if (f->minimum_delta == DELTA_METRES) {
      set_text(L, "minimum_delta", "metres");
    } else if (f->minimum_delta != DELTA_UNKNOWN) {
      set_boolean(L, "minimum_delta", f->minimum_delta == DELTA_YES);
    }
    lua_setfield(L, -2, f->name);
  }
  return 1;
}

void open_rows(lua_State *L) {
  static const luaL_Reg functions[] = {{"endpoints", l_endpoints},
                                       {"commands", l_commands},
                                       {"row_table", l_row_table},
                                       {"reasons", l_reasons},
                                       {"billing", l_billing},
                                       {"statuses", l_statuses},
                                       {"faults", l_faults},
                                       {"kinds", l_kinds},
                                       {"vendors", l_vendors},
                                       {"options", l_options},
                                       {"call_options", l_call_options},
                                       {"telemetry_fields", l_telemetry_fields},
                                       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
