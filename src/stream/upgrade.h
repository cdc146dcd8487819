/* The HTTP request that opens a WebSocket (RFC 6455 section 4.2), and its answer. */
#ifndef FLEET_STREAM_UPGRADE_H
#define FLEET_STREAM_UPGRADE_H

#include "crypto/digest.h"

enum { UPGRADE_MOST = 16384 }; /* bytes of a request's head */

struct upgrade {
  int status;  /* 101, or the HTTP status of the refusal; 200 for GET /status; a caller may set 403 */
  size_t size; /* bytes of the head */
  struct bytes key, client_version, network_interface, txid,
      origin; /* views into the request; empty where absent */
};

/* false: more bytes are needed. A head that is too long or no HTTP gets the status 400. */
bool upgrade_read(struct bytes request, struct upgrade *out);
/* The answer to it, with its body; false: OpenSSL failed. */
bool upgrade_answer(struct buf *out, const struct upgrade *u);

#endif
