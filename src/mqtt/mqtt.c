#include "base/fork.h"
#include "bind/lua/bind.h"
#include "mqtt/broker.h"

#include <string.h>

/* ---- boxes ---- */

static void release(void *object) {
  broker_close(object);
}

static int l_close(lua_State *L);
static int l_fd(lua_State *L);
static int l_wants(lua_State *L);
static int l_ready(lua_State *L);
static int l_tick(lua_State *L);
static int l_publish(lua_State *L);
static int l_subscribe(lua_State *L);
static int l_disconnect(lua_State *L);
static int l_take(lua_State *L);

static const luaL_Reg methods[] = {{"close", l_close},
                                   {"fd", l_fd},
                                   {"wants", l_wants},
                                   {"ready", l_ready},
                                   {"tick", l_tick},
                                   {"publish", l_publish},
                                   {"subscribe", l_subscribe},
                                   {"take", l_take},
                                   {"disconnect", l_disconnect},
                                   {NULL, NULL}};
static const luaL_Reg metamethods[] = {{"__close", l_close}, {NULL, NULL}};
static const struct box_type broker_type = {"fleet.mqtt.broker", release, methods, metamethods};

static struct broker *check_broker(lua_State *L) {
  struct broker *b = box_check(L, 1, &broker_type);
  if (broker_forked(b)) usage_error(L, "this connection to the broker was made before fork: make a new one");
  return b;
}

/* ---- options ---- */

static const char *text_option(lua_State *L, const char *name) {
  size_t size;
  if (lua_getfield(L, 1, name) == LUA_TNIL) {
    lua_pop(L, 1);
    return NULL;
  }
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!text || strlen(text) != size) usage_error(L, "option '%s' must be a string", name);
  return text; /* stays on the stack */
}

static int number_option(lua_State *L, const char *name, int fallback, int least, int most) {
  int whole = 1;
  lua_getfield(L, 1, name);
  lua_Integer value = lua_isnil(L, -1) ? fallback : lua_tointegerx(L, -1, &whole);
  if (!whole || value < least || value > most)
    usage_error(L, "option '%s' must be an integer from %d to %d", name, least, most);
  lua_pop(L, 1);
  return (int)value;
}

static void read_options(lua_State *L, struct broker_options *o) {
  static const char *const names[] = {"host",     "address",    "port", "keepalive", "client_id",
                                      "user",     "password",   "tls",  "ca_file",   "cert_file",
                                      "key_file", "will_topic", "will", "most"};
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  luaL_checkstack(L, 20, NULL);
  check_options(L, 1, names, sizeof names / sizeof *names);
  o->host = text_option(L, "host");
  o->address = text_option(L, "address");
  o->client_id = text_option(L, "client_id");
  o->user = text_option(L, "user");
  o->password = text_option(L, "password");
  o->ca_file = text_option(L, "ca_file");
  o->cert_file = text_option(L, "cert_file");
  o->key_file = text_option(L, "key_file");
  o->will_topic = text_option(L, "will_topic");
  o->will = text_option(L, "will");
  if (!o->host) usage_error(L, "option 'host' is missing");
  if (o->will_topic && !o->will) usage_error(L, "option 'will' is missing");
  o->port = number_option(L, "port", 0, 0, 65535);
  o->keepalive = number_option(L, "keepalive", 30, 5, 3600);
  o->most = number_option(L, "most", 100, 1, 65000);
  lua_getfield(L, 1, "tls");
  o->tls = lua_toboolean(L, -1);
  lua_pop(L, 1);
}

/* addresses(host) -> list of its addresses as text | nil, err, kind */
static int l_addresses(lua_State *L) {
  struct addresses found;
  struct err e;
  err_clear(&e);
  if (!broker_addresses(luaL_checkstring(L, 1), &found, &e)) return push_failure(L, &e);
  lua_createtable(L, found.count, 0);
  for (int i = 0; i < found.count; i++) {
    lua_pushstring(L, found.text[i]);
    lua_rawseti(L, -2, i + 1);
  }
  return 1;
}

/* open { host =, address = or nil, port = or 0 for a Unix socket, … } -> broker | nil, err, kind */
static int l_open(lua_State *L) {
  struct broker_options o = {0};
  struct err e;
  err_clear(&e);
  read_options(L, &o);
  struct broker *b = box_new(L, &broker_type, sizeof *b, 0);
  if (!broker_open(b, &o, &e)) {
    broker_close(b);
    return push_failure(L, &e);
  }
  box_open(L, -1);
  return 1;
}

