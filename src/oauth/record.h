/* The stored form of a pair of tokens: a JSON object with the members of struct token.
 *
 * A number that is out of range reads as 0 (unknown), so that the rest of a damaged record stays usable.
 */
#ifndef FLEET_OAUTH_RECORD_H
#define FLEET_OAUTH_RECORD_H

#include "oauth/token.h"

bool record_read(struct bytes text, struct token *t); /* false: no record, t is left empty */
void record_write(const struct token *t, struct buf *out);

#endif
