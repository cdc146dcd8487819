/* What stands at the address of the hosted key. What came is judged apart from fetching, so that every
 * mistake of hosting has one sentence (doc/protocol.md#registration).
 */
#include "bind/lua/bind.h"

#include "crypto/key.h"
#include "http/header.h"

#include <string.h>

struct mistake {
  const char *name; /* of the transport's failure */
  const char *problem, *fix;
};

static const struct mistake of_transport[] = {
    {"resolve", "its name has no address", "set up the name, or mend its spelling"},
    {"connect", "nothing answers at this address", "serve it over https"},
    {"tls", "its certificate cannot be verified",
     "renew it, with the whole chain; a self-made one is refused"},
    {"timeout", "it did not answer in time", "look at the server"},
    {"too_large", "what stands there is no key file: it is too large", "put the PEM file there"},
    {NULL, "the answer did not arrive whole", "look at the server"}};

enum { SHOWN_MOST = 120 };

/* Text of others, as it may be shown. */
static void add_printable(struct buf *out, struct bytes text) {
  for (size_t i = 0; i < text.size && i < SHOWN_MOST; i++) {
    bool plain = text.data[i] >= 0x20 && text.data[i] < 0x7f;
    buf_put(out, plain ? text.data[i] : ' ');
  }
}

static struct bytes text_at(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  struct bytes text = lua_type(L, -1) == LUA_TSTRING ? check_bytes(L, lua_gettop(L)) : bytes_of(NULL);
  lua_pop(L, 1);
  return text;
}

static int push_mistake(lua_State *L, const struct buf *problem, const char *fix) {
  lua_createtable(L, 0, 2);
  push_buf(L, problem);
  lua_setfield(L, -2, "problem");
  set_text(L, "fix", fix);
  return 1;
}

static int judge_failure(lua_State *L, struct bytes failure, struct buf *problem) {
  const struct mistake *m = of_transport;
  struct bytes words = text_at(L, "message");
  while (m->name && !bytes_equal(failure, bytes_of(m->name))) m++;
  buf_text_add(problem, m->problem);
  if (words.size) {
    buf_text_add(problem, " (");
    add_printable(problem, words);
    buf_text_add(problem, ")");
  }
  return push_mistake(L, problem, m->fix);
}

static const char *redirect(lua_State *L, struct buf *problem) {
  struct bytes to = header_value(text_at(L, "headers"), "location");
  buf_text_add(problem, "it answers with a redirect");
  if (to.data) buf_text_add(problem, " to ");
  if (to.data) add_printable(problem, to);
  return "serve the file at this very address: redirects are not followed";
}

static struct mistake of_status(int status) {
  if (status == 404 || status == 410)
    return (struct mistake){NULL, "no file is there", "put the public key there"};
  if (status == 401 || status == 403)
    return (struct mistake){NULL, "it is not open to everybody",
                            "take away what asks for a password or keeps robots out at this path"};
  return (struct mistake){NULL, "the server failed", "look at the server"};
}

static int judge_status(lua_State *L, int status, struct buf *problem) {
  struct mistake m = of_status(status);
  if (status >= 300 && status < 400)
    m.fix = redirect(L, problem);
  else
    buf_text_add(problem, m.problem);
  buf_format(problem, " (HTTP %d)", status);
  return push_mistake(L, problem, m.fix);
}

static bool is_page(struct bytes body) {
  size_t i = 0;
  while (i < body.size && body.data[i] && strchr(" \t\n\v\f\r", body.data[i])) i++;
  return i < body.size && body.data[i] == '<';
}

static int judge_body(lua_State *L, struct buf *problem) {
  struct err e;
  err_clear(&e);
  unsigned char public[PUBLIC_SIZE];
  struct bytes body = text_at(L, "body");
  if (!key_public_parse(body, public, &e)) {
    buf_text_add(problem, is_page(body) ? "a web page stands there" : e.message);
    return push_mistake(L, problem, "put the public key there as `fleet keygen` printed it");
  }
  lua_createtable(L, 0, 1);
  lua_pushlstring(L, (const char *)public, sizeof public);
  lua_setfield(L, -2, "bytes");
  return 1;
}

/* registration.judge{ status =, headers = text, body =, failure =, message = } -> { bytes = the public key },
 * or { problem =, fix = }, sentences without a stop */
static int l_judge(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  struct buf *problem = push_scratch(L);
  struct bytes failure = text_at(L, "failure");
  if (failure.size) return judge_failure(L, failure, problem);
  lua_getfield(L, 1, "status");
  int status = (int)luaL_checkinteger(L, -1);
  if (status < 200 || status > 299) return judge_status(L, status, problem);
  return judge_body(L, problem);
}

/* ---- where it may be fetched ---- */

static bool begins(struct bytes text, const char *with) {
  size_t size = strlen(with);
  return text.size >= size && memcmp(text.data, with, size) == 0;
}

static bool is_digit(unsigned char c) {
  return c >= '0' && c <= '9';
}

/* 127.x.y.z */
static bool is_loopback(struct bytes host) {
  int dots = 0;
  if (bytes_equal(host, bytes_of("localhost"))) return true;
  for (size_t i = 0; i < host.size; i++) {
    bool dot = host.data[i] == '.';
    if (dot ? !i || !is_digit(host.data[i - 1]) : !is_digit(host.data[i])) return false;
    dots += dot;
  }
  return begins(host, "127.") && dots == 3 && is_digit(host.data[host.size - 1]);
}

static bool is_plain(struct bytes url) {
  for (size_t i = 0; i < url.size; i++)
    if (url.data[i] <= ' ' || url.data[i] == '@' || url.data[i] == 0x7f) return false;
  return true;
}

static bool is_name(unsigned char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '-';
}

/* https://host/ or https://host:port/ and a path. */
static bool is_https(struct bytes url) {
  size_t at = strlen("https://"), first = at;
  if (!begins(url, "https://")) return false;
  while (at < url.size && is_name(url.data[at])) at++;
  if (at == first) return false;
  if (at < url.size && url.data[at] == ':') at++;
  while (at < url.size && is_digit(url.data[at])) at++;
  return at < url.size && url.data[at] == '/';
}

/* Only this machine is reached without TLS. */
static bool is_near(struct bytes url) {
  size_t at = strlen("http://"), first = at;
  if (!begins(url, "http://")) return false;
  while (at < url.size && url.data[at] != '/' && url.data[at] != ':') at++;
  return is_loopback((struct bytes){url.data + first, at - first});
}

/* registration.check_url(key_url): raises for an address from which no key is fetched */
static int l_check_url(lua_State *L) {
  struct bytes url = lua_type(L, 1) == LUA_TSTRING ? check_bytes(L, 1) : bytes_of("");
  if (is_plain(url) && (is_near(url) || is_https(url))) return 0;
  return usage_error(
      L, "'key_url' must be an address such as https://host/path; http:// is taken for this machine only");
}

void open_hosted(lua_State *L) {
  lua_getfield(L, -1, "registration");
  lua_pushcfunction(L, l_judge);
  lua_setfield(L, -2, "judge");
  lua_pushcfunction(L, l_check_url);
  lua_setfield(L, -2, "check_url");
  lua_pop(L, 1);
}
