/* TLS over a socket that does not block: the server's certificate and name are always checked. */
#ifndef FLEET_REDIS_TLS_H
#define FLEET_REDIS_TLS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>

struct tls;

enum tls_progress { TLS_DONE, TLS_READS, TLS_WRITES, TLS_ENDED, TLS_FAILED };

struct tls *tls_new(int fd, const char *host, const char *ca_file, struct err *e);
void tls_free(struct tls *t); /* sends nothing: in a forked child the stream is the parent's */

enum tls_progress tls_handshake(struct tls *t, struct err *e);
enum tls_progress tls_read(struct tls *t, void *data, size_t size, size_t *got, struct err *e);
bool tls_holds_more(const struct tls *t);
enum tls_progress tls_write(struct tls *t, const void *data, size_t size, size_t *done, struct err *e);

#endif
