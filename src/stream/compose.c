#include "stream/compose.h"

#include "stream/proto/vehicle_data.pb-c.h"
#include "tables/rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- protobuf's wire format ---- */

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5 };

static void put_varint(struct buf *out, uint64_t value) {
  for (; value > 127; value >>= 7) buf_put(out, (unsigned char)(value | 128));
  buf_put(out, (unsigned char)value);
}

static void put_tag(struct buf *out, unsigned number, unsigned type) {
  put_varint(out, (uint64_t)number << 3 | type);
}

static void put_integer(struct buf *out, unsigned number, int64_t value) {
  put_tag(out, number, VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_little_endian(struct buf *out, uint64_t bits, int size) {
  for (int i = 0; i < size; i++) buf_put(out, (unsigned char)(bits >> 8 * i));
}

static void put_double(struct buf *out, unsigned number, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  put_tag(out, number, FIXED64);
  put_little_endian(out, bits, 8);
}

static void put_float(struct buf *out, unsigned number, double value) {
  float narrow = (float)value;
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  put_tag(out, number, FIXED32);
  put_little_endian(out, bits, 4);
}

static void put_bytes(struct buf *out, unsigned number, struct bytes value) {
  put_tag(out, number, BYTES);
  put_varint(out, value.size);
  buf_add(out, value.data, value.size);
}

/* ---- which member of the oneof carries a field ---- */

static const struct telemetry_field *row_of(int number) {
  for (const struct telemetry_field *f = telemetry_fields; f->name; f++)
    if (f->number == number) return f;
  return NULL;
}

static bool is_enum_with_prefix(const ProtobufCFieldDescriptor *f, const char *prefix) {
  if (f->type != PROTOBUF_C_TYPE_ENUM) return false;
  const ProtobufCEnumValue *zero = protobuf_c_enum_descriptor_get_value(f->descriptor, 0);
  size_t size = strlen(prefix);
  return zero && strncmp(zero->name, prefix, size) == 0 && strcmp(zero->name + size, "Unknown") == 0;
}

static const ProtobufCFieldDescriptor *enum_member(const char *prefix) {
  const ProtobufCMessageDescriptor *value = &fleet__telemetry__vehicle_data__value__descriptor;
  for (unsigned i = 0; prefix && i < value->n_fields; i++)
    if (is_enum_with_prefix(&value->fields[i], prefix)) return &value->fields[i];
  return NULL;
}

static const char *member_of_kind(const struct telemetry_field *row) {
  switch (row ? row->kind : FIELD_ANY) {
  case FIELD_NUMBER:
    return "double_value";
  case FIELD_INTEGER:
    return "int_value";
  case FIELD_BOOLEAN:
    return "boolean_value";
  case FIELD_TIME:
    return "long_value";
  case FIELD_LOCATION:
    return "location_value";
  default:
    return "string_value";
  }
}

/* By the name that is given at `name` on the stack, else by the field's row. */
static const ProtobufCFieldDescriptor *find_member(lua_State *L, int name, int number) {
  const struct telemetry_field *row = row_of(number);
  const ProtobufCFieldDescriptor *found = NULL;
  if (lua_isnil(L, name) && row && row->kind == FIELD_ENUM) found = enum_member(row->prefix);
  if (found) return found;
  const char *text = lua_isnil(L, name) ? member_of_kind(row) : luaL_checkstring(L, name);
  found = protobuf_c_message_descriptor_get_field_by_name(&fleet__telemetry__vehicle_data__value__descriptor,
                                                          text);
  if (!found) usage_error(L, "a signal has no member '%s'", text);
  return found;
}

/* ---- values ---- */

/* By its name, with its prefix or without, or by its number. */
static int64_t enum_number(lua_State *L, const ProtobufCEnumDescriptor *type, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) return (int64_t)lua_tonumber(L, index);
  const char *name = luaL_checkstring(L, index);
  const ProtobufCEnumValue *zero = protobuf_c_enum_descriptor_get_value(type, 0);
  size_t prefix =
      zero && strlen(zero->name) >= strlen("Unknown") ? strlen(zero->name) - strlen("Unknown") : 0;
  for (unsigned i = 0; i < type->n_values; i++) {
    const char *known = type->values[i].name;
    if (strcmp(known, name) == 0 || strcmp(known + (strlen(known) > prefix ? prefix : 0), name) == 0)
      return type->values[i].value;
  }
  return usage_error(L, "'%s' is no %s", name, type->short_name);
}

static double member_number(lua_State *L, int table, const char *name) {
  lua_getfield(L, table, name);
  double value = lua_isboolean(L, -1) ? lua_toboolean(L, -1) : luaL_optnumber(L, -1, 0);
  lua_pop(L, 1);
  return value;
}

/* A time is "07:05:59"; of the others a table has the members. */
static void put_message(lua_State *L, struct buf *out, const ProtobufCMessageDescriptor *type, int index) {
  if (type == &fleet__telemetry__vehicle_data__time__descriptor) {
    const char *at = luaL_checkstring(L, index);
    for (unsigned i = 1; i <= 3; i++) {
      char *end;
      put_integer(out, i, strtol(at, &end, 10));
      at = *end ? end + 1 : end;
    }
    return;
  }
  luaL_checktype(L, index, LUA_TTABLE);
  for (unsigned i = 0; i < type->n_fields; i++) {
    const ProtobufCFieldDescriptor *f = &type->fields[i];
    double value = member_number(L, index, f->name);
    if (f->type == PROTOBUF_C_TYPE_DOUBLE)
      put_double(out, f->id, value);
    else
      put_integer(out, f->id, value != 0);
  }
}

static void put_value(lua_State *L, struct buf *out, const ProtobufCFieldDescriptor *f, int index) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_INT32:
  case PROTOBUF_C_TYPE_INT64:
    return put_integer(out, f->id, (int64_t)floor(luaL_checknumber(L, index) + 0.5));
  case PROTOBUF_C_TYPE_FLOAT:
    return put_float(out, f->id, luaL_checknumber(L, index));
  case PROTOBUF_C_TYPE_DOUBLE:
    return put_double(out, f->id, luaL_checknumber(L, index));
  case PROTOBUF_C_TYPE_BOOL:
    return put_integer(out, f->id, lua_toboolean(L, index));
  case PROTOBUF_C_TYPE_ENUM:
    return put_integer(out, f->id, enum_number(L, f->descriptor, index));
  case PROTOBUF_C_TYPE_MESSAGE: {
    struct buf *inner = push_scratch(L);
    put_message(L, inner, f->descriptor, index);
    put_bytes(out, f->id, buf_bytes(inner));
    lua_pop(L, 1);
    return;
  }
  default:
    return put_bytes(out, f->id, check_bytes(L, index));
  }
}

