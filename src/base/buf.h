/* A growable byte buffer, and a read-only view of bytes with another owner.
 *
 * All URLs, headers, bodies, messages and signatures are written with it, so that lengths, byte order and
 * encodings are handled once. Out of memory is sticky: writers do nothing more, and the caller checks
 * buf_ok() at the end. buf_free wipes, because any buffer may have held a secret.
 */
#ifndef FLEET_BASE_BUF_H
#define FLEET_BASE_BUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bytes {
  const unsigned char *data;
  size_t size;
};

struct buf {
  unsigned char *data; /* owned; always followed by a NUL that does not count */
  size_t size, capacity;
  bool failed; /* an allocation failed: the contents are incomplete */
};

#define BUF_INIT                                                                                             \
  { NULL, 0, 0, false }

struct bytes bytes_of(const char *text); /* NULL gives an empty view */
struct bytes buf_bytes(const struct buf *b);
bool bytes_equal(struct bytes a, struct bytes b);        /* ordinary comparison, for public data */
bool bytes_equal_secret(struct bytes a, struct bytes b); /* time depends on the lengths only */

void buf_free(struct buf *b);  /* wipes, releases, leaves an empty buffer */
void buf_clear(struct buf *b); /* wipes and keeps the memory */
bool buf_ok(const struct buf *b);
const char *buf_text(const struct buf *b); /* never NULL */
bool buf_reserve(struct buf *b, size_t more);

void buf_add(struct buf *b, const void *data, size_t size);
void buf_put(struct buf *b, unsigned char byte);
void buf_text_add(struct buf *b, const char *text);
void buf_format(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
void buf_format_list(struct buf *b, const char *format, va_list list);
void buf_u32be(struct buf *b, uint32_t value);

void buf_hex(struct buf *b, struct bytes in);
bool buf_unhex(struct buf *b, struct bytes in);
void buf_base64(struct buf *b, struct bytes in);    /* RFC 4648 section 4, with padding */
void buf_base64url(struct buf *b, struct bytes in); /* RFC 4648 section 5, without padding */
bool buf_unbase64(struct buf *b, struct bytes in);  /* strict: canonical, padded */
bool buf_unbase64url(struct buf *b, struct bytes in);
void buf_percent(struct buf *b, struct bytes in); /* RFC 3986: everything but unreserved characters */

/* JSON text, RFC 8259. Numbers never depend on the locale; a number that is not finite is refused. */
void buf_json_string(struct buf *b, struct bytes in);
bool buf_json_number(struct buf *b, double value);
void buf_fixed(struct buf *b, double value, int decimals);     /* with a point in every locale */
void buf_shortened(struct buf *b, double value, int decimals); /* the same without trailing zeros */
void buf_integer(struct buf *b, int64_t value);                /* in decimal digits */

void wipe(void *data, size_t size); /* is not optimised away */

#endif
