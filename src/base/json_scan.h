/* Looks into the text of a JSON reply, before or beside the library that reads it.
 *
 * lua-cjson gives up a whole reply for one half of a surrogate pair, reads every number as a double, and
 * makes the same empty table of [] and {}. The first two are mended before it reads; the third is decided by
 * a look at the text. Nothing is allocated but what out holds, and any bytes may be given.
 */
#ifndef FLEET_BASE_JSON_SCAN_H
#define FLEET_BASE_JSON_SCAN_H

#include "base/json_cursor.h"

/* The next escape from at on of a surrogate without its other half, size 0: there is none. RFC 8259 section
 * 8.2 lets such text through, Unicode gives it no meaning. */
struct bytes json_next_lone(const unsigned char *at, const unsigned char *end);
/* Copies text to out with U+FFFD in place of each; lone is the first, found already. */
void json_mend(struct bytes text, struct bytes lone, struct buf *out);

/* The next integer of more than 15 digits from at on, size 0: there is none. */
struct bytes json_next_long(const unsigned char *at, const unsigned char *end);
/* Copies text to out with each of them in quotes; number is the first, found already. Text that is no JSON
 * stays none. */
void json_quote_long(struct bytes text, struct bytes number, struct buf *out);

/* Narrows an object to the value of its member of this name, the last of several as lua-cjson takes it. False
 * when the text is no object or has no such member; names with escapes are not found. */
bool json_member(struct bytes *text, const char *name);
/* The first character of a value: { [ " t f n, - or a digit; 0 when there is none. */
char json_first(struct bytes text);

#endif
