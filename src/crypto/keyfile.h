/* A private key in a file: read only when its mode keeps other users out, written only to a new file. */
#ifndef FLEET_CRYPTO_KEYFILE_H
#define FLEET_CRYPTO_KEYFILE_H

#include "base/buf.h"
#include "base/err.h"

bool keyfile_read(struct buf *pem, const char *path, bool insecure_mode, struct err *e);
bool keyfile_write(const char *path, struct bytes pem, struct err *e); /* 0600, on the disk when it returns */

#endif
