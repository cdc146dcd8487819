/* What is looked up in the text of a JSON reply itself, before or beside the library that reads it.
 *
 * lua-cjson cannot hold an integer of more than 15 digits exactly, gives up a whole reply for one half of a
 * surrogate pair, and makes the same empty table of [] and {}. The first two are mended before it reads, the
 * third is told by a look at the text. Nothing here allocates, and any bytes may be given.
 */
#ifndef FLEET_BASE_JSON_SCAN_H
#define FLEET_BASE_JSON_SCAN_H

#include "base/buf.h"

/* How many bytes from at on are ordinary in a string: neither a quote nor a backslash nor a control
 * character. At least none; eight are looked at together. */
size_t json_plain_run(const unsigned char *at, const unsigned char *end);

struct json_repair {
  struct bytes found; /* empty: nothing to mend is left */
  bool quote;         /* an integer that becomes a string; else an escape that becomes \ufffd */
};

/* The next place from at on that has to be mended: an integer literal of more than 15 digits, or the escape
 * of a surrogate without its other half (RFC 8259 section 8.2 lets such text through, Unicode gives it no
 * meaning). */
bool json_may_need_repair(struct bytes text); /* false: json_next_repair would find nothing */
struct json_repair json_next_repair(const unsigned char *at, const unsigned char *end);
/* Copies text to out with everything mended; first is the first repair, found already. */
void json_repair(struct bytes text, struct json_repair first, struct buf *out);

/* Narrows an object to the value of its member of this name, the last of several as lua-cjson takes it. False
 * when the text is no object or has no such member; names with escapes are not found. */
bool json_member(struct bytes *text, const char *name);
/* The first character of a value: { [ " t f n, - or a digit; 0 when there is none. */
char json_first(struct bytes text);

#endif
