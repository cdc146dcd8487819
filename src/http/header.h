/* The headers of a reply, as http_response has them: lines "name: value\n" with the names in lower case, and
 * the dates in them.
 *
 * The one look-up of headers, for C and Lua.
 */
#ifndef FLEET_HTTP_HEADER_H
#define FLEET_HTTP_HEADER_H

#include "base/buf.h"

/* The next line, taken off headers; a line without a colon has an empty value. false: none is left. */
bool header_next(struct bytes *headers, struct bytes *name, struct bytes *value);

/* The first value of a name in lower case; data NULL: there is none. */
struct bytes header_value(struct bytes headers, const char *name);

/* UTC seconds of a date in any of the forms of RFC 9110 5.6.7; negative: it is none. */
double header_date(struct bytes text);

#endif
