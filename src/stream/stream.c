#include "bind/lua/bind.h"
#include "stream/bind_certificates.h"
#include "stream/client.h"
#include "stream/compose.h"
#include "stream/frames.h"
#include "stream/published.h"
#include "stream/push.h"
#include "stream/server.h"
#include "stream/timer.h"
#include "stream/trust.h"
#include "tables/rows.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- boxes ---- */

struct handle { /* of an arrival; it holds its receiver's box */
  struct arrival *arrival;
  struct stream_server *receiver;
};

static void release_receiver(void *object) {
  stream_server_close(object);
}

/* A message that was lost without an answer, as after an error, must not count as waiting for ever. */
static void release_handle(void *object) {
  struct handle *h = object;
  if (h->arrival && !stream_server_forked(h->receiver)) arrival_leave(h->receiver, h->arrival);
  arrival_free(h->arrival);
}

static int l_close(lua_State *L);
static int l_fd(lua_State *L);
static int l_step(lua_State *L);
static int l_take(lua_State *L);
static int l_renew(lua_State *L);
static int l_port(lua_State *L);
static int l_stats(lua_State *L);
static int l_acknowledge(lua_State *L);
static int l_leave(lua_State *L);
static int l_admit(lua_State *L);
static int l_send(lua_State *L);
static int l_end(lua_State *L);

static const luaL_Reg receiver_methods[] = {{"close", l_close}, {"fd", l_fd},       {"step", l_step},
                                            {"take", l_take},   {"renew", l_renew}, {"port", l_port},
                                            {"stats", l_stats}, {NULL, NULL}};
static const luaL_Reg receiver_metamethods[] = {{"__close", l_close}, {NULL, NULL}};
static const struct box_type receiver_type = {"fleet.stream.receiver", release_receiver, receiver_methods,
                                              receiver_metamethods};
static const luaL_Reg handle_methods[] = {
    {"acknowledge", l_acknowledge}, {"leave", l_leave}, {"admit", l_admit}, {"send", l_send},
    {"end_connection", l_end},      {NULL, NULL}};
static const struct box_type handle_type = {"fleet.stream.arrival", release_handle, handle_methods, NULL};

enum { HOLDS_RECEIVER = 1 };

static struct stream_server *check_receiver(lua_State *L) {
  struct stream_server *r = box_check(L, 1, &receiver_type);
  if (stream_server_forked(r)) usage_error(L, "this receiver was made before fork: make a new one");
  return r;
}

/* NULL: it has been answered, or its receiver has closed; there is nothing to answer. */
static struct handle *check_handle(lua_State *L) {
  struct handle *h = box_any(L, 1, &handle_type);
  lua_getiuservalue(L, 1, HOLDS_RECEIVER);
  bool open = box_is_open(L, 1) && box_is_open(L, -1) && !stream_server_forked(h->receiver);
  lua_pop(L, 1);
  return open ? h : NULL;
}

/* A message that has been answered is freed at once: the collector does not see how large it is. */
static void free_answered(lua_State *L, const struct handle *h) {
  if (h->arrival->answered) box_close(L, 1);
}

/* ---- options ---- */

static struct bytes text_option(lua_State *L, const char *name, bool needed) {
  size_t size = 0;
  lua_getfield(L, 1, name);
  if (lua_isnil(L, -1) && !needed) return (struct bytes){NULL, 0};
  const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &size) : NULL;
  if (!text) usage_error(L, "option '%s' must be a string", name);
  return (struct bytes){(const unsigned char *)text, size}; /* stays on the stack */
}

static double number_option(lua_State *L, const char *name, double fallback, double least, double most) {
  lua_getfield(L, 1, name);
  double value = lua_isnil(L, -1) ? fallback : lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
  lua_pop(L, 1);
  if (!(value >= least && value <= most))
    usage_error(L, "option '%s' must be a number from %d to %d", name, (int)least, (int)most);
  return value;
}

struct pem {
  struct bytes certificate, key, client_ca;
};

