#include "bind/call/param_values.h"

#include "base/utf8.h"
#include "base/vin.h"
#include "bind/crypto/context.h"
#include "crypto/key.h"
#include "time/calendar.h"
#include "bind/lua/json.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>
#include <strings.h>

/* What is a field of the client is named with it: partner.register. */
static const char *group_of(const struct row *row) {
  static const char *const groups[] = {"partner", "user", "charging"};
  for (size_t i = 0; row->handle && i < sizeof groups / sizeof *groups; i++)
    if (strcmp(row->handle, groups[i]) == 0) return groups[i];
  return NULL;
}

int call_usage_error(const struct plan *p, const char *format, ...) {
  const char *group = group_of(p->row);
  va_list args;
  va_start(args, format);
  lua_pushvfstring(p->L, format, args);
  va_end(args);
  return usage_error(p->L, "%s%s%s: %s", group ? group : "", group ? "." : "", p->row->method,
                     lua_tostring(p->L, -1));
}

int unknown_name(const struct plan *p, const char *what, const char *name, const char *const *names,
                 size_t count) {
  struct buf *sentence = push_scratch(p->L);
  unknown_sentence(sentence, what, name, names, count);
  return call_usage_error(p, "%s", buf_text(sentence));
}

/* ---- values ---- */

static bool clean_text(struct bytes text) {
  for (size_t i = 0; i < text.size; i++)
    if (text.data[i] < 0x20 || text.data[i] == 0x7F) return false;
  return true;
}

struct bytes string_value(const struct plan *p, const struct param *q, int index) {
  size_t size;
  if (lua_type(p->L, index) != LUA_TSTRING)
    call_usage_error(p, "'%s' must be a string, got %s", q->name, luaL_typename(p->L, index));
  const char *text = lua_tolstring(p->L, index, &size);
  return (struct bytes){(const unsigned char *)text, size};
}

static bool bounded(const struct param *q) {
  return q->min != 0 || q->max != 0;
}

static void check_range(const struct plan *p, const struct param *q, double value) {
  if (!bounded(q)) return;
  if (value >= q->min && value <= q->max) return;
  struct buf *range = push_scratch(p->L);
  buf_json_number(range, q->min);
  buf_text_add(range, " to ");
  buf_json_number(range, q->max);
  call_usage_error(p, "'%s' must be %s%s%s", q->name, buf_text(range), q->unit ? " " : "",
                   q->unit ? q->unit : "");
}

double number_value(const struct plan *p, const struct param *q, int index) {
  if (lua_type(p->L, index) != LUA_TNUMBER)
    call_usage_error(p, "'%s' must be a number, got %s", q->name, luaL_typename(p->L, index));
  double value = lua_tonumber(p->L, index);
  if (!isfinite(value)) call_usage_error(p, "'%s' must be a finite number", q->name);
  check_range(p, q, value);
  return value;
}

lua_Integer integer_value(const struct plan *p, const struct param *q, int index) {
  int exact;
  number_value(p, q, index);
  lua_Integer value = lua_tointegerx(p->L, index, &exact);
  if (!exact) call_usage_error(p, "'%s' must be a whole number", q->name);
  return value;
}

/* ---- choices ---- */

enum { MOST_CHOICES = 40 };

static int unknown_choice(const struct plan *p, const struct param *q, int index) {
  const char *names[MOST_CHOICES];
  size_t count = 0;
  for (const struct choice *c = q->choices; c->name && count < MOST_CHOICES; c++) names[count++] = c->name;
  const char *given =
      lua_type(p->L, index) == LUA_TSTRING ? lua_tostring(p->L, index) : luaL_tolstring(p->L, index, NULL);
  struct buf *sentence = push_scratch(p->L);
  choice_sentence(sentence, q->name, given, names, count);
  return call_usage_error(p, "%s", buf_text(sentence));
}

static bool is_choice(lua_State *L, int index, const struct choice *c) {
  if (lua_type(L, index) == LUA_TNUMBER) return !c->text && lua_tonumber(L, index) == c->number;
  if (lua_type(L, index) != LUA_TSTRING) return false;
  const char *given = lua_tostring(L, index);
  if (strlen(given) != lua_rawlen(L, index)) return false;
  return strcmp(given, c->name) == 0 || (c->text && strcmp(given, c->text) == 0);
}

