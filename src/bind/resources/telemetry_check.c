/* What can be said of a telemetry configuration before it is sent: types, names, host, port and certificates.
 *
 * The service accepts nearly anything and the vehicle then stays silent for hours
 * (doc/protocol.md#telemetry-configuration). A problem is certain to fail; a warning is likely to. The time
 * is an argument.
 */
#include "bind/lua/bind.h"

#include "base/firmware.h"
#include "base/hostname.h"
#include "crypto/x509.h"
#include "tables/rows.h"
#include "time/calendar.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIELDS_MOST = 512, SLOTS = 24 /* of Lua's stack, for what looks at one member */ };

static const double FAR_FUTURE = 1e11; /* seconds since 1970; as milliseconds it is 1973 */

struct check {
  lua_State *L;
  int config;             /* places on the stack: the configuration, */
  int problems, warnings; /* the lists of the report */
  bool dated;             /* wall is known */
  double wall;
  const struct telemetry_field *field; /* whose options are looked at */
};

/* Looks at the value at an index of the stack; where says whose it is. */
typedef void checker(struct check *c, const char *where, int value);

struct member {
  const char *name;
  checker *check;
};

/* ---- the report ---- */

static void add(struct check *c, int list, const char *where, const char *format, va_list args) {
  lua_State *L = c->L;
  lua_createtable(L, 0, 2);
  set_text(L, "where", where);
  lua_pushvfstring(L, format, args);
  lua_setfield(L, -2, "message");
  list_append(L, list);
}

static void problem(struct check *c, const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(c, c->problems, where, format, args);
  va_end(args);
}

static void warning(struct check *c, const char *where, const char *format, ...) {
  va_list args;
  va_start(args, format);
  add(c, c->warnings, where, format, args);
  va_end(args);
}

/* sure: what is not known is certain to fail; else it may be new. */
static void unknown(struct check *c, bool sure, const char *where, const char *what, int name,
                    const char *const *names, size_t count) {
  int top = lua_gettop(c->L);
  struct buf *sentence = push_scratch(c->L);
  unknown_sentence(sentence, what, luaL_tolstring(c->L, name, NULL), names, count);
  push_buf(c->L, sentence);
  (sure ? problem : warning)(c, where, "%s", lua_tostring(c->L, -1));
  lua_settop(c->L, top);
}

static bool is_text(lua_State *L, int index, const char *text) {
  return lua_type(L, index) == LUA_TSTRING && bytes_equal(check_bytes(L, index), bytes_of(text));
}

static bool is_among(lua_State *L, int name, const char *const *names, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (is_text(L, name, names[i])) return true;
  return false;
}

/* ---- tables of the caller, in a lasting order ---- */

struct key {
  const char *text;
  int place; /* the key, whatever it is, on the stack */
};

static int by_text(const void *a, const void *b) {
  return strcmp(((const struct key *)a)->text, ((const struct key *)b)->text);
}

/* The keys of the table sorted by their texts. They and the array stay on the stack, where they live. */
static const struct key *push_keys(lua_State *L, int table, size_t *count) {
  int base = lua_gettop(L);
  luaL_checkstack(L, SLOTS, "keys");
  for (lua_pushnil(L); lua_next(L, table); lua_pushvalue(L, -2)) {
    luaL_checkstack(L, SLOTS, "keys");
    lua_pop(L, 1);
    luaL_tolstring(L, -1, NULL);
  }
  *count = (size_t)(lua_gettop(L) - base) / 2;
  struct key *keys = lua_newuserdatauv(L, (*count + 1) * sizeof *keys, 0);
  for (size_t i = 0; i < *count; i++) {
    int place = base + 1 + 2 * (int)i;
    keys[i] = (struct key){lua_tostring(L, place + 1), place};
  }
  qsort(keys, *count, sizeof *keys, by_text);
  return keys;
}