static struct pem read_pem(lua_State *L, bool viewers) {
  struct pem p = {text_option(L, "certificate", !viewers), text_option(L, "certificate_key", !viewers),
                  text_option(L, "client_ca", !viewers)};
  return p;
}

/* proxies: a list of addresses and networks */
static void read_proxies(lua_State *L, struct stream_server *r) {
  lua_getfield(L, 1, "proxies");
  if (lua_isnil(L, -1)) {
    lua_pop(L, 1);
    return;
  }
  luaL_checktype(L, -1, LUA_TTABLE);
  for (int i = 1; lua_rawgeti(L, -1, i) != LUA_TNIL; i++) {
    const char *text = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (!text || !network_read(text, &r->proxies[r->proxy_count]))
      usage_error(L, "'%s' is no address and no network such as 10.0.0.0/8", text ? text : "?");
    if (++r->proxy_count == NETWORKS) usage_error(L, "more than %d addresses of balancers", NETWORKS - 1);
    lua_pop(L, 1);
  }
  lua_pop(L, 2);
}

/* receiver { host =, port =, certificate =, certificate_key =, client_ca =, message = 1e6, connections =
 * 20000, unacknowledged = 256, arrival = 20, reuse_port = false } -> receiver | nil, err, kind. certificate:
 * a PEM text of our chain; client_ca: of whom is believed. viewers = true: for programs that exchange texts
 * with us, and show no certificate; without certificate there is no TLS. */
static int l_receiver(lua_State *L) {
  static const char *const names[] = {"host",      "port",    "certificate", "certificate_key",
                                      "client_ca", "message", "connections", "unacknowledged",
                                      "arrival",   "proxies", "viewers",     "reuse_port"};
  struct err e;
  char host[64];
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_options(L, 1, names, sizeof names / sizeof *names);
  lua_getfield(L, 1, "viewers");
  bool viewers = lua_toboolean(L, -1);
  struct pem p = read_pem(L, viewers);
  struct bytes address = text_option(L, "host", true);
  int port = (int)number_option(L, "port", 0, 0, 65535);
  struct stream_limits limits = {.message = (size_t)number_option(L, "message", 1e6, 1024, 16e6),
                                 .connections = (unsigned)number_option(L, "connections", 20000, 1, 1e6),
                                 .unacknowledged =
                                     (unsigned)number_option(L, "unacknowledged", 256, 1, 65536),
                                 .queued = 1024,
                                 .arrival = number_option(L, "arrival", 20, 1, 3600)};
  if (address.size >= sizeof host || memchr(address.data, 0, address.size))
    usage_error(L, "option 'host' is no address");
  snprintf(host, sizeof host, "%s", (const char *)address.data);
  struct stream_server *r = box_new(L, &receiver_type, sizeof *r, 0);
  r->limits = limits;
  r->viewers = viewers;
  read_proxies(L, r);
  r->poller.fd = r->listener.fd = -1;
  r->listener.backlog = 4096;
  lua_getfield(L, 1, "reuse_port");
  r->listener.reuse_port = lua_toboolean(L, -1);
  lua_pop(L, 1);
  if (!listener_tcp(&r->listener, host, port, &e) ||
      !stream_server_open(r, p.certificate, p.key, p.client_ca, &e))
    return push_failure(L, &e);
  box_open(L, -1);
  return 1;
}

/* ---- the receiver ---- */

static int l_close(lua_State *L) {
  if (!box_test(L, 1, &receiver_type)) return luaL_typeerror(L, 1, receiver_type.name);
  box_close(L, 1);
  return 0;
}

static int l_fd(lua_State *L) {
  lua_pushinteger(L, check_receiver(L)->poller.fd);
  return 1;
}

static int l_port(lua_State *L) {
  lua_pushinteger(L, check_receiver(L)->listener.port);
  return 1;
}

/* receiver:step() -> nil, or why new connections wait. It works for some milliseconds at most; take what has
 * arrived, then wait for fd() again */
static int l_step(lua_State *L) {
  struct stream_server *r = check_receiver(L);
  stream_server_step(r);
  lua_pushstring(L, r->full); /* nil for NULL */
  return 1;
}