/* By its name or, where it has none, by its number. */
static int field_number(lua_State *L, int index) {
  if (lua_type(L, index) == LUA_TNUMBER) return (int)lua_tointeger(L, index);
  const char *name = luaL_checkstring(L, index);
  for (const struct telemetry_field *f = telemetry_fields; f->name; f++)
    if (strcmp(f->name, name) == 0) return f->number;
  return usage_error(L, "there is no telemetry field '%s'", name);
}

/* The signal at index, as a Datum: { field =, value =, member = }. */
static void put_signal(lua_State *L, struct buf *out, int index) {
  luaL_checktype(L, index, LUA_TTABLE);
  lua_getfield(L, index, "field");
  lua_getfield(L, index, "member");
  lua_getfield(L, index, "value");
  int field = lua_gettop(L) - 2, number = field_number(L, field);
  struct buf *value = push_scratch(L), *datum = push_scratch(L);
  put_value(L, value, find_member(L, field + 1, number), field + 2);
  put_integer(datum, 1, number);
  put_bytes(datum, 2, buf_bytes(value));
  put_bytes(out, 1, buf_bytes(datum));
  lua_settop(L, field - 1);
}

int l_data_payload(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct buf *out = push_scratch(L), *time = push_scratch(L);
  lua_getfield(L, 1, "signals");
  luaL_checktype(L, 4, LUA_TTABLE);
  for (int i = 1;; i++) {
    lua_rawgeti(L, 4, i);
    if (lua_isnil(L, -1)) break;
    put_signal(L, out, lua_gettop(L));
    lua_settop(L, 4);
  }
  lua_settop(L, 4);
  lua_getfield(L, 1, "at");
  double at = luaL_optnumber(L, 5, 0);
  put_integer(time, 1, (int64_t)floor(at));
  put_integer(time, 2, (int64_t)((at - floor(at)) * 1e9));
  put_bytes(out, 2, buf_bytes(time));
  lua_getfield(L, 1, "vin");
  if (!lua_isnil(L, 6)) put_bytes(out, 3, check_bytes(L, 6));
  lua_getfield(L, 1, "resend");
  if (lua_toboolean(L, 7)) put_integer(out, 4, 1);
  push_buf(L, out);
  return 1;
}
