#include "stream/push.h"

#include "stream/payload.h"
#include "stream/proto/vehicle_alert.pb-c.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  MOST_SIGNALS = 1024, /* of a message, and alerts, errors, audiences; vehicles have fewer than 300 fields */
  SEEN = 512,          /* field numbers whose first signal is distinguished from a second one */
};

/* ---- values ---- */

/* A time outside the years 1 to 9999, the range of a Timestamp, is unknown. */
static void push_seconds(lua_State *L, double seconds) {
  if (seconds >= -62135596800.0 && seconds < 253402300800.0)
    push_number(L, seconds);
  else
    lua_pushnil(L);
}

/* To the microsecond: the last nanoseconds of a second would be rounded to the next one. */
static void push_time(lua_State *L, const struct instant *t) {
  if (t->given)
    push_seconds(L, (double)t->seconds + floor((double)t->nanoseconds / 1000) / 1e6);
  else
    lua_pushnil(L);
}

static void push_text(lua_State *L, struct bytes text) {
  lua_pushlstring(L, text.data ? (const char *)text.data : "", text.size);
}

static void push_digits(lua_State *L, int64_t number) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)number);
  lua_pushstring(L, text);
}

/* As in JSON replies: above 15 digits as text, since a number of older Luas would lose some. */
static void push_integer(lua_State *L, int64_t value) {
  if (value > -1000000000000000 && value < 1000000000000000)
    push_number(L, (double)value);
  else
    push_digits(L, value);
}

/* The enum's name without its prefix, which "Unknown" at number 0 shows; the number as text where it has no
 * name. */
static void push_enum(lua_State *L, const ProtobufCEnumDescriptor *type, int64_t number) {
  const char *zero = enum_name(type, 0), *name = enum_name(type, number);
  size_t prefix = zero ? strlen(zero) : 0;
  prefix = prefix >= strlen("Unknown") ? prefix - strlen("Unknown") : 0;
  if (!name)
    push_digits(L, number);
  else
    lua_pushstring(L, zero && strncmp(name, zero, prefix) == 0 ? name + prefix : name);
}

/* A message of booleans: doors, tyres. */
static void push_booleans(lua_State *L, const ProtobufCMessageDescriptor *type, const uint64_t *parts) {
  lua_createtable(L, 0, (int)type->n_fields);
  for (unsigned i = 0; i < type->n_fields && i < VALUE_PARTS; i++)
    set_boolean(L, type->fields[i].name, parts[i] != 0);
}

static void push_parts(lua_State *L, const ProtobufCMessageDescriptor *type, const uint64_t *parts) {
  if (type == &fleet__telemetry__vehicle_data__location_value__descriptor) {
    lua_createtable(L, 0, 2);
    set_number(L, "latitude", wire_double(parts[0]));
    set_number(L, "longitude", wire_double(parts[1]));
  } else if (type == &fleet__telemetry__vehicle_data__time__descriptor) {
    char text[80];
    value_clock(parts, text, sizeof text);
    lua_pushstring(L, text);
  } else {
    push_booleans(L, type, parts);
  }
}

static void push_value(lua_State *L, const struct value *v) {
  switch (v->member->type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_INT64:
    push_integer(L, v->number);
    break;
  case PROTOBUF_C_TYPE_FLOAT:
    push_number(L, shortest_float((float)v->real));
    break;
  case PROTOBUF_C_TYPE_DOUBLE:
    push_number(L, v->real);
    break;
  case PROTOBUF_C_TYPE_BOOL:
    lua_pushboolean(L, v->number != 0);
    break;
  case PROTOBUF_C_TYPE_ENUM:
    push_enum(L, v->member->descriptor, v->number);
    break;
  case PROTOBUF_C_TYPE_MESSAGE:
    push_parts(L, v->member->descriptor, v->parts);
    break;
  default:
    push_text(L, v->text);
    break;
  }
}

/* ---- topic V ---- */

/* The tables of a record at their places on the stack. */
struct tables {
  int values, texts, invalid; /* texts: nil until there is one; invalid: a list */
  int count;                  /* of invalid */
  unsigned char seen[SEEN / 8];
};

void push_field_name(lua_State *L, int64_t field) {
  const char *name = signal_name(field);
  if (name)
    lua_pushstring(L, name);
  else
    push_digits(L, field);
}

static bool first_of(struct tables *t, int64_t field) {
  if (field < 0 || field >= SEEN) return false;
  unsigned char bit = (unsigned char)(1u << field % 8);
  bool first = !(t->seen[field / 8] & bit);
  t->seen[field / 8] |= bit;
  return first;
}