/* receiver:renew { certificate =, certificate_key =, client_ca = } -> true | nil, err, kind: for connections
 * to come */
static int l_renew(lua_State *L) {
  struct stream_server *r = check_receiver(L);
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 2, LUA_TTABLE);
  lua_remove(L, 1);
  lua_settop(L, 1);
  struct pem p = read_pem(L, r->viewers);
  if (!stream_server_renew(r, p.certificate, p.key, p.client_ca, &e)) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

static int l_stats(lua_State *L) {
  const struct stream_server *r = check_receiver(L);
  lua_createtable(L, 0, 6);
  set_integer(L, "connections", (lua_Integer)r->count);
  set_integer(L, "accepted", (lua_Integer)r->accepted);
  set_integer(L, "handshakes_failed", (lua_Integer)r->handshakes_failed);
  set_integer(L, "messages", (lua_Integer)r->messages);
  set_integer(L, "acknowledged", (lua_Integer)r->acknowledged);
  return 1;
}

/* ---- arrivals ---- */

static void set_connection(lua_State *L, const struct connection *c) {
  const struct identity *i = connection_identity(c);
  set_text(L, "id", i->id[0] ? i->id : NULL);
  set_text(L, "kind", i->kind);
  set_text(L, "address", connection_address(c));
  set_integer(L, "connection", (lua_Integer)connection_number(c));
}

static void set_present(lua_State *L, const char *name, const char *text) {
  set_text(L, name, text[0] ? text : NULL);
}

/* The record of a message; false: its payload cannot be read. */
static bool push_message_record(lua_State *L, const struct arrival *a) {
  lua_createtable(L, 0, 14);
  set_text(L, "vin", connection_identity(a->connection)->id);
  set_text(L, "address", connection_address(a->connection));
  set_integer(L, "connection", (lua_Integer)connection_number(a->connection));
  set_bytes(L, "topic", a->envelope.topic);
  set_bytes(L, "txid", a->envelope.txid);
  if (a->envelope.created_at) set_integer(L, "at", (lua_Integer)a->envelope.created_at);
  set_bytes(L, "raw", a->envelope.payload);
  return push_payload(L, a->envelope.topic, a->envelope.payload);
}

static const char *const type_names[] = {"connected", "message",      "text",
                                         "damaged",   "disconnected", "refused"};

/* receiver:take() -> "connected" | "message" | "text" | "damaged" | "disconnected" | "refused", record,
 * arrival; nothing when nothing has arrived. A "connected" waits for arrival:admit(yes), a "message" for
 * arrival:acknowledge(). */
static int l_take(lua_State *L) {
  struct stream_server *r = check_receiver(L);
  if (!r->first) return 0;
  lua_settop(L, 1);
  struct handle *h = box_new(L, &handle_type, sizeof *h, HOLDS_RECEIVER);
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 2, HOLDS_RECEIVER);
  struct arrival *a = stream_server_take(r);
  h->arrival = a;
  h->receiver = r;
  box_open(L, 2);
  enum arrival_type type = a->type;
  if (type == ARRIVAL_MESSAGE && !push_message_record(L, a)) {
    arrival_acknowledge(r, a, false);
    type = ARRIVAL_DAMAGED;
    strcpy(a->reason, "the payload cannot be read");
    lua_settop(L, 2);
  }
  if (type != ARRIVAL_MESSAGE) {
    lua_createtable(L, 0, 8);
    set_connection(L, a->connection);
    set_number(L, "arrived", a->at);
    if (type == ARRIVAL_TEXT) set_bytes(L, "text", buf_bytes(&a->message));
    set_present(L, "reason", a->reason);
    set_present(L, "client_version", connection_text(a->connection, TEXT_CLIENT_VERSION));
    set_present(L, "network_interface", connection_text(a->connection, TEXT_NETWORK_INTERFACE));
    set_present(L, "txid", connection_text(a->connection, TEXT_TXID));
  }
  lua_pushstring(L, type_names[type]);
  lua_insert(L, 2);
  lua_insert(L, 3); /* name, record, handle */
  return 3;
}

/* arrival:acknowledge(good = true): tells the vehicle that its message was stored, or that it is unreadable.
 */
