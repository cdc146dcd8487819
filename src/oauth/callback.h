/* Reads the address to which a sign-in redirects the browser: RFC 6749 sections 4.1.2 and 10.12, RFC 9207.
 *
 * Any site that knows the redirect address can send a browser there. An address without our state is
 * CALLBACK_FOREIGN, and the sign-in may go on. The state is compared in constant time.
 */
#ifndef FLEET_OAUTH_CALLBACK_H
#define FLEET_OAUTH_CALLBACK_H

#include "base/buf.h"
#include "base/err.h"

struct callback_expected {
  struct bytes state;
  const char *auth_url, *token_url; /* either may be the issuer */
};

enum callback_end {
  CALLBACK_FOREIGN, /* of another sign-in: e explains it */
  CALLBACK_REFUSED, /* of this sign-in, without a code: e explains it */
  CALLBACK_CODE
};

/* text: a whole address, its query, or the code alone, which needs no state. */
enum callback_end callback_read(struct bytes text, const struct callback_expected *x, struct buf *code,
                                struct err *e);

#endif
