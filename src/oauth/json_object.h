/* The members of a JSON object (RFC 8259), read in place.
 *
 * A token reply and a stored record are read here rather than by the decoder of ordinary replies: a single
 * use token is lost with a reply that cannot be read, so that nothing beside the wanted members (a number
 * beyond doubles, a broken character) and no want of memory in Lua may keep them; and the tokens become no
 * Lua strings.
 */
#ifndef FLEET_OAUTH_JSON_OBJECT_H
#define FLEET_OAUTH_JSON_OBJECT_H

#include "base/buf.h"

/* Whether text is one whole object, up to 32 deep. The functions below may be called on others, too. */
bool object_whole(struct bytes text);

/* Of a name given twice the last one counts. Texts are decoded to UTF-8, U+FFFD in place of half a surrogate
 * pair, and replace the content of out. False: absent, or of another type; out is then empty. */
bool object_text(struct bytes object, const char *name, struct buf *out);
double object_number(struct bytes object, const char *name);       /* a number, or text that is one; else 0 */
struct bytes object_member(struct bytes object, const char *name); /* text of the value; data NULL: absent */

#endif
