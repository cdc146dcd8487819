/* One connection to a Redis server as a stream of bytes: connecting, TLS, and bytes to write.
 *
 * hiredis only parses replies, and the sockets are our own: hiredis 0.14 ends the process with SIGPIPE on a
 * dead connection, and has no TLS and no limit on replies. Only the look-up of a host name blocks.
 */
#ifndef FLEET_REDIS_CHANNEL_H
#define FLEET_REDIS_CHANNEL_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct tls;

struct address {
  const char *host, *path; /* path: of a Unix socket, in place of a host */
  int port;
  bool tls;
  const char *ca_file; /* NULL: the authorities of the system */
  unsigned attempt;    /* which of a host's addresses: a later attempt takes the next one */
};

enum channel_state { CHANNEL_CONNECTING, CHANNEL_HANDSHAKE, CHANNEL_READY };

struct channel {
  int fd;
  enum channel_state state;
  struct tls *tls; /* NULL: plain */
  struct buf out;  /* not written yet, from `written` on */
  size_t written;
  bool tls_writes;     /* TLS waits for room to write */
  unsigned generation; /* of forks: the parent's connection is not ours to use */
};

bool channel_open(struct channel *c, const struct address *a, struct err *e);
void channel_close(struct channel *c);
bool channel_forked(const struct channel *c);

/* Continues to connect, and writes without blocking. */
bool channel_flush(struct channel *c, struct err *e);
/* Reads at most `size` bytes: *got is 0 where none are there now. */
bool channel_read(struct channel *c, unsigned char *data, size_t size, size_t *got, struct err *e);
bool channel_holds_more(const struct channel *c); /* bytes that are no longer in the socket */
bool channel_wants_to_write(const struct channel *c);

#endif