static int l_acknowledge(lua_State *L) {
  struct handle *h = check_handle(L);
  if (!h) return 0;
  arrival_acknowledge(h->receiver, h->arrival, lua_isnoneornil(L, 2) || lua_toboolean(L, 2));
  free_answered(L, h);
  return 0;
}

/* arrival:leave(): the message gets no answer, and no longer counts as one that waits for it */
static int l_leave(lua_State *L) {
  struct handle *h = check_handle(L);
  if (!h) return 0;
  arrival_leave(h->receiver, h->arrival);
  free_answered(L, h);
  return 0;
}

/* arrival:admit(yes) -> whether the connection still waited for it */
static int l_admit(lua_State *L) {
  struct handle *h = check_handle(L);
  lua_pushboolean(L, h && connection_admit(h->receiver, h->arrival->connection, lua_toboolean(L, 2)));
  return 1;
}

/* arrival:send(text) -> whether the viewer's connection goes on */
static int l_send(lua_State *L) {
  struct handle *h = check_handle(L);
  struct bytes text = check_bytes(L, 2);
  lua_pushboolean(L, h && connection_send(h->receiver, h->arrival->connection, text));
  return 1;
}

/* arrival:end_connection(code, reason): code 0 ends it without a close frame */
static int l_end(lua_State *L) {
  struct handle *h = check_handle(L);
  lua_Integer code = luaL_checkinteger(L, 2);
  const char *reason = luaL_optstring(L, 3, "");
  if (h) connection_end(h->receiver, h->arrival->connection, (unsigned)code, reason);
  return 0;
}

/* ---- bytes alone: for `decode`, and for the simulator's vehicles ---- */

/* envelope(bytes) -> { type =, txid =, topic =, message_id =, created_at =, sender_id =, payload =,
 * device_type =, device_id =, delivered_at = } | nil, err, kind */
static int l_envelope(lua_State *L) {
  struct envelope v;
  struct err e;
  err_clear(&e);
  if (!envelope_read(check_bytes(L, 1), &v, &e)) return push_failure(L, &e);
  lua_createtable(L, 0, 10);
  set_integer(L, "type", (lua_Integer)v.type);
  set_bytes(L, "txid", v.txid);
  set_bytes(L, "topic", v.topic);
  set_bytes(L, "message_id", v.message_id);
  if (v.type != ENVELOPE_STREAM) return 1;
  set_integer(L, "created_at", (lua_Integer)v.created_at);
  set_number(L, "delivered_at", (double)v.delivered_at);
  set_bytes(L, "sender_id", v.sender_id);
  set_bytes(L, "payload", v.payload);
  set_bytes(L, "device_type", v.device_type);
  set_bytes(L, "device_id", v.device_id);
  return 1;
}

/* payload(topic, bytes) -> a record's members | nil, err, kind */
static int l_payload(lua_State *L) {
  struct err e;
  struct bytes topic = check_bytes(L, 1), payload = check_bytes(L, 2);
  lua_newtable(L);
  if (push_payload(L, topic, payload)) return 1;
  err_clear(&e);
  err_set(&e, KIND_protocol, "the payload cannot be read");
  return push_failure(L, &e);
}

/* published(bytes) -> { { name =, json = }, ... }: the signals of a payload of topic V as the maker's server
 * publishes them, in their order | nil: it cannot be read */
static int l_published(lua_State *L) {
  struct bytes payload = check_bytes(L, 1);
  struct wire_field f;
  struct signal s;
  bool has_place = false;
  lua_settop(L, 1);
  struct buf *json = push_scratch(L);
  lua_newtable(L);
  for (int count = 0; payload.size;) {
    if (!wire_next(&payload, &f)) return lua_pushnil(L), 1;
    if (!wire_is(&f, 1, WIRE_BYTES)) continue;
    if (!signal_read(f.bytes, &s)) return lua_pushnil(L), 1;
    bool place = s.field == FLEET__TELEMETRY__VEHICLE_DATA__FIELD__Location;
    buf_clear(json);
    published_json(&s, place && !has_place, json);
    has_place = has_place || place;
    lua_createtable(L, 0, 2);
    push_field_name(L, s.field);
    lua_setfield(L, -2, "name");
    push_buf(L, json);
    lua_setfield(L, -2, "json");
    lua_rawseti(L, 3, ++count);
  }
  lua_settop(L, 3);
  return 1;
}

