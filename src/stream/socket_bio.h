/* The socket below a TLS connection. OpenSSL's own socket BIO writes with write(2), which raises SIGPIPE when
 * the peer has gone; blocking that signal takes three system calls for each acknowledgement. */
#ifndef FLEET_STREAM_SOCKET_BIO_H
#define FLEET_STREAM_SOCKET_BIO_H

#include <openssl/ssl.h>
#include <stdbool.h>

bool ssl_use_socket(SSL *ssl, int fd); /* the caller closes fd, after SSL_free */

#endif
