/* One record as text: what a file of the store holds.
 *
 *   fleet-store 2
 *   <SHA-256 of what follows, in hex>
 *   <generation> <fence> <end of its life in wall milliseconds, 0: none> <1 when it must outlive a power cut>
 *   <key>
 *   <value, any bytes, to the end of the file>
 *
 * Records of version 1 lack the last number and are durable. Numbers have ranges, so that a damaged one is
 * found and no new generation is based on it.
 */
#ifndef FLEET_STORE_RECORD_H
#define FLEET_STORE_RECORD_H

#include "crypto/context.h"

enum {
  RECORD_VALUE_LIMIT = 1 << 20,
  RECORD_OVERHEAD = 768, /* a record is at most this much larger than its value: the key has 512 bytes */
};
#define NUMBER_LIMIT UINT64_C(9000000000000000) /* below what a double counts exactly */

struct record {
  uint64_t generation, fence, ends;
  bool durable;
  struct bytes key, value; /* views */
};

enum record_result { RECORD_OK, RECORD_DAMAGED, RECORD_NEWER };

/* RECORD_NEWER: written by a later version of this program. */
enum record_result record_decode(struct record *r, struct crypto *c, struct bytes text);
/* The same without its value and its check, of the beginning of a text: to be looked at again before anything
 * is done. */
bool record_head(struct record *r, struct bytes text);
void record_encode(struct buf *out, struct crypto *c, const struct record *r);

/* Decimal digits at the start of text, at most NUMBER_LIMIT; takes them off. */
bool number_take(struct bytes *text, uint64_t *number);

#endif