/* Names of the table that are none of the members; then each member, given or not. at: before a name. */
static void check_members(struct check *c, const char *where, const char *at, const char *what, int table,
                          const struct member *members, size_t count) {
  lua_State *L = c->L;
  const char *names[16];
  size_t given;
  for (size_t i = 0; i < count; i++) names[i] = members[i].name;
  const struct key *keys = push_keys(L, table, &given);
  for (size_t i = 0; i < given; i++)
    if (!is_among(L, keys[i].place, names, count))
      unknown(c, false, where ? where : keys[i].text, what, keys[i].place, names, count);
  for (size_t i = 0; i < count; i++) {
    int top = lua_gettop(L);
    const char *place = lua_pushfstring(L, "%s%s", at, members[i].name);
    lua_getfield(L, table, members[i].name);
    members[i].check(c, place, lua_gettop(L));
    lua_settop(L, top);
  }
}

/* ---- values ---- */

static bool is_number(const struct check *c, int value, double least) {
  double n = lua_type(c->L, value) == LUA_TNUMBER ? lua_tonumber(c->L, value) : NAN;
  return isfinite(n) && n >= least;
}

static bool is_whole(const struct check *c, int value, double least) {
  return is_number(c, value, least) && floor(lua_tonumber(c->L, value)) == lua_tonumber(c->L, value);
}

static bool check_list(struct check *c, const char *where, int value, const char *of) {
  if (lua_isnil(c->L, value)) return false;
  if (lua_istable(c->L, value)) return true;
  problem(c, where, "must be a list of %s", of);
  return false;
}

/* ---- host and port ---- */

static void check_hostname(struct check *c, const char *where, int value) {
  bool text = lua_type(c->L, value) == LUA_TSTRING;
  const char *wrong = text ? hostname_problem(check_bytes(c->L, value)) : "it must be text";
  if (wrong)
    problem(c, where, "must be the name of your telemetry server: %s", wrong);
  else if (!strchr(lua_tostring(c->L, value), '.'))
    warning(c, where, "'%s' has no dot: a vehicle will not find it", lua_tostring(c->L, value));
}

static void check_port(struct check *c, const char *where, int value) {
  if (lua_isnil(c->L, value) || (is_whole(c, value, 1) && lua_tonumber(c->L, value) <= 65535)) return;
  problem(c, where, "must be a whole number from 1 to 65535%s",
          lua_type(c->L, value) == LUA_TSTRING ? ", not text" : "");
}

/* ---- certificates ---- */

static void check_certificate(struct check *c, const char *where, int number, const struct certificate *one) {
  if (c->dated && (double)one->until < c->wall) {
    struct buf *date = push_scratch(c->L);
    civil_format_date(date, (one->until - (one->until % CIVIL_DAY + CIVIL_DAY) % CIVIL_DAY) / CIVIL_DAY);
    problem(c, where, "certificate %d ended on %s", number, buf_text(date));
    lua_pop(c->L, 1);
  }
  if (!one->has_issuer)
    warning(c, where, "certificate %d comes without its issuer: vehicles want the full chain", number);
}

static void check_chain(struct check *c, const char *where, struct bytes pem) {
  struct err e;
  err_clear(&e);
  struct chain chain;
  int top = lua_gettop(c->L);
  lua_getfield(c->L, c->config, "hostname");
  struct bytes host = lua_type(c->L, -1) == LUA_TSTRING ? check_bytes(c->L, -1) : bytes_of("");
  if (!x509_chain(pem, host, &chain, &e)) {
    problem(c, where, "%s", e.message);
    return;
  }
  if (!chain.count) problem(c, where, "holds no certificate: PEM text with BEGIN CERTIFICATE is needed");
  for (size_t i = 0; i < chain.count; i++) check_certificate(c, where, (int)i + 1, &chain.at[i]);
  if (host.size && chain.servers && !chain.named)
    warning(c, where, "holds a server's certificate that does not name %s", lua_tostring(c->L, top + 1));
  lua_settop(c->L, top);
}

static void check_ca(struct check *c, const char *where, int value) {
  static const char key[] = "PRIVATE KEY";
  bool text = lua_type(c->L, value) == LUA_TSTRING;
  struct bytes pem = text ? check_bytes(c->L, value) : bytes_of(NULL);
  if (!text)
    problem(c, where, "must be the certificate chain of your server as PEM text");
  else if (memmem(pem.data, pem.size, key, sizeof key - 1))
    problem(c, where, "holds a private key: send certificates only, replace a key that was sent");
  else
    check_chain(c, where, pem);
}