/* ---- turning ---- */

static int l_fd(lua_State *L) {
  int fd = broker_fd(check_broker(L));
  if (fd < 0) return 0;
  lua_pushinteger(L, fd);
  return 1;
}

static int l_wants(lua_State *L) {
  lua_pushstring(L, broker_wants_write(check_broker(L)) ? "rw" : "r");
  return 1;
}

/* ready("r" | "w" | "rw"): what the descriptor is ready for. */
static int l_ready(lua_State *L) {
  struct broker *b = check_broker(L);
  const char *events = luaL_checkstring(L, 2);
  broker_ready(b, strchr(events, 'r') != NULL, strchr(events, 'w') != NULL);
  return 0;
}

static int l_tick(lua_State *L) {
  broker_tick(check_broker(L));
  return 0;
}

/* ---- sending ---- */

static const char *check_topic(lua_State *L) {
  size_t size;
  const char *topic = luaL_checklstring(L, 2, &size);
  if (!size || strlen(topic) != size || size > 65535)
    luaL_argerror(L, 2, "a topic has 1 to 65535 bytes, none NUL");
  return topic;
}

/* publish(topic, payload, retained) -> message id | nil, err, kind; always QoS 1 */
static int l_publish(lua_State *L) {
  struct broker *b = check_broker(L);
  struct err e;
  err_clear(&e);
  const char *topic = check_topic(L);
  struct bytes payload = check_bytes(L, 3);
  luaL_argcheck(L, payload.size <= 1 << 20, 3, "a payload has at most a megabyte");
  int mid = broker_publish(b, topic, payload, lua_toboolean(L, 4), &e);
  if (!mid) return push_failure(L, &e);
  lua_pushinteger(L, mid);
  return 1;
}

static int l_subscribe(lua_State *L) {
  struct broker *b = check_broker(L);
  struct err e;
  err_clear(&e);
  if (!broker_subscribe(b, check_topic(L), &e)) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

static int l_disconnect(lua_State *L) {
  broker_disconnect(check_broker(L));
  return 0;
}

/* ---- events ---- */

struct holder {
  struct event *event;
};

static void release_holder(void *object) {
  event_free(((struct holder *)object)->event);
}

static const struct box_type holder_type = {"fleet.mqtt.event", release_holder, NULL, NULL};

static int push_message(lua_State *L, const struct event *event) {
  lua_pushliteral(L, "message");
  push_buf(L, &event->topic);
  if (event->too_long)
    lua_pushnil(L);
  else
    push_buf(L, &event->payload);
  lua_pushboolean(L, event->retained);
  lua_pushinteger(L, (lua_Integer)event->size);
  return 5;
}

static int push_ended(lua_State *L, const struct broker *b) {
  lua_pushliteral(L, "ended");
  push_err(L, &b->why);
  return 2;
}

static int push_count(lua_State *L, const char *name, int number) {
  lua_pushstring(L, name);
  lua_pushinteger(L, number);
  return 2;
}

static int push_event(lua_State *L, const struct broker *b, const struct event *event) {
  switch (event->type) {
  case EVENT_CONNECTED:
    lua_pushliteral(L, "connected");
    return 1;
  case EVENT_MESSAGE:
    return push_message(L, event);
  case EVENT_PUBLISHED:
    return push_count(L, "published", event->number);
  case EVENT_SUBSCRIBED:
    return push_count(L, "subscribed", event->number);
  default:
    return push_ended(L, b);
  }
}

/* take() -> nothing | "connected" | "message", topic, payload or nil (too long), retained, size |
 * "published", id | "subscribed", id or 0 | "ended", err. Each event once. */
static int l_take(lua_State *L) {
  struct broker *b = check_broker(L);
  struct holder *h = box_new(L, &holder_type, sizeof *h, 0);
  int box = lua_gettop(L);
  if (!(h->event = broker_take(b))) return 0;
  box_open(L, box);
  int pushed = push_event(L, b, h->event);
  box_close(L, box);
  return pushed;
}

static int l_close(lua_State *L) {
  box_any(L, 1, &broker_type);
  box_close(L, 1);
  return 0;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_mosquitto(lua_State *L) {
  static const luaL_Reg functions[] = {
      {"addresses", l_addresses}, {"open", l_open}, {"live_objects", l_live}, {NULL, NULL}};
  luaL_checkversion(L);
  fork_generation();
  box_define(L, &broker_type);
  box_define(L, &holder_type);
  luaL_newlib(L, functions);
  return 1;
}
