/* The tokens of JSON text (RFC 8259), for readers that go through it from the front.
 *
 * Any bytes may be given. Numbers and words are delimited, not checked: the reader decides what they are.
 */
#ifndef FLEET_BASE_JSON_CURSOR_H
#define FLEET_BASE_JSON_CURSOR_H

#include "base/buf.h"

enum { JSON_DEPTH = 64 }; /* levels that are read and written */

struct json_cursor {
  const unsigned char *at, *end;
};

struct json_cursor json_cursor_of(struct bytes text);
int json_peek(const struct json_cursor *c); /* -1 at the end */
void json_skip_space(struct json_cursor *c);
bool json_take(struct json_cursor *c, int byte); /* skips blanks; whether the byte was there */
/* Lets control characters through, but no zero byte: services forget to escape them. */
bool json_skip_string(struct json_cursor *c);
bool json_skip_plain(struct json_cursor *c); /* a number or one of the three words */

/* How many bytes from at on are ordinary in a string: neither a quote nor a backslash nor a control
 * character. Eight are compared together. */
size_t json_plain_run(const unsigned char *at, const unsigned char *end);
/* The code unit that the four hexadecimal digits at this place give; -1: there are none. */
int json_code_unit(const unsigned char *at, const unsigned char *end);

/* Appends what a string says; quoted has its quotation marks. U+FFFD takes the place of half a surrogate
 * pair. False: an escape that JSON does not have, or out of memory. */
bool json_unquote(struct bytes quoted, struct buf *out);

#endif