static struct bytes member(lua_State *L, const char *name) {
  size_t size = 0;
  lua_getfield(L, 1, name);
  const char *text = lua_isnil(L, -1) ? NULL : luaL_checklstring(L, -1, &size);
  return (struct bytes){(const unsigned char *)text, size}; /* stays on the stack */
}

/* stream_message { topic =, txid =, message_id =, created_at =, sender_id =, device_type =, device_id =,
 * payload = } -> bytes, as a vehicle sends them */
static int l_stream_message(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct envelope v = {.topic = member(L, "topic"),
                       .txid = member(L, "txid"),
                       .message_id = member(L, "message_id"),
                       .sender_id = member(L, "sender_id"),
                       .payload = member(L, "payload"),
                       .device_type = member(L, "device_type"),
                       .device_id = member(L, "device_id")};
  lua_getfield(L, 1, "created_at");
  v.created_at = (uint32_t)luaL_optinteger(L, -1, 0);
  struct buf *out = push_scratch(L);
  envelope_stream(out, &v);
  push_buf(L, out);
  return 1;
}

/* acknowledgement(txid, topic), refusal(txid) -> bytes */
static int l_acknowledgement(lua_State *L) {
  struct bytes txid = check_bytes(L, 1), topic = check_bytes(L, 2);
  struct buf *out = push_scratch(L);
  envelope_ack(out, txid, topic);
  push_buf(L, out);
  return 1;
}

static int l_refusal(lua_State *L) {
  struct bytes txid = check_bytes(L, 1);
  struct buf *out = push_scratch(L);
  envelope_refusal(out, txid);
  push_buf(L, out);
  return 1;
}

/* verify(chain, client_ca, at = now) -> { id =, kind = } | nil, err, kind: PEM texts, the leaf first */
static int l_verify(lua_State *L) {
  struct err e;
  struct identity who;
  struct bytes chain_pem = check_bytes(L, 1), ca_pem = check_bytes(L, 2);
  lua_Integer at = luaL_optinteger(L, 3, 0);
  err_clear(&e);
  STACK_OF(X509) *chain = certificates_of(chain_pem, "chain", &e);
  STACK_OF(X509) *authorities = chain ? certificates_of(ca_pem, "client_ca", &e) : NULL;
  bool good = authorities && trust_chain(chain, authorities, (int64_t)at, &e) &&
              identity_of(sk_X509_value(chain, 0), &who, &e);
  sk_X509_pop_free(chain, X509_free);
  sk_X509_pop_free(authorities, X509_free);
  if (!good) return push_failure(L, &e);
  lua_createtable(L, 0, 2);
  set_text(L, "id", who.id);
  set_text(L, "kind", who.kind);
  return 1;
}

static const struct vehicle_authority *authority_of(const char *fingerprint) {
  for (const struct vehicle_authority *a = vehicle_authorities; a->name; a++)
    if (strcmp(a->sha256, fingerprint) == 0) return a;
  return NULL;
}

/* authorities(client_ca) -> { given = { { name =, fingerprint =, known =, ended = }, ... }, missing = names
 * of the maker's authorities that the text lacks } | nil, err, kind */
