/* The connection to a broker as the library calls it back, without the library and with an allocator that
 * gives up. Only this module's own copy of the connection allocates here. Where the library's header is
 * missing there is nothing to probe. */
#include "bind/lua/versions.h"

#if __has_include(<mosquitto.h>)

#include "refusing.h"

#include "mqtt/broker.c"

/* ---- the library: one connection that is there and says nothing ---- */

static char room[1];

#define STUB(name, ...)                                                                                      \
  int name(__VA_ARGS__) {                                                                                    \
    return 0;                                                                                                \
  }
#define SETTER(name, ...)                                                                                    \
  void name(struct mosquitto *m, void (*f)(__VA_ARGS__)) {                                                   \
    (void)m;                                                                                                 \
    (void)f;                                                                                                 \
  }
#define M struct mosquitto *m
#pragma GCC diagnostic ignored "-Wunused-parameter"

struct mosquitto *mosquitto_new(const char *id, bool clean, void *object) {
  return (struct mosquitto *)room;
}
void mosquitto_destroy(M) {}
bool mosquitto_want_write(M) {
  return false;
}
const char *mosquitto_strerror(int rc) {
  return "an error";
}
const char *mosquitto_connack_string(int rc) {
  return "a refusal";
}
STUB(mosquitto_lib_init, void)
STUB(mosquitto_username_pw_set, M, const char *user, const char *password)
STUB(mosquitto_will_set, M, const char *topic, int size, const void *payload, int qos, bool retain)
STUB(mosquitto_connect_async, M, const char *host, int port, int keepalive)
STUB(mosquitto_socket, M)
STUB(mosquitto_loop_read, M, int packets)
STUB(mosquitto_loop_write, M, int packets)
STUB(mosquitto_loop_misc, M)
STUB(mosquitto_publish, M, int *mid, const char *topic, int size, const void *payload, int qos, bool retain)
STUB(mosquitto_subscribe, M, int *mid, const char *topic, int qos)
STUB(mosquitto_disconnect, M)
SETTER(mosquitto_connect_callback_set, struct mosquitto *, void *, int)
SETTER(mosquitto_disconnect_callback_set, struct mosquitto *, void *, int)
SETTER(mosquitto_message_callback_set, struct mosquitto *, void *, const struct mosquitto_message *)
SETTER(mosquitto_publish_callback_set, struct mosquitto *, void *, int)
SETTER(mosquitto_subscribe_callback_set, struct mosquitto *, void *, int, int, const int *)
SETTER(mosquitto_log_callback_set, struct mosquitto *, void *, int, const char *)

bool tls_use(M, const struct broker_options *o, struct err *e) {
  return true;
}

/* ---- what a spec asks ---- */

/* message(payload, n) with n allocations that succeed, -1 all -> the event's name, its payload's bytes or
 * nil, its size, and the kind of the end */
static int l_message(lua_State *L) {
  struct broker b = {0};
  struct broker_options o = {.host = "h", .most = 1};
  struct err e;
  err_clear(&e);
  size_t size;
  const char *payload = luaL_checklstring(L, 1, &size);
  lua_Integer succeeding = luaL_checkinteger(L, 2);
  struct mosquitto_message m = {.topic = (char *)"house/topic", .payload = (char *)payload};
  m.payloadlen = (int)size;
  if (!broker_open(&b, &o, &e)) return luaL_error(L, "%s", e.message);
  allocations_allowed = (long)succeeding;
  on_message(b.handle, &b, &m);
  allocations_allowed = -1;
  struct event *event = broker_take(&b);
  bool is_message = event && event->type == EVENT_MESSAGE;
  lua_pushstring(L, !event ? "nothing" : is_message ? "message" : "ended");
  if (is_message && !event->too_long)
    lua_pushlstring(L, buf_text(&event->payload), event->payload.size);
  else
    lua_pushnil(L);
  lua_pushinteger(L, is_message ? (lua_Integer)event->size : 0);
  lua_pushstring(L, b.ended ? kind_name(b.why.kind) : "");
  event_free(event);
  broker_close(&b);
  return 4;
}

__attribute__((visibility("default"))) int luaopen_probe_mqtt(lua_State *L) {
  static const luaL_Reg functions[] = {{"message", l_message}, {NULL, NULL}};
  luaL_newlib(L, functions);
  return 1;
}

#else

__attribute__((visibility("default"))) int luaopen_probe_mqtt(lua_State *L) {
  lua_pushboolean(L, 0);
  return 1;
}

#endif
