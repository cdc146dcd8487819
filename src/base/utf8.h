/* Makes foreign text valid UTF-8 (RFC 3629): each invalid byte becomes U+FFFD. */
#ifndef FLEET_BASE_UTF8_H
#define FLEET_BASE_UTF8_H

#include "base/buf.h"

size_t utf8_sequence(struct bytes text); /* bytes of the character at the front, 0: there is none */
void utf8_repair(struct buf *out, struct bytes text);

#endif
