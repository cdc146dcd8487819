#include "stream/proxy.h"

#include <stdlib.h>
#include <string.h>

enum { SIGNATURE = 12, HEAD = 16, LONGEST_LINE = 107 };
static const unsigned char signature[SIGNATURE + 1] = "\r\n\r\n\0\r\nQUIT\n";
static const unsigned char mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

/* ---- version 1: a line of text ---- */

/* Takes the word that ends with a space; false: there is none. */
static bool take_word(struct bytes *line, char *out, size_t room) {
  const unsigned char *space = line->size ? memchr(line->data, ' ', line->size) : NULL;
  size_t size = space ? (size_t)(space - line->data) : 0;
  if (!space || !size || size >= room) return false;
  memcpy(out, line->data, size);
  out[size] = 0;
  line->data += size + 1;
  line->size -= size + 1;
  return true;
}

static enum proxy_state read_line(struct bytes in, struct proxy_header *out) {
  static const char begin[] = "PROXY ";
  const size_t size = sizeof begin - 1;
  unsigned char binary[16];
  char family[16], source[INET6_ADDRSTRLEN];
  if (memcmp(in.data, begin, size) != 0) return PROXY_BAD;
  if (in.data[in.size - 1] != '\n') {
    out->wanted = 1;
    return in.size < LONGEST_LINE ? PROXY_MORE : PROXY_BAD;
  }
  if (in.data[in.size - 2] != '\r') return PROXY_BAD;
  struct bytes line = {in.data + size, in.size - size - 2};
  if (line.size >= 7 && memcmp(line.data, "UNKNOWN", 7) == 0) return PROXY_WHOLE;
  if (!take_word(&line, family, sizeof family) || !take_word(&line, source, sizeof source)) return PROXY_BAD;
  int kind = strcmp(family, "TCP4") == 0 ? AF_INET : strcmp(family, "TCP6") == 0 ? AF_INET6 : -1;
  if (kind < 0 || inet_pton(kind, source, binary) != 1) return PROXY_BAD;
  inet_ntop(kind, binary, out->address, sizeof out->address);
  return PROXY_WHOLE;
}

/* ---- version 2: binary ---- */

static enum proxy_state read_binary(struct bytes in, struct proxy_header *out) {
  if (in.size < HEAD) {
    out->wanted = HEAD - in.size;
    return PROXY_MORE;
  }
  size_t size = HEAD + ((size_t)in.data[14] << 8 | in.data[15]);
  unsigned version = in.data[12] >> 4, command = in.data[12] & 15, family = in.data[13] >> 4;
  if (version != 2 || command > 1 || size > PROXY_MOST) return PROXY_BAD;
  if (in.size < size) {
    out->wanted = size - in.size;
    return PROXY_MORE;
  }
  if (command == 0) return PROXY_WHOLE; /* LOCAL: the balancer looks whether the receiver is there */
  if (family == 1 && size >= HEAD + 12) inet_ntop(AF_INET, in.data + HEAD, out->address, sizeof out->address);
  if (family == 2 && size >= HEAD + 36)
    inet_ntop(AF_INET6, in.data + HEAD, out->address, sizeof out->address);
  return (family == 1 || family == 2) && !out->address[0] ? PROXY_BAD : PROXY_WHOLE;
}

enum proxy_state proxy_read(struct bytes in, struct proxy_header *out) {
  out->address[0] = 0;
  out->wanted = in.size < SIGNATURE ? SIGNATURE - in.size : 0;
  if (in.size < SIGNATURE) return PROXY_MORE;
  if (memcmp(in.data, signature, SIGNATURE) == 0) return read_binary(in, out);
  return read_line(in, out);
}

/* ---- networks ---- */

bool network_read(const char *text, struct network *out) {
  char address[INET6_ADDRSTRLEN + 1];
  const char *slash = strchr(text, '/');
  size_t size = slash ? (size_t)(slash - text) : strlen(text);
  if (size >= sizeof address) return false;
  memcpy(address, text, size);
  address[size] = 0;
  bool v4 = inet_pton(AF_INET, address, out->address + 12) == 1;
  if (v4) memcpy(out->address, mapped, sizeof mapped);
  if (!v4 && inet_pton(AF_INET6, address, out->address) != 1) return false;
  unsigned most = v4 ? 32 : 128;
  unsigned long bits = most;
  if (slash) {
    char *end;
    bits = strtoul(slash + 1, &end, 10);
    if (slash[1] < '0' || slash[1] > '9' || *end || bits > most) return false;
  }
  out->bits = (unsigned)bits + (v4 ? 96 : 0);
  return true;
}

bool network_has(const struct network *n, const struct sockaddr *address) {
  unsigned char binary[16];
  if (address->sa_family == AF_INET) {
    memcpy(binary, mapped, sizeof mapped);
    memcpy(binary + 12, &((const struct sockaddr_in *)(const void *)address)->sin_addr, 4);
  } else if (address->sa_family == AF_INET6) {
    memcpy(binary, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, 16);
  } else {
    return false;
  }
  for (unsigned i = 0; i < 16; i++) {
    unsigned left = n->bits > i * 8 ? n->bits - i * 8 : 0;
    unsigned char mask = (unsigned char)(left >= 8 ? 0xff : 0xff00 >> left);
    if ((binary[i] ^ n->address[i]) & mask) return false;
  }
  return true;
}
