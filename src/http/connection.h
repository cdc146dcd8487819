/* The sockets of connections: opened, watched and closed here, and the decision whether one may be used
 * again.
 *
 * libcurl 7.88 takes an idle connection with waiting input for one that is alive, and reads that input as the
 * reply to the next request: an answer without a request (a load balancer's 408, an older request's late
 * reply) would be taken for this one's. Just before a request is written on a used connection the socket and
 * the TLS library are asked; where something waits, or the end, the request goes to a new connection. libcurl
 * does not say which socket that is, only the addresses of its ends: they are remembered from the first use.
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
/* A descriptor is ready: the pool that waits for it. NULL: its connection is idle; it is ended, or, where
 * HTTP/2 is spoken, left to libcurl's next use: there the server may speak unasked, and a reply names its
 * request. */
struct pool *connection_ready(struct http *h, int fd);
/* Whether a library that keeps read bytes to itself can be asked for them, and for the protocol. */
void connection_find_tls(struct http *h);
void connection_abandon_all(struct http *h); /* in a forked child: closes its copies of the descriptors */

#endif