static int l_authorities(lua_State *L) {
  struct err e;
  bool found[64] = {false};
  err_clear(&e);
  STACK_OF(X509) *list = certificates_of(check_bytes(L, 1), "client_ca", &e);
  if (!list) return push_failure(L, &e);
  int count = sk_X509_num(list);
  lua_settop(L, 1);
  struct authority {
    char name[128], fingerprint[FINGERPRINT + 1];
    bool ended;
  } *given = lua_newuserdatauv(L, (size_t)count * sizeof *given, 0);
  for (int i = 0; i < count; i++) {
    const X509 *one = sk_X509_value(list, i);
    common_name_of(one, given[i].name, sizeof given[i].name);
    if (!fingerprint_of(one, given[i].fingerprint)) given[i].fingerprint[0] = 0;
    given[i].ended = X509_cmp_current_time(X509_get0_notAfter(one)) < 0;
  }
  sk_X509_pop_free(list, X509_free);
  lua_createtable(L, 0, 2);
  lua_createtable(L, count, 0);
  for (int i = 0; i < count; i++) {
    const struct vehicle_authority *known = authority_of(given[i].fingerprint);
    if (known) found[known - vehicle_authorities] = true;
    lua_createtable(L, 0, 4);
    set_text(L, "name", given[i].name[0] ? given[i].name : NULL);
    set_text(L, "fingerprint", given[i].fingerprint);
    set_boolean(L, "known", known != NULL);
    set_boolean(L, "ended", given[i].ended);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "given");
  lua_newtable(L);
  for (int i = 0, at = 0; vehicle_authorities[i].name; i++) {
    if (found[i]) continue;
    lua_pushstring(L, vehicle_authorities[i].name);
    lua_rawseti(L, -2, ++at);
  }
  lua_setfield(L, -2, "missing");
  return 1;
}

/* ---- clients ---- */

static void release_client(void *object) {
  stream_client_close(object);
}

static int l_client_close(lua_State *L);
static int l_client_fd(lua_State *L);
static int l_client_step(lua_State *L);
static int l_client_send(lua_State *L);
static int l_client_take(lua_State *L);
static int l_client_chain(lua_State *L);
static int l_client_connected(lua_State *L);

static const luaL_Reg client_methods[] = {{"close", l_client_close},         {"fd", l_client_fd},
                                          {"step", l_client_step},           {"send", l_client_send},
                                          {"take", l_client_take},           {"chain", l_client_chain},
                                          {"connected", l_client_connected}, {NULL, NULL}};
static const luaL_Reg client_metamethods[] = {{"__close", l_client_close}, {NULL, NULL}};
static const struct box_type client_type = {"fleet.stream.client", release_client, client_methods,
                                            client_metamethods};

static struct stream_client *check_client(lua_State *L) {
  struct stream_client *c = box_check(L, 1, &client_type);
  if (stream_client_forked(c)) usage_error(L, "this client was made before fork: make a new one");
  return c;
}

static const char *c_text(lua_State *L, const char *name) {
  struct bytes text = text_option(L, name, true);
  if (memchr(text.data, 0, text.size)) usage_error(L, "option '%s' has a NUL", name);
  return (const char *)text.data;
}

/* client { address =, name =, port =, certificate =, certificate_key =, server_ca =, newest = 13 } -> client
 * | nil, err, kind */
static int l_client(lua_State *L) {
  static const char *const names[] = {"address",         "name",      "port",  "certificate",
                                      "certificate_key", "server_ca", "newest"};
  struct err e;
  err_clear(&e);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  check_options(L, 1, names, sizeof names / sizeof *names);
  struct stream_client_options o = {.address = c_text(L, "address"),
                                    .name = c_text(L, "name"),
                                    .port = (int)number_option(L, "port", -1, 1, 65535),
                                    .newest = (int)number_option(L, "newest", 13, 11, 13),
                                    .certificate = text_option(L, "certificate", false),
                                    .key = text_option(L, "certificate_key", false),
                                    .server_ca = text_option(L, "server_ca", false)};
  struct stream_client *c = box_new(L, &client_type, sizeof *c, 0);
  if (!stream_client_open(c, &o, &e)) return push_failure(L, &e);
  box_open(L, -1);
  return 1;
}

static int l_client_close(lua_State *L) {
  if (!box_test(L, 1, &client_type)) return luaL_typeerror(L, 1, client_type.name);
  box_close(L, 1);
  return 0;
}

/* client:fd() -> descriptor, "r" or "rw" */
static int l_client_fd(lua_State *L) {
  const struct stream_client *c = check_client(L);
  lua_pushinteger(L, c->fd);
  lua_pushstring(L, stream_client_wants_write(c) ? "rw" : "r");
  return 2;
}

