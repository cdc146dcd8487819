#include "stream/upgrade.h"

#include "base/text.h"

#include <string.h>
#include <strings.h>

enum { KEY_SIZE = 16 };

static const char accept_suffix[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"; /* RFC 6455 section 1.3 */

static struct bytes trimmed(struct bytes b) {
  while (b.size && (b.data[0] == ' ' || b.data[0] == '\t')) b = text_skip(b, 1);
  while (b.size && (b.data[b.size - 1] == ' ' || b.data[b.size - 1] == '\t')) b.size--;
  return b;
}

static bool is_token(struct bytes b) {
  for (size_t i = 0; i < b.size; i++)
    if (b.data[i] <= ' ' || b.data[i] >= 127 || strchr("\"(),/:;<=>?@[\\]{}", b.data[i])) return false;
  return b.size > 0;
}

static bool is_value(struct bytes b) {
  for (size_t i = 0; i < b.size; i++)
    if ((b.data[i] < ' ' && b.data[i] != '\t') || b.data[i] == 127) return false;
  return true;
}

/* The part of b before the mark, which is taken off b with it; all of b where the mark is absent. */
static struct bytes cut(struct bytes *b, const char *mark, size_t mark_size) {
  const unsigned char *at = b->size ? memmem(b->data, b->size, mark, mark_size) : NULL;
  struct bytes before = {b->data, at ? (size_t)(at - b->data) : b->size};
  *b = text_skip(*b, at ? before.size + mark_size : b->size);
  return before;
}

/* Whether one of the words of a comma list is the wanted one. */
static bool lists(struct bytes value, const char *wanted) {
  while (value.size)
    if (text_is(trimmed(cut(&value, ",", 1)), wanted)) return true;
  return false;
}

struct seen {
  struct bytes version;
  bool upgrade, connection, twice;
};

static void read_header(struct bytes name, struct bytes value, struct upgrade *u, struct seen *seen) {
  struct bytes *known = text_is(name, "Sec-WebSocket-Key")       ? &u->key
                        : text_is(name, "Sec-WebSocket-Version") ? &seen->version
                        : text_is(name, "Version")               ? &u->client_version
                        : text_is(name, "X-Network-Interface")   ? &u->network_interface
                        : text_is(name, "X-TXID")                ? &u->txid
                        : text_is(name, "Origin")                ? &u->origin
                                                                 : NULL;
  if (text_is(name, "Upgrade")) seen->upgrade |= lists(value, "websocket");
  if (text_is(name, "Connection")) seen->connection |= lists(value, "upgrade");
  if (!known) return;
  if (known->data) /* of headers that only inform, the first counts */
    seen->twice |= known == &u->key || known == &seen->version;
  else
    *known = value;
}

static bool is_key(struct bytes text) {
  struct buf key = BUF_INIT;
  bool good = buf_unbase64(&key, text) && key.size == KEY_SIZE;
  buf_free(&key);
  return good;
}

static int judge(struct bytes head, struct upgrade *u) {
  struct seen seen = {0};
  struct bytes line = cut(&head, "\r\n", 2), method = cut(&line, " ", 1), target = cut(&line, " ", 1);
  if (!is_token(method) || !target.size || target.data[0] != '/' || !is_value(target)) return 400;
  if (line.size != 8 || memcmp(line.data, "HTTP/1.1", 8) != 0) return 400;
  while (head.size) {
    struct bytes value = cut(&head, "\r\n", 2), name = cut(&value, ":", 1);
    if (!is_token(name) || !is_value(value)) return 400;
    read_header(name, trimmed(value), u, &seen);
  }
  if (!(method.size == 3 && memcmp(method.data, "GET", 3) == 0)) return 405;
  struct bytes query = target, path = cut(&query, "?", 1);
  if (path.size == 7 && memcmp(path.data, "/status", 7) == 0) return 200;
  if (!seen.upgrade || !seen.connection || seen.twice || !text_is(seen.version, "13") || !is_key(u->key))
    return 400;
  return 101;
}

bool upgrade_read(struct bytes request, struct upgrade *out) {
  struct bytes rest = request;
  size_t size = cut(&rest, "\r\n\r\n", 4).size;
  *out = (struct upgrade){.status = 400, .size = request.size};
  if (size == request.size) return request.size >= UPGRADE_MOST;
  out->size = size + 4;
  out->status = out->size > UPGRADE_MOST ? 400 : judge((struct bytes){request.data, size}, out);
  return true;
}

bool upgrade_answer(struct buf *out, const struct upgrade *u) {
  unsigned char digest[SHA1_SIZE];
  struct buf text = BUF_INIT;
  if (u->status == 101) {
    buf_add(&text, u->key.data, u->key.size);
    buf_text_add(&text, accept_suffix);
    bool good = buf_ok(&text) && crypto_sha1_alone(buf_bytes(&text), digest);
    buf_free(&text);
    if (!good) return false;
    buf_text_add(out, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: "
                      "Upgrade\r\nSec-WebSocket-Accept: ");
    buf_base64(out, (struct bytes){digest, sizeof digest});
    buf_text_add(out, "\r\n\r\n");
    return buf_ok(out);
  }
  const char *reason = u->status == 200   ? "OK"
                       : u->status == 403 ? "Forbidden"
                       : u->status == 405 ? "Method Not Allowed"
                                          : "Bad Request";
  const char *body = u->status == 200   ? "mtls ok"
                     : u->status == 403 ? "pages of browsers are not admitted here\n"
                     : u->status == 405 ? "GET opens a WebSocket here\n"
                                        : "this port takes WebSocket connections (version 13)\n";
  buf_format(out,
             "HTTP/1.1 %d %s\r\n%s%sContent-Type: text/plain; charset=utf-8\r\nContent-Length: "
             "%zu\r\nConnection: close\r\n\r\n%s",
             u->status, reason, u->status == 405 ? "Allow: GET\r\n" : "",
             u->status == 200 ? "" : "Sec-WebSocket-Version: 13\r\n", strlen(body), body);
  return buf_ok(out);
}
