/* The members of a JSON object (RFC 8259), read in place.
 *
 * Token replies and stored records are read here. A refresh token can be used once: if its reply cannot be
 * read, the token is lost. A reader of single members works even if another member is damaged (a number
 * beyond doubles, a broken character) or Lua has no memory. It also makes no Lua strings of tokens.
 */
#ifndef FLEET_BASE_JSON_OBJECT_H
#define FLEET_BASE_JSON_OBJECT_H

#include "base/buf.h"

/* Whether text is one whole object, up to 32 deep. The functions below also accept other text. */
bool object_whole(struct bytes text);

/* Replaces the content of out by the decoded text of a member. Half a surrogate pair becomes U+FFFD, and the
 * last of two members with the same name counts. False: absent, or of another type; out is then empty. */
bool object_text(struct bytes object, const char *name, struct buf *out);
double object_number(struct bytes object, const char *name);       /* a number, or text that is one; else 0 */
struct bytes object_member(struct bytes object, const char *name); /* text of the value; data NULL: absent */

#endif