/* client:step() -> true | nil, err, kind: the connection has ended */
static int l_client_step(lua_State *L) {
  struct err e;
  err_clear(&e);
  if (!stream_client_step(check_client(L), &e)) return push_failure(L, &e);
  lua_pushboolean(L, 1);
  return 1;
}

/* client:send(bytes): kept until step() writes them */
static int l_client_send(lua_State *L) {
  struct stream_client *c = check_client(L);
  struct bytes data = check_bytes(L, 2);
  buf_add(&c->out, data.data, data.size);
  if (!buf_ok(&c->out)) return luaL_error(L, "not enough memory");
  return 0;
}

/* client:take() -> the bytes that have come */
static int l_client_take(lua_State *L) {
  struct stream_client *c = check_client(L);
  push_buf(L, &c->in);
  buf_free(&c->in);
  return 1;
}

/* client:chain() -> the certificates that the server showed, PEM; "" before it showed any */
static int l_client_chain(lua_State *L) {
  const struct stream_client *c = check_client(L);
  struct buf *pem = push_scratch(L);
  if (!stream_client_chain(c, pem)) return luaL_error(L, "not enough memory");
  push_buf(L, pem);
  return 1;
}

/* client:connected() -> whether the handshake has ended well */
static int l_client_connected(lua_State *L) {
  lua_pushboolean(L, check_client(L)->connected);
  return 1;
}

/* resolve(host) -> the first numeric address of the name, IPv4 before others | nil, err, kind. It waits. */
static int l_resolve(lua_State *L) {
  const char *host = luaL_checkstring(L, 1);
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
  char text[INET6_ADDRSTRLEN] = "";
  struct err e;
  err_clear(&e);
  int failure = getaddrinfo(host, NULL, &hints, &list);
  for (int family = 0; family < 2 && !failure; family++)
    for (const struct addrinfo *a = list; a && !text[0]; a = a->ai_next)
      if (a->ai_family == (family ? AF_INET6 : AF_INET))
        getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST);
  if (!failure) freeaddrinfo(list);
  if (text[0]) return lua_pushstring(L, text), 1;
  err_set(&e, KIND_network, "the name '%s' has no address: %s", host,
          failure ? gai_strerror(failure) : "none was found");
  return push_failure(L, &e);
}

/* frame(opcode, payload, mask) -> bytes of a client's frame; mask: four bytes */
static int l_frame(lua_State *L) {
  lua_Integer opcode = luaL_checkinteger(L, 1);
  struct bytes payload = check_bytes(L, 2), mask = check_bytes(L, 3);
  luaL_argcheck(L, opcode >= 0 && opcode < 16, 1, "0 to 15");
  luaL_argcheck(L, mask.size == 4, 3, "a mask has four bytes");
  struct buf *out = push_scratch(L);
  frame_write_masked(out, (unsigned)opcode, payload, mask.data);
  push_buf(L, out);
  return 1;
}

static int l_live(lua_State *L) {
  lua_pushinteger(L, live_objects(L));
  return 1;
}

__attribute__((visibility("default"))) int luaopen_fleet_stream(lua_State *L);

int luaopen_fleet_stream(lua_State *L) {
  static const luaL_Reg functions[] = {{"receiver", l_receiver},
                                       {"envelope", l_envelope},
                                       {"payload", l_payload},
                                       {"published", l_published},
                                       {"stream_message", l_stream_message},
                                       {"acknowledgement", l_acknowledgement},
                                       {"refusal", l_refusal},
                                       {"data_payload", l_data_payload},
                                       {"verify", l_verify},
                                       {"authorities", l_authorities},
                                       {"client", l_client},
                                       {"resolve", l_resolve},
                                       {"frame", l_frame},
                                       {"live_objects", l_live},
                                       {NULL, NULL}};
  luaL_checkversion(L);
  box_define(L, &receiver_type);
  box_define(L, &handle_type);
  box_define(L, &client_type);
  luaL_newlib(L, functions);
  open_stream_certificates(L);
  open_stream_timer(L);
  return 1;
}
