#include "stream/push.h"

#include "stream/proto/vehicle_alert.pb-c.h"
#include "stream/proto/vehicle_data.pb-c.h"
#include "stream/proto/vehicle_error.pb-c.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory of a message: a million bytes can name half a million empty signals ---- */

enum { MEMORY = 16 * 1024 * 1024 };

static void *limited_alloc(void *data, size_t size) {
  size_t *left = data;
  if (size > *left) return NULL;
  *left -= size;
  return malloc(size);
}

static void limited_free(void *data, void *pointer) {
  (void)data;
  free(pointer);
}

/* The unpacked message in a box of its own, so that a raise leaks nothing. */
struct unpacked {
  ProtobufCMessage *message;
};

static void release_unpacked(void *object) {
  protobuf_c_message_free_unpacked(((struct unpacked *)object)->message, NULL);
}

const struct box_type unpacked_type = {"fleet.stream.payload", release_unpacked, NULL, NULL};

/* Pushes the box; NULL: not such a message. */
static const void *unpack(lua_State *L, const ProtobufCMessageDescriptor *type, struct bytes payload) {
  size_t left = MEMORY;
  ProtobufCAllocator allocator = {limited_alloc, limited_free, &left};
  struct unpacked *u = box_new(L, &unpacked_type, sizeof *u, 0);
  static const unsigned char nothing[1];
  u->message =
      protobuf_c_message_unpack(type, &allocator, payload.size, payload.data ? payload.data : nothing);
  if (u->message) box_open(L, lua_gettop(L));
  return u->message;
}

/* ---- values ---- */

/* A time outside the years 1 to 9999, the range of a Timestamp, is unknown. */
static void push_seconds(lua_State *L, double seconds) {
  if (seconds >= -62135596800.0 && seconds < 253402300800.0)
    push_number(L, seconds);
  else
    lua_pushnil(L);
}

static void push_time(lua_State *L, const Fleet__Google__Protobuf__Timestamp *t) {
  if (t)
    push_seconds(L, (double)t->seconds + t->nanos / 1e9);
  else
    lua_pushnil(L);
}

/* The shortest number that is this float: 0.1, not 0.10000000149. */
static void push_float(lua_State *L, float value) {
  char text[32];
  double shortest = value;
  for (int digits = 6; digits <= 9 && isfinite(value); digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    shortest = strtod(text, NULL);
    if ((float)shortest == value) break;
  }
  push_number(L, shortest);
}

/* As in JSON replies: above 15 digits as text, since a number of older Luas would lose some. */
static void push_long(lua_State *L, int64_t value) {
  char text[24];
  snprintf(text, sizeof text, "%lld", (long long)value);
  if (value > -1000000000000000 && value < 1000000000000000)
    push_number(L, (double)value);
  else
    lua_pushstring(L, text);
}

/* The enum's name without its prefix, which "Unknown" at number 0 shows; the number as text where it has no
 * name. */
static void push_enum(lua_State *L, const ProtobufCEnumDescriptor *type, int number) {
  const ProtobufCEnumValue *zero = protobuf_c_enum_descriptor_get_value(type, 0);
  const ProtobufCEnumValue *value = protobuf_c_enum_descriptor_get_value(type, number);
  size_t prefix = zero ? strlen(zero->name) : 0;
  prefix = prefix >= strlen("Unknown") ? prefix - strlen("Unknown") : 0;
  if (!value)
    lua_pushfstring(L, "%d", number);
  else
    lua_pushstring(L, zero && strncmp(value->name, zero->name, prefix) == 0 ? value->name + prefix
                                                                            : value->name);
}

/* A message of booleans: doors, tyres. */
static void push_booleans(lua_State *L, const ProtobufCMessage *m) {
  lua_createtable(L, 0, (int)m->descriptor->n_fields);
  for (unsigned i = 0; i < m->descriptor->n_fields; i++) {
    const ProtobufCFieldDescriptor *f = &m->descriptor->fields[i];
    if (f->type == PROTOBUF_C_TYPE_BOOL)
      set_boolean(L, f->name, *(const protobuf_c_boolean *)((const char *)m + f->offset));
  }
}

