/* The addresses that a person opens to sign in, and to change or withdraw an application's permissions:
 * doc/protocol.md, sign-in; RFC 6749 section 4.1.1, RFC 7636. */
#ifndef FLEET_OAUTH_AUTHORIZE_H
#define FLEET_OAUTH_AUTHORIZE_H

#include "base/buf.h"
#include "base/err.h"
#include "crypto/context.h"

/* Kept until the browser comes back: the state to compare, and the secrets of the exchange, as text. */
struct pending {
  struct buf state, nonce, code_verifier; /* empty: none */
};

struct authorize { /* data NULL leaves a value out */
  struct bytes page, client_id, redirect_uri, scope;
  struct bytes locale, prompt, login_hint;
  struct bytes prompt_missing_scopes, require_requested_scopes, show_keypair_step; /* "true" or "false" */
};

/* Draws a state, a verifier for an application without secret, and a nonce if openid is requested and the
 * caller gives none. */
bool pending_draw(struct pending *p, struct crypto *c, const struct authorize *a, bool open_source,
                  struct bytes own_nonce, struct err *e);
void pending_free(struct pending *p);

/* S256 of RFC 7636: base64url(SHA-256(verifier)). */
bool authorize_challenge(struct crypto *c, struct buf *out, struct bytes verifier, struct err *e);
bool authorize_address(struct crypto *c, struct buf *out, const struct authorize *a, const struct pending *p,
                       struct err *e);
void consent_address(struct buf *out, struct bytes page, struct bytes client_id, struct bytes back_url);

#endif
