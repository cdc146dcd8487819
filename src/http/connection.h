/* The sockets of connections: opens, watches and closes them, and decides whether one may be used again.
 *
 * libcurl 7.88 reuses an idle connection with waiting input, and reads that input as the reply to the next
 * request. The input may be a load balancer's 408 or the late reply to an older request. Therefore the socket
 * and the TLS library are checked just before a request is written. If input or the end of the connection
 * waits, the request goes to a new connection. libcurl gives only the addresses of a connection's ends, so
 * they are remembered from its first use to find the socket.
 */
#ifndef FLEET_HTTP_CONNECTION_H
#define FLEET_HTTP_CONNECTION_H

#include "http/parts.h"

/* Called by libcurl. */
curl_socket_t connection_open(void *easy, curlsocktype purpose, struct curl_sockaddr *address);
int connection_close(void *http, curl_socket_t fd);
int connection_watch(CURL *curl, curl_socket_t fd, int what, void *pool, void *unused);

struct addresses { /* of a connection's two ends, as libcurl gives them */
  const char *local, *remote;
  int local_port, remote_port;
};

/* Just before the request is written: whether its connection may carry it. */
bool connection_usable(struct easy *c, const struct addresses *a);
bool connection_shared(const struct easy *c); /* HTTP/2 is spoken on it */
/* The pool that waits for a ready descriptor. NULL: its connection is idle. The connection is then ended,
 * except with HTTP/2: there a server may send without a request, and each reply names its request. */
struct pool *connection_ready(struct http *h, int fd);
/* Whether a library that keeps read bytes to itself can be asked for them, and for the protocol. */
void connection_find_tls(struct http *h);
void connection_abandon_all(struct http *h); /* in a forked child: closes its copies of the descriptors */

#endif
