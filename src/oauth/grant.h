/* The form of each grant for the token address: doc/protocol.md, token requests; RFC 6749
 * sections 4.1.3, 4.4.2 and 6.
 *
 * Secrets are copied only into the form, whose buffer is wiped.
 */
#ifndef FLEET_OAUTH_GRANT_H
#define FLEET_OAUTH_GRANT_H

#include "base/buf.h"

enum grant_kind { GRANT_CODE, GRANT_REFRESH, GRANT_PARTNER, GRANT_BUSINESS };

struct grant { /* data NULL: absent. Each kind uses the members that its form has */
  struct bytes client_id, client_secret;
  struct bytes code, code_verifier, redirect_uri; /* the verifier is for applications without secret */
  struct bytes refresh_token;
  struct bytes audience, scope, auth_code;
};

bool grant_kind_named(const char *name, enum grant_kind *kind); /* "code" "refresh" "partner" "business" */
void grant_form(struct buf *form, enum grant_kind kind, const struct grant *g);

/* Appends text without the secrets of the form, plain or percent-encoded: servers repeat them in errors. */
void grant_hide(struct bytes form, struct bytes text, struct buf *out);

#endif