static void clear_member(lua_State *L, int name, int table) {
  lua_pushvalue(L, name);
  lua_pushnil(L);
  lua_rawset(L, table);
}

/* Takes back what an earlier signal said of the field whose name is on top of the stack. */
static void forget(lua_State *L, struct tables *t) {
  int name = lua_gettop(L);
  clear_member(L, name, t->values);
  if (lua_istable(L, t->texts)) clear_member(L, name, t->texts);
  for (int i = 1; i <= t->count; i++) {
    lua_rawgeti(L, t->invalid, i);
    bool same = lua_rawequal(L, -1, name);
    lua_pop(L, 1);
    if (!same) continue;
    lua_rawgeti(L, t->invalid, t->count);
    lua_rawseti(L, t->invalid, i);
    lua_pushnil(L);
    lua_rawseti(L, t->invalid, t->count--);
    return;
  }
}

static bool is_finite(const struct value *v) {
  if (v->member->descriptor == &fleet__telemetry__vehicle_data__location_value__descriptor)
    return isfinite(wire_double(v->parts[0])) && isfinite(wire_double(v->parts[1]));
  return isfinite(v->real);
}

static void set_signal_text(lua_State *L, int texts) {
  if (lua_isnil(L, texts)) {
    lua_newtable(L);
    lua_replace(L, texts);
  }
  lua_rawset(L, texts);
}

/* Where a field comes twice, the last signal counts. One without a value that this reader knows, or with a
 * number that is not finite, is invalid, too: its earlier value does not hold any more. */
static bool push_signal(lua_State *L, struct tables *t, struct bytes datum) {
  struct signal s;
  if (!signal_read(datum, &s)) return false;
  push_field_name(L, s.field);
  if (!first_of(t, s.field)) forget(L, t);
  if (value_is_invalid(&s.value) || !is_finite(&s.value)) {
    lua_rawseti(L, t->invalid, ++t->count);
  } else {
    push_value(L, &s.value);
    if (s.value.member->type == PROTOBUF_C_TYPE_STRING)
      set_signal_text(L, t->texts);
    else
      lua_rawset(L, t->values);
  }
  return true;
}

/* So that the table of values does not grow signal by signal. */
static int count_signals(struct bytes payload) {
  struct wire_field f;
  int count = 0;
  while (payload.size && count < MOST_SIGNALS && wire_next(&payload, &f)) count += wire_is(&f, 1, WIRE_BYTES);
  return count;
}

/* record.values, record.texts (which Lua converts by the field's kind; nil without texts), record.invalid. */
static bool push_signals(lua_State *L, struct bytes payload) {
  int record = lua_gettop(L), signals = 0;
  struct tables t = {.values = record + 1, .texts = record + 2, .invalid = record + 3};
  struct instant created = {0};
  struct wire_field f;
  bool resend = false;
  lua_createtable(L, 0, count_signals(payload));
  lua_pushnil(L);
  lua_newtable(L);
  while (payload.size) {
    if (!wire_next(&payload, &f)) return false;
    if (wire_is(&f, 1, WIRE_BYTES) && (++signals > MOST_SIGNALS || !push_signal(L, &t, f.bytes)))
      return false;
    if (wire_is(&f, 2, WIRE_BYTES) && !instant_read(f.bytes, &created)) return false;
    if (wire_is(&f, 3, WIRE_BYTES) && !is_text(f.bytes)) return false;
    if (wire_is(&f, 4, WIRE_VARINT)) resend = f.value != 0;
  }
  lua_setfield(L, record, "invalid");
  lua_setfield(L, record, "texts");
  lua_setfield(L, record, "values");
  set_integer(L, "signals", signals);
  set_boolean(L, "resend", resend);
  push_time(L, &created);
  lua_setfield(L, record, "at");
  return true;
}

/* ---- alerts and errors ---- */

/* Older vehicles give milliseconds where seconds are meant. */
static void set_alert_time(lua_State *L, const char *name, const struct instant *t) {
  const int64_t milliseconds_from = 315576000000;
  if (t->given && t->seconds >= milliseconds_from)
    push_seconds(L, (double)t->seconds / 1000);
  else
    push_time(L, t);
  lua_setfield(L, -2, name);
}

static bool read_text(const struct wire_field *f, struct bytes *text) {
  *text = f->bytes;
  return is_text(*text);
}

static void add_audience(lua_State *L, int list, uint64_t value) {
  const char *name = enum_name(&fleet__telemetry__vehicle_alerts__audience__descriptor, wire_int32(value));
  if (name)
    lua_pushstring(L, name);
  else
    push_digits(L, wire_int32(value));
  list_append(L, list);
}

