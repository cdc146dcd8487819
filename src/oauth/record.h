/* A pair of tokens as it is stored: a JSON object whose members are those of struct token.
 *
 * Numbers of a record count in their ranges only; anything else is 0, not known: what somebody damaged must
 * not stop what it can still serve.
 */
#ifndef FLEET_OAUTH_RECORD_H
#define FLEET_OAUTH_RECORD_H

#include "oauth/token.h"

bool record_read(struct bytes text, struct token *t); /* false: no record, t is left empty */
void record_write(const struct token *t, struct buf *out);

#endif