const struct choice *choice_value(const struct plan *p, const struct param *q, int index) {
  for (const struct choice *c = q->choices; c->name; c++)
    if (is_choice(p->L, index, c)) return c;
  if (q->forced && is_choice(p->L, index, q->forced)) {
    if (p->request->force) return q->forced;
    call_usage_error(p, "'%s' may be '%s' with force = true only: it is not a published value", q->name,
                     q->forced->name);
  }
  unknown_choice(p, q, index);
  return NULL;
}

/* ---- days of the week: bit 0 is Sunday (doc/protocol.md#days-of-the-week) ---- */

static unsigned day_bits(struct bytes word) {
  for (const struct choice *day = day_choices; day->name; day++)
    if (word.size == strlen(day->name) && strncasecmp((const char *)word.data, day->name, word.size) == 0)
      return (unsigned)day->number;
  return 0;
}

static unsigned one_day(const struct plan *p, const struct param *q, struct bytes word) {
  while (word.size && *word.data == ' ') word.data++, word.size--;
  while (word.size && word.data[word.size - 1] == ' ') word.size--;
  unsigned bits = day_bits(word);
  if (bits) return bits;
  lua_pushlstring(p->L, (const char *)word.data, word.size);
  call_usage_error(p, "'%s' has no day '%s': use mon tue wed thu fri sat sun, all or weekdays", q->name,
                   lua_tostring(p->L, -1));
  return 0;
}

static unsigned days_in_text(const struct plan *p, const struct param *q, struct bytes text) {
  unsigned bits = 0;
  for (;;) {
    const unsigned char *comma = memchr(text.data, ',', text.size);
    size_t size = comma ? (size_t)(comma - text.data) : text.size;
    bits |= one_day(p, q, (struct bytes){text.data, size});
    if (!comma) return bits;
    text.data += size + 1, text.size -= size + 1;
  }
}

static unsigned days_in_list(const struct plan *p, const struct param *q, int index) {
  unsigned bits = 0;
  lua_Integer count = luaL_len(p->L, index);
  for (lua_Integer i = 1; i <= count; i++) {
    lua_geti(p->L, index, i);
    bits |= one_day(p, q, string_value(p, q, lua_gettop(p->L)));
    lua_pop(p->L, 1);
  }
  return bits;
}

unsigned days_value(const struct plan *p, const struct param *q, int index) {
  unsigned bits = 0;
  int type = lua_type(p->L, index);
  if (type == LUA_TTABLE)
    bits = days_in_list(p, q, index);
  else if (type == LUA_TSTRING)
    bits = days_in_text(p, q, string_value(p, q, index));
  else if (type == LUA_TNUMBER)
    bits = (unsigned)integer_value(p, q, index);
  if (bits == 0 || bits > 127)
    call_usage_error(p, "'%s' must name days: {\"mon\",\"tue\"}, \"Mon,Tues\", \"all\" or a mask", q->name);
  return bits;
}

/* One word when the set has one, else the days one by one; the first of several names of a day counts. */
void days_text(struct buf *out, unsigned bits) {
  unsigned written = 0;
  for (const struct choice *day = day_choices; day->name; day++)
    if ((unsigned)day->number == bits) {
      buf_text_add(out, day->text);
      return;
    }
  for (const struct choice *day = day_choices; day->name; day++) {
    unsigned bit = (unsigned)day->number;
    if (!(bits & bit) || written & bit || bit & (bit - 1)) continue;
    buf_format(out, "%s%s", written ? "," : "", day->text);
    written |= bit;
  }
}

/* ---- ids and times ---- */

static bool id_text(struct bytes text) {
  if (text.size == 0 || text.size > 128) return false;
  for (size_t i = 0; i < text.size; i++)
    if (!strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_", text.data[i]) ||
        !text.data[i])
      return false;
  return true;
}

/* A VIN, or the numeric id that paths take too. */
static bool names_vehicle(struct bytes text) {
  bool digits = text.size > 0 && text.size <= 20;
  for (size_t i = 0; i < text.size && digits; i++) digits = text.data[i] >= '0' && text.data[i] <= '9';
  return digits || is_vin(text);
}