/* Packed, or one by one. */
static bool add_audiences(lua_State *L, int list, const struct wire_field *f) {
  struct bytes packed = f->bytes;
  uint64_t value;
  if (wire_is(f, 2, WIRE_VARINT)) add_audience(L, list, f->value);
  while (wire_is(f, 2, WIRE_BYTES) && packed.size) {
    if (!wire_varint(&packed, &value)) return false;
    add_audience(L, list, value);
    if (lua_rawlen(L, list) > MOST_SIGNALS) return false;
  }
  return lua_rawlen(L, list) <= MOST_SIGNALS;
}

static bool push_alert(lua_State *L, struct bytes in) {
  struct wire_field f;
  struct instant started = {0}, ended = {0};
  lua_createtable(L, 0, 4);
  lua_newtable(L);
  int alert = lua_gettop(L) - 1, audiences = alert + 1;
  struct bytes name = {NULL, 0};
  while (in.size) {
    if (!wire_next(&in, &f) || !add_audiences(L, audiences, &f)) return false;
    if (wire_is(&f, 1, WIRE_BYTES) && !read_text(&f, &name)) return false;
    if (wire_is(&f, 3, WIRE_BYTES) && !instant_read(f.bytes, &started)) return false;
    if (wire_is(&f, 4, WIRE_BYTES) && !instant_read(f.bytes, &ended)) return false;
  }
  lua_setfield(L, alert, "audiences");
  set_bytes(L, "name", name);
  set_alert_time(L, "started_at", &started);
  set_alert_time(L, "ended_at", &ended);
  return true;
}

/* An entry of the map, which is on top of the stack. */
static bool add_tag(lua_State *L, struct bytes in) {
  struct wire_field f;
  struct bytes key = {NULL, 0}, value = {NULL, 0};
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    if (wire_is(&f, 1, WIRE_BYTES) && !read_text(&f, &key)) return false;
    if (wire_is(&f, 2, WIRE_BYTES) && !read_text(&f, &value)) return false;
  }
  push_text(L, key);
  push_text(L, value);
  lua_rawset(L, -3);
  return true;
}

static bool push_error(lua_State *L, struct bytes in) {
  struct wire_field f;
  struct bytes name = {NULL, 0}, body = {NULL, 0};
  struct instant created = {0};
  lua_createtable(L, 0, 4);
  lua_newtable(L);
  while (in.size) {
    if (!wire_next(&in, &f)) return false;
    if (wire_is(&f, 1, WIRE_BYTES) && !instant_read(f.bytes, &created)) return false;
    if (wire_is(&f, 2, WIRE_BYTES) && !read_text(&f, &name)) return false;
    if (wire_is(&f, 3, WIRE_BYTES) && !add_tag(L, f.bytes)) return false;
    if (wire_is(&f, 4, WIRE_BYTES) && !read_text(&f, &body)) return false;
  }
  lua_setfield(L, -2, "tags");
  set_bytes(L, "name", name);
  set_bytes(L, "body", body);
  push_time(L, &created);
  lua_setfield(L, -2, "at");
  return true;
}

/* Both messages have a list, a time and a VIN as their members 1, 2 and 3. */
static bool push_list(lua_State *L, const char *name, struct bytes in,
                      bool (*push_one)(lua_State *L, struct bytes in)) {
  int record = lua_gettop(L), list = record + 1;
  struct wire_field f;
  struct instant created = {0};
  lua_newtable(L);
  for (int count = 0; in.size;) {
    if (!wire_next(&in, &f)) return false;
    if (wire_is(&f, 1, WIRE_BYTES)) {
      if (++count > MOST_SIGNALS || !push_one(L, f.bytes)) return false;
      lua_rawseti(L, list, count);
    }
    if (wire_is(&f, 2, WIRE_BYTES) && !instant_read(f.bytes, &created)) return false;
    if (wire_is(&f, 3, WIRE_BYTES) && !is_text(f.bytes)) return false;
  }
  lua_setfield(L, record, name);
  push_time(L, &created);
  lua_setfield(L, record, "at");
  return true;
}

bool push_payload(lua_State *L, struct bytes topic, struct bytes payload) {
  int record = lua_gettop(L);
  bool good = true;
  luaL_checkstack(L, 20, NULL);
  if (bytes_equal(topic, bytes_of("V")))
    good = push_signals(L, payload);
  else if (bytes_equal(topic, bytes_of("alerts")))
    good = push_list(L, "alerts", payload, push_alert);
  else if (bytes_equal(topic, bytes_of("errors")))
    good = push_list(L, "errors", payload, push_error);
  lua_settop(L, record);
  return good;
}
