/* A pair of tokens as it is stored: a JSON object whose members are those of struct token.
 *
 * A number of a record that is out of range reads as 0, unknown: a damaged member must not make the rest
 * unusable.
 */
#ifndef FLEET_OAUTH_RECORD_H
#define FLEET_OAUTH_RECORD_H

#include "oauth/token.h"

bool record_read(struct bytes text, struct token *t); /* false: no record, t is left empty */
void record_write(const struct token *t, struct buf *out);

#endif