/* It becomes a JSON number, where a leading zero would break the whole body. */
static void check_digits(const struct plan *p, const struct param *q, struct bytes text) {
  double value = 0;
  if (text.size == 0 || strspn((const char *)text.data, "0123456789") != text.size)
    call_usage_error(p, "'%s' must be digits", q->name);
  if (text.size > 1 && text.data[0] == '0') call_usage_error(p, "'%s' must not start with 0", q->name);
  for (size_t i = 0; i < text.size; i++) value = value * 10 + (text.data[i] - '0');
  if (value < q->min) call_usage_error(p, "'%s' must be %d or more", q->name, (int)q->min);
  if (value > q->max) call_usage_error(p, "'%s' has too many digits", q->name);
}

static bool whole_number(lua_State *L, int index, lua_Integer *value) {
  int exact;
  *value = lua_tointegerx(L, index, &exact);
  return exact && *value >= 0;
}

/* Appends the id as text; numbers are accepted where they are exact. */
void id_value(const struct plan *p, const struct param *q, int index, struct buf *out) {
  if (lua_type(p->L, index) == LUA_TNUMBER) {
    lua_Integer value;
    if (!whole_number(p->L, index, &value))
      call_usage_error(p, "'%s' must be a whole number, 0 or above", q->name);
    lua_pushinteger(p->L, value);
    lua_tostring(p->L, -1);
    lua_replace(p->L, index);
  }
  struct bytes text = string_value(p, q, index);
  if (q->type == TYPE_VIN && !names_vehicle(text))
    call_usage_error(p, "'%s' is not a VIN: " VIN_SPELLING, q->name);
  if (bounded(q)) check_digits(p, q, text);
  if (!id_text(text)) call_usage_error(p, "'%s' must be an id: letters, digits, '-' and '_'", q->name);
  buf_add(out, text.data, text.size);
}

static bool digits_like(const char *pattern, struct bytes text) {
  for (size_t i = 0; pattern[i]; i++) {
    if (i >= text.size) return false;
    unsigned char c = text.data[i];
    if (pattern[i] == '0' ? !(c >= '0' && c <= '9') : c != (unsigned char)pattern[i]) return false;
  }
  return true;
}

/* A date, or a time with its offset; a number is UTC seconds. Text is sent as it was given. */
static void time_value(const struct plan *p, const struct param *q, int index, struct buf *out) {
  struct err e;
  err_clear(&e);
  struct civil date;
  int64_t utc;
  double fraction;
  if (q->type == TYPE_TIME && lua_type(p->L, index) == LUA_TNUMBER) {
    double seconds = floor(number_value(p, q, index));
    if (seconds < CIVIL_MIN || seconds > CIVIL_MAX)
      call_usage_error(p, "'%s' must be UTC seconds within the years 0 to 9999", q->name);
    civil_format_time(out, (int64_t)seconds, 0);
    return;
  }
  struct bytes text = string_value(p, q, index);
  bool good = civil_parse_date(&date, text, &e) ||
              (q->type == TYPE_TIME && civil_parse_time(&utc, &fraction, text, &e));
  if (!good)
    call_usage_error(p, "'%s' must be %s, got '%s'", q->name,
                     q->type == TYPE_DATE ? "a date such as 2026-03-29"
                                          : "a time such as 2026-03-29T00:00:00+01:00, or UTC seconds",
                     (const char *)text.data);
  buf_add(out, text.data, text.size);
}

/* ---- text and JSON forms of a value ---- */

static bool is_utf8(struct bytes text) {
  for (size_t at = 0, n; at < text.size; at += n)
    if (!(n = utf8_sequence((struct bytes){text.data + at, text.size - at}))) return false;
  return true;
}

/* What a message cannot carry is refused in every form. */
void check_text_param(const struct plan *p, const struct param *q, struct bytes text) {
  if (q->flags & PIN && !(text.size == 4 && digits_like("0000", text)))
    call_usage_error(p, "'%s' must be four digits", q->name);
  if (q->place != IN_BODY && !clean_text(text))
    call_usage_error(p, "'%s' must not hold control characters", q->name);
  if (q->flags & FILLED && text.size == 0) call_usage_error(p, "'%s' must not be empty", q->name);
  if (!is_utf8(text)) call_usage_error(p, "'%s' must be UTF-8 text", q->name);
  if (q->field && memchr(text.data, 0, text.size))
    call_usage_error(p, "'%s' must not hold a zero byte", q->name);
}

