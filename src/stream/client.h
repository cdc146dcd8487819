/* The other end of a receiver: a TLS client with a certificate, bytes in and out. The simulator's vehicles
 * and the check of a receiver use it; what the bytes say is the caller's. */
#ifndef FLEET_STREAM_CLIENT_H
#define FLEET_STREAM_CLIENT_H

#include "base/buf.h"
#include "stream/socket_bio.h"
#include "base/err.h"

#include <openssl/ssl.h>

struct stream_client {
  int fd;
  unsigned generation; /* of forks */
  bool connected, ended;
  SSL_CTX *context;
  SSL *ssl;
  struct socket_source source;
  struct buf out, in;
  size_t sent;
};

/* PEM texts; without a certificate the client shows none. server_ca: whom it believes; empty: it only looks,
 * and verifies nothing. address: numeric; name: of the server. */
struct stream_client_options {
  const char *address, *name;
  int port;
  int newest; /* TLS version at most: 11, 12 or 13 */
  struct bytes certificate, key, server_ca;
};

bool stream_client_open(struct stream_client *c, const struct stream_client_options *o, struct err *e);
/* Does what is possible without waiting. false: the connection has ended, for the reason in e. What came
 * before stays in `in`. */
bool stream_client_step(struct stream_client *c, struct err *e);
bool stream_client_wants_write(const struct stream_client *c);
bool stream_client_chain(const struct stream_client *c, struct buf *pem); /* what the server showed */
bool stream_client_forked(const struct stream_client *c);
void stream_client_close(struct stream_client *c); /* idempotent */

#endif