static void push_message(lua_State *L, const ProtobufCMessage *m) {
  if (m->descriptor == &fleet__telemetry__vehicle_data__location_value__descriptor) {
    const Fleet__Telemetry__VehicleData__LocationValue *l = (const void *)m;
    lua_createtable(L, 0, 2);
    set_number(L, "latitude", l->latitude);
    set_number(L, "longitude", l->longitude);
  } else if (m->descriptor == &fleet__telemetry__vehicle_data__time__descriptor) {
    const Fleet__Telemetry__VehicleData__Time *t = (const void *)m;
    char text[48];
    snprintf(text, sizeof text, "%02d:%02d:%02d", (int)t->hour, (int)t->minute, (int)t->second);
    lua_pushstring(L, text);
  } else {
    push_booleans(L, m);
  }
}

/* The member of the value that is set; NULL: none that this reader knows. */
static const ProtobufCFieldDescriptor *member_of(const Fleet__Telemetry__VehicleData__Value *v) {
  return v && v->value_case ? protobuf_c_message_descriptor_get_field(v->base.descriptor, v->value_case)
                            : NULL;
}

static void push_value(lua_State *L, const Fleet__Telemetry__VehicleData__Value *v,
                       const ProtobufCFieldDescriptor *f) {
  const void *at = (const char *)v + f->offset;
  switch (f->type) {
  case PROTOBUF_C_TYPE_INT32:
    lua_pushinteger(L, *(const int32_t *)at);
    break;
  case PROTOBUF_C_TYPE_INT64:
    push_long(L, *(const int64_t *)at);
    break;
  case PROTOBUF_C_TYPE_FLOAT:
    push_float(L, *(const float *)at);
    break;
  case PROTOBUF_C_TYPE_DOUBLE:
    push_number(L, *(const double *)at);
    break;
  case PROTOBUF_C_TYPE_BOOL:
    lua_pushboolean(L, *(const protobuf_c_boolean *)at);
    break;
  case PROTOBUF_C_TYPE_ENUM:
    push_enum(L, f->descriptor, *(const int *)at);
    break;
  case PROTOBUF_C_TYPE_MESSAGE:
    push_message(L, *(const ProtobufCMessage *const *)at);
    break;
  default:
    lua_pushstring(L, *(const char *const *)at);
    break;
  }
}

static void push_field_name(lua_State *L, int number) {
  const ProtobufCEnumValue *v =
      protobuf_c_enum_descriptor_get_value(&fleet__telemetry__vehicle_data__field__descriptor, number);
  if (v)
    lua_pushstring(L, v->name);
  else
    lua_pushfstring(L, "%d", number);
}

/* table.values, table.texts (which Lua converts by the field's kind), table.invalid (a list). A signal
 * without a value that this reader knows is invalid, too: its earlier value does not hold any more. */
static void push_signals(lua_State *L, const Fleet__Telemetry__VehicleData__Payload *p) {
  int record = lua_gettop(L), values = record + 1, texts = record + 2, invalid = record + 3, count = 0;
  lua_createtable(L, 0, (int)(p->n_data < 300 ? p->n_data : 300));
  lua_newtable(L);
  lua_newtable(L);
  for (size_t i = 0; i < p->n_data; i++) {
    const Fleet__Telemetry__VehicleData__Datum *d = p->data[i];
    const ProtobufCFieldDescriptor *member = member_of(d->value);
    push_field_name(L, (int)d->key);
    if (!member || member->id == FLEET__TELEMETRY__VEHICLE_DATA__VALUE__VALUE_INVALID) {
      lua_rawseti(L, invalid, ++count);
    } else {
      push_value(L, d->value, member);
      lua_rawset(L, member->type == PROTOBUF_C_TYPE_STRING ? texts : values);
    }
  }
  lua_setfield(L, record, "invalid");
  lua_setfield(L, record, "texts");
  lua_setfield(L, record, "values");
  set_integer(L, "signals", (lua_Integer)p->n_data);
  set_boolean(L, "resend", p->is_resend);
  push_time(L, p->created_at);
  lua_setfield(L, record, "at");
}