/* The member of an object that a message carries alone. */
static void check_member(const struct plan *p, const struct param *q, int index) {
  if (!q->member || !lua_istable(p->L, index)) return;
  if (lua_getfield(p->L, index, q->member) == LUA_TSTRING)
    check_text_param(p, q, check_bytes(p->L, lua_gettop(p->L)));
  lua_pop(p->L, 1);
}

static void text_value(const struct plan *p, const struct param *q, int index, struct buf *out) {
  if (q->flags & NUMBER_AS_TEXT && lua_type(p->L, index) == LUA_TNUMBER) {
    buf_format(out, "%lld", (long long)integer_value(p, q, index));
    return;
  }
  struct bytes text = string_value(p, q, index);
  check_text_param(p, q, text);
  buf_add(out, text.data, text.size);
}

bool is_boolean_word(const struct plan *p, const struct param *q, int index) {
  return q->word && lua_type(p->L, index) == LUA_TSTRING && strcmp(lua_tostring(p->L, index), q->word) == 0;
}

bool boolean_value(const struct plan *p, const struct param *q, int index) {
  if (!lua_isboolean(p->L, index))
    call_usage_error(p, "'%s' must be true%s%s or false, got %s", q->name, q->word ? ", " : "",
                     q->word ? q->word : "", luaL_typename(p->L, index));
  return lua_toboolean(p->L, index);
}

struct bytes public_key_value(const struct plan *p, const struct param *q, int index) {
  struct err e;
  err_clear(&e);
  unsigned char public[PUBLIC_SIZE];
  struct bytes given = string_value(p, q, index);
  struct crypto *c = state_crypto(p->L, &e);
  if (!c || !key_public_read(c, given, public, &e))
    call_usage_error(p, "'%s' must be a public key (PEM text, 130 hex digits or 65 bytes): %s", q->name,
                     e.message);
  lua_pushlstring(p->L, (const char *)public, sizeof public);
  return check_bytes(p->L, lua_gettop(p->L));
}

static void joined_strings(const struct plan *p, const struct param *q, int index, struct buf *out);

/* The value as written in a path or a query, before percent-encoding. */
void plain_text(const struct plan *p, const struct param *q, int index, struct buf *out) {
  if (q->choices && q->type != TYPE_STRINGS) {
    const struct choice *c = choice_value(p, q, index);
    if (c->text)
      buf_text_add(out, c->text);
    else
      buf_json_number(out, c->number);
    return;
  }
  switch (q->type) {
  case TYPE_STRING:
    text_value(p, q, index, out);
    return;
  case TYPE_INTEGER:
    buf_format(out, "%lld", (long long)integer_value(p, q, index));
    return;
  case TYPE_NUMBER:
    buf_json_number(out, number_value(p, q, index));
    return;
  case TYPE_BOOLEAN:
    buf_text_add(out, boolean_value(p, q, index) ? "true" : "false");
    return;
  case TYPE_ID:
  case TYPE_VIN:
    id_value(p, q, index, out);
    return;
  case TYPE_TIME:
  case TYPE_DATE:
    time_value(p, q, index, out);
    return;
  case TYPE_DAYS:
    days_text(out, days_value(p, q, index));
    return;
  case TYPE_BYTES:
    buf_base64(out, string_value(p, q, index));
    return;
  case TYPE_PUBLIC_KEY:
    buf_hex(out, public_key_value(p, q, index));
    lua_pop(p->L, 1);
    return;
  case TYPE_STRINGS:
  case TYPE_VINS:
    joined_strings(p, q, index, out);
    return;
  case TYPE_OBJECT:
  case TYPE_TARIFF:
    break;
  }
  call_usage_error(p, "'%s' cannot stand in an address", q->name);
}

/* How many elements one request may carry; a list without any says nothing. */
static void check_count(const struct plan *p, const struct param *q, lua_Integer count) {
  if (count == 0) call_usage_error(p, "'%s' must be a list with at least one element", q->name);
  if (bounded(q) && (lua_Number)count > q->max)
    call_usage_error(p, "'%s' takes at most %d elements", q->name, (int)q->max);
}

