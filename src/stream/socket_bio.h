/* The socket below a TLS connection. OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when
 * the peer has gone; blocking that signal takes three system calls for each acknowledgement. */
#ifndef FLEET_STREAM_SOCKET_BIO_H
#define FLEET_STREAM_SOCKET_BIO_H

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stddef.h>

struct socket_source {
  int fd;
  size_t left; /* bytes that may be read; at 0 it has nothing for now, even where the socket has */
};

bool ssl_use_socket(SSL *ssl, struct socket_source *source); /* the caller closes its fd, after SSL_free */

#endif