/* ---- fields ---- */

static const struct telemetry_field *field_at(lua_State *L, int name) {
  const struct telemetry_field *f = telemetry_fields;
  while (f->name && !is_text(L, name, f->name)) f++;
  return f->name ? f : NULL;
}

static int by_name(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const struct telemetry_field *check_name(struct check *c, const char *where, int name) {
  const struct telemetry_field *found = field_at(c->L, name);
  if (found) return found;
  const char *names[FIELDS_MOST] = {NULL};
  size_t count = 0;
  for (const struct telemetry_field *f = telemetry_fields; f->name && count < FIELDS_MOST; f++)
    names[count++] = f->name;
  qsort(names, count, sizeof *names, by_name);
  unknown(c, true, where, "field", name, names, count);
  return NULL;
}

static void check_interval(struct check *c, const char *where, int value) {
  if (!is_whole(c, value, 1)) problem(c, where, "must be a whole number of seconds, 1 or more");
}

static void check_resend(struct check *c, const char *where, int value) {
  if (!lua_isnil(c->L, value)) check_interval(c, where, value);
}

static void check_delta(struct check *c, const char *where, int value) {
  if (lua_isnil(c->L, value)) return;
  if (!is_number(c, value, 0))
    problem(c, where, "must be a number, 0 or more");
  else if (c->field->minimum_delta == DELTA_NO)
    problem(c, where, "is not taken by %s, which is not a number", c->field->name);
  else if (c->field->minimum_delta == DELTA_METRES && lua_tonumber(c->L, value) > 0 &&
           lua_tonumber(c->L, value) < 1)
    warning(c, where, "counts metres, not degrees");
}

static void check_include(struct check *c, const char *where, int value) {
  if (!check_list(c, where, value, "field names")) return;
  for (lua_Integer i = 1; lua_geti(c->L, value, i) != LUA_TNIL; i++) {
    check_name(c, where, lua_gettop(c->L));
    lua_pop(c->L, 1);
  }
}

static const struct member field_options[] = {{"include_fields", check_include},
                                              {"interval_seconds", check_interval},
                                              {"minimum_delta", check_delta},
                                              {"resend_interval_seconds", check_resend}};

static void check_field(struct check *c, const char *where, int name, int options) {
  c->field = check_name(c, where, name);
  if (!c->field) return;
  if (!lua_istable(c->L, options)) {
    problem(c, where, "must be a table such as { interval_seconds = 60 }");
    return;
  }
  const char *at = lua_pushfstring(c->L, "%s.", where);
  check_members(c, where, at, "option", options, field_options, sizeof field_options / sizeof *field_options);
}

static void check_fields(struct check *c, const char *where, int fields) {
  lua_State *L = c->L;
  size_t count = 0;
  const struct key *keys = lua_istable(L, fields) ? push_keys(L, fields, &count) : NULL;
  if (!count) problem(c, where, "must name at least one field, such as Soc = { interval_seconds = 60 }");
  for (size_t i = 0; i < count; i++) {
    int top = lua_gettop(L);
    const char *place = lua_pushfstring(L, "%s.%s", where, keys[i].text);
    lua_pushvalue(L, keys[i].place);
    lua_gettable(L, fields);
    check_field(c, place, keys[i].place, lua_gettop(L));
    lua_settop(L, top);
  }
}

/* ---- the rest ---- */

static void check_alerts(struct check *c, const char *where, int value) {
  static const char *const types[] = {"customer", "service", "service-fix"};
  if (!check_list(c, where, value, "customer, service, service-fix")) return;
  for (lua_Integer i = 1; lua_geti(c->L, value, i) != LUA_TNIL; i++) {
    if (!is_among(c->L, -1, types, 3)) unknown(c, true, where, "alert type", lua_gettop(c->L), types, 3);
    lua_pop(c->L, 1);
  }
}

static void check_policy(struct check *c, const char *where, int value) {
  static const char *const policies[] = {"latest", "no_retry"};
  if (lua_isnil(c->L, value) || is_among(c->L, value, policies, 2)) return;
  unknown(c, true, where, "delivery policy", value, policies, 2);
}

static void check_expiry(struct check *c, const char *where, int value) {
  if (lua_isnil(c->L, value)) return;
  if (!is_whole(c, value, 0))
    problem(c, where, "must be seconds since 1970");
  else if (lua_tonumber(c->L, value) >= FAR_FUTURE)
    warning(c, where, "counts seconds since 1970: this is after the year 5000, so it may be in milliseconds");
  else if (c->dated && lua_tonumber(c->L, value) <= c->wall)
    problem(c, where, "is in the past: the vehicle would drop the configuration at once");
}

/* What signs the configuration writes these two. */
static void check_overwritten(struct check *c, const char *where, int value) {
  if (!lua_isnil(c->L, value))
    warning(c, where, "is written by what signs the configuration: yours is not sent");
}

static void check_boolean(struct check *c, const char *where, int value) {
  if (!lua_isnil(c->L, value) && !lua_isboolean(c->L, value)) problem(c, where, "must be true or false");
}

static const struct member members[] = {
    {"alert_types", check_alerts},     {"aud", check_overwritten}, {"ca", check_ca},
    {"delivery_policy", check_policy}, {"exp", check_expiry},      {"fields", check_fields},
    {"hostname", check_hostname},      {"iss", check_overwritten}, {"port", check_port},
    {"prefer_typed", check_boolean}};

/* core.telemetry_check(config, wall) -> { problems = list, warnings = list } of { where =
 * "fields.Soc.interval_seconds", message = text }; wall: UTC seconds for what depends on the time, or nil */
static int l_check(lua_State *L) {
  struct check c = {.L = L, .dated = !lua_isnoneornil(L, 2), .wall = luaL_optnumber(L, 2, 0)};
  if (!lua_istable(L, 1)) return usage_error(L, "config must be a table, got %s", luaL_typename(L, 1));
  lua_settop(L, 1);
  lua_newtable(L);
  lua_newtable(L);
  c.config = 1, c.problems = 2, c.warnings = 3;
  check_members(&c, NULL, "", "member", 1, members, sizeof members / sizeof *members);
  lua_createtable(L, 0, 2);
  lua_pushvalue(L, c.problems);
  lua_setfield(L, -2, "problems");
  lua_pushvalue(L, c.warnings);
  lua_setfield(L, -2, "warnings");
  return 1;
}

/* core.telemetry_since(config) -> the newest of the firmware versions that first knew its fields, or nil */
static int l_since(lua_State *L) {
  const char *newest = NULL;
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_getfield(L, 1, "fields");
  if (!lua_istable(L, -1)) return 0;
  for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
    const struct telemetry_field *f = field_at(L, -2);
    if (f && f->since && (!newest || firmware_older(newest, f->since))) newest = f->since;
  }
  lua_pushstring(L, newest);
  return 1;
}

static void add_member_text(lua_State *L, struct buf *text, int table, const char *name) {
  lua_getfield(L, table, name);
  size_t size;
  const char *value = luaL_tolstring(L, -1, &size);
  buf_add(text, value, size);
  lua_pop(L, 2);
}

/* core.telemetry_told(report) -> its problems as one sentence, or nil: it has none */
static int l_told(lua_State *L) {
  enum { LIST = 2, TEXT = 3, ENTRY = 4 };
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  lua_getfield(L, 1, "problems");
  luaL_checktype(L, LIST, LUA_TTABLE);
  struct buf *text = push_scratch(L);
  for (lua_Integer i = 1; lua_geti(L, LIST, i) == LUA_TTABLE; i++, lua_settop(L, TEXT)) {
    if (i > 1) buf_text_add(text, "; ");
    add_member_text(L, text, ENTRY, "where");
    buf_put(text, ' ');
    add_member_text(L, text, ENTRY, "message");
  }
  lua_settop(L, TEXT);
  if (!text->size && buf_ok(text)) return 0;
  push_buf(L, text);
  return 1;
}

void open_telemetry(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"telemetry_check", l_check}, {"telemetry_since", l_since}, {"telemetry_told", l_told}, {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
}
