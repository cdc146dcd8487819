#include "base/vin.h"
#include "bind/call/handles.h"

#include <string.h>

/* Methods of a closed client return an error of kind `closed`, so that calls in flight can report it. */
static const struct box_type client_type = {"fleet.client", NULL, NULL, NULL};

static int l_handle_tostring(lua_State *L), l_handle_eq(lua_State *L);
static const luaL_Reg handle_metamethods[] = {
    {"__tostring", l_handle_tostring}, {"__eq", l_handle_eq}, {NULL, NULL}};
static const struct box_type handle_types[] = {{"fleet.vehicle", NULL, NULL, handle_metamethods},
                                               {"fleet.site", NULL, NULL, handle_metamethods},
                                               {"fleet.partner", NULL, NULL, handle_metamethods},
                                               {"fleet.user", NULL, NULL, handle_metamethods},
                                               {"fleet.charging", NULL, NULL, handle_metamethods}};
enum { HANDLES = sizeof handle_types / sizeof *handle_types };

static const char *kind_of_type(const struct box_type *type) {
  return type->name + strlen("fleet.");
}

static const struct box_type *type_at(lua_State *L, int index) {
  const struct box_type *type = box_type_at(L, index);
  if (type == &client_type) return type;
  for (int i = 0; i < HANDLES; i++)
    if (type == &handle_types[i]) return type;
  return NULL;
}

static const struct box_type *type_named(lua_State *L, int index) {
  const char *name = luaL_checkstring(L, index);
  if (strcmp(name, "client") == 0) return &client_type;
  for (int i = 0; i < HANDLES; i++)
    if (strcmp(kind_of_type(&handle_types[i]), name) == 0) return &handle_types[i];
  luaL_error(L, "no handle is called '%s'", name);
  return NULL;
}

const char *handle_kind(lua_State *L, int index) {
  const struct box_type *type = type_at(L, index);
  if (!type) return NULL;
  return kind_of_type(type);
}

void handle_push_both(lua_State *L, int index) {
  const struct box_type *type = type_at(L, index);
  if (!type) luaL_typeerror(L, index, "fleet handle");
  if (type == &client_type) {
    lua_getiuservalue(L, index, CLIENT_CONTEXT);
    lua_pushnil(L);
    return;
  }
  lua_getiuservalue(L, index, HANDLE_CLIENT);
  lua_getiuservalue(L, -1, CLIENT_CONTEXT);
  lua_replace(L, -2);
  lua_getiuservalue(L, index, HANDLE_ID);
}

void handle_push_id(lua_State *L, int index) {
  if (box_test(L, index, &client_type))
    lua_pushnil(L);
  else
    lua_getiuservalue(L, index, HANDLE_ID);
}

static bool is_element_of(const void *given, const struct row *rows, size_t count) {
  uintptr_t offset = (uintptr_t)given - (uintptr_t)rows;
  return offset < count * sizeof *rows && offset % sizeof *rows == 0;
}

/* Rejects every pointer that does not point to a row of the tables. */
const struct row *row_at(lua_State *L, int index) {
  const void *given = lua_islightuserdata(L, index) ? lua_touserdata(L, index) : NULL;
  if (!is_element_of(given, endpoint_rows, endpoint_count) &&
      !is_element_of(given, command_rows, command_count))
    luaL_typeerror(L, index, "row");
  return given;
}

/* Shows the last four characters of the id: enough to distinguish vehicles, too few to address one. */
static int l_handle_tostring(lua_State *L) {
  const struct box_type *type = type_at(L, 1);
  if (!type || type == &client_type) return luaL_typeerror(L, 1, "fleet handle");
  lua_getiuservalue(L, 1, HANDLE_ID);
  size_t size = 0;
  const char *id = lua_tolstring(L, -1, &size);
  if (id)
    lua_pushfstring(L, "%s (...%s)", type->name, size > 4 ? id + size - 4 : id);
  else
    lua_pushstring(L, type->name);
  return 1;
}

static void push_handle(lua_State *L, const struct box_type *type, int client, int id) {
  if (!box_test(L, client, &client_type)) luaL_typeerror(L, client, client_type.name);
  box_new(L, type, 1, 2);
  lua_pushvalue(L, client);
  lua_setiuservalue(L, -2, HANDLE_CLIENT);
  lua_pushvalue(L, id);
  lua_setiuservalue(L, -2, HANDLE_ID);
}

/* Two handles of one client are equal when their kind and id are. */
static int l_handle_eq(lua_State *L) {
  const struct box_type *type = type_at(L, 1);
  bool same = type && type != &client_type && type == type_at(L, 2);
  for (int value = HANDLE_CLIENT; same && value <= HANDLE_ID; value++) {
    lua_getiuservalue(L, 1, value);
    lua_getiuservalue(L, 2, value);
    same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
  }
  lua_pushboolean(L, same);
  return 1;
}

