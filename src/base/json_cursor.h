/* The tokens of JSON text (RFC 8259), for readers that go through it from the front.
 *
 * Any bytes may be given. Numbers and words are delimited, not checked: the reader decides what they are.
 */
#ifndef FLEET_BASE_JSON_CURSOR_H
#define FLEET_BASE_JSON_CURSOR_H

#include "base/buf.h"

struct json_cursor {
  const unsigned char *at, *end;
};

struct json_cursor json_cursor_of(struct bytes text);
int json_peek(const struct json_cursor *c); /* -1 at the end */
void json_skip_space(struct json_cursor *c);
bool json_take(struct json_cursor *c, int byte); /* skips blanks; whether the byte was there */
bool json_skip_string(struct json_cursor *c);
bool json_skip_plain(struct json_cursor *c); /* a number or one of the three words */

/* Appends what a string says; quoted has its quotation marks. U+FFFD takes the place of half a surrogate
 * pair. False: an escape that JSON does not have, or out of memory. */
bool json_unquote(struct bytes quoted, struct buf *out);

#endif
