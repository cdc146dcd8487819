/* The PROXY protocol of load balancers, versions 1 and 2 (haproxy.org, proxy-protocol.txt): who really
 * connected, said before TLS begins. */
#ifndef FLEET_STREAM_PROXY_H
#define FLEET_STREAM_PROXY_H

#include "base/buf.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>

enum { PROXY_MOST = 536 }; /* bytes of a header */

enum proxy_state { PROXY_MORE, PROXY_WHOLE, PROXY_BAD };

struct proxy_header {
  size_t wanted; /* PROXY_MORE: bytes that may be read without taking one that follows the header */
  char address[INET6_ADDRSTRLEN]; /* "": the balancer itself, or not said */
};

/* in: the bytes so far, read as `wanted` says, beginning with none. */
enum proxy_state proxy_read(struct bytes in, struct proxy_header *out);

/* An address, or a network as 10.0.0.0/8; IPv4 as ::ffff:a.b.c.d. */
struct network {
  unsigned char address[16];
  unsigned bits;
};

bool network_read(const char *text, struct network *out); /* false: it is none */
bool network_has(const struct network *n, const struct sockaddr *address);

#endif
