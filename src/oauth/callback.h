/* The address at which a browser ends after a sign-in: whether it is the answer to ours, and the code in it.
 *
 * Any site that knows the redirect address can send a browser there. What does not carry our state is
 * CALLBACK_FOREIGN and uses nothing up; the state is compared in constant time. RFC 6749 sections 4.1.2 and
 * 10.12, RFC 9207.
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
  CALLBACK_FOREIGN, /* not of this sign-in, e says why */
  CALLBACK_REFUSED, /* of this sign-in, and without a code, e says why */
  CALLBACK_CODE
};

/* text: a whole address, its query, or the bare code, which alone may come without state. */
enum callback_end callback_read(struct bytes text, const struct callback_expected *x, struct buf *code,
                                struct err *e);

#endif