/* The id of a handle, by the name for its kind: car.vin, site.id; NULL for handles without one. */
static const char *id_name(const struct box_type *type) {
  const char *kind = kind_of_type(type);
  return strcmp(kind, "vehicle") == 0 ? "vin" : strcmp(kind, "site") == 0 ? "id" : NULL;
}

/* client.partner, client.user, client.charging: the handles that need no id. No value for other names. */
static int push_part(lua_State *L, const char *word) {
  for (int i = 0; i < HANDLES; i++) {
    if (id_name(&handle_types[i]) || strcmp(kind_of_type(&handle_types[i]), word) != 0) continue;
    lua_pushnil(L);
    push_handle(L, &handle_types[i], 1, lua_gettop(L));
    return 1;
  }
  return 0;
}

/* Pushes the id or a member of the object; 0 values for other names. */
static int push_member(lua_State *L, const struct box_type *type, const char *word) {
  if (type == &client_type) return push_part(L, word);
  if (!id_name(type) || strcmp(word, id_name(type)) != 0) return 0;
  handle_push_id(L, 1);
  return 1;
}

/* __index: a method, the id, or a member. Upvalue: the table of methods. Its own __index may create a method
 * at the first use. */
static int l_handle_index(lua_State *L) {
  lua_settop(L, 2);
  lua_pushvalue(L, 2);
  if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
  const struct box_type *type = type_at(L, 1);
  if (!type || lua_type(L, 2) != LUA_TSTRING) return 0;
  if (push_member(L, type, lua_tostring(L, 2))) return 1;
  lua_pushvalue(L, 2);
  lua_gettable(L, lua_upvalueindex(1));
  return 1;
}

/* core.client(context) -> client */
static int l_client(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  box_new(L, &client_type, 1, 1);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, -2, CLIENT_CONTEXT);
  box_open(L, -1);
  return 1;
}

/* core.handle(kind, client, id or nil) -> handle */
static int l_handle(lua_State *L) {
  const struct box_type *type = type_named(L, 1);
  lua_settop(L, 3);
  push_handle(L, type, 2, 3);
  return 1;
}

/* core.methods(kind) -> the table of methods, the metatable of the handles. The table is kept under `methods`
 * in the metatable, so that a caller may replace __index and still find it. */
static int l_methods(lua_State *L) {
  const struct box_type *type = type_named(L, 1);
  lua_rawgetp(L, LUA_REGISTRYINDEX, type);
  lua_getfield(L, -1, "methods");
  lua_insert(L, -2);
  return 2;
}

/* core.context(handle) -> context, client, id or nil. Raises for other values. */
static int l_context(lua_State *L) {
  lua_settop(L, 1);
  handle_push_both(L, 1);
  lua_pop(L, 1);
  if (box_test(L, 1, &client_type))
    lua_pushvalue(L, 1);
  else
    lua_getiuservalue(L, 1, HANDLE_CLIENT);
  handle_push_id(L, 1);
  return 3;
}

/* core.is_vin(value) */
static int l_is_vin(lua_State *L) {
  lua_pushboolean(L, lua_type(L, 1) == LUA_TSTRING && is_vin(check_bytes(L, 1)));
  return 1;
}

static int l_is_handle(lua_State *L) {
  lua_pushboolean(L, type_at(L, 1) != NULL);
  return 1;
}

/* core.close(client): idempotent */
static int l_close(lua_State *L) {
  box_any(L, 1, &client_type);
  box_close(L, 1);
  return 0;
}

/* core.is_open(client) */
static int l_is_open(lua_State *L) {
  box_any(L, 1, &client_type);
  lua_pushboolean(L, box_is_open(L, 1));
  return 1;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

static void define_handle(lua_State *L, const struct box_type *type) {
  box_define(L, type);
  lua_getfield(L, -1, "__index");
  lua_pushvalue(L, -1);
  lua_setfield(L, -3, "methods");
  lua_pushcclosure(L, l_handle_index, 1);
  lua_setfield(L, -2, "__index");
  if (type != &client_type) { /* no resource to free, and an object without __gc costs the collector less */
    lua_pushnil(L);
    lua_setfield(L, -2, "__gc");
  }
  lua_pop(L, 1);
}

void open_handle(lua_State *L) {
  define_handle(L, &client_type);
  for (int i = 0; i < HANDLES; i++) define_handle(L, &handle_types[i]);
  static const luaL_Reg functions[] = {{"client", l_client},   {"handle", l_handle},
                                       {"methods", l_methods}, {"context", l_context},
                                       {"close", l_close},     {"is_handle", l_is_handle},
                                       {"is_vin", l_is_vin},   {"is_open", l_is_open},
                                       {"live", l_live},       {NULL, NULL}};
  luaL_setfuncs(L, functions, 0);
  lua_pushliteral(L, VIN_SPELLING);
  lua_setfield(L, -2, "vin_spelling");
}