/* A list, each element checked like a single value. */
static void each_string(const struct plan *p, const struct param *q, int index,
                        void (*take)(struct buf *, const struct buf *, lua_Integer), struct buf *out) {
  struct param one = *q;
  one.type = q->type == TYPE_VINS ? TYPE_VIN : TYPE_STRING;
  one.min = one.max = 0; /* of a list they bound the number of elements */
  if (lua_type(p->L, index) != LUA_TTABLE)
    call_usage_error(p, "'%s' must be a list of strings, got %s", q->name, luaL_typename(p->L, index));
  lua_Integer count = luaL_len(p->L, index);
  check_count(p, q, count);
  for (lua_Integer i = 1; i <= count; i++) {
    struct buf *item = push_scratch(p->L);
    lua_geti(p->L, index, i);
    plain_text(p, &one, lua_gettop(p->L), item);
    take(out, item, i);
    box_close(p->L, -2);
    lua_pop(p->L, 2);
  }
}

static void take_joined(struct buf *out, const struct buf *item, lua_Integer i) {
  if (i > 1) buf_put(out, ';');
  buf_add(out, item->data, item->size);
}

/* vehicle_data's endpoints are joined with semicolons (doc/protocol.md#vehicle-data). */
static void joined_strings(const struct plan *p, const struct param *q, int index, struct buf *out) {
  each_string(p, q, index, take_joined, out);
}

static void take_json(struct buf *out, const struct buf *item, lua_Integer i) {
  if (i > 1) buf_put(out, ',');
  buf_json_string(out, buf_bytes(item));
}

static void json_text(const struct plan *p, const struct param *q, int index, struct buf *out, bool quoted) {
  if (!quoted) {
    plain_text(p, q, index, out);
    return;
  }
  struct buf *text = push_scratch(p->L);
  plain_text(p, q, index, text);
  buf_json_string(out, buf_bytes(text));
  box_close(p->L, -1);
  lua_pop(p->L, 1);
}

/* An object of the module that knows its own JSON (a tariff) has a method encode; other tables are written as
 * they are. */
static void json_object(const struct plan *p, const struct param *q, int index, struct buf *out) {
  if (luaL_getmetafield(p->L, index, "encode") != LUA_TNIL) {
    lua_pushvalue(p->L, index);
    lua_call(p->L, 1, 1);
    struct bytes text = string_value(p, q, lua_gettop(p->L));
    buf_add(out, text.data, text.size);
    lua_pop(p->L, 1);
    return;
  }
  if (lua_type(p->L, index) != LUA_TTABLE)
    call_usage_error(p, "'%s' must be a table, got %s", q->name, luaL_typename(p->L, index));
  check_member(p, q, index);
  json_encode(p->L, index, out, q->lists);
}

/* The value as written in the body. An id of digits only is written as an exact integer literal. */
void json_value(const struct plan *p, const struct param *q, int index, struct buf *out) {
  if (q->choices && q->type != TYPE_STRINGS) {
    const struct choice *c = choice_value(p, q, index);
    json_text(p, q, index, out, c->text != NULL);
    return;
  }
  if (is_boolean_word(p, q, index)) {
    buf_json_string(out, bytes_of(q->word));
    return;
  }
  switch (q->type) {
  case TYPE_INTEGER:
  case TYPE_NUMBER:
  case TYPE_BOOLEAN:
    json_text(p, q, index, out, false);
    return;
  case TYPE_ID:
    json_text(p, q, index, out, !bounded(q));
    return;
  case TYPE_STRING:
    if (q->flags & OBJECT_TOO && lua_istable(p->L, index)) {
      json_encode(p->L, index, out, NULL);
      return;
    }
    json_text(p, q, index, out, true);
    return;
  case TYPE_VIN:
  case TYPE_TIME:
  case TYPE_DATE:
  case TYPE_BYTES:
  case TYPE_PUBLIC_KEY:
  case TYPE_DAYS:
    json_text(p, q, index, out, true);
    return;
  case TYPE_STRINGS:
  case TYPE_VINS:
    buf_put(out, '[');
    each_string(p, q, index, take_json, out);
    buf_put(out, ']');
    return;
  case TYPE_OBJECT:
  case TYPE_TARIFF:
    json_object(p, q, index, out);
    return;
  }
}
