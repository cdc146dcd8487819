/* Decodes the query of a caller's request and encodes it again: the values stay, the spelling does not.
 *
 * A proxy that passed a query on as it came would let its caller choose bytes of our request line.
 */
#ifndef FLEET_HTTP_QUERY_H
#define FLEET_HTTP_QUERY_H

#include "base/buf.h"

/* Appends the fields of in, decoded and encoded again, in their order. False: an escape that is none, or a
 * control character; out then holds a part. */
bool query_rewrite(struct bytes in, struct buf *out);

#endif