/* ---- alerts and errors ---- */

/* Older vehicles give milliseconds where seconds are meant. */
static void set_alert_time(lua_State *L, const char *name, const Fleet__Google__Protobuf__Timestamp *t) {
  const int64_t milliseconds_from = 315576000000;
  if (t && t->seconds >= milliseconds_from)
    push_seconds(L, (double)t->seconds / 1000);
  else
    push_time(L, t);
  lua_setfield(L, -2, name);
}

static void push_audiences(lua_State *L, const Fleet__Telemetry__VehicleAlerts__VehicleAlert *a) {
  lua_createtable(L, (int)a->n_audiences, 0);
  for (size_t i = 0; i < a->n_audiences; i++) {
    const ProtobufCEnumValue *v = protobuf_c_enum_descriptor_get_value(
        &fleet__telemetry__vehicle_alerts__audience__descriptor, (int)a->audiences[i]);
    if (v)
      lua_pushstring(L, v->name);
    else
      lua_pushfstring(L, "%d", (int)a->audiences[i]);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_alerts(lua_State *L, const Fleet__Telemetry__VehicleAlerts__VehicleAlerts *m) {
  lua_createtable(L, (int)m->n_alerts, 0);
  for (size_t i = 0; i < m->n_alerts; i++) {
    const Fleet__Telemetry__VehicleAlerts__VehicleAlert *a = m->alerts[i];
    lua_createtable(L, 0, 4);
    set_text(L, "name", a->name);
    push_audiences(L, a);
    lua_setfield(L, -2, "audiences");
    set_alert_time(L, "started_at", a->started_at);
    set_alert_time(L, "ended_at", a->ended_at);
    lua_rawseti(L, -2, (int)i + 1);
  }
}

static void push_errors(lua_State *L, const Fleet__Telemetry__VehicleError__VehicleErrors *m) {
  lua_createtable(L, (int)m->n_errors, 0);
  for (size_t i = 0; i < m->n_errors; i++) {
    const Fleet__Telemetry__VehicleError__VehicleError *one = m->errors[i];
    lua_createtable(L, 0, 4);
    set_text(L, "name", one->name);
    set_text(L, "body", one->body);
    push_time(L, one->created_at);
    lua_setfield(L, -2, "at");
    lua_createtable(L, 0, (int)one->n_tags);
    for (size_t k = 0; k < one->n_tags; k++) set_text(L, one->tags[k]->key, one->tags[k]->value);
    lua_setfield(L, -2, "tags");
    lua_rawseti(L, -2, (int)i + 1);
  }
}

bool push_payload(lua_State *L, struct bytes topic, struct bytes payload) {
  int record = lua_gettop(L);
  bool good = true;
  if (bytes_equal(topic, bytes_of("V"))) {
    const Fleet__Telemetry__VehicleData__Payload *p =
        unpack(L, &fleet__telemetry__vehicle_data__payload__descriptor, payload);
    lua_pushvalue(L, record);
    if ((good = p != NULL)) push_signals(L, p);
  } else if (bytes_equal(topic, bytes_of("alerts"))) {
    const Fleet__Telemetry__VehicleAlerts__VehicleAlerts *m =
        unpack(L, &fleet__telemetry__vehicle_alerts__vehicle_alerts__descriptor, payload);
    if ((good = m != NULL)) {
      push_alerts(L, m);
      lua_setfield(L, record, "alerts");
      push_time(L, m->created_at);
      lua_setfield(L, record, "at");
    }
  } else if (bytes_equal(topic, bytes_of("errors"))) {
    const Fleet__Telemetry__VehicleError__VehicleErrors *m =
        unpack(L, &fleet__telemetry__vehicle_error__vehicle_errors__descriptor, payload);
    if ((good = m != NULL)) {
      push_errors(L, m);
      lua_setfield(L, record, "errors");
      push_time(L, m->created_at);
      lua_setfield(L, record, "at");
    }
  }
  if (lua_gettop(L) > record) box_close(L, record + 1);
  lua_settop(L, record);
  return good;
}
